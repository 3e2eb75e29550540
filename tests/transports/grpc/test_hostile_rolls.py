"""Where nodes may stay away: what streams bring, and what follows for the training."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dssfn.errors import PeerTimeout, ProtocolError, Regroup
from dssfn.transports.base import Tag
from dssfn.transports.grpc import Attendance, Neighbour, Rules, Terms
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.attendance import encode_roll
from dssfn.transports.grpc.elastic import ElasticSwitchboard
from dssfn.transports.grpc.epochs import RESTARTS_IN_VAIN
from dssfn.transports.roll_call import RollCall
from tests.transports.grpc.test_switchboard import _greet

GRAPH = {0: (1, 2), 1: (0, 2), 2: (0, 1)}
DEADLINE = 0.2
TAG = Tag(0, 0, 0, (1,))


@pytest.fixture
def written():
    return []


@pytest.fixture
def board(written):
    terms = Terms(
        plan=b"p",
        random="r",
        differences=lambda other: iter([("plan", b"p", other)]),
        rules=Rules(run=7, largest=100, n_layers=3),
        members=frozenset({"n0", "n1", "n2"}),
    )
    attendance = Attendance(
        RollCall(0, GRAPH, 2), ("n0", "n1", "n2"), 0.0, write_down=written.append
    )
    neighbours = [Neighbour(k, f"n{k}", None) for k in (1, 2)]
    return ElasticSwitchboard(
        "n0", neighbours, terms, deadline=DEADLINE, attendance=attendance
    )


def gathered(board, link, stream, other):
    """The group that a node finds with one neighbour, whose roll call is `other`."""
    other.link([0])
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(board.gather)
        while not found.done():
            if board.roll(link):
                other.hear(board._attendance.roll.table())
                other.call()
                board.receive(link, stream, encode_roll(other.table()))
        return found.result()


def test_a_member_that_was_restarted_makes_its_neighbours_form_a_new_group(board):
    link, stream = _greet(board, incarnation=5)
    group = gathered(board, link, stream, RollCall(1, GRAPH, 2))
    assert group.members == (0, 1)
    board.ended(link, stream, "cut")
    _greet(board, incarnation=6)
    late = threading.Timer(60, board._give_up, ("n1", "it was waited for in vain"))
    late.start()
    with pytest.raises(Regroup):
        board.exchange(TAG, {}, [(1, 0)])
    late.cancel()


@pytest.mark.parametrize(
    "roll",
    [
        pb.Roll(entries=[pb.Roll.Entry(node=1, version=1, floor=1)] * 4),
        pb.Roll(entries=[pb.Roll.Entry(node=1, version=1, floor=1, links=[0] * 4)]),
    ],
)
def test_a_roll_call_is_no_longer_than_the_plan_allows(board, roll):
    link, stream = _greet(board)
    with pytest.raises(ProtocolError, match="than the plan has"):
        board.receive(link, stream, pb.Envelope(roll=roll).SerializeToString())


def test_groups_without_a_further_layer_are_not_formed_for_ever(board):
    link, stream = _greet(board)
    other, most = RollCall(1, GRAPH, 2), RESTARTS_IN_VAIN * len(GRAPH)

    def form_groups(n_groups):
        for _ in range(n_groups):
            gathered(board, link, stream, other)
            board.join()
            other.leave()

    form_groups(most)
    board.epochs.reach(0)  # all groups before were worth it
    form_groups(most)
    with pytest.raises(PeerTimeout, match="without completing another layer"):
        form_groups(1)
