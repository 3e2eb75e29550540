"""Graphs, and the mixing matrices that average over them.

One round of gossip is ``x <- H x``: every node takes a weighted mean of its own value
and its neighbours'. `H` is symmetric with rows that sum to 1, so the network's mean
never changes; its diagonal is positive and the graph connected, so all eigenvalues but
one lie inside (-1, 1) and the disagreement dies out. `Topology` checks this once.

A graph is kept as its links. `H` is a matrix of all nodes by all nodes, 800 MB for ten
thousand of them, and is made when somebody asks for it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from dssfn._typing import Array, NodeId
from dssfn.eccentricity import eccentricities
from dssfn.errors import TopologyError
from dssfn.graph_kinds import (
    FIXED,
    SCALED,
    SYNONYMS,
    demand,
    links_of,
    whole,
)
from dssfn.graph_kinds import KINDS as KINDS
from dssfn.graph_links import Links
from dssfn.hints import unknown

if TYPE_CHECKING:
    import networkx as nx

# Rounding stays near 1e-16; `eigvalsh` reads one triangle, so more would mislead it.
_SYMMETRY_TOL = 1e-12
LARGEST_SPECTRUM = 3_000
"""The most nodes for which schemes of the spectrum are weighed: half a minute there."""
_ROW_SUM_TOL = 1e-9  # room for weights that were written with ten digits
_EDGE = re.compile(r"([+-]?\d{1,18})(?:\s*,\s*|\s+)([+-]?\d{1,18})", re.ASCII)


@dataclass(frozen=True, eq=False, init=False)
class Topology:
    """A connected graph on the nodes 0..M-1 with its mixing matrix.

    `H` has shape (M, M): symmetric, non-negative, positive diagonal, rows that sum to
    1, connected; a positive ``H[i, j]`` is the edge between i and j. It is kept as a
    read-only copy. `name` is what reports call the graph.

    >>> pair = Topology([[0.75, 0.25], [0.25, 0.75]], name="pair")
    >>> pair.neighbours(0), pair.contraction
    ((1,), 0.5)
    """

    links: Links = field(repr=False)
    name: str

    def __init__(self, H: ArrayLike, name: str) -> None:
        H = _checked_mixing(_square("H", H))
        H.setflags(write=False)
        self._set(Links.of_matrix(H), name)
        vars(self)["H"] = H

    @classmethod
    def of_links(cls, links: Links, name: str) -> Self:
        """Return a connected graph with Metropolis-Hastings weights."""
        topology = cls.__new__(cls)
        topology._set(links, name)
        return topology

    def _set(self, links: Links, name: str) -> None:
        _check_connected(links)
        object.__setattr__(self, "links", links)
        object.__setattr__(self, "name", name)

    @cached_property
    def H(self) -> Array:
        """The mixing matrix, made when it is first asked for."""
        H = _metropolis(self.links)
        H.setflags(write=False)
        return H

    @property
    def n_nodes(self) -> int:
        """The number of nodes, M."""
        return self.links.n_nodes

    @property
    def n_links(self) -> int:
        """The number of directed links: twice the number of edges."""
        return len(self.links.ends)

    @cached_property
    def degrees(self) -> tuple[int, ...]:
        """The number of neighbours of each node."""
        return tuple(self.links.degrees.tolist())

    def neighbours(self, node: NodeId) -> tuple[NodeId, ...]:
        """Return the nodes that share an edge with `node`, sorted, without itself."""
        return tuple(self.links[whole("node", node, 0, self.n_nodes - 1)].tolist())

    def edges(self) -> list[tuple[NodeId, NodeId]]:
        """Return every edge once, as (i, j) with i < j, sorted."""
        i, j = self.links.arcs()
        once = i < j
        return list(zip(i[once].tolist(), j[once].tolist(), strict=True))

    @cached_property
    def eigenvalues(self) -> Array:
        """The eigenvalues of `H`, largest first; the first is 1."""
        values: Array = np.linalg.eigvalsh(self.H)[::-1].astype(np.float64)
        values.setflags(write=False)
        return values

    @property
    def contraction(self) -> float:
        """The share of disagreement that a round leaves at most.

        It is the largest absolute value of the eigenvalues other than 1.
        """
        return float(np.abs(self.eigenvalues[1:]).max(initial=0.0))

    @property
    def spectral_gap(self) -> float:
        """One minus the second largest eigenvalue of `H`; 1 for one node."""
        return 1.0 - float(self.eigenvalues[1]) if self.n_nodes > 1 else 1.0

    @cached_property
    def eccentricities(self) -> tuple[int, ...]:
        """The number of hops from each node to the one that is farthest from it."""
        return eccentricities(self.links)

    @property
    def diameter(self) -> int:
        """The largest number of hops between any two nodes; 0 for one node."""
        return max(self.eccentricities)


def metropolis(graph_or_adjacency: nx.Graph | ArrayLike) -> Array:
    """Return the Metropolis-Hastings weights of a graph, shape (M, M).

    Takes an undirected networkx graph, or its symmetric matrix of 0 and 1. An edge
    weighs ``1 / (1 + max(deg_i, deg_j))`` and the diagonal takes the rest. In a regular
    graph every weight is the same float: the paper's ``1 / (2 d + 1)``.

    >>> metropolis([[0, 1], [1, 0]]).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    if _is_graph(graph_or_adjacency):
        return _metropolis(links_of(graph_or_adjacency))
    A = _square("graph_or_adjacency", graph_or_adjacency)
    kept = np.isin(A, (0, 1)).all() and (A == A.T).all() and not A.trace()
    rule = "`graph_or_adjacency` must be a symmetric matrix of 0 and 1"
    demand(bool(kept), f"{rule} with a zero diagonal; for weights pass `W > 0`.")
    return _metropolis(Links.of_matrix(A))


def _metropolis(links: Links) -> Array:
    own = 1.0 / (1.0 + links.degrees)  # (M,) 1 / (1 + deg_i)
    H = np.zeros((links.n_nodes, links.n_nodes))
    for i, others in enumerate(links):
        H[i, others] = np.minimum(own[i], own[others])
        less = np.zeros_like(own)  # (M,) what the edges weigh less than an own share
        less[others] = own[i] - H[i, others]
        # The same as 1 less the row's sum, but exact in a regular graph and never zero.
        H[i, i] = own[i] + less.sum()
    return H


def build_topology(
    kind: str, n_nodes: int, *, degree: int | None = None, seed: int = 0
) -> Topology:
    """Return a graph of a named kind, with Metropolis-Hastings weights.

    Parameters
    ----------
    kind : str
        - "circular": the paper's ring; each node is joined to `degree` neighbours on
          either side (default 1; at the largest, ``n_nodes // 2``, it is complete).
        - "geometric": random points in the unit square, joined within the smallest
          radius that connects them and brings the mean degree to `degree`, if given.
        - "regular": random expander in which all nodes have `degree` neighbours
          (default 3, or 4 if `n_nodes` is odd; fewer if there are too few nodes).
        - "path", "complete", "star" (node 0 is the hub); "hypercube" for powers of 2;
          "grid" and "torus", as square as `n_nodes` allows.
    n_nodes, degree, seed : int
        `degree` is for the first three kinds; `seed` fixes the two random ones.

    Returns
    -------
    Topology
        The graph with its mixing matrix.

    Raises
    ------
    TopologyError
        If there is no such kind, or it cannot have so many nodes or neighbours.

    Examples
    --------
    >>> build_topology("circular", 20, degree=4).degrees[0]
    8
    """
    if kind not in KINDS:
        raise TopologyError(unknown("kind", kind, KINDS, SYNONYMS))
    n_nodes, seed = whole("n_nodes", n_nodes, 1), whole("seed", seed, 0)
    takers = f"it is for {', '.join(SCALED)} with two nodes or more"
    rule = f"`degree` must be left out for {kind} with {n_nodes} nodes, got {degree!r}"
    demand(degree is None or (kind in SCALED and n_nodes > 1), f"{rule}: {takers}.")
    if kind in FIXED:
        return Topology.of_links(FIXED[kind](n_nodes), kind)
    name = kind if degree is None else f"{kind}(degree={degree})"
    return Topology.of_links(SCALED[kind](n_nodes, degree, seed), name)


def from_graph(graph: nx.Graph) -> Topology:
    """Return any undirected networkx graph with Metropolis-Hastings weights.

    Nodes keep the graph's order; edge weights and parallel edges are ignored.

    >>> import networkx as nx
    >>> from_graph(nx.petersen_graph()).diameter
    2
    """
    rule = "`graph` must be a networkx.Graph (for a mixing matrix use `from_matrix`)"
    demand(_is_graph(graph), f"{rule}, got {type(graph).__name__}.")
    return Topology.of_links(links_of(graph), str(graph.name or "graph"))


def from_edges(
    n_nodes: int, edges: Iterable[tuple[NodeId, NodeId]], name: str = "edges"
) -> Topology:
    """Return the graph with these edges, with Metropolis-Hastings weights.

    >>> from_edges(3, [(0, 1), (2, 1)]).edges()
    [(0, 1), (1, 2)]
    """
    n_nodes = whole("n_nodes", n_nodes, 1)
    pairs = np.array(list(edges) or np.empty((0, 2), dtype=np.intp))
    rule = "`edges` must be pairs of whole numbers"
    kept = pairs.dtype.kind in "iu" and pairs.ndim == 2 and pairs.shape[1] == 2
    demand(kept, f"{rule}, got an array of {pairs.dtype} of shape {pairs.shape}.")
    i, j = pairs.astype(np.intp).T
    is_wrong = (pairs.min(axis=1) < 0) | (pairs.max(axis=1) >= n_nodes) | (i == j)
    rule = f"`edges` must join two different nodes of 0..{n_nodes - 1}"
    for edge in pairs[is_wrong].tolist():
        raise TopologyError(f"{rule}, got {tuple(edge)}.")
    return Topology.of_links(Links.of_pairs(n_nodes, i, j), name)


def from_matrix(H: ArrayLike) -> Topology:
    """Return the topology of your own mixing matrix.

    `Topology` lists the rules that it must keep.

    >>> from_matrix([[0.75, 0.25], [0.25, 0.75]]).spectral_gap
    0.5
    """
    return Topology(_square("H", H), "matrix")


def read_matrix(path: str | Path, n_nodes: int | None = None) -> Topology:
    """Read your own mixing matrix (n_nodes, n_nodes) from a NumPy ``.npy`` file.

    Left out, `n_nodes` is what the file has.
    """
    try:
        # Mapped at first, because then its length is compared with the file's.
        H = np.array(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError) as exc:
        raise TopologyError(f"{path}: cannot be read as a .npy array: {exc}.") from exc
    try:
        topology = Topology(_square("H", H), Path(path).stem)
    except TopologyError as exc:
        raise TopologyError(f"{path}: {exc}") from exc
    rule = f"{path}: `H` must have one row for each of `n_nodes`={n_nodes} nodes"
    kept = n_nodes in (None, topology.n_nodes)
    demand(kept, f"{rule}, got {topology.n_nodes}.")
    return topology


def read_edge_list(path: str | Path, n_nodes: int | None = None) -> Topology:
    """Read a graph from a text file, with Metropolis-Hastings weights.

    The file is UTF-8 with an edge a line: two of the numbers 0..n_nodes-1, separated by
    blanks or a comma. Blank lines, ``# comments`` and repeated edges are ignored. Left
    out, `n_nodes` is one more than the largest number.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "line.txt")
    ...     _ = file.write_text("0 1  # the first link\\n1, 2\\n")
    ...     read_edge_list(file).edges()
    [(0, 1), (1, 2)]
    """
    path = Path(path)
    if n_nodes is not None:
        n_nodes = whole("n_nodes", n_nodes, 1)
    edges = list(_read_edges(path, n_nodes))
    if n_nodes is None:
        n_nodes = _count_nodes(path, edges)
    try:
        return from_edges(n_nodes, edges, path.stem)
    except TopologyError as exc:  # in pieces
        raise TopologyError(f"{path}: {exc}") from exc


def _read_edges(path: Path, n_nodes: int | None) -> Iterator[tuple[NodeId, NodeId]]:
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors put a mark in front
    except (OSError, UnicodeError) as exc:
        raise TopologyError(f"{path}: cannot be read as UTF-8 text: {exc}.") from exc
    for number, line in enumerate(text.split("\n"), start=1):
        if not (edge := line.partition("#")[0].strip()):
            continue
        came = f"got {edge[:60]!r} in {path}, line {number}."
        match = _EDGE.fullmatch(edge)
        if match is None:
            rule = "An edge must be two whole numbers, separated by spaces or a comma"
            raise TopologyError(f"{rule}, {came}")
        i, j = int(match[1]), int(match[2])
        rule = "not be negative"
        if n_nodes is not None:
            rule = f"lie in 0..{n_nodes - 1} (`n_nodes`)"
        known = min(i, j) >= 0 and (n_nodes is None or max(i, j) < n_nodes)
        demand(known, f"Nodes must {rule}, {came}")
        demand(i != j, f"An edge must join two different nodes, {came}")
        yield i, j


def _count_nodes(path: Path, edges: Iterable[tuple[NodeId, NodeId]]) -> int:
    """Return how many nodes the edges have, before memory is taken for them."""
    nodes = {node for edge in edges for node in edge}
    demand(bool(nodes), f"{path}: a graph must have at least one edge, got none.")
    gap = next(node for node in range(len(nodes) + 1) if node not in nodes)
    rule = f"{path}: nodes must be numbered from 0 without gaps"
    demand(gap == len(nodes), f"{rule}, but no edge has node {gap}.")
    return len(nodes)


def _square(name: str, value: object) -> Array:
    """Return a copy of `value` as a float matrix of shape (M, M)."""
    try:
        raw = np.asarray(value)
    except ValueError as exc:  # rows of different lengths
        raise TopologyError(f"`{name}` must be square, got ragged rows.") from exc
    rule = f"`{name}` must be a dense array of real numbers, got {type(value).__name__}"
    demand(raw.dtype.kind in "biuf", f"{rule} of {raw.dtype}.")
    square = raw.ndim == 2 and raw.shape[0] == raw.shape[1] > 0
    demand(square, f"`{name}` must be square and not empty, got shape {raw.shape}.")
    return raw.astype(np.float64)


def _checked_mixing(H: Array) -> Array:
    """Return an exactly symmetric copy of an `H` that keeps every rule."""
    i, j = divmod(int(np.isfinite(H).argmin()), len(H))
    rule = f"`H` must be finite, but H[{i}, {j}] is {H[i, j]}."
    demand(bool(np.isfinite(H[i, j])), f"{rule} Put 0 where there is no edge.")
    i, j = divmod(int(H.argmin()), len(H))
    rule = f"`H` must not be negative, but H[{i}, {j}] is {H[i, j]}."
    demand(H[i, j] >= 0, f"{rule} Weights are shares of a mean.")
    i, j = divmod(int(np.abs(H - H.T).argmax()), len(H))
    rule = f"`H` must be symmetric to {_SYMMETRY_TOL:g}, but H[{i}, {j}] is"
    pair = f"{H[i, j]} and H[{j}, {i}] is {H[j, i]}. `metropolis` gives such weights."
    demand(abs(H[i, j] - H[j, i]) <= _SYMMETRY_TOL, f"{rule} {pair}")
    i = int(H.diagonal().argmin())
    rule = f"`H` must have a positive diagonal, but H[{i}, {i}] is 0."
    demand(H[i, i] > 0, f"{rule} `(H + I) / 2` would give each node a share.")
    sums = H.sum(axis=1)
    i = int(np.abs(sums - 1).argmax())
    rule = f"`H` must have rows that sum to 1 within {_ROW_SUM_TOL:g}, but row {i} sums"
    kept = bool(abs(sums[i] - 1) <= _ROW_SUM_TOL)
    demand(kept, f"{rule} to {sums[i]}. Put the difference on its diagonal.")
    # A tiny entry without its mirror image would be a link that one end alone knows.
    return (H + H.T) / 2


def _check_connected(links: Links) -> None:
    parts = links.components()
    _, node = min(parts)
    rule = f"The graph must be connected, but has {len(parts)} components; node {node}"
    kept = len(parts) == 1
    demand(kept, f"{rule} is in one of the smaller ones. Add an edge between them.")


def _is_graph(value: object) -> TypeGuard[nx.Graph]:
    # Nobody has a graph of networkx without having imported it.
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(value, networkx.Graph)
