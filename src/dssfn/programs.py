"""What a node's program may ask for: an average, or arithmetic that all nodes share.

A program is a generator. It yields a `Message` and receives its average over the
network; it yields an `Agreed` and receives the result. It never knows who answers: the
simulator, MPI or gRPC.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np

from dssfn._typing import Array
from dssfn.errors import NumericalError

Result = TypeVar("Result")

INPUTS = -1  # the layer number of what is agreed on before layer 0
NO_RIDER: Array = np.empty(0)


@dataclass(frozen=True, slots=True)
class Message:
    """Numbers that a node wants averaged: all that ever leaves it.

    They are made when they are wanted and not kept, so that whoever hosts many nodes
    need not hold all their messages at once.

    Parameters
    ----------
    shape : tuple of int
        The shape of the array of numbers.
    fill : callable
        Writes the numbers into an array of that shape.
    layer : int
        The layer of the network that they are about; INPUTS before the first.

    Examples
    --------
    >>> message = Message.of(np.array([1.0, 2.0]))
    >>> message.size, message.make()
    (2, array([1., 2.]))
    """

    shape: tuple[int, ...]
    fill: Callable[[Array], None]
    layer: int = INPUTS

    @classmethod
    def of(cls, values: Array) -> Self:
        """Return a message of numbers that exist already."""
        return cls(values.shape, lambda into: np.copyto(into, values))

    @property
    def size(self) -> int:
        """The number of numbers in the message."""
        return math.prod(self.shape)

    def make(self) -> Array:
        """Return the numbers, all of which must be finite."""
        values: Array = np.empty(self.shape)
        with np.errstate(all="ignore"):
            self.fill(values)
            self._check_finite(values)
        return values

    def about(self, layer: int, rider: Array | None = None) -> Message:
        """Return the same message about a layer.

        With a rider, the message is a vector that ends with the rider's numbers.
        """
        if rider is None or not rider.size:
            return Message(self.shape, self.fill, layer)

        def fill(into: Array) -> None:
            self.fill(into[: self.size].reshape(self.shape))
            into[self.size :] = rider

        return Message((self.size + rider.size,), fill, layer)

    def _check_finite(self, values: Array) -> None:
        # The sum is not finite if any number is not; the reverse may fail by overflow.
        if not (math.isfinite(values.sum()) or np.isfinite(values).all()):
            raise NumericalError(
                f"Layer {max(self.layer, 0)} produced a number that is not finite. "
                "Check the scale of the inputs (or `standardize` them), `mu_input` and "
                "`mu_hidden`."
            )


@dataclass(frozen=True, slots=True)
class Agreed:
    """Arithmetic on agreed numbers alone, which every node does alike.

    A single node just calls `run`. A driver that hosts many nodes may run it once for
    all of those that ask for the same function of the same arguments.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def run(self) -> Any:
        """Return the function of the arguments."""
        with np.errstate(all="ignore"):
            return self.function(*self.arguments)


Program: TypeAlias = Generator[Message | Agreed, Any, Result]
"""One node's work, from its first request to its result."""


def run_about(
    layer: int, program: Program[Result], rider: Array = NO_RIDER
) -> Program[tuple[Result, Array, int]]:
    """Run a program whose messages are about a layer; the first one takes a rider.

    Returns the program's result, the mean of the rider, and the number of averagings.
    """
    request = next(program)
    assert isinstance(request, Message)  # nothing is agreed on yet
    mean = yield request.about(layer, rider)
    n_values = request.size
    reply = mean.ravel()[:n_values].reshape(request.shape)
    mean_rider = mean.ravel()[n_values:].copy()  # a view would keep all alive
    del mean
    n_averagings = 1
    while True:
        try:
            request = program.send(reply)
        except StopIteration as stop:
            return stop.value, mean_rider, n_averagings
        del reply
        if isinstance(request, Agreed):
            reply = yield request
        else:
            reply = yield request.about(layer)
            n_averagings += 1
