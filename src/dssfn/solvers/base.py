"""The interface of every solver: it knows its messages and gives a node its program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.programs import Program


class Solver(Protocol):
    """A way to solve one layer's least squares over the network.

    A solver is a value that holds its settings, which it takes from the plan. Its class
    is known by a name in `dssfn.registry.SOLVERS`.
    """

    @classmethod
    def of_plan(cls, plan: Plan, layer: int, before: Sequence[int] = ()) -> Self:
        """Return the solver of a layer.

        Parameters
        ----------
        plan : Plan
            What all nodes agreed on.
        layer : int
            The number of the layer.
        before : sequence of int
            The averagings that each of the layers before it took.
        """

    @property
    def needs_equal_bits(self) -> bool:
        """Whether nodes decide on averages, which must be the same on all of them."""

    def message_size(self, Q: int, n: int) -> int:
        """Return how many numbers its usual message has, for Q outputs of n features.

        The averaging scheme is chosen for messages of this size.
        """

    def largest_message(self, Q: int, n: int) -> int:
        """Return how many numbers its largest message can have."""

    def program(self, share: Any, radius: float) -> Program[Array]:
        """Return one node's program, whose result is the output matrix O, (Q, n).

        Parameters
        ----------
        share : LayerShare or ExactShare
            The node's share of the layer's least squares.
        radius : float
            The largest Frobenius norm that O may have.
        """
