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

Limits. A neighbour may be faulty or hostile, so nothing that it does is free. It may
start all nodes again a few times and then once in a deadline; if no further layer
begins meanwhile, it is given up. Heartbeats and repeated letters beyond their number
are read slowly. What it says of itself is a number, a name of the plan, or one of a few
reasons; no text of its own is ever shown.
"""

from __future__ import annotations

import hashlib
import logging
import math
import secrets
import threading
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dssfn._typing import NodeId, Numbers
from dssfn.errors import (
    AgreementError,
    NumericalError,
    PeerTimeout,
    ProtocolError,
    Regroup,
    TransportError,
)
from dssfn.hints import joined
from dssfn.transports.base import (
    WAIT_WHEN_GONE,
    Account,
    Arc,
    Letters,
    Sighting,
    Tag,
)
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.epochs import RESTARTS_IN_VAIN, Epochs
from dssfn.transports.grpc.greetings import Greetings
from dssfn.transports.grpc.link import Letter, Link, Stream
from dssfn.transports.grpc.pace import Budget, Tally
from dssfn.transports.grpc.plans import Plans
from dssfn.transports.grpc.reception import AnotherPlan, Reception, Terms
from dssfn.transports.grpc.wire import (
    ITEM,
    Frame,
    check_frame,
    check_reason,
    decode,
    encode_frame,
)
from dssfn.transports.reasons import Reason

log = logging.getLogger("dssfn.node")

SOON = 0.5  # seconds after which those who are not there at the start are named
BEATS = 4  # heartbeats within the deadline
SILENCE = 0.75  # of the deadline; a stream that is silent for longer is dead
SLOWEST_LINE = 125_000  # bytes in a second; heartbeats wait behind long letters
CHATTER = 64  # envelopes at once that are no new letter; then 32 in every deadline
MOST_NAMED = 8  # nodes that are missing
COMPLAINTS = 20  # deadlines between two lines about the same wait, at the most


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbour: its number, its name, and its address if this end dials."""

    number: NodeId
    name: str
    address: str | None


class Switchboard:
    """All links of one node.

    Parameters
    ----------
    name : str
        This node's name.
    neighbours : sequence of Neighbour
        The neighbours, with an address where this end dials.
    terms : Terms
        What both ends of a link must agree on.
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
        self.patience = WAIT_WHEN_GONE * deadline
        self.have_met = False  # all nodes, as the training knows
        self.is_leaving = False
        self.epochs: Epochs = Epochs(deadline, terms.members)
        self._terms = terms
        self.reception = Reception(name, [one.name for one in neighbours], terms)
        self._plans = Plans(name, terms.members)
        incarnation, now = secrets.randbits(63) + 1, time.monotonic()
        self._greetings = Greetings(
            name, terms, incarnation, self.epochs, silence=SILENCE * deadline
        )
        self._links = {
            one.number: Link(one.number, one.name, incarnation, lost_since=now)
            for one in neighbours
        }
        self._by_name = {link.name: link for link in self._links.values()}
        self._chatter = {j: Budget(CHATTER, deadline / 32) for j in self._links}
        self._changed = threading.Condition()
        self._failure: TransportError | None = None
        self._has_begun = False  # letters have come
        self._has_named = False  # those who were not there at the start
        self.at = Tag(-1, -1, 0, ())  # the exchange that the training is in
        self._missing: tuple[str, ...] = ()
        self._began = now  # this exchange
        self._given_up: tuple[str, ...] = ()
        self._out_of_step: dict[NodeId, float] = {}  # neighbours, since when
        self.tally = Tally(log, period=deadline)
        self.seldom = Tally(log, period=COMPLAINTS * deadline, burst=1)

    # For the training's thread.

    def exchange(
        self, tag: Tag, letters: Letters, expected: Collection[Arc]
    ) -> dict[Arc, Numbers]:
        """Post letters and wait for the expected ones, however often streams break."""
        with self._changed:
            self._check()
            self.at = tag
            self.epochs.reach(tag.layer)
            for (_, peer), values in letters.items():
                self._post(self._links[peer], tag, values)
            began = self._began = time.monotonic()
            try:
                return self._collect(tag, expected, began)
            finally:
                self._missing = ()

    @property
    def epoch(self) -> int:
        """The epoch that the training is in."""
        return self.epochs.current

    def join(self) -> None:
        """Enter the newest epoch, after `Regroup`."""
        with self._changed:
            is_one_too_many = self.epochs.enter()
            for link in self._links.values():
                link.enter(self.epoch)
            cause = self.epochs.cause
            epoch = self.epoch
            text = "starting again together, attempt %d: %s"
            log.info(text, epoch, cause, extra={"epoch": epoch})
            # Before all have met, people may still be trying things out.
            if is_one_too_many and self.have_met:
                name = self.epochs.raised_by
                self._give_up(
                    name,
                    f"Node {name} has made all nodes start again {RESTARTS_IN_VAIN} "
                    f"times without completing another layer in between ({cause}). "
                    "Find out why, then start this node again.",
                )

    def accounts(self) -> dict[str, tuple[Account, bool]]:
        """Return what every link has carried, and whether it is up."""
        with self._changed:
            return {
                link.name: (link.account, link.stream is not None)
                for link in self._links.values()
            }

    def sightings(self) -> dict[str, Sighting]:
        """Return what is known of every neighbour now."""
        with self._changed:
            now, missing = time.monotonic(), self._missing
            return {
                name: link.sighted(now, now - self._began if name in missing else None)
                for name, link in self._by_name.items()
            }

    def _post(self, link: Link, tag: Tag, values: Numbers) -> None:
        if not np.isfinite(values).all():
            raise NumericalError(
                f"The numbers that this node would send for {tag} are not finite. "
                "Either its own data or a neighbour's numbers are far too large."
            )
        frame = encode_frame(
            self._terms.rules.run,
            link.n_sent + 1,
            link.n_received,
            self.epoch,
            tag,
            values,
            self.epochs.restarted,
        )
        link.post(frame, self.epoch)

    def _collect(
        self, tag: Tag, expected: Collection[Arc], began: float
    ) -> dict[Arc, Numbers]:
        found: dict[Arc, Numbers] = {}
        complained, interval = began, self.deadline
        while True:
            self._check()
            now = time.monotonic()
            self._attend(now)
            for arc in set(expected) - set(found):
                link = self._links[arc[0]]
                values = self._take(link, tag, now)
                if values is not None:
                    found[arc] = values
                    link.account.seconds_waited += now - began
            missing = [self._links[e[0]] for e in expected if e not in found]
            if not missing:
                self._has_begun |= bool(found)
                return found
            self._missing = tuple(link.name for link in missing)
            self._lose_patience(missing, began, now)
            if now - complained >= interval:
                complained = now
                interval = min(2 * interval, COMPLAINTS * self.deadline)
                for link in missing:
                    text = link.described(now - began)
                    log.warning("waiting for %s", text, extra={"peer": link.name})
            pause = self.deadline / (2 * BEATS)
            if not self._has_named:
                pause = min(pause, SOON)
                self._name_absent(missing, now - began)
            self._changed.wait(pause)

    def _attend(self, now: float) -> None:
        """Take note of who is there, if that matters; see `ElasticSwitchboard`."""

    def _name_absent(self, missing: list[Link], waited: float) -> None:
        """Say once who is not there yet; those who are have a moment to connect."""
        absent = [link.name for link in missing if link.stream is None]
        if waited < SOON or self._has_begun:
            return
        self._has_named = True
        if absent:
            log.info("waiting for %s", ", ".join(absent))

    def _take(self, link: Link, tag: Tag, now: float) -> Numbers | None:
        """Return a link's next letter; another letter is an error if it stays."""
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
        if self.epochs.newest > self.epoch:
            raise Regroup(f"{self.epochs.cause}: attempt {self.epochs.newest} begins.")

    def _lose_patience(self, missing: list[Link], began: float, now: float) -> None:
        for link in missing:
            if link.stream is not None:
                continue
            # Before all have met, somebody may still be starting the others.
            has_left = link.has_left and self.have_met
            if has_left and now - link.detached_at > self.deadline:
                self._give_up(
                    link.name, f"Node {link.name} has left: {link.last_words}."
                )
            away = now - max(link.lost_since, began)
            if away > self.patience:
                self._give_up_absent(link, away)
        self._check()

    def _give_up_absent(self, link: Link, away: float) -> None:
        """Give up a neighbour that is gone, or all that have never come."""
        unseen = [one for one in self._links.values() if one.is_unseen]
        if link.is_unseen and not self.have_met:
            them = "it is" if len(unseen) == 1 else "they are"
            self._give_up(
                link.name,
                f"{joined([one.named for one in unseen])} did not connect within "
                f"`start_deadline` = {self.patience:g} s. Start this node again when "
                f"{them} running.",
                given_up=tuple(one.name for one in unseen[:MOST_NAMED]),
            )
            return
        came = "has not connected" if link.is_unseen else "has been gone"
        self._give_up(
            link.name,
            f"Node {link.name} {came} for {away:.0f} s{link.in_brackets}. Start this "
            "node again when that one is back.",
        )

    def _give_up(self, name: str, text: str, given_up: tuple[str, ...] = ()) -> None:
        self._given_up = given_up or (name,)
        self._failure = PeerTimeout(text, peer=name)

    def farewell(self, reason: Reason) -> bytes:
        """Return the last words to all neighbours."""
        goodbye = pb.Goodbye(
            reason=pb.Goodbye.Reason.Value(reason.name),
            waiting_for=self._given_up if reason is Reason.GAVE_UP else (),
        )
        return bytes(pb.Envelope(goodbye=goodbye).SerializeToString())

    # For the streams' thread.

    def hello(self, name: str) -> bytes:
        """Return the first words to a neighbour."""
        with self._changed:
            agreeing = self._plans.agreeing()
            return self._greetings.say(self._by_name[name], agreeing)

    def greet(self, data: bytes, names: Collection[str], stream: Stream) -> Link:
        """Use a stream from now on, if the first words over it are a neighbour's.

        `data` and `names` are as in `Reception.check_hello`, which raises `Refused` for
        anybody else; so does this for a neighbour that is connected already, or makes
        all nodes start again too often.
        """
        try:
            hello = self.reception.check_hello(data, names)
        except AnotherPlan as exc:
            self._differ(exc)
            raise
        with self._changed:
            link, now = self._by_name[hello.node], time.monotonic()
            was_known = link.peer_incarnation is not None
            is_restarted = self._greetings.hear(link, hello, now)
            self._plans.agrees(link.name, hello.agreeing)
            link.attach(stream, now)
            how = "back" if was_known else "connected"
            if is_restarted:
                how = self._restarted(link)
            self._attached(link, now)
            what, text = (link.name, how), f"{link.name} is {how}"
            self.tally.note(what, logging.INFO, text, peer=link.name)
            self._changed.notify_all()
            return link

    def _attached(self, link: Link, now: float) -> None:
        """Take note of a neighbour's new stream; see `ElasticSwitchboard`."""

    def _restarted(self, link: Link) -> str:
        """Return what follows from a neighbour's restart, in words."""
        return "back after a restart; all nodes return to the last layer that all have"

    def _differ(self, exc: AnotherPlan) -> None:
        """Note a neighbour with another plan; stop if this node's is the odd one."""
        hello = exc.hello
        with self._changed:
            link = self._by_name[hello.node]
            link.trouble = "it has another plan or runs another command"
            if self._has_begun or link.peer_incarnation is not None:
                return  # it agreed before
            about = b"%d %s %s" % (hello.protocol, hello.random.encode(), hello.plan)
            plan = hashlib.sha256(about).digest()
            self._plans.differs(link.name, plan, hello.agreeing)
            others = self._plans.majority()
            if others:
                self._failure = AgreementError(
                    f"{exc}. {len(others)} of {len(self._terms.members)} nodes have "
                    f"another plan than this one ({', '.join(others)}). Run the same "
                    "command here, with the same plan file and version of dssfn."
                )
                self._changed.notify_all()

    def receive(self, link: Link, stream: Stream, data: bytes) -> float | None:
        """Take what came over a link.

        Return how many seconds to wait before more is read: 0 unless it is a flood, and
        None after the last words.
        """
        envelope = decode(data)
        kind = envelope.WhichOneof("content")
        frame = None
        if kind == "frame":
            frame = check_frame(envelope.frame, self._terms.rules)
        with self._changed:
            if link.stream is not stream:
                return None  # words of a process that was restarted meanwhile
            now = link.last_heard = time.monotonic()
            link.account.bytes_received += len(data)
            if frame is not None:
                if self._accept(link, frame, now):
                    return 0.0
            elif kind == "status":
                self._heed(link, envelope.status)
            elif kind == "goodbye":
                link.goodbye = check_reason(envelope.goodbye)
                link.waiting_for = self._members(envelope.goodbye.waiting_for)
                return None
            elif kind == "roll":
                return self._hear_roll(link, envelope.roll, now)
            else:
                raise ProtocolError("it said hello twice")
            return self._chatter[link.peer].charge(now)

    def _accept(self, link: Link, frame: Frame, now: float) -> bool:
        self.epochs.check(frame.epoch)
        is_newer = self.epochs.is_newer(frame.epoch)
        if is_newer and not self.epochs.may_rise(link.name, now):
            raise ProtocolError("it makes all nodes start again too often")
        is_new = link.accept(frame, self.epochs.kept_from(frame.epoch))
        if is_newer:
            self.epochs.rise(frame.epoch, frame.restarted, link.name)
        if is_new:
            self._changed.notify_all()
        return is_new

    def _hear_roll(self, link: Link, roll: pb.Roll, now: float) -> float:
        raise ProtocolError("it calls the roll, which this plan does not use")

    def roll(self, link: Link) -> bytes | None:
        """Return who is there, if a neighbour must be told; here nobody must."""
        return None

    def _heed(self, link: Link, status: pb.Status) -> None:
        link.confirm(status.received)
        link.waiting_for = self._members(status.waiting_for)
        link.speaks_of(status.layer)
        if not self._has_begun:
            self._plans.agrees(link.name, status.agreeing)

    def _members(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those names that the plan knows: no other text is ever shown."""
        return tuple(name for name in names if name in self._terms.members)[:8]

    def next_letter(self, link: Link, number: int) -> Letter | None:
        """Return the first letter after a number that must be sent."""
        with self._changed:
            found = link.after(number)
            if found:
                link.account.bytes_sent += len(found.frame)
            return found

    def status(self, link: Link) -> bytes:
        """Return a heartbeat."""
        with self._changed:
            status = pb.Status(
                received=link.n_received,
                layer=self.at.layer,
                step=self.at.step,
                waiting_for=self._missing,
                agreeing=() if self._has_begun else self._plans.agreeing(),
            )
        return bytes(pb.Envelope(status=status).SerializeToString())

    def is_silent(self, link: Link) -> bool:
        """Return whether nothing was heard for too long; a letter may be on its way."""
        with self._changed:
            letter = ITEM * math.prod(self.at.shape) / SLOWEST_LINE
            silence = SILENCE * self.deadline + letter
            return not link.is_alive(time.monotonic(), silence)

    def ended(self, link: Link, stream: Stream, why: str, trouble: str = "") -> None:
        """Note that a stream has ended, and what will keep it from coming back."""
        with self._changed:
            if not link.detach(stream, time.monotonic(), steady=self.deadline):
                return
            link.trouble = trouble
            if link.goodbye is Reason.FINISHED:
                log.info("%s has finished", link.name, extra={"peer": link.name})
            elif not self.is_leaving:
                text = f"{link.name} is gone: {link.last_words or why}"
                what = (link.name, "gone")
                self.tally.note(what, logging.WARNING, text, peer=link.name)
            self._attend(time.monotonic())
            self._changed.notify_all()

    def hindered(self, name: str, trouble: str) -> None:
        """Note what keeps a neighbour from being connected, for those who wait."""
        with self._changed:
            self._by_name[name].trouble = trouble
