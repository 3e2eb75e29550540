"""One edge of the graph, seen from one end: what was sent, what came, who is there.

How this works. A stream may break at any time, so nothing may depend on it. Letters are
numbered in each direction and kept until the other end says that it has them; when a
new stream says how many have come, the others are sent again. What comes twice is
dropped, and what comes out of turn is an error. Only a process that was restarted has
lost what it knew: then the numbers start anew, and all nodes must go back to a layer
that all of them have.

This module knows no network: it is the bookkeeping alone, and whoever calls it holds
the lock.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from dssfn._typing import Array, NodeId
from dssfn.errors import ProtocolError
from dssfn.transports.base import Tag
from dssfn.transports.grpc.wire import Frame

# Nodes walk in step: a neighbour is never more than a few letters ahead.
MOST_AHEAD = 16


class Stream(Protocol):
    """A connection that carries envelopes."""

    def wake(self) -> None:
        """There is something to send."""

    def end(self) -> None:
        """Close it; another has taken its place, or it is silent."""


@dataclass(slots=True)
class Greeting:
    """The part of a peer's Hello that concerns the link."""

    incarnation: int
    knows: int
    received: int
    epoch: int


@dataclass(slots=True)
class Account:
    """What a link has carried, for people to look at."""

    bytes_sent: int = 0
    bytes_received: int = 0
    seconds_waited: float = 0.0
    n_connections: int = 0


@dataclass(slots=True)
class Link:
    """One end of an edge.

    Parameters
    ----------
    peer : int
        The neighbour's number.
    name : str
        Its name.
    incarnation : int
        Of this process.
    """

    peer: NodeId
    name: str
    incarnation: int
    peer_incarnation: int | None = None
    stream: Stream | None = None
    last_heard: float = 0.0  # when anything came
    lost_since: float = 0.0  # when the last stream ended; when waiting began
    n_sent: int = 0
    n_received: int = 0
    unconfirmed: deque[tuple[int, bytes]] = field(default_factory=deque)
    inbox: deque[Frame] = field(default_factory=deque)
    account: Account = field(default_factory=Account)
    waiting_for: tuple[str, ...] = ()  # as the peer says
    goodbye: str | None = None  # its last words
    has_finished: bool = False  # as it said with its last words
    gave_up: bool = False

    def post(self, frame: bytes) -> None:
        """Send the next letter; its number is `n_sent + 1`."""
        self.n_sent += 1
        self.unconfirmed.append((self.n_sent, frame))
        if self.stream:
            self.stream.wake()

    def after(self, number: int) -> tuple[int, bytes] | None:
        """The first letter after a number that the peer may not have."""
        return next((one for one in self.unconfirmed if one[0] > number), None)

    def confirm(self, received: int) -> None:
        """The peer has this many letters."""
        if received > self.n_sent:
            raise ProtocolError(
                f"it confirms {received} letters, of which {self.n_sent} were sent"
            )
        while self.unconfirmed and self.unconfirmed[0][0] <= received:
            self.unconfirmed.popleft()

    def accept(self, frame: Frame, epoch: int) -> None:
        """Take a frame that came; those of earlier epochs are of no use any more."""
        self.confirm(frame.received)
        if frame.number <= self.n_received:
            return  # sent again, to be sure
        if frame.number != self.n_received + 1:
            raise ProtocolError(
                f"letter {self.n_received + 1} must come next, got {frame.number}"
            )
        self._forget_before(epoch)
        if len(self.inbox) >= MOST_AHEAD:
            raise ProtocolError(f"it is more than {MOST_AHEAD} letters ahead")
        self.n_received += 1
        if frame.epoch >= epoch:
            self.inbox.append(frame)

    def take(self, tag: Tag, epoch: int) -> Array | None:
        """The values of the letter that must come next, if it has come.

        Another letter stays where it is: nothing behind it may be used.
        """
        self._forget_before(epoch)
        if not self.inbox or self.inbox[0].epoch > epoch:
            return None
        frame = self.inbox[0]
        if frame.tag != tag:
            raise ProtocolError(
                f"Node {self.name} must send its letter for {tag}, got {frame.tag}. "
                "All nodes must run the same version of dssfn."
            )
        self.inbox.popleft()
        return frame.values

    def _forget_before(self, epoch: int) -> None:
        while self.inbox and self.inbox[0].epoch < epoch:
            self.inbox.popleft()

    def is_alive(self, now: float, silence: float) -> bool:
        """Whether something was heard over a stream not long ago."""
        return self.stream is not None and now - self.last_heard < silence

    def greet(self, peer: Greeting) -> bool:
        """Go on with a peer, or start anew; returns whether all must regroup."""
        is_first = self.peer_incarnation is None
        is_same = peer.incarnation == self.peer_incarnation
        if is_first or (is_same and peer.knows in (self.incarnation, 0)):
            self.confirm(peer.received if peer.knows == self.incarnation else 0)
            self.peer_incarnation = peer.incarnation
            return False
        self.peer_incarnation = peer.incarnation
        self.n_sent = self.n_received = 0
        self.unconfirmed.clear()
        self.inbox.clear()
        return True

    def attach(self, stream: Stream, now: float) -> None:
        """Use a new stream from now on."""
        if self.stream:
            self.stream.end()
        self.stream, self.last_heard = stream, now
        self.goodbye, self.has_finished, self.gave_up = None, False, False
        self.account.n_connections += 1

    def detach(self, stream: Stream, now: float) -> bool:
        """A stream has ended; returns whether it was the one in use."""
        if self.stream is not stream:
            return False
        self.stream, self.lost_since = None, now
        return True
