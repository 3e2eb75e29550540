"""Flooding: what all nodes hold reaches every node, from neighbour to neighbour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from dssfn._typing import NodeId, Numbers
from dssfn.consensus.base import Rounds, Swap
from dssfn.topology import Topology


@dataclass(frozen=True, slots=True)
class Flood:
    """A way for all nodes to combine their values, where hearing one twice is no harm.

    Parameters
    ----------
    topology : Topology
        The graph; there are as many rounds as it is wide.
    combine : callable
        Returns what two values say together, such as the lower one of each number.

    Examples
    --------
    >>> import numpy as np
    >>> from dssfn.consensus import run_rounds
    >>> from dssfn.topology import build_topology
    >>> lowest = Flood(build_topology("path", 3), np.minimum)
    >>> run_rounds(lowest, {k: np.array([5.0 - k, k]) for k in range(3)})[0]
    array([3., 0.])
    """

    topology: Topology
    combine: Callable[[Numbers, Numbers], Numbers]

    @property
    def n_rounds(self) -> int:
        """The number of rounds until every node has heard of every other."""
        return self.topology.diameter

    def rounds(self, node: NodeId, value: Numbers, step: int) -> Rounds:
        """Send what is known so far to all neighbours in every round."""
        neighbours = self.topology.neighbours(node)
        for _ in range(self.n_rounds):
            came = yield Swap(dict.fromkeys(neighbours, value), neighbours)
            value = reduce(self.combine, (came[one] for one in sorted(came)), value)
        return value
