"""How numbers are summed over samples and nodes: in floating point, or exactly.

A tally adds up numbers of a node's samples, and gives them as a message. In floating
point the nodes receive the mean of their messages, which is as good as the sum but for
a factor and rounding. Exact tallies receive the total.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dssfn._typing import Array, Numbers
from dssfn.config import Plan
from dssfn.exact.limbs import N_LIMBS, ExactTally
from dssfn.exact.tally_bounds import TallyBounds
from dssfn.sum_bounds import SumBounds


class Tally(Protocol):
    """Sums of n numbers over samples."""

    def add(self, values: Array) -> None:
        """Add the numbers of some samples, (n, c)."""

    def numbers(self) -> Numbers:
        """Return the sums as a message."""


class Summation(Protocol):
    """A way to sum over samples and nodes."""

    @property
    def per_number(self) -> int:
        """How many numbers of a message one sum takes."""

    def tally(self, n: int) -> Tally:
        """Return n sums over no samples."""

    def read(self, reply: Numbers) -> Array:
        """Return the sums over all nodes that the network's reply holds."""

    def bounds(self, low: Array, high: Array, weight: float) -> SumBounds | None:
        """Return the bounds of a tally, if it can be held to some.

        Parameters
        ----------
        low, high : arrays of shape (n,)
            The least and the greatest number of one sample.
        weight : float
            How much the samples of all nodes weigh.
        """


class FloatTally:
    """Sums in floating point."""

    def __init__(self, n: int) -> None:
        self._sums: Array = np.zeros(n)

    def add(self, values: Array) -> None:
        """Add the numbers of some samples, (n, c)."""
        self._sums += values.sum(axis=-1)

    def numbers(self) -> Array:
        """Return the sums."""
        return self._sums


@dataclass(frozen=True, slots=True)
class Floating:
    """Sums in floating point, whose last bits depend on who holds which sample."""

    n_nodes: int

    @property
    def per_number(self) -> int:
        """A sum is one number."""
        return 1

    def tally(self, n: int) -> FloatTally:
        """Return n sums over no samples."""
        return FloatTally(n)

    def read(self, reply: Numbers) -> Array:
        """Return the sums over all nodes: their mean, times their number."""
        total: Array = self.n_nodes * reply
        return total

    def bounds(self, low: Array, high: Array, weight: float) -> None:
        """Return nothing: a mean of floats may come in rough."""


def summation_of(plan: Plan, n_nodes: int) -> Summation:
    """Return how a plan sums."""
    return Exact() if plan.is_exact else Floating(n_nodes)


@dataclass(frozen=True, slots=True)
class Exact:
    """Sums that are the same to the last bit, whoever holds which sample."""

    @property
    def per_number(self) -> int:
        """The digits of a sum."""
        return N_LIMBS

    def tally(self, n: int) -> ExactTally:
        """Return n sums over no samples."""
        return ExactTally(n)

    def read(self, reply: Numbers) -> Array:
        """Return the sums over all nodes, each rounded once."""
        return ExactTally.read(reply.astype(np.int64, copy=False))

    def bounds(self, low: Array, high: Array, weight: float) -> TallyBounds:
        """Return the bounds of a tally."""
        return TallyBounds(low, high, weight)
