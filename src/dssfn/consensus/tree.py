"""Averaging along a spanning tree: sums flow to a root, the total flows back.

Every link of the tree carries one letter each way, and all nodes hold the same bits. Of
integers the total itself is kept, which no order of adding can change.
Nobody is the master: the root follows from the number of the averaging, it rotates over
the nodes that keep the tree shallow, and it sees sums only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import NodeId, Numbers
from dssfn.consensus.base import Rounds, Swap, Values, wants_total
from dssfn.topology import Topology

ADD = -1  # no node's number
KEPT = 200_000  # nodes of all trees that are kept for other averagings: some 30 MB


@dataclass(frozen=True, slots=True)
class Branches:
    """A spanning tree.

    Parameters
    ----------
    parents : tuple of int
        The parent of each node; the root's is -1.
    children : tuple of tuples
        The children of each node, ascending.
    levels : tuple of int
        Hops from the root to each node.
    """

    parents: tuple[NodeId, ...]
    children: tuple[tuple[NodeId, ...], ...]
    levels: tuple[int, ...]


class Tree:
    """Averaging along a spanning tree.

    Examples
    --------
    >>> from dssfn.topology import build_topology
    >>> tree = Tree(build_topology("circular", 20, degree=4))
    >>> tree.n_rounds, tree.n_letters
    (6, 38)
    """

    name = "tree"
    is_bitwise = True

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.depth = min(topology.eccentricities)
        self.roots = [
            i for i, hops in enumerate(topology.eccentricities) if hops == self.depth
        ]
        n_kept = max(1, KEPT // topology.n_nodes)
        self._from = lru_cache(n_kept)(partial(_breadth_first, topology))

    @property
    def n_rounds(self) -> int:
        """The number of rounds: up and down the tree."""
        return 2 * self.depth

    @property
    def n_letters(self) -> int:
        """The number of letters: every edge of the tree carries one each way."""
        return 2 * (self.topology.n_nodes - 1)

    @property
    def n_queued(self) -> int:
        """The letters in a row: one a round going up, one for each child going down."""
        branches = self.branches(0)
        most = [0] * (self.depth + 1)
        for level, children in zip(branches.levels, branches.children, strict=True):
            most[level] = max(most[level], len(children))
        return self.depth + sum(most)

    def branches(self, step: int) -> Branches:
        """Return the tree of an averaging, breadth first from the root of this step."""
        return self._from(self.roots[step % len(self.roots)])

    def beyond(self, step: int, sender: NodeId, receiver: NodeId) -> list[NodeId]:
        """Return the nodes on the sender's side of a link of the tree, ascending.

        What came over the link, less what went the other way before, is their sum.

        >>> from dssfn.topology import build_topology
        >>> Tree(build_topology("path", 3)).beyond(0, 1, 2)
        [0, 1]
        """
        tree = self.branches(step)
        is_up = tree.parents[sender] == receiver
        below = [sender if is_up else receiver]
        for node in below:
            below.extend(tree.children[node])
        if is_up:
            return sorted(below)
        return sorted(set(range(self.topology.n_nodes)) - set(below))

    def rounds(self, node: NodeId, value: Numbers, step: int) -> Rounds:
        """Add the children's sums, send the sum up, and pass the total down."""
        tree = self.branches(step)
        level, parent = tree.levels[node], tree.parents[node]
        children = tree.children[node]
        total = value
        for k in range(self.depth, 0, -1):  # from the deepest level to the root
            inbox = yield Swap(
                {parent: total} if k == level else {},
                children if k == level + 1 else (),
            )
            for child in sorted(inbox):
                total = total + inbox[child]
        for k in range(self.depth):  # and back
            inbox = yield Swap(
                dict.fromkeys(children, total) if k == level else {},
                (parent,) if k == level - 1 else (),
            )
            total = inbox.get(parent, total)
        return self.outcome(total)

    def order(self, step: int) -> Sequence[NodeId]:
        """Return the nodes depth first, so that few sums are held at any time."""
        return [item for item in _postfix(self.branches(step)) if item != ADD]

    def mix(self, values: Values, step: int) -> NDArray[Any]:
        """Return what all nodes end with, summed in the same order: the same bits."""
        sums: list[Any] = []
        is_own: list[bool] = []  # may be added to in place
        for item in _postfix(self.branches(step)):
            if item != ADD:
                sums.append(values[item])
                is_own.append(False)
                continue
            top, _ = sums.pop(), is_own.pop()
            if is_own[-1]:
                sums[-1] += top
            else:
                sums[-1], is_own[-1] = sums[-1] + top, True
        outcome = self.outcome(sums[0])
        return np.broadcast_to(outcome, (self.topology.n_nodes, *outcome.shape))

    def outcome(self, total: Numbers) -> Numbers:
        """Return the total of integers, and the average of other numbers."""
        return total if wants_total(total) else total / self.topology.n_nodes


def tree(topology: Topology, tol: float) -> Tree:
    """Return the averaging along a tree, which is exact up to rounding."""
    return Tree(topology)


def _postfix(tree: Branches) -> list[NodeId]:
    """Return how to sum over a tree: a node pushes its value, ADD adds the top two.

    A node adds its children's sums to its own value one after the other. The first
    child goes before the node itself, which gives the same bits and leaves nothing to
    be held on the way down a path.
    """
    items: list[NodeId] = []
    todo = [(tree.parents.index(-1), True)]
    while todo:
        node, is_subtree = todo.pop()
        if not is_subtree:
            items.append(node)
            continue
        steps = [(node, False)]
        for k, child in enumerate(tree.children[node]):
            at = 0 if k == 0 else len(steps)
            steps.insert(at, (child, True))
            steps.append((ADD, False))
        todo.extend(reversed(steps))
    return items


def _breadth_first(topology: Topology, root: NodeId) -> Branches:
    M = topology.n_nodes
    parents, levels = [-1] * M, [-1] * M
    children: list[list[NodeId]] = [[] for _ in range(M)]
    levels[root], queue = 0, [root]
    for node in queue:
        for other in topology.neighbours(node):
            if levels[other] < 0:
                parents[other], levels[other] = node, levels[node] + 1
                children[node].append(other)
                queue.append(other)
    return Branches(tuple(parents), tuple(map(tuple, children)), tuple(levels))
