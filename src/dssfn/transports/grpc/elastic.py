"""A switchboard whose nodes may go on without some others, where the plan allows it.

Nobody is given up then: who is gone for too long is left out by agreement of the others
(`gather`), and is taken in again between two layers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from dssfn.errors import PeerTimeout, Regroup
from dssfn.transports.base import Group
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.attendance import (
    Attendance,
    GroupEpochs,
    decode_roll,
    encode_roll,
)
from dssfn.transports.grpc.link import Link
from dssfn.transports.grpc.pace import Budget
from dssfn.transports.grpc.reception import Terms
from dssfn.transports.grpc.switchboard import (
    BEATS,
    CHATTER,
    COMPLAINTS,
    MOST_NAMED,
    Neighbour,
    Switchboard,
)

log = logging.getLogger("dssfn.node")

CALLS = 8  # tables at once, for each node of the plan


class ElasticSwitchboard(Switchboard):
    """All links of one node, and who takes part if not all nodes must.

    Parameters
    ----------
    name, neighbours, terms, deadline
        As in `Switchboard`.
    attendance : Attendance, optional
        Knows who takes part; by default all nodes must.
    """

    def __init__(
        self,
        name: str,
        neighbours: Sequence[Neighbour],
        terms: Terms,
        *,
        deadline: float,
        attendance: Attendance | None = None,
    ) -> None:
        super().__init__(name, neighbours, terms, deadline=deadline)
        self._attendance = attendance
        n_calls = CHATTER + CALLS * len(terms.members)
        self._rolls = {j: Budget(n_calls, deadline / n_calls) for j in self._links}
        if attendance is not None:
            self.epochs = self._group_epochs = GroupEpochs(deadline, terms.members)
            self._greetings = self._greetings.with_epochs(self.epochs)

    # For the training's thread.

    def gather(self) -> Group | None:
        """Wait for a group of nodes that go on together, and take part in it.

        Returns
        -------
        Group or None
            None where all nodes of the plan must take part.

        Raises
        ------
        PeerTimeout
            If there is no quorum for longer than `patience`, or groups are formed
            again and again without a further layer.
        """
        at = self._attendance
        if at is None:
            return None
        with self._changed:
            began = told = time.monotonic()
            interval = self.deadline
            at.is_calling = True
            while True:
                if self._failure:
                    raise self._failure
                now = time.monotonic()
                self._attend(now)
                if group := at.begin():
                    self._enter(group)
                    return group
                if now - began > self.patience:
                    self._give_up_all(now - began, at)
                if now - told >= interval:
                    told, interval = now, min(2 * interval, COMPLAINTS * self.deadline)
                    log.warning("waiting for %s", self._absent(at))
                self._changed.wait(self.deadline / (4 * BEATS))

    def _enter(self, group: Group) -> None:
        if self._group_epochs.begin(group.epoch):
            raise PeerTimeout(
                f"Nodes have formed {self._group_epochs.most_in_vain} groups without "
                "completing another layer: some come and go all the time, or a node "
                "keeps asking for new groups. Compare the logs of all nodes, then "
                "start this node again."
            )
        for link in self._links.values():
            link.enter(group.epoch)

    def join(self) -> None:
        """Leave the group, or enter the newest epoch, after `Regroup`."""
        if self._attendance is None:
            super().join()
            return
        with self._changed:
            self._attendance.leave(self._links.values())

    @property
    def newcomers(self) -> bool:
        """Whether nodes wait to be taken into the group that this node is in."""
        with self._changed:
            at = self._attendance
            if at is None or at.group is None:
                return False
            return bool(at.roll.newcomers(at.group))

    @property
    def is_settled(self) -> bool:
        """Whether another member of the last group holds the finished model."""
        with self._changed:
            return self._attendance is not None and self._attendance.is_settled

    def finish(self) -> None:
        """Say that this node holds the finished model."""
        with self._changed:
            if self._attendance is not None:
                self._attendance.finish(self._links.values())

    def _check(self) -> None:
        super()._check()
        if self._attendance is not None and self._attendance.is_over:
            raise Regroup("A node has left or come back: a new group is formed.")

    def _lose_patience(self, missing: list[Link], began: float, now: float) -> None:
        if self._attendance is None:
            super()._lose_patience(missing, began, now)

    def _give_up_all(self, waited: float, at: Attendance) -> None:
        n_nodes, quorum = len(at.roll.graph), at.roll.quorum
        missing = at.roll.missing()
        self._given_up = tuple(at.names[node] for node in missing[:MOST_NAMED])
        names = ", ".join(self._given_up)
        n_here = n_nodes - len(missing)
        setting = "" if self.have_met else " (`start_deadline`)"
        if n_here >= quorum:
            said = (
                f"Nodes have not agreed on who takes part for {waited:.0f} s{setting}, "
                f"although {n_here} of {n_nodes} are connected. Some may be "
                "computing, or may not follow the protocol: compare the logs of all "
                "nodes"
            )
        else:
            said = (
                f"Nodes {names} have not been connected for {waited:.0f} s{setting}. "
                f"{quorum} of {n_nodes} nodes must be connected to continue "
                f"(`quorum`), but only {n_here} are"
            )
        raise PeerTimeout(f"{said}. Then start this node again.", peer=names)

    def _absent(self, at: Attendance) -> str:
        missing = [at.names[node] for node in at.roll.missing()[:MOST_NAMED]]
        return ", ".join(missing) or "all to agree on who takes part"

    # For the streams' thread.

    def _attend(self, now: float) -> None:
        at = self._attendance
        if at is not None and at.look(self._links.values(), now):
            self._changed.notify_all()

    def _attached(self, link: Link, now: float) -> None:
        if self._attendance is not None:
            self._attendance.untold.add(link.peer)
            self._attend(now)

    def _restarted(self, link: Link) -> str:
        at = self._attendance
        if at is None:
            return super()._restarted(link)
        if at.group is not None and link.peer in at.group.members:
            at.end(self._links.values())  # it has lost its place: all begin again
        return "back after a restart"

    def _hear_roll(self, link: Link, roll: pb.Roll, now: float) -> float:
        at = self._attendance
        if at is None:
            return super()._hear_roll(link, roll, now)
        entries = decode_roll(roll, len(at.roll.graph))
        if at.hear(entries, self._links.values()):
            self._attend(now)
            self._changed.notify_all()
        return self._rolls[link.peer].charge(now)

    def roll(self, link: Link) -> bytes | None:
        """Return who is there, if a neighbour has not been told yet."""
        with self._changed:
            at = self._attendance
            if at is None or link.peer not in at.untold:
                return None
            at.untold.discard(link.peer)
            return encode_roll(at.roll.table())
