"""Push-sum with running sums: an exact total over links that lose letters, either way.

How this works. Every node holds a mass, its numbers, and a weight. Again and again it
splits both evenly between itself and the neighbours it can send to. All ratios of mass
to weight tend to that of the totals (Kempe, Dobra and Gehrke, "push-sum"). A letter
carries not a share but the *running sum* of all shares that were ever passed to that
neighbour, so a later letter repairs every lost one, and nothing is acknowledged
(Hadjicostis, Vaidya and Dominguez-Garcia). Links may be one-way as long as every node
can be reached from every other.

Masses are integers (see `dssfn.consensus.mass`), and running sums are integers modulo
2^64: a difference of two is right however often they have wrapped around. So no step
loses anything, and after any number of steps the totals can be found to the last bit.

Every letter also carries a table with a line for each node, of which the newest is
kept and passed on: how far the node is, and the fingerprint of its masses. So all of
this is found out without a master:

- *sizes*: first nodes flood how long their numbers are, and each keeps the maximum, to
  know the grid of the masses. Who has heard of all nodes begins to split.
- *the end*: who knows the fingerprints of all nodes knows that of the total. An
  estimate that has it is the total. So **no node stops early**, whatever it has missed:
  a wrong total passes with a probability of about 2^-60. And **some node stops**: mass
  that is on its way arrives with a later letter, so differences die out until an
  estimate is within half a unit.
- *equal bits*: who has the total sends that instead of its mass, until it has heard
  that the neighbour has it, so **all stop**. There is only one total to be had.
- *rest*: who knows that all nodes have the total sends no more, but answers those that
  do not know it yet. Where links are one-way it cannot, and passes on to all that it
  reaches that somebody has sent who does not rest, until that node hears of it.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from dssfn._typing import Array, Integers, NodeId, Numbers
from dssfn.consensus.mass import Layout, fingerprint, keys_of, sizes_of
from dssfn.consensus.pace import Pace
from dssfn.consensus.push_sum_letters import (
    FOUND,
    MIXING,
    SIZING,
    Body,
    Content,
    Lengths,
    Outcome,
    Passed,
    Table,
)
from dssfn.errors import TopologyError
from dssfn.parties import Post
from dssfn.topology import Topology

FIRST_TRIP = 0.2  # seconds that a round trip is assumed to take, until one is known
COPIES = 4  # of what is passed on over one-way links, as who rests never tries again
PROBED = 64  # limbs that must look like integers before all are tried


class Place(NamedTuple):
    """Where a node is: its number, whom it reaches, and who reaches it."""

    node: NodeId
    n_nodes: int
    receivers: tuple[NodeId, ...]
    senders: frozenset[NodeId]


class PushSum:
    """Averaging by push-sum with running sums; a `dssfn.parties.PartyScheme`.

    Parameters
    ----------
    n_nodes : int
        The number of nodes.
    arcs : iterable of (sender, receiver)
        Who can send to whom. Every node must be reached from every other.

    Examples
    --------
    >>> one_way_ring = PushSum(3, [(0, 1), (1, 2), (2, 0)])
    >>> one_way_ring.place(1).receivers
    (2,)
    """

    name = "push-sum"

    def __init__(self, n_nodes: int, arcs: Iterable[tuple[NodeId, NodeId]]) -> None:
        self.n_nodes, self.arcs = n_nodes, frozenset(arcs)
        if not leads_everywhere(n_nodes, self.arcs):
            raise TopologyError(
                "`arcs` must lead from every node to every other, but do not. Add a "
                "link in the other direction."
            )
        self.is_one_way = any((j, i) not in self.arcs for i, j in self.arcs)

    @classmethod
    def of(cls, topology: Topology) -> PushSum:
        """Return the scheme for a graph whose edges go both ways."""
        edges = topology.edges()
        return cls(topology.n_nodes, edges + [(j, i) for i, j in edges])

    def place(self, node: NodeId) -> Place:
        """Return whom a node reaches, and who reaches it."""
        receivers = tuple(sorted(j for i, j in self.arcs if i == node))
        senders = frozenset(i for i, j in self.arcs if j == node)
        return Place(node, self.n_nodes, receivers, senders)

    def seat(self, node: NodeId) -> PushSumSeat:
        """Return a new seat for a node."""
        return PushSumSeat(self.place(node), passes_on=self.is_one_way)


def push_sum(topology: Topology, tol: float) -> PushSum:
    """Return push-sum for a graph, which finds exact totals."""
    return PushSum.of(topology)


def leads_everywhere(n_nodes: int, arcs: Iterable[tuple[NodeId, NodeId]]) -> bool:
    """Return whether arcs lead from every node to every other.

    >>> leads_everywhere(2, [(0, 1)]), leads_everywhere(2, [(0, 1), (1, 0)])
    (False, True)
    """
    there = list(arcs)
    back = [(receiver, sender) for sender, receiver in there]
    return all(len(_reached(n_nodes, ways)) == n_nodes for ways in (there, back))


def _reached(n_nodes: int, arcs: Iterable[tuple[NodeId, NodeId]]) -> set[NodeId]:
    """Return the nodes that can be reached from node 0."""
    receivers: list[list[NodeId]] = [[] for _ in range(n_nodes)]
    for sender, receiver in arcs:
        receivers[sender].append(receiver)
    reached, todo = {0}, deque([0])
    while todo:
        new = set(receivers[todo.popleft()]) - reached
        reached |= new
        todo.extend(new)
    return reached


class PushSumSeat:
    """One node's place in all averagings by push-sum; a `dssfn.parties.Seat`.

    Parameters
    ----------
    place : Place
        Where the node is.
    passes_on : bool
        Whether links are one-way, so that who asks cannot be answered directly.
    """

    def __init__(self, place: Place, *, passes_on: bool = False) -> None:
        self.place, self._passes_on = place, passes_on
        self._paces: dict[int, Pace] = {}  # by the length of messages in bits
        self._parties: dict[int, PushSumParty] = {}
        self._resting: dict[int, Table] = {}

    def party(self, value: Numbers, step: int) -> PushSumParty:
        """Return this node's party of one averaging."""
        length = value.nbytes.bit_length()
        before = self._paces.get(length)
        pace = self._paces[length] = Pace(before.trip if before else FIRST_TRIP)
        self._let_rest()
        party = self._parties[step] = PushSumParty(self.place, value, step, pace)
        return party

    def answer(self, now: float, sender: NodeId, content: Content) -> list[Post]:
        """Tell a node that does not know it that all have what they wanted."""
        if not isinstance(content, Content):
            return []  # of a party that is none of an averaging
        step = content.step
        self._let_rest()
        known = self._resting.get(step)
        if known is None:  # it has not begun
            return []
        table = self._resting[step] = known.merged(content.table)
        reply = Content(step, table, np.zeros(self.place.n_nodes))
        if not self._passes_on:
            return [] if content.table.is_complete else [reply.post(sender)]
        is_new = bool((table.sendings > known.sendings).any())
        return [reply.post(other) for other in self.place.receivers * COPIES if is_new]

    def _let_rest(self) -> None:
        """Keep no more than the tables of parties that may rest."""
        for step in [step for step, one in self._parties.items() if one.may_rest]:
            self._resting[step] = self._parties.pop(step).table


class PushSumParty:
    """One node's side of an averaging by push-sum; a `dssfn.parties.Party`.

    Parameters
    ----------
    place : Place
        Where the node is.
    value : array
        The node's numbers: int64, whose total is found modulo 2^64, or float64, whose
        average is found to 2^-53 of the largest of all nodes. Both are the same bits on
        all nodes, whatever was lost.
    step : int
        The number of the averaging within a training.
    pace : Pace
        How long letters of this length usually take.
    """

    def __init__(self, place: Place, value: Numbers, step: int, pace: Pace) -> None:
        self.place, self.table = place, Table.empty(place.n_nodes)
        self.result: Numbers | None = None
        self.due: float | None = None
        self._value, self._step, self._pace = value, step, pace
        self._level, self._mark, self._n_sent = SIZING, 0, 0
        self._lengths = Lengths(sizes_of(value), 1 << place.node)
        self._heard: set[NodeId] = set()  # since the last sending
        self._probed: Integers = np.zeros(0, np.int64)  # some of the estimated totals
        self._known: tuple[object, ...] = ()  # what was known at the last sending
        self._not_before = 0.0  # when to send next, even if all have been heard
        self._since: Array = np.zeros(place.n_nodes)  # when lines would have been sent

    @property
    def may_rest(self) -> bool:
        """Whether all nodes are known to have the total."""
        return self.table.is_complete

    def estimate(self) -> Numbers | None:
        """Return what this node would take for the total or average now, if anything.

        It is good to no known accuracy; the result is exact.
        """
        if self.result is not None or self._level == SIZING:
            return self.result
        limbs = self._layout.rounded(self._mass[:-1] * self._to_total())
        return self._layout.values(limbs).reshape(self._value.shape)

    def begin(self, now: float) -> Sequence[Post]:
        """Start, and return what to send first."""
        self._open_if_all_are_known()
        return self._send(now)

    def wake(self, now: float) -> Sequence[Post]:
        """Send, as long enough was waited for letters."""
        return self._send(now)

    def hear(self, now: float, sender: NodeId, content: Content) -> Sequence[Post]:
        """Take a letter in, and send if all others have come or the node is further."""
        level = self._level
        if content.table.sendings[sender] > self.table.sendings[sender]:
            self._heard.add(sender)  # what comes twice would make letters multiply
        self._read(now, content)
        self._take(sender, content.body)
        if self._level > level or self.may_rest:
            return self._send(now)
        if self._level < FOUND and self._heard >= self.place.senders:
            if now >= self._not_before:
                return self._send(now)
            self.due = self._not_before
        return ()

    def _read(self, now: float, content: Content) -> None:
        """Take in what a letter says of all nodes, and of this one's sendings."""
        table, me = content.table, self.place.node
        self._pace.heard(now, int(table.sendings[me]), float(content.held[me]))
        is_newer = table.sendings > self.table.sendings
        self._since = np.where(is_newer, now - content.held, self._since)
        self.table = self.table.merged(table)

    def _take(self, sender: NodeId, body: Body) -> None:
        match body:
            case Lengths() if self._level == SIZING:
                mine = self._lengths
                self._lengths = Lengths(
                    np.maximum(mine.sizes, body.sizes), mine.nodes | body.nodes
                )
                self._open_if_all_are_known()
            case Passed() if self._level == MIXING:
                before = self._taken.get(sender, self._nothing)
                if body.number > before.number:
                    self._mass += body.total - before.total
                    self._taken[sender] = body
                    self._is_fresh = True
            case Outcome() if self._level < FOUND:
                self._find(body.values)

    def _open_if_all_are_known(self) -> None:
        """Begin to mix once the grid of the masses is known."""
        if self._lengths.nodes != (1 << self.place.n_nodes) - 1:
            return
        layout = Layout(self._lengths.sizes, self.place.n_nodes)
        masses = layout.masses(self._value)
        self._keys = keys_of(self._step, len(masses))
        self._level = MIXING
        self._mark = fingerprint(masses >> layout.guard, self._keys)
        self._weight = 1 << layout.room
        self._layout = layout
        self._mass: Integers = np.append(masses, self._weight)
        self._passed = self._nothing = Passed(0, np.zeros_like(self._mass))
        self._taken: dict[NodeId, Passed] = {}
        self._is_fresh = True  # there is mass that was not split yet
        self._probe = np.argsort(layout.lengths(), kind="stable")[-PROBED:]

    def _send(self, now: float) -> list[Post]:
        """Look for the total, split, and tell everybody what they need."""
        self._n_sent += 1
        self._note_myself()
        if self._level == MIXING:
            self._look()
        if self._level == MIXING and self._is_fresh:
            self._split()
        self._heard.clear()
        before, self._known = self._known, self._state()
        has_changed = self._known != before
        wait = self._pace.sent(now, self._n_sent, has_changed=has_changed)
        if self._level == FOUND:
            wait *= 2  # that it has come is known after a whole round trip
        self._not_before = now + self._pace.least
        self.due = None if self.may_rest else now + wait
        self._since[self.place.node] = now
        held = now - self._since
        return [
            Content(self._step, self.table, held, self._body_for(receiver)).post(
                receiver
            )
            for receiver in self.place.receivers
        ]

    def _state(self) -> tuple[object, ...]:
        """Return what changes as long as nodes get on."""
        levels, probed = self.table.levels.tobytes(), self._probed.tobytes()
        return self._lengths.nodes, levels, probed

    def _note_myself(self) -> None:
        line = self._level, self._mark, self._n_sent
        self.table = self.table.with_line(self.place.node, *line)

    def _look(self) -> None:
        """Find the total, if it can be read from this node's mass."""
        to_total = self._to_total()
        probe = self._mass[self._probe] * to_total
        self._probed = self._layout.rounded(probe)
        away = np.abs(probe / 2.0**self._layout.guard - self._probed)
        if not (self.table.levels >= MIXING).all() or away.max(initial=0.0) > 0.25:
            return
        limbs = self._layout.rounded(self._mass[:-1] * to_total)
        wanted = reduce(operator.add, map(int, self.table.prints), 0) % 2**64
        if fingerprint(limbs, self._keys) == wanted:
            values = self._layout.values(limbs).reshape(self._value.shape)
            self._find(values)

    def _to_total(self) -> float:
        """Return by how much this node's mass is multiplied to estimate the total."""
        most = 2.0**self._layout.guard  # if nearly all was passed on, and none has come
        return min(self.place.n_nodes * self._weight / int(self._mass[-1]), most)

    def _find(self, values: Numbers) -> None:
        values.setflags(write=False)
        self.result, self._level = values, FOUND
        self._note_myself()

    def _split(self) -> None:
        share = self._mass // (len(self.place.receivers) + 1)
        self._mass = self._mass - len(self.place.receivers) * share
        self._passed = Passed(self._passed.number + 1, self._passed.total + share)
        self._is_fresh = False

    def _body_for(self, receiver: NodeId) -> Body:
        """Return what a neighbour needs that is as far as is known."""
        level = self.table.levels[receiver]
        if level == FOUND:
            return None
        if self.result is not None:
            return Outcome(self.result)
        if level == SIZING:
            return self._lengths
        return self._passed if self._level == MIXING else None
