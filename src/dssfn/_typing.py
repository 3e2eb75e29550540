"""Names for the types that every module speaks of."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
NodeId: TypeAlias = int
Label: TypeAlias = str | int | float | bool  # a class, as a user names it

Result = TypeVar("Result")

Program: TypeAlias = Generator[Array, Array, Result]
"""One node's work: yields what must be averaged over the network, receives the
average, and returns a result. It never knows who answers."""
