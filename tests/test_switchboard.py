"""What streams bring, and when the training hears of it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dssfn.errors import AgreementError, PeerTimeout, ProtocolError, Regroup
from dssfn.transports.base import Tag
from dssfn.transports.grpc import Neighbour, Rules, Terms
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.switchboard import Refused, Switchboard
from dssfn.transports.grpc.wire import encode_frame

RUN, TAG = 7, Tag(0, 0, 0, (1,))
DEADLINE = 0.2


class Quiet:
    """A stream that remembers whether it was ended."""

    def __init__(self):
        self.over = threading.Event()

    def wake(self):
        pass

    def end(self):
        self.over.set()


@pytest.fixture
def board():
    terms = Terms(
        plan=b"p",
        random="r",
        differences=lambda other: iter([("plan", b"p", other)]),
        rules=Rules(run=RUN, largest=100, n_layers=3),
    )
    return Switchboard("n0", [Neighbour(1, "n1", None)], terms, deadline=DEADLINE)


def _hello(incarnation=5, **changes):
    fields = {"protocol": 1, "node": "n1", "plan": b"p", "random": "r", **changes}
    hello = pb.Hello(incarnation=incarnation, **fields)
    return pb.Envelope(hello=hello).SerializeToString()


def _greet(board, *, stream=None, **changes):
    stream = stream or Quiet()
    return board.greet(_hello(**changes), ["n1"], stream), stream


def _letter(number=1, value=1.0, epoch=0, tag=TAG):
    return encode_frame(RUN, number, 0, epoch, tag, np.array([value]))


def _goodbye(reason):
    return pb.Envelope(goodbye=pb.Goodbye(reason=reason)).SerializeToString()


def test_words_of_a_process_that_was_replaced_are_not_taken_for_the_next_ones(board):
    link, old = _greet(board, incarnation=5)
    board.ended(link, old, "cut")
    link, new = _greet(board, incarnation=6)
    with pytest.raises(Regroup):
        board.exchange(TAG, {}, [(1, 0)])
    epoch = board.join()
    # The first stream still had a letter, with the number that must come next.
    assert not board.receive(link, old, _letter(value=-1.0))
    assert board.receive(link, new, _letter(value=2.0, epoch=epoch))
    assert board.exchange(TAG, {}, [(1, 0)])[1, 0] == [2.0]


@pytest.mark.parametrize("epoch", [2**64 - 1, 2**63, 2**33])
def test_an_epoch_that_nobody_can_have_reached_is_refused(board, epoch):
    with pytest.raises(ProtocolError, match="cannot follow"):
        _greet(board, epoch=epoch)
    link, stream = _greet(board)
    with pytest.raises(ProtocolError, match="cannot follow"):
        board.receive(link, stream, _letter(epoch=epoch))
    board.hello("n1")  # still fits into its field
    assert board.receive(link, stream, _letter(value=3.0))
    assert board.exchange(TAG, {(0, 1): np.ones(1)}, [(1, 0)])[1, 0] == [3.0]


def test_a_letter_that_is_refused_starts_no_epoch(board):
    link, stream = _greet(board)
    with pytest.raises(ProtocolError, match="must come next"):
        board.receive(link, stream, _letter(number=9, epoch=4))
    assert board.receive(link, stream, _letter(value=3.0))
    assert board.exchange(TAG, {}, [(1, 0)])[1, 0] == [3.0]


def test_a_neighbour_that_agreed_once_cannot_stop_the_node_with_another_plan(board):
    _greet(board)
    with pytest.raises(Refused, match="do not agree"):
        _greet(board, plan=b"other")
    board.exchange(TAG, {}, [])


def test_a_neighbour_with_another_plan_from_the_start_stops_the_node(board):
    with pytest.raises(Refused, match="do not agree"):
        _greet(board, plan=b"x" * 100_000)
    with pytest.raises(AgreementError, match="do not agree") as caught:
        board.exchange(TAG, {}, [])
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize("reason", [pb.Goodbye.FINISHED, pb.Goodbye.GAVE_UP])
def test_a_neighbour_that_left_for_good_has_a_deadline_to_come_back(board, reason):
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(board.exchange, TAG, {}, [(1, 0)])
        link, stream = _greet(board)
        assert not board.receive(link, stream, _goodbye(reason))
        board.ended(link, stream, "")
        link, stream = _greet(board)
        assert board.receive(link, stream, _letter(value=4.0))
        assert waiting.result(30)[1, 0] == [4.0]
    left = time.monotonic()
    assert not board.receive(link, stream, _goodbye(reason))
    board.ended(link, stream, "")
    with pytest.raises(PeerTimeout, match="has left"):
        board.exchange(TAG, {}, [(1, 0)])
    assert time.monotonic() - left > DEADLINE


def test_a_neighbour_out_of_step_has_a_deadline_to_come_back_restarted(board):
    board.deadline = 30.0
    with ThreadPoolExecutor(1) as pool:
        link, stream = _greet(board, incarnation=5)
        assert board.receive(link, stream, _letter(tag=Tag(2, 9, 9, (1,))))
        waiting = pool.submit(board.exchange, TAG, {}, [(1, 0)])
        assert stream.over.wait(30)
        board.ended(link, stream, "")
        _greet(board, incarnation=6)
        with pytest.raises(Regroup):
            waiting.result(30)


def test_a_neighbour_that_stays_out_of_step_is_an_error(board):
    link, stream = _greet(board)
    assert board.receive(link, stream, _letter(tag=Tag(2, 9, 9, (1,))))
    with pytest.raises(ProtocolError, match="must send its letter for"):
        board.exchange(TAG, {}, [(1, 0)])


def test_words_that_go_to_a_log_are_printable(board):
    link, stream = _greet(board)
    names = ["\x1b[2J" * 1000] * 100
    status = pb.Envelope(status=pb.Status(waiting_for=names)).SerializeToString()
    assert board.receive(link, stream, status)
    assert len(link.waiting_for) <= 8
    assert all(name.isprintable() and len(name) < 400 for name in link.waiting_for)
