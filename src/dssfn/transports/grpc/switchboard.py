"""Between the training's thread and the streams: links, epochs, and patience.

How this works. Streams come and go in a thread of their own; what they bring is put
into `Link`s here, under one lock. The training's thread posts its letters and waits
under the same lock until all expected ones have come. Nothing that happens to a stream
reaches the training, unless a neighbour was restarted (`Regroup`) or stays away for too
long (`PeerTimeout`).

Times. All follow from the round deadline: a node says four times within it that it is
alive; a stream that is silent for three quarters of it, and for as long as a letter may
take over a slow line, is taken for dead; a neighbour that is gone is waited for ten
times as long. One that has left for good, or is out of step, has one deadline to come
back as another process: whoever holds its key could have said so in its place.
"""

from __future__ import annotations

import logging
import math
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from dssfn._typing import Array, NodeId
from dssfn.errors import (
    AgreementError,
    PeerTimeout,
    ProtocolError,
    Regroup,
    TransportError,
)
from dssfn.transports.base import Letters, Tag
from dssfn.transports.base import Link as Edge
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.link import Account, Greeting, Link, Stream
from dssfn.transports.grpc.wire import (
    ITEM,
    PROTOCOL,
    Rules,
    check_frame,
    decode,
    encode_frame,
    printable,
)

log = logging.getLogger("dssfn.node")

BEATS = 4  # signs of life within the deadline
SILENCE = 0.75  # of the deadline; a stream that is silent for longer is dead
SLOWEST_LINE = 125_000  # bytes in a second; signs of life wait behind long letters
PATIENCE = 10  # deadlines to wait for a neighbour that is gone
# Restarts that a neighbour may know of and this node does not: any number, but no sum
# of them leaves the 64 bits on the wire.
EPOCHS_AHEAD = 2**32


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbour: its number, its name, and its address if this end dials."""

    number: NodeId
    name: str
    address: str | None


@dataclass(frozen=True, slots=True)
class Terms:
    """What both ends of a link must agree on before any letter.

    Parameters
    ----------
    plan : bytes
        Sent to every neighbour.
    random : str
        Digest of the random matrices.
    differences : callable
        From a neighbour's `plan` to all settings that differ: name, mine, theirs.
    rules : Rules
        What a frame may hold.
    """

    plan: bytes
    random: str
    differences: Callable[[bytes], Iterator[tuple[str, object, object]]]
    rules: Rules


class Refused(TransportError):
    """This end does not talk to that one; `is_final` if trying again is of no use."""

    def __init__(self, text: str, *, is_final: bool) -> None:
        super().__init__(text)
        self.is_final = is_final


class Switchboard:
    """All links of one node.

    Parameters
    ----------
    name : str
        This node's.
    neighbours : sequence of Neighbour
    terms : Terms
    deadline : float
        The round deadline in seconds.
    """

    def __init__(
        self,
        name: str,
        neighbours: Sequence[Neighbour],
        terms: Terms,
        *,
        deadline: float,
    ) -> None:
        self.name = name
        self.deadline = deadline
        self.patience = PATIENCE * deadline
        self.epoch = 0  # that the training is in
        self._wanted = 0  # the newest epoch that any neighbour is in
        self._terms = terms
        self._incarnation = secrets.randbits(63) + 1
        now = time.monotonic()
        self._links = {
            one.number: Link(one.number, one.name, self._incarnation, lost_since=now)
            for one in neighbours
        }
        self._by_name = {link.name: link for link in self._links.values()}
        self._changed = threading.Condition()
        self._failure: TransportError | None = None
        self._has_begun = False  # letters have come
        self.at = Tag(-1, -1, 0, ())  # the exchange that the training is in
        self._missing: tuple[str, ...] = ()
        self._out_of_step: dict[NodeId, float] = {}  # neighbours, since when

    # For the training's thread.

    def exchange(
        self, tag: Tag, letters: Letters, expected: Collection[Edge]
    ) -> dict[Edge, Array]:
        """Post letters and wait for the expected ones, however often streams break."""
        with self._changed:
            self._check()
            self.at = tag
            for (_, peer), values in letters.items():
                self._post(self._links[peer], tag, values)
            began = time.monotonic()
            try:
                return self._collect(tag, expected, began)
            finally:
                self._missing = ()

    def join(self) -> int:
        """Enter the newest epoch, after `Regroup`; returns its number."""
        with self._changed:
            self.epoch = self._wanted
            return self.epoch

    def accounts(self) -> dict[str, tuple[Account, bool]]:
        """What every link has carried, and whether it is up."""
        with self._changed:
            return {
                link.name: (link.account, link.stream is not None)
                for link in self._links.values()
            }

    def _post(self, link: Link, tag: Tag, values: Array) -> None:
        run, number = self._terms.rules.run, link.n_sent + 1
        frame = encode_frame(run, number, link.n_received, self.epoch, tag, values)
        link.post(frame)

    def _collect(
        self, tag: Tag, expected: Collection[Edge], began: float
    ) -> dict[Edge, Array]:
        found: dict[Edge, Array] = {}
        complained = began
        while True:
            self._check()
            now = time.monotonic()
            for edge in set(expected) - set(found):
                link = self._links[edge[0]]
                values = self._take(link, tag, now)
                if values is not None:
                    found[edge] = values
                    link.account.seconds_waited += now - began
            missing = [self._links[e[0]] for e in expected if e not in found]
            if not missing:
                self._has_begun = True
                return found
            self._missing = tuple(link.name for link in missing)
            self._lose_patience(missing, began, now)
            if now - complained >= self.deadline:
                complained = now
                for link in missing:
                    log.warning("waiting for %s", _why(link, now - began))
            self._changed.wait(self.deadline / (2 * BEATS))

    def _take(self, link: Link, tag: Tag, now: float) -> Array | None:
        """A link's next letter; another letter is an error if it stays."""
        try:
            values = link.take(tag, self.epoch)
        except ProtocolError as exc:
            since = self._out_of_step.setdefault(link.peer, now)
            if now - since > self.deadline:
                raise
            if since == now:
                log.error("%s", exc)
                if link.stream:
                    link.stream.end()  # to make room for another process
            return None
        self._out_of_step.pop(link.peer, None)
        return values

    def _check(self) -> None:
        if self._failure:
            raise self._failure
        if self._wanted > self.epoch:
            raise Regroup(f"A node was restarted: epoch {self._wanted} begins.")

    def _lose_patience(self, missing: list[Link], began: float, now: float) -> None:
        for link in missing:
            if link.stream is not None:
                continue
            has_left = link.has_finished or link.gave_up
            if has_left and now - link.lost_since > self.deadline:
                words = (link.goodbye or "").rstrip(".")
                raise PeerTimeout(f"Node {link.name} has left: {words}.")
            away = now - max(link.lost_since, began)
            if away > self.patience:
                raise PeerTimeout(
                    f"Node {link.name} is gone for {away:.0f} s"
                    + (f" ({link.goodbye})" if link.goodbye else "")
                    + ". Start this node again when it is back."
                )

    # For the streams' thread.

    def hello(self, name: str) -> bytes:
        """The first words to a neighbour."""
        with self._changed:
            link = self._by_name[name]
            hello = pb.Hello(
                protocol=PROTOCOL,
                node=self.name,
                plan=self._terms.plan,
                random=self._terms.random,
                incarnation=self._incarnation,
                knows=link.peer_incarnation or 0,
                received=link.n_received,
                epoch=self._wanted,
            )
        return bytes(pb.Envelope(hello=hello).SerializeToString())

    def greet(self, data: bytes, names: Collection[str], stream: Stream) -> Link:
        """Check a neighbour's first words, and use its stream from now on.

        Parameters
        ----------
        data : bytes
            What came.
        names : collection of str
            Those on its certificate.
        stream : Stream
            The stream, if all is well.

        Raises
        ------
        Refused
            If this is nobody to talk to.
        """
        hello = self._checked_hello(data, names)
        with self._changed:
            self._check_epoch(hello.epoch)
            link = self._by_name[hello.node]
            now = time.monotonic()
            is_same = hello.incarnation == link.peer_incarnation
            if not is_same and link.is_alive(now, SILENCE * self.deadline):
                raise Refused(
                    f"{link.name} is connected already, as another process",
                    is_final=False,
                )
            greeting = Greeting(
                hello.incarnation, hello.knows, hello.received, hello.epoch
            )
            was_known = link.peer_incarnation is not None
            must_regroup = link.greet(greeting)
            self._wanted = max(self._wanted, hello.epoch) + must_regroup
            link.attach(stream, now)
            log.info(
                "%s is %s",
                link.name,
                "restarted; all go back to the last layer that all have"
                if must_regroup
                else "back"
                if was_known
                else "connected",
            )
            self._changed.notify_all()
            return link

    def check_names(self, names: Collection[str]) -> None:
        """Refuse a certificate that is no neighbour's, before anything is read."""
        if not any(name in self._by_name for name in names):
            shown = printable(", ".join(names)) or "nobody"
            raise Refused(f"{shown} is no neighbour of {self.name}", is_final=True)

    def _check_epoch(self, epoch: int) -> None:
        if epoch > self._wanted + EPOCHS_AHEAD:
            raise ProtocolError(f"epoch {epoch} cannot follow {self._wanted}")

    def _checked_hello(self, data: bytes, names: Collection[str]) -> pb.Hello:
        envelope = decode(data)
        if envelope.WhichOneof("content") != "hello":
            raise ProtocolError("it did not say hello first")
        hello = envelope.hello
        if hello.node not in names:
            raise Refused(
                f"it says to be {hello.node[:80]!r}, but its certificate is for "
                f"{', '.join(names) or 'nobody'}",
                is_final=True,
            )
        if hello.node not in self._by_name:
            raise Refused(f"{hello.node} is no neighbour of {self.name}", is_final=True)
        if not hello.incarnation:
            raise ProtocolError("its hello has no incarnation")
        for field, mine, theirs in self._disagreements(hello):
            text = (
                f"{self.name} and {hello.node} do not agree: `{printable(field)}` is "
                f"{printable(repr(mine))} at {self.name} and "
                f"{printable(repr(theirs))} at {hello.node}"
            )
            self.disagree(hello.node, text)
            raise Refused(text, is_final=True)
        return hello

    def _disagreements(self, hello: pb.Hello) -> Iterator[tuple[str, object, object]]:
        if hello.protocol != PROTOCOL:
            yield "protocol", PROTOCOL, hello.protocol
        if hello.plan != self._terms.plan:
            yield from self._terms.differences(hello.plan)
        if hello.random != self._terms.random:
            yield "digest of the random matrices", self._terms.random, hello.random

    def disagree(self, name: str, text: str) -> None:
        """Stop the training, unless it has begun or that neighbour agreed before."""
        with self._changed:
            has_agreed = self._by_name[name].peer_incarnation is not None
            if not self._has_begun and not has_agreed:
                self._failure = AgreementError(
                    f"{text}. Give all nodes the same plan file and version of dssfn."
                )
                self._changed.notify_all()

    def receive(self, link: Link, stream: Stream, data: bytes) -> bool:
        """Take what came over a link; returns False after the last words."""
        envelope = decode(data)
        kind = envelope.WhichOneof("content")
        frame = None
        if kind == "frame":
            frame = check_frame(envelope.frame, self._terms.rules)
        with self._changed:
            if link.stream is not stream:
                return False  # words of a process that was restarted meanwhile
            link.last_heard = time.monotonic()
            link.account.bytes_received += len(data)
            if frame is not None:
                self._check_epoch(frame.epoch)
                newest = max(self._wanted, frame.epoch)
                link.accept(frame, newest)
                self._wanted = newest
                self._changed.notify_all()
            elif kind == "status":
                link.confirm(envelope.status.received)
                some = envelope.status.waiting_for[:8]
                link.waiting_for = tuple(map(printable, some))
            elif kind == "goodbye":
                reason = envelope.goodbye.reason
                link.goodbye = printable(envelope.goodbye.text)
                link.has_finished = reason == pb.Goodbye.FINISHED
                link.gave_up = reason == pb.Goodbye.GAVE_UP
                return False
            else:
                raise ProtocolError("it said hello twice")
        return True

    def next_letter(self, link: Link, number: int) -> tuple[int, bytes] | None:
        """The first letter after a number that must be sent."""
        with self._changed:
            found = link.after(number)
            if found:
                link.account.bytes_sent += len(found[1])
            return found

    def status(self, link: Link) -> bytes:
        """A sign of life."""
        with self._changed:
            status = pb.Status(
                received=link.n_received,
                layer=self.at.layer,
                step=self.at.step,
                waiting_for=self._missing,
            )
        return bytes(pb.Envelope(status=status).SerializeToString())

    def is_silent(self, link: Link) -> bool:
        """Whether nothing was heard for too long; a letter may be on its way."""
        with self._changed:
            letter = ITEM * math.prod(self.at.shape) / SLOWEST_LINE
            silence = SILENCE * self.deadline + letter
            return not link.is_alive(time.monotonic(), silence)

    def ended(self, link: Link, stream: Stream, why: str) -> None:
        """A stream is no more."""
        with self._changed:
            if link.detach(stream, time.monotonic()):
                level = logging.INFO if link.has_finished else logging.WARNING
                log.log(level, "%s is gone: %s", link.name, link.goodbye or why)
                self._changed.notify_all()


def _why(link: Link, seconds: float) -> str:
    """A neighbour that is waited for, and what is known of it."""
    if link.stream is None:
        return f"{link.name} for {seconds:.0f} s: it is gone"
    if link.waiting_for:
        others = ", ".join(link.waiting_for)
        return f"{link.name} for {seconds:.0f} s: it waits for {others}"
    return f"{link.name} for {seconds:.0f} s: it is connected and busy"
