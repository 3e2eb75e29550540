from __future__ import annotations

import math
import re
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.errors import InputError, TopologyError
from dssfn.topology import (
    KINDS,
    Topology,
    build_topology,
    from_graph,
    from_matrix,
    metropolis,
    read_edge_list,
)

many = settings(derandomize=True, max_examples=120)
seeds = st.integers(0, 2**32)


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    kind = draw(st.sampled_from(KINDS))
    n_nodes = draw(st.integers(1, 33))
    degree = None
    if kind == "hypercube":
        n_nodes = 2 ** draw(st.integers(0, 5))
    elif kind == "circular" and n_nodes > 1:
        degree = draw(st.none() | st.integers(1, n_nodes // 2))
    elif kind == "geometric" and n_nodes > 1:
        degree = draw(st.none() | st.integers(1, n_nodes - 1))
    elif kind == "regular" and n_nodes > 2:
        degrees = [d for d in range(2, n_nodes) if n_nodes * d % 2 == 0]
        degree = draw(st.none() | st.sampled_from(degrees))
    return build_topology(kind, n_nodes, degree=degree, seed=draw(seeds))


def edges_of(graph: nx.Graph) -> set[frozenset[int]]:
    place = {node: i for i, node in enumerate(graph)}
    return {frozenset((place[u], place[v])) for u, v in graph.edges()}


# ---------------------------------------------------------------- laws of every kind


@many
@given(topologies())
def test_every_mixing_matrix_is_symmetric_and_doubly_stochastic(topology):
    H = topology.H
    assert np.array_equal(H, H.T)
    assert (H >= 0).all()
    # A sum of at most 33 shares: a few roundings of 1e-16.
    np.testing.assert_allclose(H.sum(axis=0), 1, atol=1e-14)
    np.testing.assert_allclose(H.sum(axis=1), 1, atol=1e-14)


@many
@given(topologies())
def test_weights_are_positive_exactly_on_the_edges_and_the_diagonal(topology):
    expected = np.eye(topology.n_nodes, dtype=bool)
    for i, j in topology.edges():
        assert i < j
        expected[i, j] = expected[j, i] = True
    assert np.array_equal(topology.H > 0, expected)


@many
@given(topologies())
def test_neighbours_edges_degrees_and_links_tell_the_same_story(topology):
    around = [topology.neighbours(i) for i in range(topology.n_nodes)]
    assert all(list(nodes) == sorted(set(nodes)) for nodes in around)
    assert all(i not in nodes for i, nodes in enumerate(around))
    pairs = {(i, j) for i, nodes in enumerate(around) for j in nodes if i < j}
    assert topology.edges() == sorted(pairs)
    assert topology.degrees == tuple(len(nodes) for nodes in around)
    assert topology.n_links == 2 * len(pairs) == sum(topology.degrees)


@many
@given(topologies(), seeds)
def test_a_round_keeps_the_mean_and_shrinks_disagreement_by_the_contraction(
    topology, seed
):
    x = np.random.default_rng(seed).normal(size=(topology.n_nodes, 3))
    after = topology.H @ x
    np.testing.assert_allclose(after.mean(axis=0), x.mean(axis=0), atol=1e-14)
    before = np.linalg.norm(x - x.mean(axis=0))
    left = np.linalg.norm(after - x.mean(axis=0))
    assert left <= topology.contraction * before + 1e-13  # rounding of both sides


@many
@given(topologies(), seeds)
def test_repeated_rounds_converge_to_the_mean_at_every_node(topology, seed):
    x = np.random.default_rng(seed).normal(size=topology.n_nodes)
    n_rounds = math.ceil(math.log(1e-12) / math.log(max(topology.contraction, 0.1)))
    after = np.linalg.matrix_power(topology.H, n_rounds) @ x
    # The power's own rounding grows with the number of rounds, at most 1e4 here.
    np.testing.assert_allclose(after, x.mean(), atol=1e-10)


@many
@given(topologies())
def test_eigenvalues_descend_from_one_and_stay_above_minus_one(topology):
    values = topology.eigenvalues
    assert (np.diff(values) <= 0).all()
    assert values[0] == pytest.approx(1, abs=1e-13)
    assert values[-1] > -1
    assert 0 <= topology.contraction < 1
    assert topology.spectral_gap >= 1 - topology.contraction - 1e-15
    if topology.n_nodes > 1:
        assert topology.spectral_gap == 1 - values[1]
        assert topology.contraction == max(abs(values[1]), abs(values[-1]))


@many
@given(topologies())
def test_diameter_equals_the_longest_of_all_shortest_paths(topology):
    graph = nx.empty_graph(topology.n_nodes)
    graph.add_edges_from(topology.edges())
    assert topology.diameter == nx.diameter(graph)


# ------------------------------------------------------------------- metropolis weights


@many
@given(st.integers(1, 12), st.floats(0, 1), seeds)
def test_metropolis_weighs_an_edge_by_its_busier_end(n_nodes, density, seed):
    graph = nx.gnp_random_graph(n_nodes, density, seed=seed)
    H = metropolis(graph)
    for i in graph:
        for j in set(graph) - {i}:
            busier = max(graph.degree[i], graph.degree[j])
            assert H[i, j] == (1 / (1 + busier) if graph.has_edge(i, j) else 0)
    np.testing.assert_allclose(H.sum(axis=1), 1, atol=1e-14)
    assert np.array_equal(H, metropolis(nx.to_numpy_array(graph)))


@many
@given(st.integers(2, 40), st.data())
def test_circular_weights_are_exactly_the_papers(n_nodes, data):
    degree = data.draw(st.integers(1, n_nodes // 2))
    H = build_topology("circular", n_nodes, degree=degree).H
    i, j = np.indices(H.shape)
    hops = np.minimum((i - j) % n_nodes, (j - i) % n_nodes)
    weight = 1 / min(2 * degree + 1, n_nodes)  # at the largest degree: 1 / M
    assert np.array_equal(H, np.where(hops <= degree, weight, 0.0))


@pytest.mark.parametrize("n_nodes", [1, 2, 3, 7, 10, 49])
def test_complete_weights_are_exactly_one_over_the_number_of_nodes(n_nodes):
    assert np.array_equal(
        build_topology("complete", n_nodes).H, np.full((n_nodes, n_nodes), 1 / n_nodes)
    )


@pytest.mark.parametrize(
    ("adjacency", "rule"),
    [
        ([[0, 1, 0], [1, 0, 1]], "square"),
        ([[0, 1], [0, 0]], "symmetric matrix of 0 and 1 with a zero diagonal"),
        ([[0, 0.5], [0.5, 0]], "symmetric matrix of 0 and 1 with a zero diagonal"),
        ([[1, 1], [1, 0]], "symmetric matrix of 0 and 1 with a zero diagonal"),
        ([[0, math.nan], [math.nan, 0]], "symmetric matrix of 0 and 1"),
        (np.zeros((0, 0)), "square and not empty"),
        ("ring", "real numbers"),
    ],
)
def test_metropolis_refuses_what_is_no_adjacency_matrix(adjacency, rule):
    with pytest.raises(TopologyError, match=f"`graph_or_adjacency` must be .*{rule}"):
        metropolis(adjacency)


# --------------------------------------------------------------------------- the kinds


@many
@given(st.integers(2, 40), st.data())
def test_circular_contraction_equals_its_closed_form(n_nodes, data):
    degree = data.draw(st.integers(1, max(1, (n_nodes - 1) // 2)))
    topology = build_topology("circular", n_nodes, degree=degree)
    if 2 * degree < n_nodes:
        k = np.arange(1, n_nodes)[:, None]
        waves = np.cos(2 * np.pi * k * np.arange(1, degree + 1) / n_nodes)
        values = (1 + 2 * waves.sum(axis=1)) / (2 * degree + 1)
        assert topology.contraction == pytest.approx(np.abs(values).max(), abs=1e-13)
    else:  # two nodes: complete
        assert topology.contraction == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("n_nodes", range(2, 15))
def test_circular_at_the_largest_degree_is_complete(n_nodes):
    ring = build_topology("circular", n_nodes, degree=n_nodes // 2)
    assert np.array_equal(ring.H, build_topology("complete", n_nodes).H)
    assert ring.contraction == pytest.approx(0, abs=1e-15)
    assert ring.diameter == 1


def test_circular_degree_is_one_by_default():
    assert np.array_equal(
        build_topology("circular", 9).H, build_topology("circular", 9, degree=1).H
    )


@pytest.mark.parametrize("n_nodes", [1, 2, 3, 8])
def test_path_and_star_are_the_trees_of_their_names(n_nodes):
    ends = list(range(1, n_nodes))
    path, star = build_topology("path", n_nodes), build_topology("star", n_nodes)
    assert path.edges() == [(i - 1, i) for i in ends]
    assert star.edges() == [(0, i) for i in ends]
    assert path.diameter == n_nodes - 1
    assert star.diameter == min(2, n_nodes - 1)


@pytest.mark.parametrize(
    ("n_nodes", "rows", "columns"),
    [(1, 1, 1), (2, 1, 2), (4, 2, 2), (6, 2, 3), (7, 1, 7), (12, 3, 4), (16, 4, 4)],
)
def test_grid_and_torus_are_as_square_as_the_number_of_nodes_allows(
    n_nodes, rows, columns
):
    cells = [divmod(i, columns) for i in range(n_nodes)]
    grid, torus = set(), set()
    for i, (r, c) in enumerate(cells):
        for j, (s, d) in enumerate(cells):
            down, across = abs(r - s), abs(c - d)
            if i < j and down + across == 1:
                grid.add((i, j))
            if i < j and min(down, rows - down) + min(across, columns - across) == 1:
                torus.add((i, j))
    assert build_topology("grid", n_nodes).edges() == sorted(grid)
    assert build_topology("torus", n_nodes).edges() == sorted(torus)


@pytest.mark.parametrize("power", range(7))
def test_hypercube_joins_numbers_that_differ_in_one_bit(power):
    topology = build_topology("hypercube", 2**power)
    assert all((i ^ j).bit_count() == 1 for i, j in topology.edges())
    assert topology.degrees == (power,) * 2**power
    assert topology.diameter == power
    # H = (I + A) / (p + 1), and A has p - 2 k, as often as k bits out of p can be set.
    expected = [
        1 - 2 * k / (power + 1)
        for k in range(power + 1)
        for _ in range(math.comb(power, k))
    ]
    np.testing.assert_allclose(topology.eigenvalues, expected, atol=1e-13)


@many
@given(st.integers(2, 30), seeds)
def test_geometric_without_a_degree_has_no_edge_to_spare_at_its_radius(n_nodes, seed):
    topology = build_topology("geometric", n_nodes, seed=seed)
    points = np.random.default_rng(seed).random((n_nodes, 2))
    length = {(i, j): math.dist(points[i], points[j]) for i, j in topology.edges()}
    radius = max(length.values())
    graph = nx.empty_graph(n_nodes)
    graph.add_edges_from(edge for edge, d in length.items() if d < radius * (1 - 1e-12))
    assert not nx.is_connected(graph)  # a smaller radius would not connect
    for i in range(n_nodes):
        for j in set(range(i + 1, n_nodes)) - set(topology.neighbours(i)):
            assert math.dist(points[i], points[j]) > radius * (1 - 1e-12)


@many
@given(st.integers(2, 30), seeds, st.data())
def test_geometric_with_a_degree_reaches_that_mean_degree(n_nodes, seed, data):
    degree = data.draw(st.integers(1, n_nodes - 1))
    least = build_topology("geometric", n_nodes, seed=seed)
    topology = build_topology("geometric", n_nodes, degree=degree, seed=seed)
    assert np.mean(topology.degrees) >= degree
    assert set(least.edges()) <= set(topology.edges())
    # No more edges than either reason asks for.
    wanted = math.ceil(n_nodes * degree / 2)
    assert len(topology.edges()) == max(wanted, len(least.edges()))


@many
@given(st.integers(3, 30), seeds, st.data())
def test_regular_gives_every_node_the_same_degree(n_nodes, seed, data):
    degrees = [d for d in range(2, n_nodes) if n_nodes * d % 2 == 0]
    degree = data.draw(st.sampled_from(degrees))
    topology = build_topology("regular", n_nodes, degree=degree, seed=seed)
    assert topology.degrees == (degree,) * n_nodes
    assert set(np.unique(topology.H)) <= {0.0, 1 / (degree + 1)}


@pytest.mark.parametrize(
    ("n_nodes", "degree"), [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (6, 3), (9, 4)]
)
def test_regular_picks_a_degree_that_exists_by_default(n_nodes, degree):
    assert build_topology("regular", n_nodes).degrees == (degree,) * n_nodes


@pytest.mark.parametrize("kind", ["geometric", "regular"])
def test_the_seed_fixes_a_random_graph_and_another_seed_gives_another(kind):
    first, again, other = (
        build_topology(kind, 24, degree=4, seed=seed) for seed in (5, 5, 6)
    )
    assert np.array_equal(first.H, again.H)
    assert not np.array_equal(first.H, other.H)


@pytest.mark.parametrize("kind", KINDS)
def test_one_node_of_any_kind_keeps_its_value(kind):
    alone = build_topology(kind, 1)
    assert np.array_equal(alone.H, [[1.0]])
    assert alone.neighbours(0) == ()
    assert alone.edges() == []
    assert alone.n_links == 0
    assert alone.diameter == 0
    assert alone.contraction == 0.0
    assert alone.spectral_gap == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_two_nodes_of_any_kind_meet_in_the_middle(kind):
    pair = build_topology(kind, 2)
    assert np.array_equal(pair.H, np.full((2, 2), 0.5))
    assert pair.edges() == [(0, 1)]
    assert pair.n_links == 2


@pytest.mark.parametrize("kind", ["circular", "geometric", "regular"])
def test_a_degree_appears_in_the_name(kind):
    assert build_topology(kind, 8, degree=3).name == f"{kind}(degree=3)"
    assert build_topology(kind, 8).name == kind


# ---------------------------------------------------------------------- bad settings


def test_an_unknown_kind_is_answered_with_the_kinds_and_the_likely_one():
    with pytest.raises(TopologyError, match="must be one of") as caught:
        build_topology("Circlar", 4)
    message = str(caught.value)
    assert all(kind in message for kind in KINDS)
    assert message.endswith("got 'Circlar'. Did you mean `circular`?")


@pytest.mark.parametrize("kind", ["zzz", None, ["path"], 3])
def test_an_unknown_kind_without_a_likely_one_is_refused_all_the_same(kind):
    with pytest.raises(TopologyError, match="`kind` must be one of"):
        build_topology(kind, 4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("n_nodes", "rule"),
    [
        (0, "at least 1, got 0"),
        (-3, "at least 1, got -3"),
        (2.0, "a whole number, got 2.0"),
        (True, "a whole number, got True"),
        ("4", "a whole number, got '4'"),
        (None, "a whole number, got None"),
    ],
)
def test_the_number_of_nodes_must_be_a_whole_positive_number(kind, n_nodes, rule):
    with pytest.raises(TopologyError, match=f"`n_nodes` must be {rule}"):
        build_topology(kind, n_nodes)


@pytest.mark.parametrize("seed", [-1, 0.5, None])
def test_the_seed_must_be_a_whole_number_from_zero(seed):
    with pytest.raises(TopologyError, match="`seed` must be"):
        build_topology("geometric", 4, seed=seed)


def test_numpy_integers_count_as_whole_numbers():
    ring = build_topology("circular", np.int64(6), degree=np.int32(2), seed=np.uint8(1))
    assert ring.degrees == (4,) * 6
    assert ring.neighbours(np.int64(0)) == (1, 2, 4, 5)


@pytest.mark.parametrize(
    "kind", sorted(set(KINDS) - {"circular", "geometric", "regular"})
)
def test_a_degree_is_refused_by_kinds_that_do_not_use_it(kind):
    with pytest.raises(
        TopologyError, match=f"`degree` must be left out for {kind} .* 2"
    ):
        build_topology(kind, 4, degree=2)


@pytest.mark.parametrize("kind", ["circular", "geometric", "regular"])
def test_one_node_takes_no_degree(kind):
    with pytest.raises(TopologyError, match=r"`degree` must be left out .* 1 nodes"):
        build_topology(kind, 1, degree=1)


@pytest.mark.parametrize(
    ("kind", "n_nodes", "degree", "message"),
    [
        ("circular", 20, 11, "`degree` must lie in 1..10, got 11."),
        ("circular", 20, 0, "`degree` must lie in 1..10, got 0."),
        ("circular", 5, 3, "`degree` must lie in 1..2, got 3."),
        ("circular", 5, 1.5, "`degree` must be a whole number, got 1.5."),
        ("geometric", 6, 6, "`degree` must lie in 1..5, got 6."),
        ("geometric", 6, "2", "`degree` must be a whole number, got '2'."),
        ("regular", 6, 6, "`degree` must lie in 2..5, got 6."),
        ("regular", 6, 1, "`degree` must lie in 2..5, got 1."),
        ("regular", 2, 2, "`degree` must lie in 1..1, got 2."),
        ("regular", 7, 3, "`n_nodes` x `degree` must be even, got 7 x 3."),
    ],
)
def test_a_degree_out_of_range_is_answered_with_the_range(
    kind, n_nodes, degree, message
):
    with pytest.raises(TopologyError, match=re.escape(message)):
        build_topology(kind, n_nodes, degree=degree)


def test_a_hypercube_needs_a_power_of_two():
    with pytest.raises(TopologyError, match=r"power of two .* got 12\. .* 8 and 16"):
        build_topology("hypercube", 12)


@pytest.mark.parametrize("node", [-1, 4, 1.0, True])
def test_neighbours_of_an_unknown_node_are_refused(node):
    with pytest.raises(TopologyError, match="`node` must"):
        build_topology("path", 4).neighbours(node)


# ------------------------------------------------------------- a mixing matrix by hand


def test_a_mixing_matrix_is_taken_as_it_is():
    H = np.array([[0.7, 0.3, 0.0], [0.3, 0.5, 0.2], [0.0, 0.2, 0.8]])
    topology = from_matrix(H)
    assert np.array_equal(topology.H, H)
    assert topology.edges() == [(0, 1), (1, 2)]
    assert topology.neighbours(1) == (0, 2)


def test_a_topology_cannot_be_changed_through_its_matrix_or_its_source():
    H = np.full((2, 2), 0.5)
    topology = Topology(H, "pair")
    H[0, 0] = 9.0
    assert topology.H[0, 0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        topology.H[0, 0] = 9.0
    with pytest.raises(ValueError, match="read-only"):
        topology.eigenvalues[0] = 9.0
    with pytest.raises(AttributeError):
        topology.name = "other"


def test_rounding_in_a_mixing_matrix_is_forgiven_and_evened_out():
    H = np.full((3, 3), 1 / 3)
    H[0, 1] += 4e-13
    H[2, 2] += 4e-10
    topology = from_matrix(H)
    assert np.array_equal(topology.H, topology.H.T)


def test_a_tiny_weight_at_one_end_makes_a_link_that_both_ends_know():
    H = np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]])
    H = (H + np.eye(3)) / 2
    H[0, 2] = 1e-13
    topology = from_matrix(H)
    assert topology.neighbours(0) == (1, 2)
    assert topology.neighbours(2) == (0, 1)


@pytest.mark.parametrize(
    ("H", "message"),
    [
        (np.ones((2, 3)) / 3, "`H` must be square and not empty, got shape (2, 3)"),
        (np.ones(4) / 4, "`H` must be square and not empty, got shape (4,)"),
        (np.ones((0, 0)), "`H` must be square and not empty, got shape (0, 0)"),
        ([[1.0], [0.5, 0.5]], "`H` must be square, got ragged rows"),
        ([["a"]], "`H` must be a dense array of real numbers, got list"),
        (np.eye(2) + 0j, "got ndarray of complex128"),
        (None, "got NoneType of object"),
        ([[0.5, math.nan], [0.5, 0.5]], "`H` must be finite, but H[0, 1] is nan"),
        ([[0.5, 0.5], [math.inf, 0.5]], "`H` must be finite, but H[1, 0] is inf"),
        (
            [[0.5, 0.5], [0.4, 0.6]],
            "`H` must be symmetric to 1e-12, but H[0, 1] is 0.5 and H[1, 0] is 0.4",
        ),
        ([[1.5, -0.5], [-0.5, 1.5]], "`H` must not be negative, but H[0, 1] is -0.5"),
        (
            [[0.0, 1.0], [1.0, 0.0]],
            "`H` must have a positive diagonal, but H[0, 0] is 0",
        ),
        (
            [[0.5, 0.5, 0.0], [0.5, 0.25, 0.26], [0.0, 0.26, 0.7]],
            "`H` must have rows that sum to 1 within 1e-09, but row 2 sums to 0.96",
        ),
        ([[1e300]], "but row 0 sums to 1e+300"),
        (
            np.diag([0.5, 0.5, 0.5, 0.5, 1.0])
            + np.pad(np.kron(np.eye(2), [[0, 0.5], [0.5, 0]]), (0, 1)),
            "must be connected, but has 3 components; node 4 is in one of the smaller",
        ),
    ],
)
def test_a_mixing_matrix_that_breaks_a_rule_is_refused_with_that_rule(H, message):
    with pytest.raises(TopologyError, match=re.escape(message)):
        from_matrix(H)


def test_an_asymmetry_just_above_the_tolerance_is_refused():
    H = np.full((2, 2), 0.5)
    H[0, 1] += 2e-12
    with pytest.raises(TopologyError, match="symmetric"):
        from_matrix(H)


def test_a_topology_error_is_bad_input_and_a_value_error():
    assert issubclass(TopologyError, InputError)
    assert issubclass(TopologyError, ValueError)


# ------------------------------------------------------------------- networkx graphs


@many
@given(st.integers(1, 12), seeds)
def test_any_connected_graph_keeps_its_edges_in_its_own_node_order(n_nodes, seed):
    graph = nx.gnp_random_graph(n_nodes, 0.5, seed=seed)
    nx.add_path(graph, range(n_nodes))
    letters = nx.relabel_nodes(graph, {i: chr(ord("z") - i) for i in graph})
    topology = from_graph(letters)
    assert {frozenset(edge) for edge in topology.edges()} == edges_of(letters)


def test_weights_and_parallel_edges_of_a_graph_do_not_count():
    graph = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    graph.add_edge(0, 2, weight=0)
    topology = from_graph(graph)
    assert topology.edges() == [(0, 1), (0, 2), (1, 2)]
    assert np.array_equal(topology.H, np.full((3, 3), 1 / 3))


def test_a_topology_takes_the_name_of_its_graph():
    graph = nx.path_graph(3)
    assert from_graph(graph).name == "graph"
    graph.name = "hospitals"
    assert from_graph(graph).name == "hospitals"


def self_loop() -> nx.Graph:
    graph = nx.path_graph(["a", "b", "c"])
    graph.add_edge("b", "b")
    return graph


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (self_loop(), "no self-loops, but node 'b' is joined to itself"),
        (nx.MultiGraph([(0, 1), (1, 1)]), "no self-loops, but node 1"),
        (nx.DiGraph([(0, 1), (1, 0)]), "undirected. Pass `graph.to_undirected()`"),
        (nx.Graph(), "must have at least one node"),
        (nx.Graph([(0, 1), (2, 3), (3, 4)]), "2 components; node 0"),
        (nx.empty_graph(2), "must be connected, but has 2 components"),
        (np.eye(2), "must be a networkx.Graph (for a mixing matrix use `from_matrix`)"),
    ],
)
def test_a_graph_that_cannot_average_is_refused(graph, message):
    with pytest.raises(TopologyError, match=re.escape(message)):
        from_graph(graph)


# ----------------------------------------------------------------------- edge lists


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_written_as_an_edge_list_reads_back_the_same(tmp_path, kind):
    topology = build_topology(kind, 16)
    file = tmp_path / "links.txt"
    file.write_text("".join(f"{i} {j}\n" for i, j in topology.edges()))
    again = read_edge_list(str(file), 16)
    assert np.array_equal(again.H, topology.H)
    assert again.name == "links"


def test_comments_blank_lines_commas_and_repeated_edges_are_fine(tmp_path):
    file = tmp_path / "links.txt"
    file.write_bytes(
        "\ufeff# three clinics — a triangle\r\n\r\n0 1\r\n1,0\r\n  1 ,\t2 # far\r\n2\t0"
        "\r\n0 1\r\n".encode()
    )
    assert read_edge_list(file, 3).edges() == [(0, 1), (0, 2), (1, 2)]


def test_one_node_needs_no_edge(tmp_path):
    file = tmp_path / "alone.txt"
    file.write_text("# nobody else\n")
    assert np.array_equal(read_edge_list(file, 1).H, [[1.0]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1\n\n1 two\n", r"two whole numbers.*got '1 two' in .*links.txt, line 3\."),
        ("0 1\n2\n", r"two whole numbers.*got '2' in .*links.txt, line 2\."),
        ("0 1 2\n", r"two whole numbers.*got '0 1 2' in .*links.txt, line 1\."),
        ("0,,1\n", r"two whole numbers.*got '0,,1'"),
        ("0.0 1\n", r"two whole numbers.*got '0.0 1'"),
        ("0 " + "9" * 5000, r"two whole numbers.*got '0 9+' in .*line 1\."),
        ("0 1\n1 3\n", r"lie in 0\.\.2 .*got '1 3' in .*links.txt, line 2\."),
        ("0 1\n-1 2\n", r"lie in 0\.\.2 .*got '-1 2' in .*links.txt, line 2\."),
        ("0 1\n2 2\n", r"two different nodes, got '2 2' in .*links.txt, line 2\."),
        ("0 1\n", r"links.txt: .* connected, but has 2 components; node 2"),
        ("", r"links.txt: .* connected, but has 3 components"),
    ],
)
def test_a_bad_edge_list_is_answered_with_file_and_line(tmp_path, text, message):
    file = tmp_path / "links.txt"
    file.write_text(text)
    with pytest.raises(TopologyError, match=message):
        read_edge_list(file, 3)


def test_an_edge_list_in_two_pieces_names_the_file_and_the_smaller_piece(tmp_path):
    file = tmp_path / "links.txt"
    file.write_text("0 1\n1 2\n3 4\n")
    with pytest.raises(TopologyError, match=r"links.txt: .* 2 components; node 3"):
        read_edge_list(file, 5)


def test_an_edge_list_that_cannot_be_read_is_named(tmp_path: Path):
    with pytest.raises(TopologyError, match=r"none.txt: cannot be read.*No such file"):
        read_edge_list(tmp_path / "none.txt", 3)
    with pytest.raises(TopologyError, match=r"cannot be read.*directory"):
        read_edge_list(tmp_path, 3)
    file = tmp_path / "links.txt"
    file.write_bytes("0 1 # Zürich\n".encode("latin-1"))
    with pytest.raises(TopologyError, match=r"links.txt: cannot be read as UTF-8"):
        read_edge_list(file, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_an_edge_list_says_how_many_nodes_there_are_if_nobody_else_does(tmp_path, kind):
    file = tmp_path / "links.txt"
    topology = build_topology(kind, 16)
    lines = [f"{j} {i}\n" for i, j in reversed(topology.edges())]
    file.write_text("".join(lines))
    assert np.array_equal(read_edge_list(file).H, topology.H)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# none\n", "links.txt: a graph must have at least one edge"),
        ("0 1\n1 3\n", "without gaps, but no edge has node 2"),
        ("1 2\n", "without gaps, but no edge has node 0"),
        ("0 999999999999999999\n", "without gaps, but no edge has node 1"),
        ("0 -1\n", "must not be negative, got '0 -1'"),
    ],
)
def test_an_edge_list_whose_nodes_cannot_be_counted_is_refused(tmp_path, text, message):
    file = tmp_path / "links.txt"
    file.write_text(text)
    with pytest.raises(TopologyError, match=message):
        read_edge_list(file)


def test_an_edge_list_needs_a_positive_number_of_nodes(tmp_path):
    with pytest.raises(TopologyError, match="`n_nodes` must be at least 1, got 0"):
        read_edge_list(tmp_path / "none.txt", 0)
