"""The links of a graph: every node's neighbours, one after the other in one array.

This takes a few bytes for each link, where a matrix takes eight for each pair of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import NodeId
from dssfn.errors import TopologyError

MOST_EDGES = 20_000_000  # more would take gigabytes: 6,325 nodes, if all are joined


@dataclass(frozen=True, slots=True)
class Links:
    """Who is joined to whom, known to both ends; nobody is joined to itself.

    Parameters
    ----------
    starts : array of shape (M + 1,)
        Where the neighbours of each node begin in `ends`, and where the last ones end.
    ends : array of shape (n_links,)
        The neighbours of node 0, of node 1 and so on, each time ascending.

    Examples
    --------
    >>> path = Links.of_pairs(3, np.array([0, 2]), np.array([1, 1]))
    >>> [others.tolist() for others in path]
    [[1], [0, 2], [1]]
    """

    starts: NDArray[np.intp]
    ends: NDArray[np.int32]

    @classmethod
    def of_pairs(cls, n_nodes: int, i: NDArray[np.intp], j: NDArray[np.intp]) -> Self:
        """Return the links of these edges, in any direction, repeated or not."""
        check_edges(len(i))
        # The number of each link in the matrix of all pairs, read row by row.
        links = np.concatenate([i * n_nodes + j, j * n_nodes + i])
        links.sort()  # `unique` would take minutes for millions of them
        links = links[np.diff(links, prepend=-1) > 0]
        degrees = np.bincount(links // n_nodes, minlength=n_nodes)
        return cls(_starts(degrees), (links % n_nodes).astype(np.int32))

    @classmethod
    def of_matrix(cls, A: NDArray[Any]) -> Self:
        """Return the links that a symmetric matrix has outside its diagonal."""
        rows = [np.flatnonzero(row).astype(np.int32) for row in A]
        rows = [row[row != i] for i, row in enumerate(rows)]
        return cls(_starts(np.array([len(row) for row in rows])), np.concatenate(rows))

    @property
    def n_nodes(self) -> int:
        """The number of nodes, M."""
        return len(self.starts) - 1

    @property
    def degrees(self) -> NDArray[np.intp]:
        """The number of neighbours of each node, shape (M,)."""
        return np.diff(self.starts)

    def __getitem__(self, node: NodeId) -> NDArray[np.int32]:
        """Return the neighbours of a node."""
        return self.ends[self.starts[node] : self.starts[node + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        """Yield the neighbours of every node."""
        return (self.ends[a:b] for a, b in pairwise(self.starts.tolist()))

    def arcs(self) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """Return every link as (from, to), sorted: two arrays of shape (n_links,)."""
        return np.repeat(np.arange(self.n_nodes), self.degrees), self.ends

    def hops(self, root: NodeId) -> NDArray[np.intp]:
        """Return the number of hops from a node to all others; -1 if there is no way.

        >>> Links.of_pairs(4, np.array([0, 1]), np.array([1, 2])).hops(0).tolist()
        [0, 1, 2, -1]
        """
        hops = np.full(self.n_nodes, -1)
        self._search(root, hops)
        return hops

    def components(self) -> list[tuple[int, NodeId]]:
        """Return size and lowest node of every connected part, by their lowest nodes.

        >>> Links.of_pairs(4, np.array([0, 1]), np.array([1, 2])).components()
        [(3, 0), (1, 3)]
        """
        hops = np.full(self.n_nodes, -1)
        return [
            (self._search(root, hops), root)
            for root in range(self.n_nodes)
            if hops[root] < 0
        ]

    def _search(self, root: NodeId, hops: NDArray[np.intp]) -> int:
        """Fill in the hops from a root, and return how many nodes it reaches."""
        hops[root] = 0
        queue = [root]
        for node in queue:
            others = self[node]
            new = others[hops[others] < 0]
            hops[new] = hops[node] + 1
            queue.extend(new.tolist())
        return len(queue)


def check_edges(n_edges: int) -> None:
    """Refuse more edges than memory should be taken for."""
    if n_edges > MOST_EDGES:
        raise TopologyError(
            f"A graph must have at most {MOST_EDGES:,} edges, got {n_edges:,}. Use "
            "fewer nodes, or fewer neighbours for each: it is enough that the graph "
            "is connected."
        )


def _starts(degrees: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.concatenate([[0], np.cumsum(degrees)])
