"""Flooding: every node's record reaches all nodes, from neighbour to neighbour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dssfn._typing import NodeId, Numbers
from dssfn.consensus import Rounds, Swap
from dssfn.topology import Topology


@dataclass(frozen=True, slots=True)
class Flood:
    """A way for all nodes to learn all records, as `packed` makes them.

    Parameters
    ----------
    topology : Topology
        The graph; there are as many rounds as it is wide.
    """

    topology: Topology

    @property
    def n_rounds(self) -> int:
        """The number of rounds until every node has heard of every other."""
        return self.topology.diameter

    def rounds(self, node: NodeId, value: Numbers, step: int) -> Rounds:
        """Send what is known to all neighbours in every round."""
        neighbours = self.topology.neighbours(node)
        known = value
        for _ in range(self.n_rounds):
            came = yield Swap(dict.fromkeys(neighbours, known), neighbours)
            for sender in sorted(came):
                known = np.where(known[:, :1] != 0, known, came[sender])
        return known
