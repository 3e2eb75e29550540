from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.consensus import (
    Gossip,
    Polynomial,
    Tree,
    chebyshev,
    every_averaging,
    exact,
    gossip_rounds,
    make_averaging,
    run_rounds,
    seconds,
)
from dssfn.consensus.polynomial import Coefficients
from dssfn.errors import AccuracyWarning, PlanError
from dssfn.topology import LARGEST_SPECTRUM, build_topology, from_matrix
from tests.support.strategies import seeds

graphs = st.one_of(
    st.tuples(st.just("circular"), st.integers(1, 14)),
    st.tuples(st.just("path"), st.integers(1, 9)),
    st.tuples(st.just("star"), st.integers(2, 9)),
    st.tuples(st.just("complete"), st.integers(1, 9)),
    st.tuples(st.just("geometric"), st.integers(2, 12)),
    st.tuples(st.just("torus"), st.integers(2, 12)),
).map(lambda pair: build_topology(*pair))
names = st.sampled_from(["gossip", "chebyshev", "exact", "tree", "auto"])


def by_hand(averaging, values, step):
    """Every node's average, the letters carried one by one."""
    return run_rounds(averaging, dict(enumerate(values)), step)


@given(graphs, seeds, names, st.sampled_from([1e-3, 1e-8, 1e-12]))
def test_every_scheme_reaches_the_true_mean(graph, seed, name, tol):
    values = np.random.default_rng(seed).normal(size=(graph.n_nodes, 3, 2))
    mixed = make_averaging(graph, name, tol=tol).mix(values, 3)
    first = np.linalg.norm(values - values.mean(axis=0))
    left = np.linalg.norm(mixed - values.mean(axis=0))
    assert left <= tol * first + 1e-12 * np.linalg.norm(values)


@given(graphs, seeds, names, st.integers(0, 5))
def test_round_by_round_equals_all_nodes_at_once(graph, seed, name, step):
    values = np.random.default_rng(seed).normal(size=(graph.n_nodes, 2, 3))
    averaging = make_averaging(graph, name, tol=1e-6)
    one_by_one = np.stack(list(by_hand(averaging, values, step).values()))
    np.testing.assert_allclose(one_by_one, averaging.mix(values, step), atol=1e-11)


@given(graphs, seeds, st.integers(1, 20))
def test_gossip_keeps_the_mean(graph, seed, n_rounds):
    values = np.random.default_rng(seed).normal(size=(graph.n_nodes, 4))
    mixed = Gossip(graph, n_rounds).mix(values, 0)
    np.testing.assert_allclose(mixed.mean(axis=0), values.mean(axis=0), atol=1e-13)


@given(graphs, seeds, st.integers(0, 4))
def test_a_tree_gives_all_nodes_the_same_bits_on_every_road(graph, seed, step):
    values = np.random.default_rng(seed).normal(size=(graph.n_nodes, 5))
    tree = Tree(graph)
    at_once = tree.mix(values, step)
    for mine in by_hand(tree, values, step).values():
        assert mine.tobytes() == at_once[0].tobytes()


@given(graphs, seeds, st.integers(0, 4))
def test_a_tree_adds_up_integers_exactly_on_every_road(graph, seed, step):
    M = graph.n_nodes
    most = 2**62 // M  # so that the total fits
    values = np.random.default_rng(seed).integers(-most, most, (M, 2, 3), endpoint=True)
    values[0, 0, 0], values[-1, 0, 1] = most, -most
    kept = values.copy()
    total = sum(values.astype(object)).tolist()
    tree = Tree(graph)
    at_once = tree.mix(values, step)
    assert at_once.shape == values.shape
    for found in [*at_once, *by_hand(tree, values, step).values()]:
        assert (found.dtype, found.tolist()) == (np.int64, total)
    np.testing.assert_array_equal(values, kept)  # nothing is added to in place


@given(graphs, st.sampled_from(["gossip", "chebyshev", "exact"]))
def test_a_polynomial_refuses_integers_unless_one_node_has_them_all(graph, name):
    values = 2**53 + 1 + 2 * np.arange(graph.n_nodes)[:, None]
    scheme = make_averaging(graph, name, tol=1e-6)
    for add_up in (lambda: scheme.mix(values, 0), lambda: by_hand(scheme, values, 0)):
        if graph.n_nodes > 1:
            with pytest.raises(PlanError, match='`consensus` must be "tree"'):
                add_up()
        else:
            assert (add_up()[0].dtype, add_up()[0]) == (np.int64, [2**53 + 1])


@given(graphs, names, st.integers(0, 4))
def test_letters_go_to_neighbours_and_are_counted(graph, name, step):
    averaging = make_averaging(graph, name, tol=1e-4)
    nodes = [averaging.rounds(i, np.ones(1), step) for i in range(graph.n_nodes)]
    swaps = [next(node) for node in nodes] if graph.n_nodes > 1 else []
    n_rounds = n_letters = n_queued = 0
    while n_rounds < averaging.n_rounds:
        n_rounds += 1
        outboxes = [swap.letters for swap in swaps]
        n_letters += sum(map(len, outboxes))
        n_queued += max(map(len, outboxes))
        for i, box in enumerate(outboxes):
            assert set(box) <= set(graph.neighbours(i))
        inboxes = [
            {j: box[i] for j, box in enumerate(outboxes) if i in box}
            for i in range(graph.n_nodes)
        ]
        for swap, inbox in zip(swaps, inboxes, strict=True):
            assert set(swap.senders) == set(inbox)
        swaps = []
        for node, inbox in zip(nodes, inboxes, strict=True):
            try:
                swaps.append(node.send(inbox))
            except StopIteration as stop:
                np.testing.assert_allclose(stop.value, 1.0)
    assert n_letters == averaging.n_letters
    if step == 0:  # another root has other branches
        assert n_queued == averaging.n_queued


@pytest.mark.parametrize(
    ("degree", "rounds"),
    [
        # gossip: log(1e-10) / log(contraction), from the closed form of the circle
        (1, {"gossip": 695, "chebyshev": 76, "exact": 10, "tree": 20}),
        (4, {"gossip": 65, "chebyshev": 22, "exact": 6, "tree": 6}),
        (10, {"gossip": 1, "chebyshev": 1, "exact": 1, "tree": 2}),
    ],
)
def test_rounds_on_the_papers_circle(degree, rounds):
    graph = build_topology("circular", 20, degree=degree)
    found = {name: one.n_rounds for name, one in every_averaging(graph, 1e-10).items()}
    assert found == rounds


def test_a_tree_sends_far_fewer_messages_than_exact():
    graph = build_topology("circular", 20, degree=4)
    assert exact(graph).n_letters / Tree(graph).n_letters > 15


@settings(max_examples=10)
@given(st.integers(2, 200), st.sampled_from(["circular", "path", "geometric", "star"]))
def test_exact_stays_exact_on_larger_graphs(n_nodes, kind):
    assert exact(build_topology(kind, n_nodes)).residual < 1e-12


@pytest.mark.parametrize("kind", ["circular", "path", "geometric", "regular"])
def test_a_thousand_nodes(kind):
    graph = build_topology(kind, 1000)
    schemes = every_averaging(graph, 1e-10)
    values = np.random.default_rng(0).normal(size=(1000, 3))
    for averaging in schemes.values():
        mixed = averaging.mix(values, 0)
        assert np.abs(mixed - values.mean(axis=0)).max() < 1e-9
    assert {"gossip", "chebyshev", "tree"} <= schemes.keys()


def test_the_order_of_the_factors_is_what_keeps_rounding_small():
    graph = build_topology("path", 60)
    good = exact(graph)
    zeros = sorted(float(z) for z in graph.eigenvalues[1:])
    naive = Polynomial(
        graph, [Coefficients(1 / (1 - z), -z / (1 - z)) for z in zeros], "ascending"
    )
    assert good.residual < 1e-12 < 1e-3 < naive.residual


def test_exact_falls_back_with_a_note_where_it_would_lose_accuracy(monkeypatch):
    monkeypatch.setattr(Polynomial, "residual", 1e-3)
    graph = build_topology("path", 5)
    with pytest.warns(AccuracyWarning, match="chebyshev"):
        assert make_averaging(graph, "exact", tol=1e-10).name == "chebyshev"
    assert make_averaging(graph, "auto", tol=1e-10).name != "exact"


def test_auto_weighs_rounds_against_bytes():
    # `exact` needs fewer rounds on both, 10 against 20 and 9 against 10; with four
    # neighbours to serve in each it loses to the tree once messages are large.
    ring = build_topology("circular", 20)
    wide = build_topology("circular", 20, degree=2)
    for graph, n_bytes, name in (
        (ring, 100, "exact"), (wide, 100, "exact"), (wide, 10**7, "tree"),
    ):  # fmt: skip
        found = make_averaging(graph, "auto", tol=1e-10, n_bytes=n_bytes)
        assert found.name == name
        times = [
            seconds(one, n_bytes, latency=0.02, bandwidth=1e8)
            for one in every_averaging(graph, 1e-10).values()
        ]
        assert seconds(found, n_bytes, latency=0.02, bandwidth=1e8) == min(times)


def test_the_root_rotates():
    tree = Tree(build_topology("circular", 6))
    roots = {tree.branches(step).parents.index(-1) for step in range(6)}
    assert roots == set(range(6))
    star = Tree(build_topology("star", 6))
    assert {star.branches(step).parents.index(-1) for step in range(6)} == {0}


def test_trees_that_are_no_longer_kept_grow_again(monkeypatch):
    monkeypatch.setattr("dssfn.consensus.tree.KEPT", 12)
    graph = build_topology("circular", 6)
    tree = Tree(graph)
    first = [tree.branches(step) for step in range(6)]
    assert tree.branches(5) is first[5]
    assert tree.branches(4) is first[4]
    assert tree.branches(0) is not first[0]
    assert [tree.branches(step) for step in range(6)] == first


def test_beyond_a_size_the_tree_is_the_only_scheme_that_is_weighed():
    graph = build_topology("circular", LARGEST_SPECTRUM + 1)
    assert list(every_averaging(graph, 1e-10)) == ["tree"]
    assert make_averaging(graph, "auto", tol=1e-10).name == "tree"
    with pytest.raises(PlanError, match="`consensus` must be tree or auto"):
        make_averaging(graph, "auto", tol=1e-10, n_rounds=3, bitwise=True)
    assert not {"H", "eigenvalues"} & vars(graph).keys()


def test_fixed_rounds_are_gossip_rounds():
    ring = build_topology("circular", 5)
    assert make_averaging(ring, "auto", tol=1e-10, n_rounds=3).n_rounds == 3
    with pytest.raises(PlanError, match="n_rounds"):
        make_averaging(ring, "tree", tol=1e-10, n_rounds=3)


def test_one_node_needs_no_round():
    alone = build_topology("complete", 1)
    for averaging in every_averaging(alone, 1e-10).values():
        assert (averaging.n_rounds, averaging.n_letters) == (0, 0)
        np.testing.assert_array_equal(
            averaging.mix(np.ones((1, 2)), 0), np.ones((1, 2))
        )
        assert run_rounds(averaging, {0: np.ones(2)})[0].tolist() == [1, 1]


def test_an_interval_of_one_point_is_no_trouble():
    graph = from_matrix([[0.6, 0.4], [0.4, 0.6]])
    assert chebyshev(graph, 1e-10).n_rounds == 1
    assert exact(graph).n_rounds == 1
    assert gossip_rounds(graph, 1e-10) == 15


def test_unknown_scheme_is_refused():
    with pytest.raises(PlanError, match="consensus"):
        make_averaging(build_topology("complete", 2), "telepathy", tol=1e-3)
