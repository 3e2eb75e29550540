"""The named kinds of graphs, each as its symmetric matrix of 0 and 1.

networkx and scipy's graphs are imported where they are used: most kinds need neither,
and a node that runs has little memory to spare.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.errors import TopologyError

if TYPE_CHECKING:
    import networkx as nx

Indices: TypeAlias = NDArray[np.intp]
Bools: TypeAlias = NDArray[np.bool_]


def adjacency(graph: nx.Graph) -> Array:
    """Return the matrix of 0 and 1 of a networkx graph, in its own order of nodes."""
    import networkx as nx

    rule = "`graph` must be undirected. Pass `graph.to_undirected()`."
    demand(not graph.is_directed(), rule)
    demand(len(graph) > 0, "`graph` must have at least one node, got none.")
    loop = next((repr(node) for node, _ in nx.selfloop_edges(graph)), "")
    rule = "`graph` must have no self-loops, but node"
    demand(not loop, f"{rule} {loop} is joined to itself. Remove that edge.")
    A: Array = np.sign(nx.to_numpy_array(graph, weight=None))  # parallel edges once
    return A


def _joined(n_nodes: int, pairs: Callable[[Indices, Indices], Bools]) -> Array:
    """Return the matrix of 0 and 1 of a graph, given which pairs of nodes it joins."""
    i = np.arange(n_nodes)
    A: Array = pairs(i[:, None], i[None, :]).astype(np.float64)
    np.fill_diagonal(A, 0.0)
    return A


def _grid(n_nodes: int, *, periodic: bool = False) -> Array:
    n_rows = max(r for r in range(1, math.isqrt(n_nodes) + 1) if n_nodes % r == 0)
    n_columns = n_nodes // n_rows

    def distance(i: Indices, j: Indices, length: int) -> Indices:
        apart: Indices = np.abs(i - j)
        return np.minimum(apart, length - apart) if periodic else apart

    def pairs(i: Indices, j: Indices) -> Bools:
        rows = distance(i // n_columns, j // n_columns, n_rows)
        columns = distance(i % n_columns, j % n_columns, n_columns)
        near: Bools = rows + columns == 1
        return near

    return _joined(n_nodes, pairs)


def _hypercube(n_nodes: int) -> Array:
    power = n_nodes.bit_length() - 1
    rule = f"`n_nodes` must be a power of two for a hypercube, got {n_nodes}."
    demand(n_nodes == 2**power, f"{rule} Near are {2**power} and {2 * 2**power}.")
    return _joined(n_nodes, lambda i, j: np.isin(i ^ j, 1 << np.arange(power)))


def _circular(n_nodes: int, degree: int | None, seed: int) -> Array:
    most = n_nodes // 2
    sides = min(1, most) if degree is None else whole("degree", degree, 1, most)

    def pairs(i: Indices, j: Indices) -> Bools:
        apart = np.abs(i - j)
        near: Bools = np.minimum(apart, n_nodes - apart) <= sides
        return near

    return _joined(n_nodes, pairs)


def _geometric(n_nodes: int, degree: int | None, seed: int) -> Array:
    from scipy.sparse import csgraph
    from scipy.spatial.distance import pdist, squareform

    between = squareform(pdist(np.random.default_rng(seed).random((n_nodes, 2))))
    # The longest edge of the minimum spanning tree is the least radius that connects.
    radius = csgraph.minimum_spanning_tree(between).data.max(initial=0.0)
    if degree is not None:  # the M zeros of the diagonal come first in the order
        n_links = n_nodes * whole("degree", degree, 1, n_nodes - 1)
        radius = max(radius, np.sort(between, axis=None)[n_nodes + n_links - 1])
    return _joined(n_nodes, lambda i, j: between <= radius)


def _regular(n_nodes: int, degree: int | None, seed: int) -> Array:
    import networkx as nx

    wanted = min(3 + n_nodes % 2, n_nodes - 1) if degree is None else degree
    wanted = whole("degree", wanted, min(2, n_nodes - 1), n_nodes - 1)
    rule = f"`n_nodes` x `degree` must be even, got {n_nodes} x {wanted}."
    demand(n_nodes * wanted % 2 == 0, f"{rule} Change either by one.")
    rng, others = random.Random(seed), n_nodes - 1 - wanted
    if others < wanted:  # too dense to draw fast: draw the pairs that are no edges
        drawn = nx.random_regular_graph(others, n_nodes, seed=rng)
        return adjacency(nx.complement(drawn))
    while True:
        graph = nx.random_regular_graph(wanted, n_nodes, seed=rng)
        if nx.is_connected(graph):
            return adjacency(graph)


def demand(kept: bool, message: str) -> None:
    """Raise a `TopologyError` if a rule is not kept."""
    if not kept:
        raise TopologyError(message)


def whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return a whole number within its bounds; `name` is for the error."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise TopologyError(f"`{name}` must be a whole number, got {value!r}.")
    bounds = f"be at least {low}" if high is None else f"lie in {low}..{high}"
    kept = low <= value and (high is None or value <= high)
    demand(bool(kept), f"`{name}` must {bounds}, got {value}.")
    return int(value)


FIXED: dict[str, Callable[[int], Array]] = {
    "path": lambda n_nodes: _joined(n_nodes, lambda i, j: np.abs(i - j) == 1),
    "star": lambda n_nodes: _joined(n_nodes, lambda i, j: (i == 0) | (j == 0)),
    "complete": lambda n_nodes: _joined(n_nodes, lambda i, j: i != j),
    "grid": _grid,
    "torus": lambda n_nodes: _grid(n_nodes, periodic=True),
    "hypercube": _hypercube,
}
"""Graphs that are given by their number of nodes alone."""
SCALED: dict[str, Callable[[int, int | None, int], Array]] = {
    "circular": _circular,
    "geometric": _geometric,
    "regular": _regular,
}
"""Graphs that also take a degree and a seed."""
_RING = "`circular` with degree=1, its default"
SYNONYMS = {
    **dict.fromkeys(("ring", "circle", "cycle"), _RING),
    **dict.fromkeys(("line", "chain"), "`path`"),
    **dict.fromkeys(("full", "clique", "fully-connected"), "`complete`"),
}
"""Other names of these kinds of graphs, and how to ask for them here."""
KINDS: tuple[str, ...] = (*SCALED, *FIXED)
"""The kinds of graphs that `build_topology` can build."""
