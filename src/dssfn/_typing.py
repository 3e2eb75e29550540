"""Names for the types that every module speaks of."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
NodeId: TypeAlias = int
Label: TypeAlias = str | int | float | bool  # a class, as a user names it

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Agreed:
    """Arithmetic on agreed numbers alone, which every node does alike.

    A node would just call `run`. A driver that hosts many nodes may run it once for all
    of those that ask for the same function of the same arguments.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def run(self) -> Any:
        """Do it."""
        return self.function(*self.arguments)


@dataclass(frozen=True, slots=True)
class Deferred:
    """A large message that is made when it is wanted, and not kept.

    Parameters
    ----------
    size : int
        How many numbers.
    fill : callable
        Writes them into a vector of that size.
    """

    size: int
    fill: Callable[[Array], None]


Program: TypeAlias = Generator[Array | Deferred | Agreed, Any, Result]
"""One node's work: yields what must be averaged over the network and receives the
average, or yields arithmetic on agreed numbers and receives its result; returns a
result. It never knows who answers."""
