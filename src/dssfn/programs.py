"""What a node's program may ask for: an average, a total, or arithmetic shared by all.

A program is a generator. It yields a `Message` and receives its average over the
network, or its exact total if it holds integers; it yields an `Agreed` and receives the
result. It never knows who answers: the simulator, MPI or gRPC. In simulated time it may
also yield a `dssfn.parties.Joint`, which says itself how something is found out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np

from dssfn._typing import Array, NodeId, Numbers
from dssfn.errors import InputError, NumericalError
from dssfn.parties import Joint
from dssfn.sum_bounds import JoinedBounds, SumBounds

Result = TypeVar("Result")

INPUTS = -1  # the layer number of what is agreed on before layer 0
NO_RIDER: Array = np.empty(0)


@dataclass(frozen=True, slots=True)
class Message:
    """Numbers that a node wants averaged, or added up exactly: all that ever leaves it.

    They are made when they are wanted and not kept, so that whoever hosts many nodes
    need not hold all their messages at once. The sum of int64 numbers is the same in
    any order, so their total is the same to the last bit on every graph; whoever sends
    them sees to it that it fits into an int64.

    Parameters
    ----------
    shape : tuple of int
        The shape of the array of numbers.
    fill : callable
        Writes the numbers into an array of that shape.
    layer : int
        The layer of the network that they are about; INPUTS before the first.
    exact : bool
        Whether the numbers are int64 and their total is wanted; otherwise they are
        float64 and their average is wanted.
    bounds : SumBounds, optional
        What sums of samples such numbers can be; the total is held to it.

    Examples
    --------
    >>> message = Message.of(np.array([1.0, 2.0]))
    >>> message.size, message.exact, message.make()
    (2, False, array([1., 2.]))
    >>> Message.of(np.array([2**60 + 1])).exact
    True
    """

    shape: tuple[int, ...]
    fill: Callable[[Any], None]  # an Array, or Integers if it is exact
    layer: int = INPUTS
    exact: bool = False
    bounds: SumBounds | None = None

    @classmethod
    def of(cls, values: Numbers, bounds: SumBounds | None = None) -> Self:
        """Return a message of numbers that exist already; int64 ones are exact."""
        return cls(
            values.shape,
            lambda into: np.copyto(into, values),
            exact=values.dtype == np.int64,
            bounds=bounds,
        )

    @property
    def size(self) -> int:
        """The number of numbers in the message."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of every number in the message."""
        return np.dtype(np.int64 if self.exact else np.float64)

    def make(self) -> Numbers:
        """Return the numbers, all of which must be finite."""
        values: Numbers = np.empty(self.shape, self.dtype)
        with np.errstate(all="ignore"):
            self.fill(values)
            if not self.exact:
                self._check_finite(values)
        return values

    def about(
        self,
        layer: int,
        rider: Numbers = NO_RIDER,
        rider_bounds: SumBounds | None = None,
    ) -> Message:
        """Return the same message about a layer.

        With a rider, the message is a vector that ends with the rider's numbers, which
        may have bounds of their own.
        """
        if not rider.size:
            return replace(self, layer=layer)
        if self.exact and rider.dtype != np.int64:
            raise InputError(
                "`rider` of a message of integers must be int64, as it is added up "
                f"with them, got {rider.dtype}. Send it with a message of floats."
            )

        def fill(into: Any) -> None:
            self.fill(into[: self.size].reshape(self.shape))
            into[self.size :] = rider

        parts = (self.size, self.bounds), (rider.size, rider_bounds)
        return replace(
            self,
            shape=(self.size + rider.size,),
            fill=fill,
            layer=layer,
            bounds=JoinedBounds(parts),
        )

    def _check_finite(self, values: Numbers) -> None:
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


Program: TypeAlias = Generator[Message | Agreed | Joint, Any, Result]
"""One node's work, from its first request to its result."""

MembersOf: TypeAlias = Callable[[int], Collection[NodeId]]
"""Who takes part in an averaging, by its number, where nodes may come and go."""


def run_about(
    layer: int,
    program: Program[Result],
    rider: Numbers = NO_RIDER,
    rider_bounds: SumBounds | None = None,
) -> Program[tuple[Result, Any, int]]:
    """Run a program whose messages are about a layer; the first one takes a rider.

    The rider may have bounds.

    Returns the program's result, the mean of the rider (its total, if that message is
    exact), and the number of averagings.
    """
    request = next(program)
    assert isinstance(request, Message)  # nothing is agreed on yet
    mean = yield request.about(layer, rider, rider_bounds)
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
