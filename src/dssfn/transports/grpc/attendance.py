"""Attendance: who takes part in what this node does, where nodes may stay away.

It holds the roll call (see `dssfn.transports.roll_call`) against what the links of this
node know: who is connected, who has been gone for how long, who was restarted.

This module is bookkeeping alone; whoever calls it holds the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from dssfn._typing import NodeId
from dssfn.errors import ProtocolError
from dssfn.transports.base import Group
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.epochs import RESTARTS_IN_VAIN, Epochs
from dssfn.transports.grpc.link import Link
from dssfn.transports.roll_call import Call, Entry, RollCall

ANYBODY = "", ""  # in the place of a neighbour, and of the node that it speaks of


@dataclass(slots=True)
class GroupEpochs(Epochs):
    """Epochs that roll calls give: letters and greetings of neighbours raise none."""

    def check(self, epoch: int, *, is_greeting: bool = False) -> None:
        """Take any epoch: letters of later ones wait, and nothing else follows."""

    def is_newer(self, epoch: int) -> bool:
        """Return False: no letter makes this node start again."""
        return False

    def kept_from(self, epoch: int) -> int:
        """Return the present epoch: letters of it and of later ones are kept."""
        return self.current

    def rise(self, epoch: int, restarted: str, neighbour: str) -> None:
        """Leave it to the roll call what follows from a restart."""

    def begin(self, epoch: int) -> bool:
        """Go on in a group's epoch, and return whether it is one too many.

        Whose fault it is that no layer is ever finished nobody can tell.
        """
        self.current = epoch
        self.in_vain[ANYBODY] = self.in_vain.get(ANYBODY, 0) + 1
        return self.in_vain[ANYBODY] > self.most_in_vain

    @property
    def most_in_vain(self) -> int:
        """How many groups may be formed without a further layer."""
        return RESTARTS_IN_VAIN * len(self.members)


@dataclass(slots=True)
class Attendance:
    """Who takes part, as one node knows it.

    Parameters
    ----------
    roll : RollCall
        The roll call of this node.
    names : sequence of str
        The names of all nodes.
    leave_after : float
        Seconds for which a member that is gone is waited for.
    write_down : callable
        Called with every group before this node takes part in it: its epoch must
        survive the process.
    """

    roll: RollCall
    names: Sequence[str]
    leave_after: float
    write_down: Callable[[Group], None]
    group: Group | None = None  # that this node is in
    last: Group | None = None  # that it was in
    is_calling: bool = False  # the training waits for a group
    untold: set[NodeId] = field(default_factory=set)  # neighbours to be told the news

    def look(self, links: Collection[Link], now: float) -> bool:
        """Bring the roll call up to date; return whether there is news to be told."""
        is_news = self.roll.link(link.peer for link in links if self._counts(link, now))
        if self.is_calling:
            is_news |= self.roll.call()
        return self._tell(links, is_news)

    def hear(self, entries: Iterable[Entry], links: Collection[Link]) -> bool:
        """Take what a neighbour has told; return whether there is news to be told."""
        return self._tell(links, self.roll.hear(entries))

    def end(self, links: Collection[Link]) -> None:
        """Say that the group's epoch is over; the training then finds it so."""
        if self.group is not None:
            self._tell(links, self.roll.leave())

    def leave(self, links: Collection[Link]) -> None:
        """Leave the group: its epoch is over."""
        self.end(links)
        self.group = None

    def finish(self, links: Collection[Link]) -> None:
        """Say that this node holds the finished model."""
        self._tell(links, self.roll.finish())

    def begin(self) -> Group | None:
        """Take part in the group that all members call alike, if there is one."""
        found = self.roll.found()
        if found is not None:
            self.write_down(found)
            self.group = self.last = found
            self.is_calling = False
        return found

    @property
    def is_over(self) -> bool:
        """Whether the group that this node is in cannot go on as it is."""
        return self.group is not None and self.roll.is_over(self.group)

    @property
    def is_settled(self) -> bool:
        """Whether a member of this node's last group holds the finished model.

        That is the same model which this node would have ended with.
        """
        mine = self.roll.mine
        return any(
            entry.is_done and entry.call == mine.call
            for entry in self.roll.entries.values()
            if entry is not mine
        )

    def _counts(self, link: Link, now: float) -> bool:
        """Return whether a neighbour is there, or still waited for."""
        if link.stream is not None:
            return True
        is_waited_for = self.last is None or link.peer in self.last.members
        return is_waited_for and now - link.lost_since < self.leave_after

    def _tell(self, links: Collection[Link], is_news: bool) -> bool:
        if is_news:
            self.untold |= {link.peer for link in links}
            for link in links:
                if link.stream is not None:
                    link.stream.wake()
        return is_news


def encode_roll(entries: Iterable[Entry]) -> bytes:
    """Return an envelope with what nodes say of themselves, as bytes."""
    roll = pb.Roll(
        entries=[
            pb.Roll.Entry(
                node=entry.node,
                version=entry.version,
                links=entry.links,
                floor=entry.floor,
                epoch=entry.call.epoch if entry.call else 0,
                group=entry.call.group if entry.call else 0,
                done=entry.is_done,
            )
            for entry in entries
        ]
    )
    return bytes(pb.Envelope(roll=roll).SerializeToString())


def decode_roll(roll: pb.Roll, n_nodes: int) -> list[Entry]:
    """Return what an envelope says of nodes, which the roll call checks.

    Raises
    ------
    ProtocolError
        If there are more nodes, or links of one, than the plan has nodes: before memory
        is taken for them.
    """
    if len(roll.entries) > n_nodes:
        raise ProtocolError("it calls more nodes than the plan has")
    if any(len(one.links) > n_nodes for one in roll.entries):
        raise ProtocolError("it calls a node with more links than the plan has nodes")
    return [
        Entry(
            node=one.node,
            version=one.version,
            links=tuple(one.links),
            floor=one.floor,
            call=Call(one.epoch, one.group) if one.epoch else None,
            is_done=one.done,
        )
        for one in roll.entries
    ]
