"""Push-sum: exact totals over any links that let a letter through now and then."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.consensus.push_sum import PushSum
from dssfn.errors import TopologyError
from dssfn.topology import build_topology
from tests.support.bad_links import BadLinks

FEW = settings(max_examples=40, deadline=None)  # each runs thousands of letters


def run(scheme, values, **links):
    seats = [scheme.seat(node) for node in range(scheme.n_nodes)]
    parties = {node: seat.party(values[node], 0) for node, seat in enumerate(seats)}
    network = BadLinks(answer=lambda node, *rest: seats[node].answer(*rest), **links)
    network.run(parties)
    return [parties[node].result for node in range(scheme.n_nodes)], network


@st.composite
def one_way_graphs(draw):
    """A ring in one direction, so that all are reached, and any arcs beside it."""
    n = draw(st.integers(2, 6))
    ring = {(i, (i + 1) % n) for i in range(n)}
    nodes = st.integers(0, n - 1)
    more = draw(st.sets(st.tuples(nodes, nodes), max_size=8))
    return PushSum(n, ring | {(i, j) for i, j in more if i != j})


bad = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "loss": st.floats(0, 0.5),
        "repeats": st.floats(0, 0.3),
        "jitter": st.floats(0, 0.3),
    }
)


@FEW
@given(one_way_graphs(), bad, st.integers(1, 62))
def test_every_node_ends_with_the_exact_total_and_rests(scheme, links, bits):
    rng = np.random.default_rng(links["seed"])
    most = 2**bits // scheme.n_nodes
    values = rng.integers(-most, most, size=(scheme.n_nodes, 3), endpoint=True)
    results, _ = run(scheme, values, **links)  # which asserts that all rest
    for result in results:
        np.testing.assert_array_equal(result, values.sum(axis=0))


@FEW
@given(one_way_graphs(), bad)
def test_averages_of_floats_are_the_same_bits_whatever_is_lost(scheme, links):
    rng = np.random.default_rng(links["seed"])
    scales = 10.0 ** rng.integers(-200, 200, size=4)
    values = scales * rng.normal(size=(scheme.n_nodes, 4))
    bad_results, _ = run(scheme, values, **links)
    good_results, _ = run(scheme, values)
    for result in bad_results + good_results:
        np.testing.assert_array_equal(result, good_results[0])
    exact = np.array([math.fsum(column) for column in values.T]) / scheme.n_nodes
    error = np.abs(good_results[0] - exact) / np.abs(values).max(axis=0)
    assert error.max() <= 2.0**-51  # half a 2^-53 each, and two roundings of the mean


def test_masked_numbers_add_up_modulo_2_to_64():
    rng = np.random.default_rng(1)
    values = rng.integers(-(2**63), 2**63 - 1, size=(5, 4), endpoint=True)
    results, _ = run(PushSum.of(build_topology("complete", 5)), values, loss=0.2)
    np.testing.assert_array_equal(results[3], values.sum(axis=0))


@pytest.mark.parametrize("kind", ["circular", "star", "path", "complete"])
def test_half_of_all_letters_lost_changes_nothing(kind):
    scheme = PushSum.of(build_topology(kind, 8))
    values = np.arange(8 * 6).reshape(8, 2, 3) ** 5
    results, _ = run(scheme, values, loss=0.5, jitter=0.1, repeats=0.1)
    for result in results:
        np.testing.assert_array_equal(result, values.sum(axis=0))


def test_nobody_has_a_total_while_a_node_is_away():
    scheme = PushSum.of(build_topology("complete", 6))
    values = np.arange(6)[:, None] * 1000
    seats = [scheme.seat(node) for node in range(6)]
    parties = {node: seat.party(values[node], 0) for node, seat in enumerate(seats)}
    early = []

    def away(node, now):
        if 0.25 < now < 40.0:  # all know the sizes by then, and have begun to mix
            early.extend(one.result for one in parties.values())
        return node == 2 and 0.25 < now < 40.0

    answer = lambda node, *rest: seats[node].answer(*rest)  # noqa: E731
    network = BadLinks(answer=answer, away=away, jitter=0.02)
    network.run(parties)
    assert early
    assert all(result is None for result in early)
    assert all(int(one.result[0]) == 15_000 for one in parties.values())


def test_nodes_that_wait_for_one_that_is_away_send_less_and_less():
    scheme = PushSum.of(build_topology("complete", 6))
    values = np.arange(6)[:, None] * 1000
    until = 200.0
    _, network = run(scheme, values, away=lambda node, now: node == 2 and now < until)
    n_sendings = len(network.sent) / 5
    assert n_sendings < 5 * until / 0.2 / 3  # a third of one per round trip and node


def test_a_node_alone_has_its_own_total():
    results, network = run(PushSum(1, []), np.array([[7, 8]]))
    np.testing.assert_array_equal(results[0], [7, 8])
    assert not network.sent


def test_a_graph_that_does_not_lead_everywhere_is_refused():
    with pytest.raises(TopologyError, match="from every node to every other"):
        PushSum(3, [(0, 1), (1, 2)])


def test_letters_are_as_long_as_their_numbers_and_the_table():
    scheme = PushSum.of(build_topology("circular", 4))
    values = np.full((4, 100), 1000)
    _, network = run(scheme, values)
    longest = max(post.n_bytes for post in network.sent)
    assert longest == 101 * 8 + 4 * 17 + 32  # numbers and weight, table, header
