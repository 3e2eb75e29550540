"""Who may talk to a node, and what it says of those who may not."""

from __future__ import annotations

import pytest

from dssfn.errors import ProtocolError
from dssfn.transports.grpc import Rules, Terms
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.reception import AnotherPlan, Reception
from dssfn.transports.grpc.refusals import Refusal, Refused
from tests.support.intruder import Words

PLAN, RANDOM, RULES = b'{"seed":1}', "r" * 64, Rules(run=7, largest=100, n_layers=3)


@pytest.fixture
def reception():
    terms = Terms(
        plan=PLAN,
        random=RANDOM,
        differences=lambda other: iter([("plan", PLAN, other)]),
        rules=RULES,
        members=frozenset({"n0", "n1", "n2"}),
    )
    return Reception("n0", ["n1"], terms)


@pytest.fixture
def words():
    return Words("n1", PLAN, RANDOM, RULES, seed=1)


def test_a_neighbour_that_agrees_is_let_in(reception, words):
    assert reception.check_hello(words.hello(), ["n1"]).node == "n1"


@pytest.mark.parametrize(
    ("changes", "names", "refusal", "text"),
    [
        ({"node": "n2"}, ["n1"], Refusal.ANOTHER_NAME, "claims to be 'n2'"),
        ({"node": "n2"}, ["n2"], Refusal.NO_NEIGHBOUR, "not a neighbour of n0"),
        ({"protocol": 99}, ["n1"], Refusal.ANOTHER_PLAN, "`protocol`"),
        ({"plan": b"x"}, ["n1"], Refusal.ANOTHER_PLAN, "`plan`"),
        ({"random": "x"}, ["n1"], Refusal.ANOTHER_PLAN, "`digest of the random"),
    ],
)
def test_others_are_refused_with_a_word_and_a_text_for_the_log(
    reception, words, changes, names, refusal, text
):
    with pytest.raises(Refused, match=text) as caught:
        reception.check_hello(words.hello(**changes), names)
    assert caught.value.refusal is refusal
    assert isinstance(caught.value, AnotherPlan) == (refusal is Refusal.ANOTHER_PLAN)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xff" * 100, "that are not an envelope"),
        (b"", "without content"),
        (pb.Envelope(status=pb.Status()).SerializeToString(), "did not say hello"),
    ],
)
def test_words_that_are_no_hello_break_the_protocol(reception, data, text):
    with pytest.raises(ProtocolError, match=text):
        reception.check_hello(data, ["n1"])


def test_every_bad_hello_is_refused_in_one_printable_line(reception, words):
    for data in words.bad_hellos():
        if pb.Envelope.FromString(data).hello.epoch:
            continue  # one that nobody can have reached is refused later
        with pytest.raises((Refused, ProtocolError)) as caught:
            reception.check_hello(data, ["n1"])
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 2000


def test_what_a_refused_node_is_told_holds_nothing_of_this_one():
    told = [refusal.value for refusal in Refusal]
    assert all(word.islower() and word.isascii() for word in told)
    assert len(set(told)) == len(told)
