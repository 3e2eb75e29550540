"""Handing over: what some nodes hold reaches those who lack it, along shortest ways."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from dssfn._typing import NodeId, Numbers
from dssfn.consensus.base import Rounds, Swap
from dssfn.topology import Topology


class Handover:
    """A way for nodes to receive what others hold, each of them once.

    Parameters
    ----------
    topology : Topology
        The graph.
    holders : collection of int
        The nodes that hold it; there is at least one.

    Examples
    --------
    >>> import numpy as np
    >>> from dssfn.consensus import run_rounds
    >>> from dssfn.topology import build_topology
    >>> handover = Handover(build_topology("path", 4), [1])
    >>> values = {k: np.array([float(k == 1)]) for k in range(4)}
    >>> [float(value[0]) for value in run_rounds(handover, values).values()]
    [1.0, 1.0, 1.0, 1.0]
    """

    def __init__(self, topology: Topology, holders: Collection[NodeId]) -> None:
        self.topology = topology
        self.holders = frozenset(holders)

    @property
    def n_rounds(self) -> int:
        """The number of rounds until every node has it."""
        return max(self._hops)

    @cached_property
    def _hops(self) -> list[int]:
        """The number of links from each node to the nearest holder."""
        hops = [-1] * self.topology.n_nodes
        queue = sorted(self.holders)
        for node in queue:
            hops[node] = 0
        for node in queue:
            for other in self.topology.neighbours(node):
                if hops[other] < 0:
                    hops[other] = hops[node] + 1
                    queue.append(other)
        return hops

    def _source(self, node: NodeId) -> NodeId:
        """Return the neighbour that a node has it from."""
        nearer = self._hops[node] - 1
        neighbours = self.topology.neighbours(node)
        return next(other for other in neighbours if self._hops[other] == nearer)

    def rounds(self, node: NodeId, value: Numbers, step: int) -> Rounds:
        """Receive it from the source, if it is lacking, and pass it on."""
        mine = self._hops[node]
        others = [
            other
            for other in self.topology.neighbours(node)
            if self._hops[other] == mine + 1 and self._source(other) == node
        ]
        for number in range(self.n_rounds):
            senders = [self._source(node)] if number == mine - 1 else []
            letters = dict.fromkeys(others, value) if number == mine else {}
            came = yield Swap(letters, senders)
            for sender in senders:
                value = came[sender]
        return value
