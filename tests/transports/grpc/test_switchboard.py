"""What streams bring, and when the training hears of it."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dssfn.errors import (
    AgreementError,
    NumericalError,
    PeerTimeout,
    ProtocolError,
    Regroup,
)
from dssfn.transports.base import FLOAT64, INT64, Tag
from dssfn.transports.grpc import Neighbour, Rules, Terms
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.epochs import RESTARTS, RESTARTS_IN_VAIN
from dssfn.transports.grpc.refusals import Refusal, Refused
from dssfn.transports.grpc.switchboard import CHATTER, Switchboard
from dssfn.transports.grpc.wire import PROTOCOL, encode_frame
from dssfn.transports.reasons import Reason

RUN, TAG = 7, Tag(0, 0, 0, (1,))
DEADLINE = 0.2
ATTEMPTS = itertools.count(1)
NAMES = ("n0", "n1", "n2", "n3", "n4")


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
        members=frozenset(NAMES),
    )
    neighbours = [Neighbour(k, f"n{k}", None) for k in (1, 2)]
    return Switchboard("n0", neighbours, terms, deadline=DEADLINE)


def _hello(incarnation=5, **changes):
    fields = {
        "protocol": PROTOCOL,
        "node": "n1",
        "plan": b"p",
        "random": "r",
        "attempt": next(ATTEMPTS),
        **changes,
    }
    hello = pb.Hello(incarnation=incarnation, **fields)
    return pb.Envelope(hello=hello).SerializeToString()


def _greet(board, *, stream=None, **changes):
    stream = stream or Quiet()
    names = [changes.get("node", "n1")]
    return board.greet(_hello(**changes), names, stream), stream


def _letter(number=1, value=1.0, epoch=0, tag=TAG, received=0, restarted=""):
    values = np.array([value], tag.dtype)
    return encode_frame(RUN, number, received, epoch, tag, values, restarted)


def _takes(board, link, stream, data):
    """Whether the board goes on listening after some words."""
    return board.receive(link, stream, data) is not None


def _goodbye(reason):
    return pb.Envelope(goodbye=pb.Goodbye(reason=reason)).SerializeToString()


def test_words_of_a_process_that_was_replaced_are_not_taken_for_the_next_ones(board):
    link, old = _greet(board, incarnation=5)
    board.ended(link, old, "cut")
    link, new = _greet(board, incarnation=6)
    with pytest.raises(Regroup):
        board.exchange(TAG, {}, [(1, 0)])
    board.join()
    # The first stream still had a letter, with the number that must come next.
    assert not _takes(board, link, old, _letter(value=-1.0))
    assert _takes(board, link, new, _letter(value=2.0, epoch=board.epoch))
    assert board.exchange(TAG, {}, [(1, 0)])[1, 0] == [2.0]


@pytest.mark.parametrize("epoch", [2**64 - 1, 2**63, 2**48 + 1])
def test_an_epoch_that_nobody_can_have_reached_is_refused(board, epoch):
    with pytest.raises(ProtocolError, match="cannot follow"):
        _greet(board, epoch=epoch)
    link, stream = _greet(board)
    with pytest.raises(ProtocolError, match="cannot follow"):
        board.receive(link, stream, _letter(epoch=epoch))
    board.hello("n1")  # still fits into its field
    assert _takes(board, link, stream, _letter(value=3.0))
    assert board.exchange(TAG, {(0, 1): np.ones(1)}, [(1, 0)])[1, 0] == [3.0]


def test_a_letter_that_is_refused_starts_no_epoch(board):
    link, stream = _greet(board)
    with pytest.raises(ProtocolError, match="but only 0 were sent"):
        board.receive(link, stream, _letter(epoch=4, received=9))
    assert _takes(board, link, stream, _letter(value=3.0))
    assert board.exchange(TAG, {}, [(1, 0)])[1, 0] == [3.0]


def test_a_neighbour_that_agreed_once_cannot_stop_the_node_with_another_plan(board):
    _greet(board)
    with pytest.raises(Refused, match="do not agree"):
        _greet(board, plan=b"other")
    board.exchange(TAG, {}, [])


def _differ(board, name, *, agreeing=(), plan=b"x" * 60_000):
    with pytest.raises(Refused, match="do not agree") as caught:
        _greet(board, node=name, plan=plan, agreeing=agreeing)
    assert caught.value.refusal is Refusal.ANOTHER_PLAN
    assert len(str(caught.value)) < 2000


def test_of_two_plans_that_differ_neither_node_stops(board):
    _differ(board, "n1")
    board.exchange(TAG, {}, [])


def test_a_node_whose_plan_differs_from_most_stops_and_names_the_difference(board):
    _differ(board, "n1", agreeing=["n1", "n3"])
    board.exchange(TAG, {}, [])  # two of five: who is right is not clear
    _differ(board, "n2", agreeing=["n2"], plan=b"a third one")
    board.exchange(TAG, {}, [])
    _differ(board, "n2", agreeing=["n2"])
    with pytest.raises(AgreementError, match=r"3 of 5 nodes .*n1, n2, n3") as caught:
        board.exchange(TAG, {}, [])
    assert len(str(caught.value)) < 2000


def test_a_node_with_whom_another_agrees_goes_on_waiting_for_those_who_differ(board):
    _greet(board, node="n2")
    _differ(board, "n1", agreeing=["n1", "n3", "n4"])
    board.exchange(TAG, {}, [])


def test_names_that_are_not_in_the_plan_count_for_nothing(board):
    _differ(board, "n1", agreeing=[f"x{k}" for k in range(100)] + ["n0"])
    board.exchange(TAG, {}, [])


def test_non_finite_values_are_an_error_before_they_are_posted(board):
    link, _ = _greet(board)
    for value in (np.inf, -np.inf, np.nan):
        with pytest.raises(NumericalError, match="not finite"):
            board.exchange(TAG, {(0, 1): np.array([value])}, [])
    assert not link.unconfirmed


def test_a_neighbour_that_starts_all_again_too_often_is_not_listened_to(board, caplog):
    board.epochs.deadline = 1e6  # no more within this test
    for incarnation in range(1, RESTARTS + 2):
        link, stream = _greet(board, incarnation=incarnation)
        board.ended(link, stream, "cut")
    before = board.epochs.newest
    for incarnation in range(50, 100):
        with pytest.raises(Refused, match="too often") as caught:
            _greet(board, incarnation=incarnation)
        assert caught.value.refusal is Refusal.TOO_OFTEN
    with pytest.raises(Refused, match="too often"):
        _greet(board, incarnation=RESTARTS + 1, epoch=1000)
    link, stream = _greet(board, incarnation=RESTARTS + 1)
    with pytest.raises(ProtocolError, match="too often"):
        board.receive(link, stream, _letter(epoch=before + 1))
    assert board.epochs.newest == before


def test_who_is_said_to_be_restarted_is_logged_with_who_says_so(board, caplog):
    caplog.set_level("INFO")
    link, stream = _greet(board)
    for number, (who, shown) in enumerate(
        [("n4", "n4 was restarted, as n1 says"), ("\x1b[2J", "n1 was restarted")]
    ):
        letter = _letter(number + 1, epoch=number + 1, restarted=who)
        assert _takes(board, link, stream, letter)
        with pytest.raises(Regroup):
            board.exchange(TAG, {}, [])
        board.join()
        assert caplog.messages[-1].endswith(shown)


def test_restarts_without_a_further_layer_end_with_the_name_of_who_asked(board):
    link, stream = _greet(board)
    board.have_met = True
    board.epochs.deadline = 1e-9  # as often as it likes

    def restart(layer):
        number = link.n_received + 1
        letter = _letter(number, epoch=board.epoch + 1, restarted="n4")
        assert _takes(board, link, stream, letter)
        with pytest.raises(Regroup):
            board.exchange(TAG, {}, [])
        board.join()
        board.exchange(Tag(layer, 0, 0, (1,)), {}, [])

    for layer in range(RESTARTS_IN_VAIN + 5):
        restart(layer)
    for _ in range(RESTARTS_IN_VAIN):
        restart(layer)
    with pytest.raises(PeerTimeout, match=r"Node n1 has made all .*n4 was restarted"):
        restart(layer)


def test_before_all_have_met_nobody_is_given_up_for_restarts(board):
    board.epochs.deadline = 1e-9
    link, stream = _greet(board)
    assert not board.have_met
    for _ in range(3 * RESTARTS_IN_VAIN):
        letter = _letter(link.n_received + 1, epoch=board.epoch + 1)
        assert _takes(board, link, stream, letter)
        with pytest.raises(Regroup):
            board.exchange(TAG, {}, [])
        board.join()
    board.exchange(TAG, {}, [])


def test_a_restart_takes_one_epoch_however_many_neighbours_notice_it(board):
    link, stream = _greet(board, incarnation=5)
    board.ended(link, stream, "cut")
    # Another neighbour of it has noticed first.
    _greet(board, incarnation=6, epoch=1, restarted="n1")
    assert board.epochs.newest == 1
    # One that is in this epoch already must leave it, for letters may be lost.
    link, stream = _greet(board, node="n2", incarnation=7, epoch=1)
    board.ended(link, stream, "cut")
    _greet(board, node="n2", incarnation=8, epoch=1)
    assert board.epochs.newest == 2


def test_restarts_of_different_nodes_that_one_neighbour_tells_of_do_not_add_up(board):
    board.have_met, board.epochs.deadline = True, 1e-9
    link, stream = _greet(board)
    for k in range(2 * RESTARTS_IN_VAIN):
        who = NAMES[2 + k % 3]
        letter = _letter(link.n_received + 1, epoch=board.epoch + 1, restarted=who)
        assert _takes(board, link, stream, letter)
        with pytest.raises(Regroup):
            board.exchange(TAG, {}, [])
        board.join()
    board.exchange(TAG, {}, [])


def test_a_process_that_was_just_started_joins_whatever_epoch_the_others_are_in(board):
    link, stream = _greet(board, epoch=2**40, restarted="n0")
    assert board.epochs.newest == 2**40
    with pytest.raises(ProtocolError, match="cannot follow"):
        board.receive(link, stream, _letter(epoch=2**41))


def test_a_greeting_that_was_overtaken_by_a_later_one_is_refused(board):
    old = _hello(knows=77)
    link, stream = _greet(board)
    assert _takes(board, link, stream, _letter())
    board.ended(link, stream, "cut")
    with pytest.raises(Refused) as caught:
        board.greet(old, ["n1"], Quiet())
    assert caught.value.refusal is Refusal.LATE
    assert board.epochs.newest == 0


def test_one_that_has_not_heard_the_answer_yet_need_not_start_again(board):
    # This process is new; the other knows the one before, and dials several times.
    for _ in range(5):
        link, stream = _greet(board, knows=77)
        board.ended(link, stream, "cut")
    assert board.epochs.newest == 0
    link, stream = _greet(board, knows=board._greetings.incarnation)
    assert _takes(board, link, stream, _letter(value=3.0))
    assert board.exchange(TAG, {}, [(1, 0)])[1, 0] == [3.0]


def test_letters_of_earlier_epochs_are_no_free_flood(board):
    link, stream = _greet(board)
    for budget in board._chatter.values():
        budget.period = 7.0
    assert board.receive(link, stream, _letter(epoch=1)) == 0
    pauses = [
        board.receive(link, stream, _letter(number=k, epoch=0))
        for k in range(2, CHATTER + 4)
    ]
    assert pauses[0] == 0
    assert pauses[-1] > 6


def test_before_all_have_met_one_that_gave_up_is_waited_for_as_long_as_any(board):
    board.patience = 10 * DEADLINE
    link, stream = _greet(board)
    assert not _takes(board, link, stream, _goodbye(pb.Goodbye.GAVE_UP))
    board.ended(link, stream, "")
    began = time.monotonic()
    with pytest.raises(PeerTimeout, match="has been gone for"):
        board.exchange(TAG, {}, [(1, 0)])
    assert time.monotonic() - began > 9 * DEADLINE


def test_a_greeting_that_is_refused_starts_no_epoch(board):
    _greet(board)
    with pytest.raises(ProtocolError, match="but only 0 were sent"):
        _greet(board, epoch=3, knows=board._greetings.incarnation, received=9)
    board.exchange(TAG, {}, [])


def test_a_flood_of_signs_of_life_or_repeated_letters_is_read_slowly(board):
    link, stream = _greet(board)
    for budget in board._chatter.values():
        budget.period = 7.0
    status = pb.Envelope(status=pb.Status()).SerializeToString()
    assert board.receive(link, stream, _letter()) == 0
    for _ in range(CHATTER // 2):
        assert board.receive(link, stream, status) == 0
        assert board.receive(link, stream, _letter()) == 0  # again
    assert 6 < board.receive(link, stream, status) <= 7
    assert board.receive(link, stream, _letter(number=2)) == 0  # a new one


@pytest.mark.parametrize("reason", Reason)
def test_last_words_are_a_reason_and_names_of_the_plan(board, reason, caplog):
    link, stream = _greet(board)
    goodbye = pb.Goodbye(
        reason=pb.Goodbye.Reason.Value(reason.name),
        waiting_for=["n3", "\x1b[2J", "secret"],
    )
    data = pb.Envelope(goodbye=goodbye).SerializeToString()
    assert not _takes(board, link, stream, data)
    caplog.set_level("INFO")
    board.ended(link, stream, "its stream ended")
    (line,) = caplog.messages
    assert "secret" not in line
    assert "\x1b" not in line
    expected = {
        Reason.FINISHED: "n1 has finished",
        Reason.GAVE_UP: "n1 is gone: it gave up waiting for n3",
    }
    assert line == expected.get(reason, f"n1 is gone: {reason.value}")


def test_a_reason_of_a_later_version_is_taken_for_unknown(board):
    link, stream = _greet(board)
    assert not _takes(board, link, stream, _goodbye(77))
    assert link.goodbye is Reason.UNKNOWN


@pytest.mark.parametrize("reason", [pb.Goodbye.FINISHED, pb.Goodbye.GAVE_UP])
def test_a_neighbour_that_left_for_good_has_a_deadline_to_come_back(board, reason):
    board.deadline, board.have_met = 300.0, True
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(board.exchange, TAG, {}, [(1, 0)])
        link, stream = _greet(board)
        assert not _takes(board, link, stream, _goodbye(reason))
        board.ended(link, stream, "")
        link, stream = _greet(board)
        assert _takes(board, link, stream, _letter(value=4.0))
        assert waiting.result(300)[1, 0] == [4.0]
    board.deadline = DEADLINE
    left = time.monotonic()
    assert not _takes(board, link, stream, _goodbye(reason))
    board.ended(link, stream, "")
    with pytest.raises(PeerTimeout, match="has left"):
        board.exchange(TAG, {}, [(1, 0)])
    assert time.monotonic() - left > DEADLINE


def test_a_neighbour_out_of_step_has_a_deadline_to_come_back_restarted(board):
    board.deadline = 300.0
    with ThreadPoolExecutor(1) as pool:
        link, stream = _greet(board, incarnation=5)
        assert _takes(board, link, stream, _letter(tag=Tag(2, 9, 9, (1,))))
        waiting = pool.submit(board.exchange, TAG, {}, [(1, 0)])
        assert stream.over.wait(300)
        board.ended(link, stream, "")
        _greet(board, incarnation=6)
        with pytest.raises(Regroup):
            waiting.result(300)


def test_a_neighbour_that_stays_out_of_step_is_an_error(board):
    link, stream = _greet(board)
    assert _takes(board, link, stream, _letter(tag=Tag(2, 9, 9, (1,))))
    with pytest.raises(ProtocolError, match="must send its message for"):
        board.exchange(TAG, {}, [(1, 0)])


@pytest.mark.parametrize(("sent", "awaited"), [(INT64, FLOAT64), (FLOAT64, INT64)])
def test_a_letter_of_another_kind_of_numbers_is_an_error(board, sent, awaited):
    link, stream = _greet(board)
    assert _takes(board, link, stream, _letter(tag=TAG._replace(dtype=sent)))
    with pytest.raises(ProtocolError, match=f"{awaited}.* got .*{sent}"):
        board.exchange(TAG._replace(dtype=awaited), {}, [(1, 0)])


def test_integers_come_and_go_to_the_last_bit(board):
    tag = TAG._replace(dtype=INT64)
    link, stream = _greet(board)
    assert _takes(board, link, stream, _letter(value=2**53 + 1, tag=tag))
    came = board.exchange(tag, {(0, 1): np.array([-(2**62)])}, [(1, 0)])[1, 0]
    assert (came.dtype, came.tolist()) == (np.int64, [2**53 + 1])
    frame = pb.Envelope.FromString(board.next_letter(link, 0).frame).frame
    assert np.frombuffer(frame.values, frame.dtype).tolist() == [-(2**62)]


def test_only_names_of_the_plan_are_shown_of_what_a_neighbour_says(board):
    link, stream = _greet(board)
    names = ["\x1b[2J" * 1000] * 100 + ["n2", "not in the plan"]
    status = pb.Envelope(status=pb.Status(waiting_for=names)).SerializeToString()
    assert _takes(board, link, stream, status)
    assert link.waiting_for == ("n2",)


def test_those_who_are_not_there_at_the_start_are_named_soon_and_once(board, caplog):
    caplog.set_level("INFO", logger="dssfn.node")
    board.patience = 10 * DEADLINE
    _greet(board, node="n1")
    with pytest.raises(PeerTimeout) as caught:
        board.exchange(TAG, {}, [(1, 0), (2, 0)])
    said = [record.getMessage() for record in caplog.records]
    assert said.count("waiting for n2") == 1
    assert caught.value.peer == "n2"


def test_all_who_did_not_connect_in_time_are_named_with_the_setting(board):
    board.patience = 2 * DEADLINE
    board.hindered("n2", "connection refused")
    with pytest.raises(PeerTimeout) as caught:
        board.exchange(TAG, {}, [(1, 0)])  # also those that are not waited for now
    assert str(caught.value) == (
        "n1 and n2 (connection refused) did not connect within `start_deadline` = "
        "0.4 s. Start this node again when they are running."
    )
    told = pb.Envelope.FromString(board.farewell(Reason.GAVE_UP)).goodbye
    assert told.waiting_for == ["n1", "n2"]


def test_what_is_known_of_neighbours_follows_what_they_say_and_do(board):
    assert not any(one.was_seen or one.is_up for one in board.sightings().values())
    link, stream = _greet(board)
    board.receive(link, stream, _letter(tag=Tag(2, 0, 0, (1,))))
    seen = board.sightings()
    assert seen.keys() == {"n1", "n2"}
    assert seen["n1"].is_up
    assert (seen["n1"].layer, seen["n1"].n_received) == (2, 1)
    status = pb.Status(layer=-2, waiting_for=["n3", "a stranger"])
    board.receive(link, stream, pb.Envelope(status=status).SerializeToString())
    told = board.sightings()["n1"]
    assert told.layer == 2  # between layers there is none
    assert told.waiting_for == ("n3",)
    board.receive(link, stream, _goodbye(pb.Goodbye.FINISHED))
    board.ended(link, stream, "cut")
    left = board.sightings()["n1"]
    assert (left.is_up, left.was_seen, left.reason) == (False, True, Reason.FINISHED)
    assert left.account.n_connections == 1
    assert left.waiting_for == ()


def test_who_is_waited_for_is_known_while_the_training_waits(board):
    board.patience = 100.0
    link, stream = _greet(board)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(board.exchange, TAG, {}, [(1, 0)])
        while (waited := board.sightings()["n1"].waited) is None:
            time.sleep(0.001)
        assert waited >= 0
        assert board.sightings()["n2"].waited is None
        board.receive(link, stream, _letter())
        waiting.result()
    assert board.sightings()["n1"].waited is None
