"""One edge of the graph, seen from one end: what was sent, what came, who is there.

How this works. A stream may break at any time, so nothing may depend on it. Letters are
numbered in each direction and kept until the other end says that it has them; when a
new stream says how many have come, the others are sent again. What comes twice is
dropped, and what comes out of turn is an error. Only a process that was restarted has
lost what it knew: then the numbers start again, and all nodes must go back to a layer
that all of them have. Letters of the time before are of no use then: they are dropped
at both ends, and only then may a number be skipped.

This module knows no network: it is the bookkeeping alone, and whoever calls it holds
the lock.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from dssfn._typing import NodeId, Numbers
from dssfn.errors import ProtocolError
from dssfn.numbered import Incoming, Outgoing
from dssfn.transports.base import Account, Sighting, Tag
from dssfn.transports.grpc.wire import Frame
from dssfn.transports.reasons import Reason

# Nodes walk in step: a neighbour is never more than a few letters ahead, and confirms
# what it got with every letter of its own.
MOST_AHEAD = 16


class Stream(Protocol):
    """A connection that carries envelopes."""

    def wake(self) -> None:
        """Say that there is something to send."""

    def end(self) -> None:
        """Close the stream: another has taken its place, or it is silent."""


@dataclass(slots=True)
class Greeting:
    """The part of a peer's Hello that concerns the link."""

    incarnation: int
    knows: int
    received: int
    attempt: int = 0


class Letter(NamedTuple):
    """A letter that was sent: its number on this link, and its bytes."""

    number: int
    epoch: int
    frame: bytes


@dataclass(slots=True)
class Link:
    """One end of an edge.

    Parameters
    ----------
    peer : int
        The neighbour's number.
    name : str
        The neighbour's name.
    incarnation : int
        The random number that tells this process from others of the node.
    """

    peer: NodeId
    name: str
    incarnation: int
    peer_incarnation: int | None = None
    peer_attempt: int = 0  # the number of its last greeting
    n_attempts: int = 0  # greetings of this end
    stream: Stream | None = None
    last_heard: float = 0.0  # when anything came
    lost_since: float = 0.0  # when it was last of use; when waiting began
    attached_at: float = 0.0
    detached_at: float = 0.0
    sent: Outgoing[Letter] = field(default_factory=Outgoing)
    came: Incoming = field(default_factory=Incoming)
    newest_epoch: int = 0  # of the frames that came
    inbox: deque[Frame] = field(default_factory=deque)
    account: Account = field(default_factory=Account)
    waiting_for: tuple[str, ...] = ()  # as the peer says
    layer: int | None = None  # the last that the peer spoke of
    goodbye: Reason | None = None  # its last words
    trouble: str = ""  # what keeps it from being connected

    @property
    def n_sent(self) -> int:
        """How many letters were sent."""
        return self.sent.n_sent

    @property
    def n_received(self) -> int:
        """The number of the last letter that came."""
        return self.came.n_received

    @property
    def unconfirmed(self) -> deque[Letter]:
        """The letters that the peer may not have."""
        return self.sent.unconfirmed

    def post(self, frame: bytes, epoch: int) -> None:
        """Send the next letter; its number is `n_sent + 1`."""
        if len(self.unconfirmed) >= MOST_AHEAD:
            raise ProtocolError(
                f"Node {self.name} has confirmed none of the last {MOST_AHEAD} "
                "messages to it, although its own messages arrive. It does not follow "
                "the protocol; ask its operator which version of dssfn it runs."
            )
        self.sent.keep(Letter(self.n_sent + 1, epoch, frame))
        if self.stream:
            self.stream.wake()

    def after(self, number: int) -> Letter | None:
        """Return the first letter after a number that the peer may not have."""
        return self.sent.after(number)

    def enter(self, epoch: int) -> None:
        """Drop the letters of earlier epochs, which nobody needs any more."""
        while self.unconfirmed and self.unconfirmed[0].epoch < epoch:
            self.unconfirmed.popleft()
        self._forget_before(epoch)

    def confirm(self, received: int) -> None:
        """Drop the letters that the peer says it has."""
        self.sent.confirm(received)

    def accept(self, frame: Frame, epoch: int) -> bool:
        """Take a frame that came; those of earlier epochs are of no use any more.

        Returns whether it is of use.
        """
        self.confirm(frame.received)
        if self.came.has(frame.number):
            return False  # sent again, to be sure
        may_skip = frame.epoch > self.newest_epoch
        if frame.number != self.n_received + 1 and not may_skip:
            raise ProtocolError(
                f"message {self.n_received + 1} must come next, got {frame.number}"
            )
        self._forget_before(epoch)
        if len(self.inbox) >= MOST_AHEAD:
            raise ProtocolError(f"it is more than {MOST_AHEAD} messages ahead")
        self.came.skip_to(frame.number)
        self.newest_epoch = max(self.newest_epoch, frame.epoch)
        self.speaks_of(frame.tag.layer)
        if frame.epoch < epoch:
            return False
        self.inbox.append(frame)
        return True

    def take(self, tag: Tag, epoch: int) -> Numbers | None:
        """Return the values of the letter that must come next, if it has come.

        Another letter stays where it is: nothing behind it may be used.
        """
        self._forget_before(epoch)
        if not self.inbox or self.inbox[0].epoch > epoch:
            return None
        frame = self.inbox[0]
        if frame.tag != tag:
            raise ProtocolError(
                f"Node {self.name} must send its message for {tag}, got {frame.tag}. "
                "All nodes must run the same version of dssfn, and none may send "
                "different neighbours contradictory messages."
            )
        self.inbox.popleft()
        self.lost_since = self.last_heard  # it was of use
        return frame.values

    def _forget_before(self, epoch: int) -> None:
        while self.inbox and self.inbox[0].epoch < epoch:
            self.inbox.popleft()

    def speaks_of(self, layer: int) -> None:
        """Note the layer that the peer is in; before and between layers it has none."""
        if layer >= 0:
            self.layer = layer

    def sighted(self, now: float, waited: float | None) -> Sighting:
        """Return what is known of the peer, whose letter is waited for or not."""
        is_up, was_seen = self.stream is not None, self.peer_incarnation is not None
        changed = self.attached_at if is_up else self.detached_at
        return Sighting(
            is_up=is_up,
            was_seen=was_seen,
            since=now - (changed or self.lost_since),
            silent=now - self.last_heard if is_up else 0.0,
            waited=waited,
            layer=self.layer,
            waiting_for=self.waiting_for if is_up else (),
            reason=self.goodbye,
            n_sent=self.n_sent,
            n_received=self.n_received,
            account=replace(self.account),
        )

    def is_alive(self, now: float, silence: float) -> bool:
        """Return whether something was heard over a stream not long ago."""
        return self.stream is not None and now - self.last_heard < silence

    def is_restarted(self, peer: Greeting) -> bool:
        """Return whether either end has lost what it knew since they last met."""
        if self.peer_incarnation is None:
            return False
        if peer.incarnation != self.peer_incarnation:
            return True
        # Until its first letter comes it may not have heard this end's answer.
        knows_this = peer.knows in (self.incarnation, 0)
        return not knows_this and self.n_received > 0

    def greet(self, peer: Greeting) -> bool:
        """Go on with a peer, or start from scratch; return whether all must regroup."""
        must_regroup = self.is_restarted(peer)
        if must_regroup:
            self.sent, self.came, self.newest_epoch = Outgoing(), Incoming(), 0
            self.inbox.clear()
        else:
            self.confirm(peer.received if peer.knows == self.incarnation else 0)
        self.peer_incarnation, self.peer_attempt = peer.incarnation, peer.attempt
        return must_regroup

    def attach(self, stream: Stream, now: float) -> None:
        """Use a new stream from now on."""
        if self.stream:
            self.stream.end()
        self.stream, self.last_heard, self.attached_at = stream, now, now
        self.goodbye, self.trouble = None, ""
        self.account.n_connections += 1

    def detach(self, stream: Stream, now: float, steady: float) -> bool:
        """Note that a stream has ended; return whether it was the one in use.

        A neighbour that comes and goes is as good as gone: only a stream that lasted
        for `steady` seconds, or brought a letter, restarts the wait for it.
        """
        if self.stream is not stream:
            return False
        self.stream, self.detached_at = None, now
        if now - self.attached_at >= steady:
            self.lost_since = now
        return True

    @property
    def has_left(self) -> bool:
        """Whether the neighbour said that it will not come back by itself."""
        return self.goodbye in (Reason.FINISHED, Reason.GAVE_UP)

    @property
    def last_words(self) -> str:
        """The reason for which the neighbour left; empty if it gave none."""
        if self.goodbye is None:
            return ""
        waited = self.goodbye is Reason.GAVE_UP and self.waiting_for
        return self.goodbye.value + (f" for {', '.join(waited)}" if waited else "")

    @property
    def is_unseen(self) -> bool:
        """Whether the neighbour has never been connected."""
        return self.peer_incarnation is None

    @property
    def in_brackets(self) -> str:
        """What is known of the neighbour's absence, to end its name; or nothing."""
        known = self.last_words or self.trouble
        return f" ({known})" if known else ""

    @property
    def named(self) -> str:
        """The neighbour's name, and what is known of its absence."""
        return f"{self.name}{self.in_brackets}"

    def described(self, seconds: float) -> str:
        """Return a neighbour that is waited for, in words, and what is known of it."""
        if self.stream is None:
            state = "it has not connected yet" if self.is_unseen else "it is gone"
            if self.trouble:
                state += f" ({self.trouble})"
        elif self.waiting_for:
            state = f"it waits for {', '.join(self.waiting_for)}"
        else:
            state = "it is connected and busy"
        return f"{self.name} for {seconds:.0f} s: {state}"
