"""Sums over some of the nodes, which change from averaging to averaging.

All nodes end with the total of those who take part. That is what real nodes that stay
away are handed when they come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import NodeId, Numbers
from dssfn.config import Plan
from dssfn.consensus.base import Rounds, Values
from dssfn.consensus.tree import Tree
from dssfn.errors import PlanError
from dssfn.topology import Topology, from_edges


class Attending:
    """Adding up along trees of those who take part.

    Parameters
    ----------
    topology : Topology
        The graph of all nodes.
    took_part : sequence of (int, nodes)
        The number of an averaging, and who takes part from there on. The first one is
        0, and all are connected with each other.

    Examples
    --------
    >>> from dssfn.topology import build_topology
    >>> some = Attending(build_topology("path", 3), [(0, [0, 1, 2]), (1, [0, 1])])
    >>> [int(some.mix(np.array([[1], [2], [4]]), step)[2, 0]) for step in (0, 1)]
    [7, 3]
    """

    name = "tree"
    is_bitwise = True

    def __init__(
        self, topology: Topology, took_part: Sequence[tuple[int, Sequence[NodeId]]]
    ) -> None:
        self.topology = topology
        firsts = [first for first, _ in took_part]
        if firsts[:1] != [0] or firsts != sorted(set(firsts)):
            raise PlanError(
                "`took_part` must begin with averaging 0, and go on with higher "
                f"numbers, got {firsts}."
            )
        self._stints = [
            (first, members, Tree(_induced(topology, members)))
            for first, members in ((first, sorted(set(m))) for first, m in took_part)
        ]

    def check(self, plan: Plan, *, secure: bool) -> None:
        """Refuse a training in which it would matter who a node is."""
        if not plan.is_exact or plan.is_private or secure:
            raise PlanError(
                "`took_part` must be left out unless sums are of integers, without "
                "noise and masks, so that they can be of any nodes."
            )

    def _at(self, step: int) -> tuple[list[NodeId], Tree]:
        found = [one for one in self._stints if one[0] <= step][-1]
        return found[1], found[2]

    @property
    def n_rounds(self) -> int:
        """The number of rounds, as far as all take part who do at first."""
        return self._stints[0][2].n_rounds

    @property
    def n_letters(self) -> int:
        """The number of letters, for those who take part at first."""
        return self._stints[0][2].n_letters

    @property
    def n_queued(self) -> int:
        """The letters in a row, for those who take part at first."""
        return self._stints[0][2].n_queued

    def order(self, step: int) -> Sequence[NodeId]:
        """Return the nodes that take part in an averaging."""
        return self._at(step)[0]

    def rounds(self, node: NodeId, value: Numbers, step: int) -> Rounds:
        """Refuse: real nodes meet as a group of their own."""
        raise PlanError("`took_part` is for simulations only.")

    def mix(self, values: Values, step: int) -> NDArray[Any]:
        """Return the total of those who take part, for every node."""
        members = self.order(step)
        total = np.array(values[members[0]])
        for node in members[1:]:
            with np.errstate(over="ignore"):
                total += values[node]
        return np.broadcast_to(total, (self.topology.n_nodes, *total.shape))


def _induced(topology: Topology, members: Sequence[NodeId]) -> Topology:
    """Return the graph of some nodes, numbered from 0; they must be connected."""
    if not members or not set(members) <= set(range(topology.n_nodes)):
        raise PlanError(
            f"`took_part` must name some of the nodes 0..{topology.n_nodes - 1}, got "
            f"{list(members)}."
        )
    number = {node: k for k, node in enumerate(members)}
    edges = [
        (number[i], number[j])
        for i, j in topology.edges()
        if i in number and j in number
    ]
    return from_edges(len(members), edges)
