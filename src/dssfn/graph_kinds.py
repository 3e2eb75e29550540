"""The named kinds of graphs, each as its links.

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
from dssfn.graph_links import Links, check_edges

if TYPE_CHECKING:
    import networkx as nx

Pairs: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


def links_of(graph: nx.Graph) -> Links:
    """Return the links of a networkx graph, in its own order of nodes."""
    import networkx as nx

    rule = "`graph` must be undirected. Pass `graph.to_undirected()`."
    demand(not graph.is_directed(), rule)
    demand(len(graph) > 0, "`graph` must have at least one node, got none.")
    loop = next((repr(node) for node, _ in nx.selfloop_edges(graph)), "")
    rule = "`graph` must have no self-loops, but node"
    demand(not loop, f"{rule} {loop} is joined to itself. Remove that edge.")
    return Links.of_pairs(len(graph), *_numbered(graph))


def _numbered(graph: nx.Graph) -> Pairs:
    """Return the edges of a graph, its nodes numbered in their order."""
    place = {node: number for number, node in enumerate(graph)}
    pairs = [(place[a], place[b]) for a, b in graph.edges()]
    i, j = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return i, j


def _path(n_nodes: int) -> Links:
    i = np.arange(n_nodes - 1)
    return Links.of_pairs(n_nodes, i, i + 1)


def _star(n_nodes: int) -> Links:
    j = np.arange(1, n_nodes)
    return Links.of_pairs(n_nodes, np.zeros_like(j), j)


def _complete(n_nodes: int) -> Links:
    check_edges(n_nodes * (n_nodes - 1) // 2)
    return Links.of_pairs(n_nodes, *np.triu_indices(n_nodes, 1))


def _grid(n_nodes: int, *, periodic: bool = False) -> Links:
    n_rows = max(r for r in range(1, math.isqrt(n_nodes) + 1) if n_nodes % r == 0)
    nodes = np.arange(n_nodes).reshape(n_rows, -1)
    first, second = [nodes[:, :-1], nodes[:-1]], [nodes[:, 1:], nodes[1:]]
    if periodic:
        first, second = (
            [*first, nodes[:, 0], nodes[0]],
            [*second, nodes[:, -1], nodes[-1]],
        )
    i, j = (np.concatenate([part.ravel() for part in end]) for end in (first, second))
    is_edge = i != j  # a single row has nobody to close its columns with
    return Links.of_pairs(n_nodes, i[is_edge], j[is_edge])


def _hypercube(n_nodes: int) -> Links:
    power = n_nodes.bit_length() - 1
    rule = f"`n_nodes` must be a power of two for a hypercube, got {n_nodes}."
    demand(
        n_nodes == 2**power, f"{rule} The nearest are {2**power} and {2 * 2**power}."
    )
    check_edges(n_nodes * power // 2)
    i = np.tile(np.arange(n_nodes), power)
    return Links.of_pairs(n_nodes, i, i ^ np.repeat(1 << np.arange(power), n_nodes))


def _circular(n_nodes: int, degree: int | None, seed: int) -> Links:
    most = n_nodes // 2
    sides = min(1, most) if degree is None else whole("degree", degree, 1, most)
    check_edges(n_nodes * sides)
    i = np.tile(np.arange(n_nodes), sides)
    j = (i + np.repeat(np.arange(1, sides + 1), n_nodes)) % n_nodes
    return Links.of_pairs(n_nodes, i, j)


def _geometric(n_nodes: int, degree: int | None, seed: int) -> Links:
    wanted = 0 if degree is None else whole("degree", degree, 1, n_nodes - 1)
    n_wanted = math.ceil(n_nodes * wanted / 2)
    check_edges(n_wanted)
    points = np.random.default_rng(seed).random((n_nodes, 2))
    i, j, between, radius = _near(points, n_wanted)
    if wanted:
        radius = max(radius, float(np.partition(between, n_wanted - 1)[n_wanted - 1]))
    return Links.of_pairs(n_nodes, i[between <= radius], j[between <= radius])


def _near(points: Array, n_wanted: int) -> tuple[*Pairs, Array, float]:
    """Return pairs of near points, how far apart they are, and the radius they need.

    There are `n_wanted` pairs or more, and enough to connect all points, for which that
    radius is the smallest. All pairs within it are there.
    """
    from scipy.sparse import csgraph, csr_array
    from scipy.spatial import KDTree

    M, tree = len(points), KDTree(points)
    radius = math.sqrt(max(2 * n_wanted / M, math.log(M)) / (math.pi * M))
    while True:
        # A little more, so that nobody is left out by rounding.
        i, j = tree.query_pairs(radius * (1 + 1e-9), output_type="ndarray").T
        between: Array = np.sqrt(((points[i] - points[j]) ** 2).sum(axis=1))
        graph = csr_array((between, (i, j)), (M, M))
        is_connected = csgraph.connected_components(graph, directed=False)[0] == 1
        if len(i) >= n_wanted and is_connected:
            # The longest edge of the minimum spanning tree is what connects the last.
            longest = csgraph.minimum_spanning_tree(graph).data.max(initial=0.0)
            return i, j, between, float(longest)
        radius *= math.sqrt(2)  # twice as many pairs


def _regular(n_nodes: int, degree: int | None, seed: int) -> Links:
    import networkx as nx

    wanted = min(3 + n_nodes % 2, n_nodes - 1) if degree is None else degree
    wanted = whole("degree", wanted, min(2, n_nodes - 1), n_nodes - 1)
    rule = f"`n_nodes` x `degree` must be even, got {n_nodes} x {wanted}."
    demand(n_nodes * wanted % 2 == 0, f"{rule} Change either by one.")
    check_edges(n_nodes * wanted // 2)
    rng, others = random.Random(seed), n_nodes - 1 - wanted
    if others < wanted:  # too dense to draw fast: draw the pairs that are no edges
        drawn = nx.random_regular_graph(others, n_nodes, seed=rng)
        is_edge = np.ones((n_nodes, n_nodes), dtype=np.bool_)
        i, j = _numbered(drawn)
        is_edge[i, j] = is_edge[j, i] = False
        return Links.of_matrix(is_edge)
    while True:
        graph = nx.random_regular_graph(wanted, n_nodes, seed=rng)
        if nx.is_connected(graph):
            return links_of(graph)


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


FIXED: dict[str, Callable[[int], Links]] = {
    "path": _path,
    "star": _star,
    "complete": _complete,
    "grid": _grid,
    "torus": lambda n_nodes: _grid(n_nodes, periodic=True),
    "hypercube": _hypercube,
}
"""Graphs that are given by their number of nodes alone."""
SCALED: dict[str, Callable[[int, int | None, int], Links]] = {
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
