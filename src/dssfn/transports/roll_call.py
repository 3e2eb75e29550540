"""Roll call: how those who are there agree on who takes part, without a master.

How this works. Every node says of itself which neighbours it is linked with, and passes
on what others say of themselves (link states, as routers have them). So all nodes of a
connected part of the network come to hold the same table, and draw the same conclusion
from it: the *group*, all nodes that are connected with this one by links which both
ends confirm. Each then *calls* the group by a number, its epoch. When all members have
called the same group by the same epoch, and they are a quorum, they begin.

Why no two groups ever go on side by side. A quorum is more than half of all nodes, so
two groups share a node. A node is in one group at a time; it never calls two groups by
one epoch, and the epochs that it calls by only rise, over restarts too (whoever begins
writes its epoch down first). Nothing is found without letters of all members; so of two
groups that share a node at most one gets any further, the later one knows what the
earlier one has finished, and what it goes on from is that (see
`dssfn.node.adoption`).

This module knows no network and no clock: it is told what came, and says what follows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from dssfn._typing import NodeId
from dssfn.errors import ProtocolError
from dssfn.transports.base import Arc, Group

MOST_VERSIONS = 2**62  # of an entry: far more than there will ever be
# Groups that may have been formed without this node. Epochs are written down, so that
# one forged number must not use them up; they rise by one for every group.
EPOCHS_AHEAD = 2**16
MOST_EPOCHS = 2**48  # a float64 holds it exactly, as statements need it


@dataclass(frozen=True, slots=True)
class Call:
    """A group that a node wants to be in, and by which number.

    Parameters
    ----------
    epoch : int
        The number of the attempt.
    group : int
        A digest of its members and their links.
    """

    epoch: int
    group: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What a node says of itself.

    Parameters
    ----------
    node : int
        The node.
    version : int
        Rises with every change; of two entries of a node the later one counts.
    links : tuple of int
        The neighbours that it is linked with, or still waits for; ascending.
    floor : int
        It takes part in no epoch before this one.
    call : Call, optional
        The last group that it has called.
    is_done : bool
        Whether it holds the finished model, so that others may have it from there.
    """

    node: NodeId
    version: int
    links: tuple[NodeId, ...]
    floor: int = 1
    call: Call | None = None
    is_done: bool = False


@dataclass(slots=True)
class RollCall:
    """The roll call, as one node holds it.

    Parameters
    ----------
    node : int
        This node.
    graph : mapping
        The neighbours of every node in the plan.
    quorum : int
        The fewest nodes that may go on; more than half of all.
    floor : int
        The first epoch that this node may take part in: after all those of which it
        has written down that it took part in them.

    Examples
    --------
    >>> graph = {0: (1,), 1: (0, 2), 2: (1,)}
    >>> a, b = RollCall(0, graph, quorum=2), RollCall(1, graph, quorum=2)
    >>> a.link([1]), b.link([0])  # node 2 is given up
    (False, True)
    >>> while a.hear(b.table()) or b.hear(a.table()):
    ...     _ = a.call(), b.call()
    >>> a.found() == b.found(), a.found().members
    (True, (0, 1))
    """

    node: NodeId
    graph: Mapping[NodeId, Collection[NodeId]]
    quorum: int
    floor: int = 1
    entries: dict[NodeId, Entry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # At first all neighbours are waited for.
        links = tuple(sorted(self.graph[self.node]))
        self.entries[self.node] = Entry(self.node, 1, links, self.floor)

    @property
    def mine(self) -> Entry:
        """What this node says of itself."""
        return self.entries[self.node]

    def table(self) -> list[Entry]:
        """Return all that is known, to be told to a neighbour."""
        return [self.entries[node] for node in sorted(self.entries)]

    # What happens.

    def link(self, links: Iterable[NodeId]) -> bool:
        """Say which neighbours this node is linked with; return whether that is new."""
        return self._say(links=tuple(sorted(links)))

    def leave(self) -> bool:
        """Leave the group that was begun: its epoch is over."""
        epoch = self.mine.call.epoch if self.mine.call else 0
        return self._say(floor=max(self.mine.floor, epoch + 1))

    def finish(self) -> bool:
        """Say that this node holds the finished model."""
        return self._say(is_done=True)

    def hear(self, entries: Iterable[Entry]) -> bool:
        """Take what a neighbour has told; return whether there is news to pass on.

        Raises
        ------
        ProtocolError
            If an entry is none that a node of the plan can have.
        """
        is_news = False
        most_epochs = min(self._latest_epoch() + EPOCHS_AHEAD, MOST_EPOCHS)
        for entry in entries:
            self._check(entry, most_epochs)
            known = self.entries.get(entry.node)
            if known is not None and entry.version <= known.version:
                continue
            if entry.node == self.node:
                # Of a process before this one; it may have taken part in more epochs.
                epoch = entry.call.epoch + 1 if entry.call else 1
                floor = max(self.mine.floor, entry.floor, epoch)
                newer = replace(self.mine, version=entry.version + 1, floor=floor)
                self.entries[self.node] = newer
            else:
                self.entries[entry.node] = entry
            is_news = True
        return is_news

    def call(self) -> bool:
        """Call the group that follows from the table; return whether that is new.

        Nobody is called who was never heard of.
        """
        group = self.candidate()
        if not all(node in self.entries for node in group.members):
            return False
        return self._say(call=Call(group.epoch, group.digest))

    # What follows.

    def candidate(self) -> Group:
        """Return the group that this node is in, by the epoch that it must have."""
        members = self._component()
        edges = self._edges(members)
        group = Group(0, members, edges)
        there = [self.entries[node] for node in members if node in self.entries]
        calls = [entry.call for entry in there if entry.call is not None]
        floor = max(entry.floor for entry in there)
        epoch = max([floor, *(call.epoch for call in calls)])
        digest = group.digest
        if any(call.epoch == epoch and call.group != digest for call in calls):
            epoch += 1
        return replace(group, epoch=epoch)

    def found(self) -> Group | None:
        """Return the group that all of its members call alike, if it may go on."""
        group = self.candidate()
        wanted = Call(group.epoch, group.digest)
        there = [self.entries.get(node) for node in group.members]
        if any(entry is None or entry.call != wanted for entry in there):
            return None
        is_quorum = len(group.members) >= self.quorum
        return group if is_quorum or self.has_done(group) else None

    def has_done(self, group: Group) -> bool:
        """Return whether a member holds the finished model."""
        return any(
            node in self.entries and self.entries[node].is_done
            for node in group.members
        )

    def is_over(self, group: Group) -> bool:
        """Return whether a group that was begun cannot go on as it is."""
        for node in group.members:
            entry = self.entries[node]
            called = entry.call.epoch if entry.call else 0
            if max(entry.floor, called) > group.epoch:
                return True
        return not all(self._is_linked(i, j) for i, j in group.edges)

    def newcomers(self, group: Group) -> list[NodeId]:
        """Return the nodes that are there and wait to be taken into a group."""
        entries = (self.entries.get(node) for node in self._component())
        return [
            entry.node
            for entry in entries
            if entry is not None
            and entry.node not in group.members
            and entry.call is not None
            and entry.call.epoch > group.epoch
        ]

    def missing(self) -> list[NodeId]:
        """Return the nodes of the plan that this node is not connected with."""
        members = self._component()
        return [
            node
            for node in sorted(self.graph)
            if node not in members or node not in self.entries
        ]

    def _say(self, **changes: object) -> bool:
        said = replace(self.mine, **changes)  # type: ignore[arg-type]
        if said == self.mine:
            return False
        self.entries[self.node] = replace(said, version=self.mine.version + 1)
        return True

    def _is_linked(self, i: NodeId, j: NodeId) -> bool:
        """Return whether both ends confirm a link; one never heard of is waited for."""
        ends = self.entries.get(i), self.entries.get(j)
        return all(
            entry is None or other in entry.links
            for entry, other in zip(ends, (j, i), strict=True)
        ) and any(ends)

    def _component(self) -> tuple[NodeId, ...]:
        found, todo = {self.node}, [self.node]
        while todo:
            i = todo.pop()
            for j in self.graph[i]:
                if j not in found and self._is_linked(i, j):
                    found.add(j)
                    todo.append(j)
        return tuple(sorted(found))

    def _edges(self, members: Collection[NodeId]) -> tuple[Arc, ...]:
        inside = set(members)
        return tuple(
            (i, j)
            for i in members
            for j in sorted(self.graph[i])
            if i < j and j in inside and self._is_linked(i, j)
        )

    def _check(self, entry: Entry, most_epochs: int) -> None:
        if entry.node not in self.graph:
            raise ProtocolError(f"its roll call names node {entry.node}")
        links = entry.links
        if not set(links) <= set(self.graph[entry.node]):
            raise ProtocolError("its roll call has links that are not in the plan")
        if list(links) != sorted(set(links)):
            raise ProtocolError("its roll call has links out of order")
        # Of itself a node must be able to say something later.
        most_versions = MOST_VERSIONS - (entry.node == self.node)
        if not (0 < entry.version < most_versions and 0 < entry.floor <= most_epochs):
            raise ProtocolError("its roll call has impossible numbers")
        if entry.call is not None and not 0 < entry.call.epoch <= most_epochs:
            raise ProtocolError("its roll call has impossible attempts")

    def _latest_epoch(self) -> int:
        entries = self.entries.values()
        calls = (entry.call.epoch for entry in entries if entry.call)
        return max(*(entry.floor for entry in entries), *calls, self.floor)
