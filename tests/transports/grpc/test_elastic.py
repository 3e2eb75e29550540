"""A switchboard whose nodes may go on without some others."""

import threading

import pytest

from dssfn.errors import PeerTimeout, ProtocolError, Regroup
from dssfn.transports.base import Tag
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.attendance import Attendance, decode_roll, encode_roll
from dssfn.transports.grpc.elastic import ElasticSwitchboard
from dssfn.transports.grpc.reception import Terms
from dssfn.transports.grpc.switchboard import Neighbour
from dssfn.transports.grpc.wire import Rules
from dssfn.transports.roll_call import Call, Entry, RollCall
from tests.transports.grpc.test_switchboard import NAMES, RUN, _greet

TAG = Tag(layer=0, step=0, round=0, shape=(1,))
GRAPH = {k: ((k - 1) % 5, (k + 1) % 5) for k in range(5)}  # a ring
LEAVE_AFTER = 0.3


@pytest.fixture
def written():
    return []


@pytest.fixture
def board(written):
    """Node 0 of a ring of five, of which three may go on."""
    terms = Terms(
        plan=b"p",
        random="r",
        differences=lambda other: iter(()),
        rules=Rules(run=RUN, largest=100, n_layers=3),
        members=frozenset(NAMES),
    )
    attendance = Attendance(
        RollCall(0, GRAPH, 3), NAMES, LEAVE_AFTER, lambda group: written.append(group)
    )
    neighbours = [Neighbour(k, f"n{k}", None) for k in (1, 4)]
    return ElasticSwitchboard(
        "n0", neighbours, terms, deadline=0.2, attendance=attendance
    )


def told(board, link, stream, *entries):
    return board.receive(link, stream, encode_roll(entries))


def begun(board, **changes):
    """A group of 0, 1 and 2 that has begun; the link to node 1, and its stream."""
    link, stream = _greet(board, node="n1", **changes)
    entries = [Entry(1, 1, (0, 2)), Entry(2, 1, (1,))]
    told(board, link, stream, *entries)
    found = []
    thread = threading.Thread(target=lambda: found.append(board.gather()))
    thread.start()
    while thread.is_alive():
        if (data := board.roll(link)) is not None:
            mine = decode_roll(pb.Envelope.FromString(data).roll, 5)[0]
            entries = [
                Entry(one.node, one.version + 1, one.links, call=mine.call)
                for one in entries
            ]
            told(board, link, stream, *entries)
        thread.join(0.01)
    return found[0], link, stream


def test_a_group_begins_when_all_call_it_alike_and_is_written_down_first(
    board, written
):
    group, _, _ = begun(board)
    assert group.members == (0, 1, 2)
    assert written == [group]
    assert board.epoch == group.epoch


def test_a_member_that_was_restarted_makes_the_training_regroup(board):
    _, link, stream = begun(board, incarnation=5)
    board.ended(link, stream, "cut")
    _greet(board, node="n1", incarnation=6)
    with pytest.raises(Regroup):
        board.exchange(TAG, {}, [(1, 0)])


def test_a_member_that_leaves_the_group_takes_all_with_it(board):
    group, link, stream = begun(board)
    told(board, link, stream, Entry(2, 99, (1,), floor=group.epoch + 1))
    with pytest.raises(Regroup):
        board.exchange(TAG, {}, [(1, 0)])


def test_a_member_that_is_gone_for_too_long_ends_the_group(board):
    _, link, stream = begun(board)
    link.attached_at -= 10
    board.ended(link, stream, "cut")
    with pytest.raises(Regroup):
        board.exchange(TAG, {}, [(1, 0)])


def test_who_waits_to_be_taken_in_does_not_end_the_group(board):
    group, link, stream = begun(board)
    assert not board.newcomers
    later = Call(group.epoch + 1, 7)
    told(
        board,
        link,
        stream,
        Entry(2, 99, (1, 3), call=Call(group.epoch, group.digest)),
        Entry(3, 1, (2,), call=later),
    )
    assert board.newcomers
    board._check()


def test_too_few_nodes_give_up_with_the_names_of_the_others(board):
    board.patience = 0.5
    words = r"n1, n2, n3, n4 .* s \(`start_deadline`\)\. 3 of 5 nodes must be"
    with pytest.raises(PeerTimeout, match=words):
        board.gather()
    board.have_met = True
    with pytest.raises(PeerTimeout, match=r"for \d+ s\. 3 of 5 nodes must be"):
        board.gather()


def test_a_flood_of_tables_is_read_slowly(board):
    link, stream = _greet(board, node="n1")
    pauses = [told(board, link, stream, Entry(1, k, (0,))) for k in range(1, 300)]
    assert pauses[0] == 0
    assert pauses[-1] > 0


@pytest.mark.parametrize(
    "entries",
    [
        [Entry(5, 1, ())],
        [Entry(1, 1, (3,))],
        [Entry(1, 2**63, ())],
        [Entry(1, 1, ())] * 6,
    ],
)
def test_tables_that_nobody_can_have_break_the_protocol(board, entries):
    link, stream = _greet(board, node="n1")
    with pytest.raises(ProtocolError):
        told(board, link, stream, *entries)


def test_a_neighbour_that_attaches_is_told_who_is_there(board):
    link, _ = _greet(board, node="n1")
    assert board.roll(link) is not None
    assert board.roll(link) is None  # once


def test_a_roll_call_has_room_for_whole_numbers_only():
    """No text, and no real number: nothing of a node's rows can be in it."""
    fields = pb.Roll.Entry.DESCRIPTOR.fields
    kinds = {field.cpp_type for field in fields}
    whole = (fields[0].CPPTYPE_UINT32, fields[0].CPPTYPE_UINT64, fields[0].CPPTYPE_BOOL)
    assert kinds <= set(whole)
    assert [field.name for field in pb.Roll.DESCRIPTOR.fields] == ["entries"]
