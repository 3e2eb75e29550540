"""Parties by hand: the test is the network, and delivers what it likes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.consensus import Polynomial, make_averaging
from dssfn.consensus.resending import Letter, Receipt, Resending
from dssfn.errors import PlanError
from dssfn.registry import AVERAGING, PARTIES
from dssfn.topology import build_topology
from tests.consensus.test_consensus import by_hand, graphs
from tests.support.strategies import seeds


def settle(parties, rng, now=0.0):
    """Deliver posts in any order, some never and some twice, until all may rest."""
    posts = [(i, post) for i, party in parties.items() for post in party.begin(now)]
    for _ in range(10_000):
        if all(party.may_rest for party in parties.values()):
            return
        rng.shuffle(posts)
        while posts:
            sender, post = posts.pop()
            for _ in range(rng.choice([0, 1, 2])):
                heard = parties[post.receiver].hear(now, sender, post.content)
                posts += [(post.receiver, one) for one in heard]
        now += 1.0
        for i, party in parties.items():
            if party.due is not None and party.due <= now:
                posts += [(i, one) for one in party.wake(now)]
    raise AssertionError("the parties never come to rest")


@given(graphs, seeds, st.sampled_from(["gossip", "chebyshev", "exact", "tree"]))
def test_results_are_those_of_good_links_to_the_last_bit(graph, seed, name):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(graph.n_nodes, 2))
    averaging = make_averaging(graph, name, tol=0.1)
    scheme = Resending(averaging)
    parties = {i: scheme.seat(i).party(values[i], 3) for i in range(graph.n_nodes)}
    settle(parties, rng)
    for i, expected in by_hand(averaging, values, 3).items():
        assert np.array_equal(parties[i].result, expected)


def pair():
    scheme = Resending(AVERAGING["tree"](build_topology("path", 2), 1e-10))
    seats = scheme.seat(0), scheme.seat(1)
    return seats, [seats[i].party(np.array([i + 1]), 0) for i in range(2)]


def test_an_answer_serves_as_a_receipt():
    _, (root, leaf) = pair()
    root.begin(0.0)
    (up,) = leaf.begin(0.0)
    down, receipt = root.hear(0.1, 1, up.content)
    assert isinstance(receipt.content, Receipt)
    leaf.hear(0.2, 0, down.content)
    assert leaf.due is None
    assert leaf.result == [3]
    assert leaf.may_rest


def test_a_letter_is_sent_again_until_its_receipt_comes():
    _, (root, leaf) = pair()
    root.begin(0.0)
    (first,) = leaf.begin(0.0)
    (second,) = leaf.wake(leaf.due)
    assert (first.is_resent, second.is_resent) == (False, True)
    assert second.content.number == first.content.number
    assert leaf.wake(leaf.due - 1e-9) == []
    posts = root.hear(1.0, 1, second.content)
    leaf.hear(2.0, 0, posts[-1].content)
    assert leaf.due is None


def test_a_seat_confirms_letters_whose_party_is_not_there():
    seats, (root, leaf) = pair()
    (up,) = leaf.begin(0.0)
    (receipt,) = seats[0].answer(0.1, 1, up.content)
    assert not receipt.is_letter
    leaf.hear(0.2, 0, receipt.content)
    assert leaf.due is None
    assert list(seats[0].answer(0.3, 1, receipt.content)) == []
    root.begin(0.4)
    assert isinstance(root.hear(0.4, 1, up.content)[0].content, Letter)


def test_what_is_learned_of_a_neighbour_serves_later_averagings():
    seats, (_, leaf) = pair()
    (up,) = leaf.begin(0.0)
    (receipt,) = seats[0].answer(0.05, 1, up.content)
    leaf.hear(0.1, 0, receipt.content)
    later = seats[1].party(np.array([5]), 2)
    later.begin(10.0)
    assert later.due == pytest.approx(10.3)  # 0.1 and four times a deviation of 0.05


def test_every_way_to_average_is_one_over_bad_links_too():
    ring = build_topology("circular", 6)
    assert set(AVERAGING) <= set(PARTIES)
    for name in AVERAGING:
        assert PARTIES[name](ring, 1e-6).name == AVERAGING[name](ring, 1e-6).name


def test_a_scheme_that_is_not_accurate_enough_is_refused(monkeypatch):
    monkeypatch.setattr(Polynomial, "residual", 1e-3)
    with pytest.raises(PlanError, match="`scheme`: exact would leave an error"):
        PARTIES["exact"](build_topology("path", 5), 1e-10)
