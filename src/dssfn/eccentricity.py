"""Eccentricities: how far each node of a graph is from the farthest of all others.

How this works. Where few hops lead everywhere, every node has the set of the nodes that
it reaches, as the bits of a number, and all sets widen by one hop at a time.

On a long ring there would be too many hops. If the farthest node from v is e hops away,
a node that is d hops from v is at least max(d, e - d) and at most e + d hops from its
own. A few sweeps over a path or a grid leave nothing between these bounds (Takes and
Kosters, 2013). From every node that is left a search is started, by compiled code that
gives the order in which it found the nodes, and from where. The node found last is a
farthest one; how far it is tells the way back, gone for many searches at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import NodeId
from dssfn.graph_links import Links

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Indices: TypeAlias = NDArray[np.intp]

FEW = 32  # hops from a node to all others; where both ways take equally long
SWEEPS = 128  # over the graph, before it is asked whether they pay
WORTH = 4  # searches that take as long as a sweep
BATCH = 10_000_000  # nodes found by searches side by side, four bytes each


def eccentricities(links: Links) -> tuple[int, ...]:
    """Return the number of hops from each node to the farthest of a connected graph.

    >>> path = Links.of_pairs(3, np.array([0, 1]), np.array([1, 2]))
    >>> eccentricities(path)
    (2, 1, 2)
    """
    if links.hops(0).max() <= FEW:
        return _by_sets(links)
    return _by_searches(links)


def _by_sets(links: Links) -> tuple[int, ...]:
    everybody = (1 << links.n_nodes) - 1
    reached = [_bits(links, node) for node in range(links.n_nodes)]  # by one hop
    found = [min(1, links.n_nodes - 1)] * links.n_nodes
    while far := [i for i, nodes in enumerate(reached) if nodes != everybody]:
        wider = reached.copy()
        for i in far:
            found[i] += 1
            for j in links[i].tolist():
                wider[i] |= reached[j]
                if wider[i] == everybody:
                    break
        reached = wider
    return tuple(found)


def _bits(links: Links, node: NodeId) -> int:
    """Return a node and its neighbours as the bits of a number."""
    is_near = np.zeros(links.n_nodes, dtype=np.bool_)
    is_near[links[node]] = is_near[node] = True
    return int.from_bytes(np.packbits(is_near, bitorder="little").tobytes(), "little")


def _by_searches(links: Links) -> tuple[int, ...]:
    from scipy.sparse import csr_array

    M = links.n_nodes
    arrays = (np.ones(len(links.ends)), links.ends, links.starts.astype(np.int32))
    graph = csr_array(arrays, (M, M))
    found, upper = _bounds(graph)
    left = np.flatnonzero(found < upper)
    size = max(1, BATCH // M)
    for first in range(0, len(left), size):
        batch = left[first : first + size]
        found[batch] = _search(graph, batch)
    return tuple(found.tolist())


def _bounds(graph: csr_array) -> tuple[Indices, Indices]:
    """Return the least and the most hops from each node to its farthest."""
    from scipy.sparse import csgraph

    M = graph.shape[0]
    lower, upper, left = np.zeros(M, dtype=np.intp), np.full(M, M), np.arange(M)
    is_worth_it = True
    while is_worth_it:
        n_before = len(left)
        for sweep in range(SWEEPS):
            if not len(left):
                break
            # In turn from the outskirts and from the middle of what is left.
            bounds = -upper if sweep % 2 == 0 else lower
            root = left[bounds[left].argmin()]
            hops = csgraph.dijkstra(graph, indices=root, unweighted=True)
            hops = hops.astype(np.intp)
            lower = np.maximum(lower, np.maximum(hops, hops.max() - hops))
            upper = np.minimum(upper, hops.max() + hops)
            left = np.flatnonzero(lower < upper)
        is_worth_it = n_before - len(left) > WORTH * SWEEPS
    return lower, upper


def _search(graph: csr_array, roots: Indices) -> Indices:
    """Return the hops from some nodes to those that are farthest from them."""
    from scipy.sparse import csgraph

    M = graph.shape[0]
    # Parents of all nodes in all searches, by their places in this array, which has one
    # row for each search. A root is its own parent.
    parents = np.empty((len(roots), M), dtype=np.int32)
    at = np.empty(len(roots), dtype=np.intp)
    for row, root in enumerate(roots.tolist()):
        order, found_from = csgraph.breadth_first_order(graph, root)
        found_from[root] = root
        np.add(found_from, row * M, out=parents[row])
        at[row] = row * M + order[-1]
    ends, back = np.arange(len(roots)) * M + roots, parents.ravel()
    hops = np.zeros(len(roots), dtype=np.intp)
    while (is_going := at != ends).any():
        hops += is_going
        at = back[at]
    return hops
