from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.consensus import Gossip, make_averaging, rounds_for, run_rounds
from dssfn.errors import PlanError
from dssfn.topology import build_topology
from tests.strategies import seeds

graphs = st.one_of(
    st.tuples(st.just("circular"), st.integers(2, 12)),
    st.tuples(st.just("path"), st.integers(1, 9)),
    st.tuples(st.just("star"), st.integers(2, 9)),
    st.tuples(st.just("complete"), st.integers(1, 9)),
    st.tuples(st.just("geometric"), st.integers(2, 12)),
).map(lambda pair: build_topology(*pair))


@given(graphs, seeds, st.sampled_from([1e-3, 1e-8, 1e-12]))
def test_gossip_to_an_accuracy_reaches_the_true_mean(graph, seed, tol):
    values = np.random.default_rng(seed).normal(size=(graph.n_nodes, 3, 2))
    mixed = make_averaging(graph, "gossip", tol=tol).mix(values)
    first = np.linalg.norm(values - values.mean(axis=0))
    left = np.linalg.norm(mixed - values.mean(axis=0))
    assert left <= tol * first + 1e-13 * np.linalg.norm(values)


@given(graphs, seeds, st.integers(0, 30))
def test_round_by_round_equals_all_nodes_at_once(graph, seed, n_rounds):
    values = np.random.default_rng(seed).normal(size=(graph.n_nodes, 2, 3))
    gossip = Gossip(graph, n_rounds)
    one_by_one = run_rounds(gossip, list(values))
    np.testing.assert_allclose(np.stack(one_by_one), gossip.mix(values), atol=1e-13)


@given(graphs, seeds, st.integers(1, 20))
def test_gossip_keeps_the_mean(graph, seed, n_rounds):
    values = np.random.default_rng(seed).normal(size=(graph.n_nodes, 4))
    mixed = Gossip(graph, n_rounds).mix(values)
    np.testing.assert_allclose(mixed.mean(axis=0), values.mean(axis=0), atol=1e-13)


def test_letters_go_to_neighbours_only():
    ring = build_topology("circular", 6, degree=2)
    letters = next(Gossip(ring, 1).rounds(0, np.ones(2)))
    assert set(letters) == {1, 2, 4, 5}


def test_letters_are_counted_per_directed_link_and_round():
    ring = build_topology("circular", 20, degree=4)
    assert Gossip(ring, 65).n_letters == 65 * 20 * 8


@pytest.mark.parametrize(
    ("degree", "rounds"),
    # log(1e-10) / log(contraction), contraction from the closed form of the circle
    [(1, 695), (4, 65), (10, 1)],
)
def test_rounds_on_the_papers_circle(degree, rounds):
    assert rounds_for(build_topology("circular", 20, degree=degree), 1e-10) == rounds


def test_fixed_rounds_take_the_place_of_the_accuracy():
    ring = build_topology("circular", 5)
    assert make_averaging(ring, "gossip", tol=1e-10, n_rounds=3).n_rounds == 3


def test_one_node_needs_no_round():
    alone = make_averaging(build_topology("complete", 1), "gossip", tol=1e-10)
    assert (alone.n_rounds, alone.n_letters) == (0, 0)
    np.testing.assert_array_equal(alone.mix(np.ones((1, 2))), np.ones((1, 2)))
    np.testing.assert_array_equal(run_rounds(alone, [np.ones(2)])[0], np.ones(2))


def test_unknown_scheme_is_refused():
    with pytest.raises(PlanError, match="consensus"):
        make_averaging(build_topology("complete", 2), "telepathy", tol=1e-3)
