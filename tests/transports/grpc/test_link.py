"""Two ends of an edge, and between them a channel that does whatever it likes."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from dssfn.errors import ProtocolError
from dssfn.transports.base import Tag
from dssfn.transports.grpc.link import MOST_AHEAD, Greeting, Link
from dssfn.transports.grpc.wire import Frame

SIDES = (0, 1)


def _tag(step):
    return Tag(0, step, 0, (1,))


class Ended:
    """A stream of which only its end matters."""

    def wake(self):
        pass

    def end(self):
        pass


class End:
    """A process: its link, its epochs, and the exchange that its training is in.

    Content is (walk, step): `walk` names the start of a walk through the exchanges, so
    a letter of another walk shows. Stands for the switchboard and the training.
    """

    def __init__(self, side, incarnation):
        self.side = side
        self.link = Link(1 - side, f"n{1 - side}", incarnation)
        self.epoch = self.wanted = self.n_hellos = 0
        self.posted = self.taken = 0  # within this epoch
        self.partner = None  # whose letters were used in this epoch

    def hello(self):
        link = self.link
        knows = link.peer_incarnation or 0
        self.n_hellos += 1
        return Greeting(link.incarnation, knows, link.n_received, self.n_hellos), (
            self.wanted
        )

    def greet(self, hello):
        greeting, epoch = hello
        must_regroup = self.link.greet(greeting)
        if epoch > self.wanted:  # it serves for the restart as well
            self.wanted = epoch
        else:
            self.wanted += must_regroup
        return must_regroup

    def walk(self):
        """Go on as the training does: regroup if it must, post, take."""
        if self.wanted > self.epoch:
            self.epoch, self.posted, self.taken = self.wanted, 0, 0
            self.partner = None
            self.link.enter(self.epoch)
        if self.posted == self.taken:
            link = self.link
            values = np.array([float(self.posted)])
            frame = link.n_sent + 1, self.epoch, _tag(self.posted), values
            link.post(frame, self.epoch)
            self.posted += 1
        values = self.link.take(_tag(self.taken), self.epoch)
        if values is None:
            return False
        assert values[0] == self.taken, "another letter's content"
        # An exchange is never half with one process, half with the next.
        peer = self.link.peer_incarnation
        assert self.partner in (None, peer), "letters of two processes in one walk"
        self.partner = peer
        self.taken += 1
        return True


class Edge(RuleBasedStateMachine):
    """Streams break at any letter, hellos are lost, processes die; order and content
    hold, and with a channel that is well again both ends go on.
    """

    def __init__(self):
        super().__init__()
        self.n_processes = 0
        self.ends = [self.process(0), self.process(1)]
        self.lines = None  # a queue of frames towards each end, if connected
        self.sent = [0, 0]  # up to which number, over this stream

    def process(self, side):
        self.n_processes += 1
        return End(side, self.n_processes)

    @initialize()
    def begin(self):
        self.connect("none")

    @rule(side=st.sampled_from(SIDES), n=st.integers(1, 3))
    def train(self, side, n):
        for _ in range(n):
            self.ends[side].walk()

    @precondition(lambda self: self.lines)
    @rule(side=st.sampled_from(SIDES), again=st.booleans())
    def send(self, side, again):
        """The writer's next letter; the channel may carry it twice."""
        end = self.ends[side]
        found = end.link.after(self.sent[side])
        if found:
            self.sent[side] = found.number
            number, epoch, tag, values = found.frame
            frame = Frame(number, end.link.n_received, epoch, tag, values)
            self.lines[1 - side].extend([frame] * (1 + again))

    @precondition(lambda self: self.lines)
    @rule(n=st.integers(1, 6), again=st.booleans())
    def go_well(self, n, again):
        """All is well for some rounds."""
        for _ in range(n):
            for side in SIDES:
                self.ends[side].walk()
                self.send(side, again)
                while self.lines[1 - side]:
                    self.arrive(1 - side)

    @precondition(lambda self: self.lines and any(self.lines))
    @rule(side=st.sampled_from(SIDES))
    def arrive(self, side):
        if self.lines[side]:
            frame = self.lines[side].popleft()
            end = self.ends[side]
            newest = max(end.wanted, frame.epoch)
            end.link.accept(frame, newest)  # no honest letter is ever refused
            end.wanted = newest

    @precondition(lambda self: self.lines)
    @rule(side=st.sampled_from(SIDES))
    def confirm(self, side):
        """A sign of life, which no letter has overtaken."""
        if not self.lines[1 - side]:
            self.ends[1 - side].link.confirm(self.ends[side].link.n_received)

    @precondition(lambda self: self.lines)
    @rule()
    def cut(self):
        """Letters that are on their way are lost."""
        self.lines = None

    @rule(lost=st.sampled_from(["none", "none", "answer", "first"]))
    def connect(self, lost):
        """End 0 dials. Either hello may be lost with the stream."""
        self.lines = None
        dialler, listener = self.ends
        first = dialler.hello()
        if lost == "first":
            return
        known = [end.link.peer_incarnation for end in self.ends]
        regrouped = [False, listener.greet(first)]
        answer = listener.hello()
        if lost == "answer":
            return
        regrouped[0] = dialler.greet(answer)
        self.lines, self.sent = [deque(), deque()], [0, 0]
        for end, other, before in zip(
            self.ends, reversed(self.ends), known, strict=True
        ):
            # A survivor whose neighbour was restarted does not go on as before.
            if before not in (None, other.link.incarnation):
                assert any(regrouped)
                assert max(e.wanted for e in self.ends) > end.epoch

    @precondition(lambda self: any(end.link.n_received for end in self.ends))
    @rule(sides=st.sampled_from([(0,), (1,), (0, 1)]))
    def restart(self, sides):
        self.lines = None
        for side in sides:
            self.ends[side] = self.process(side)

    @invariant()
    def nobody_is_far_ahead(self):
        for end in self.ends:
            assert len(end.link.inbox) <= MOST_AHEAD

    @invariant()
    def no_letter_is_kept_that_nobody_needs(self):
        for end in self.ends:
            kept = end.link.unconfirmed
            assert all(letter.epoch == end.epoch for letter in kept)
            assert len(kept) <= 2

    def teardown(self):
        """With a channel that is well, both ends walk on together."""
        self.connect("none")
        before = None
        for _ in range(60):
            self.go_well(1, again=True)
            if before is None and self.ends[0].epoch == self.ends[1].epoch:
                before = [end.taken for end in self.ends]
        a, b = self.ends
        assert a.epoch == b.epoch
        assert abs(a.taken - b.taken) <= 1
        assert a.taken > before[0] + 10


Edge.TestCase.settings = settings(stateful_step_count=40, deadline=None)
TestAnEdge = Edge.TestCase


def _frame(number, step=0, epoch=0, received=0):
    return Frame(number, received, epoch, _tag(step), np.array([float(step)]))


def test_a_letter_of_another_exchange_stays_and_blocks_those_behind_it():
    link = Link(1, "n1", 7)
    link.accept(_frame(1, step=4), 0)
    link.accept(_frame(2, step=0), 0)
    for _ in range(2):
        with pytest.raises(ProtocolError, match="must send its message for"):
            link.take(_tag(0), 0)


def test_letters_of_epochs_that_nobody_joined_take_up_no_room():
    link = Link(1, "n1", 7)
    for k in range(3 * MOST_AHEAD):  # the training computes, others are restarted
        link.accept(_frame(k + 1, epoch=k), k)
    assert len(link.inbox) == 1
    for _ in range(MOST_AHEAD):
        link.accept(_frame(link.n_received + 1, epoch=99), 99)
    with pytest.raises(ProtocolError, match="messages ahead"):
        link.accept(_frame(link.n_received + 1, epoch=99), 99)


def test_a_neighbour_that_confirms_nothing_is_an_error_before_memory_is_short():
    link = Link(1, "n1", 7)
    for _ in range(MOST_AHEAD):
        link.post(b"x", 0)
    with pytest.raises(ProtocolError, match="Node n1 has confirmed none"):
        link.post(b"x", 0)


def test_letters_of_earlier_epochs_are_not_kept_and_their_numbers_are_skipped():
    here, there = Link(1, "n1", 7), Link(0, "n0", 8)
    for epoch in range(3 * MOST_AHEAD):
        here.enter(epoch)
        here.post(b"x", epoch)
    (last,) = here.unconfirmed
    assert last.number == 3 * MOST_AHEAD
    with pytest.raises(ProtocolError, match="must come next"):
        there.accept(_frame(last.number, epoch=0), 0)
    assert there.accept(_frame(last.number, epoch=last.epoch), last.epoch)
    here.confirm(there.n_received)
    assert not here.unconfirmed


def test_a_neighbour_that_comes_and_goes_is_gone_since_it_was_last_of_use():
    link = Link(1, "n1", 7, lost_since=100.0)
    for now in range(110, 200, 10):
        stream = Ended()
        link.attach(stream, now)
        assert link.detach(stream, now + 1, steady=30.0)
        assert link.lost_since == 100.0
    link.attach(stream, 200.0)
    link.accept(_frame(1), 0)
    link.take(_tag(0), 0)  # a letter that was of use
    assert link.detach(stream, 201.0, steady=30.0)
    assert link.lost_since == 200.0
    link.attach(stream, 300.0)
    assert link.detach(stream, 330.0, steady=30.0)  # it was there for long enough
    assert link.lost_since == 330.0


def test_a_greeting_that_is_refused_leaves_no_trace():
    link = Link(1, "n1", 7)
    with pytest.raises(ProtocolError, match="confirms"):
        link.greet(Greeting(5, knows=7, received=3))
    assert link.peer_incarnation is None
