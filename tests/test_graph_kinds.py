"""Named graphs and edge lists: as matrices give them, and cheap where those are not."""

from __future__ import annotations

import re
import tracemalloc

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.config import Plan
from dssfn.consensus import Tree
from dssfn.errors import TopologyError
from dssfn.planning import settle
from dssfn.topology import (
    KINDS,
    Topology,
    build_topology,
    from_edges,
    metropolis,
    read_edge_list,
)
from tests.support.dense_graphs import dense_kind, dense_metropolis
from tests.support.strategies import seeds


def same_graph(topology, A):
    """Whether a topology is that of a matrix of 0 and 1, to the last bit."""
    around = [tuple(np.flatnonzero(row).tolist()) for row in A]
    edges = [(i, j) for i, others in enumerate(around) for j in others if i < j]
    graph = nx.from_numpy_array(A)
    assert [topology.neighbours(i) for i in range(len(A))] == around
    assert topology.edges() == edges
    assert topology.degrees == tuple(map(len, around))
    assert topology.n_links == 2 * len(edges)
    assert dict(enumerate(topology.eccentricities)) == nx.eccentricity(graph)
    assert "H" not in vars(topology)
    assert topology.H.tobytes() == dense_metropolis(A).tobytes()
    assert topology.H.tobytes() == Topology(topology.H, "again").H.tobytes()
    tree, centre = Tree(topology), nx.center(graph)
    assert tree.roots == centre
    assert tree.branches(1).levels == tuple(
        nx.single_source_shortest_path_length(graph, centre[1 % len(centre)])[i]
        for i in range(len(A))
    )
    # A parent is the first to be met: breadth first, neighbours ascending.
    root = centre[1 % len(centre)]
    parents = dict(nx.bfs_predecessors(graph, root, sort_neighbors=sorted))
    assert tree.branches(1).parents == tuple(parents.get(i, -1) for i in range(len(A)))
    return True


@settings(derandomize=True, max_examples=150)
@given(st.sampled_from(KINDS), st.integers(1, 40), seeds, st.data())
def test_every_kind_is_what_its_matrix_says(kind, n_nodes, seed, data):
    degree = None
    if kind == "hypercube":
        n_nodes = 1 << n_nodes % 6
    if kind in ("circular", "geometric", "regular") and n_nodes > 2:
        most = n_nodes // 2 if kind == "circular" else n_nodes - 1
        degrees = range(1 + (kind == "regular"), most + 1)
        even = [d for d in degrees if kind != "regular" or n_nodes * d % 2 == 0]
        degree = data.draw(st.none() | st.sampled_from(even))
    topology = build_topology(kind, n_nodes, degree=degree, seed=seed)
    assert same_graph(topology, dense_kind(kind, n_nodes, degree, seed))


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_the_same_where_sums_are_made_in_parts(kind):
    # numpy adds up more than 128 numbers in parts, which decides about the last bit.
    n_nodes = 512 if kind == "hypercube" else 390
    assert same_graph(build_topology(kind, n_nodes), dense_kind(kind, n_nodes))


@settings(derandomize=True)
@given(st.integers(1, 40), st.floats(0, 0.5), seeds)
def test_edges_in_any_order_and_direction_give_the_graph(n_nodes, density, seed):
    rng = np.random.default_rng(seed)
    A = (rng.random((n_nodes, n_nodes)) < density).astype(float)
    A[np.arange(n_nodes - 1), np.arange(1, n_nodes)] = 1
    np.fill_diagonal(A, 0)
    edges = rng.permutation(np.argwhere(A)).tolist()
    A = np.maximum(A, A.T)
    assert same_graph(from_edges(n_nodes, edges), A)
    assert metropolis(A).tobytes() == dense_metropolis(A).tobytes()


@pytest.mark.parametrize(
    ("n_nodes", "edges", "message"),
    [
        (3, [(0, 1), (1, 3)], "two different nodes of 0..2, got (1, 3)"),
        (3, [(0, 1), (-1, 1)], "two different nodes of 0..2, got (-1, 1)"),
        (3, [(0, 1), (2, 2)], "two different nodes of 0..2, got (2, 2)"),
        (3, [(0, 1.5)], "pairs of whole numbers, got an array of float64"),
        (
            3,
            [(0, 1, 2)],
            "pairs of whole numbers, got an array of int64 of shape (1, 3)",
        ),
        (0, [], "`n_nodes` must be at least 1, got 0"),
        (3, [], "must be connected, but has 3 components; node 0"),
        (5, [(3, 4), (1, 0), (1, 2)], "but has 2 components; node 3"),
    ],
)
def test_edges_that_make_no_graph_are_refused(n_nodes, edges, message):
    with pytest.raises(TopologyError, match=re.escape(message)):
        from_edges(n_nodes, edges)


@pytest.mark.parametrize(
    ("kind", "degree", "n_edges"),
    [
        ("complete", None, "49,995,000"),
        ("circular", 5000, "50,000,000"),
        ("geometric", 9000, "45,000,000"),
        ("regular", 9998, "49,990,000"),
    ],
)
def test_more_edges_than_memory_should_be_taken_for_are_refused(kind, degree, n_edges):
    rule = f"at most 20,000,000 edges, got {n_edges}. Use fewer nodes, or fewer neigh"
    with pytest.raises(TopologyError, match=re.escape(rule)):
        build_topology(kind, 10_000, degree=degree)


# --------------------------------------------------------------- ten thousand nodes

M = 10_000
RING = [(i, (i + 1) % M) for i in range(M)]


def read_ring(tmp_path):
    file = tmp_path / "ring.txt"
    file.write_text("".join(f"{i} {j}\n" for i, j in RING))
    return read_edge_list(file)


@pytest.mark.parametrize(
    ("make", "n_links", "depth", "n_roots"),
    [
        pytest.param(
            lambda _: build_topology("circular", M), 2 * M, 5000, M, id="ring"
        ),
        pytest.param(
            lambda _: build_topology("circular", M, degree=4), 8 * M, 1250, M, id="wide"
        ),
        pytest.param(
            lambda _: build_topology("path", M), 2 * M - 2, 5000, 2, id="path"
        ),
        pytest.param(lambda _: build_topology("star", M), 2 * M - 2, 1, 1, id="star"),
        pytest.param(lambda _: build_topology("grid", M), 39600, 100, 4, id="grid"),
        pytest.param(lambda _: build_topology("torus", M), 4 * M, 100, M, id="torus"),
        pytest.param(
            lambda _: build_topology("hypercube", 8192), 13 * 8192, 13, 8192, id="cube"
        ),
        pytest.param(
            lambda _: build_topology("regular", M), 3 * M, None, None, id="reg"
        ),
        pytest.param(
            lambda _: build_topology("geometric", M, degree=12),
            None,
            None,
            None,
            id="geo",
        ),
        pytest.param(read_ring, 2 * M, 5000, M, id="file"),
    ],
)
def test_ten_thousand_nodes_take_little_memory_and_no_matrix(
    make, n_links, depth, n_roots, tmp_path
):
    tracemalloc.start()
    try:
        topology = make(tmp_path)
        plan = Plan(n_features=3, classes=(0, 1), consensus="tree")
        tree = settle(plan, topology)[1]
        average = tree.mix(np.arange(topology.n_nodes, dtype=float)[:, None], step=1)
        edges, most = topology.edges(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert not {"H", "eigenvalues"} & vars(topology).keys()
    assert most < 200e6  # the matrix alone would take 800 MB
    assert 2 * len(edges) == topology.n_links
    np.testing.assert_allclose(average, (topology.n_nodes - 1) / 2)
    assert sorted(tree.order(1)) == list(range(topology.n_nodes))
    assert tree.depth == min(topology.eccentricities) >= topology.diameter / 2
    if n_links is not None:
        assert topology.n_links == n_links
    if depth is not None:
        assert (tree.depth, len(tree.roots)) == (depth, n_roots)
