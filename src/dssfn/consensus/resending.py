"""Any round-by-round scheme over bad links: letters are sent again until confirmed.

How this works. A party runs its node's rounds as they are. The letters on every arc are
numbered, each is answered by a receipt, and one without a receipt is sent again after a
time that is learned from the receipts that came (`RoundTrips`). Letters also say what
has come the other way, so they serve as receipts. Numbers tell what came twice, and put
letters in order that have overtaken each other. So every scheme gets exactly the
letters that it would get over good links, and its result is the same to the last bit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from dssfn._typing import NodeId, Numbers
from dssfn.consensus.base import Averaging, RoundByRound, Rounds
from dssfn.consensus.round_trips import RoundTrips
from dssfn.errors import PlanError
from dssfn.numbered import Incoming, Outgoing
from dssfn.parties import Post
from dssfn.registry import AVERAGING
from dssfn.topology import Topology

HEADER = 32  # bytes: four numbers beside the matrix


class Letter(NamedTuple):
    """A numbered letter.

    Parameters
    ----------
    number : int
        Its number on this arc in this averaging, from 1.
    received : int
        Up to which number the letters of the other direction have come.
    sent_at : float
        The sender's time, which the receipt gives back.
    values : array
        The matrix.
    """

    number: int
    received: int
    sent_at: float
    values: Numbers


class Receipt(NamedTuple):
    """The acknowledgement of a letter, with its number and `sent_at`."""

    number: int
    received: int
    sent_at: float


@dataclass(slots=True)
class _Sent:
    """A letter that is not confirmed: how often it was sent, and when it is due."""

    number: int
    values: Numbers
    due: float
    n_before: int = 0

    @property
    def n_bytes(self) -> int:
        return HEADER + self.values.nbytes


@dataclass(slots=True)
class _Neighbour:
    """What went to a neighbour in one averaging, and what came from it."""

    times: RoundTrips  # shared with other averagings
    sent: Outgoing[_Sent] = field(default_factory=Outgoing)
    came: Incoming = field(default_factory=Incoming)
    inbox: dict[int, Numbers] = field(default_factory=dict)  # not used yet, by number
    n_used: int = 0

    @property
    def has_next(self) -> bool:
        return self.n_used + 1 in self.inbox

    def use_next(self) -> Numbers:
        self.n_used += 1
        return self.inbox.pop(self.n_used)


class RoundsParty:
    """One node's rounds of one averaging, over links that lose letters.

    Parameters
    ----------
    rounds : Rounds
        This node's side of the scheme.
    times : mapping
        The round-trip times to neighbours, which are learned on the way.
    """

    def __init__(self, rounds: Rounds, times: defaultdict[NodeId, RoundTrips]) -> None:
        self._rounds: Rounds | None = rounds
        self._senders: Sequence[NodeId] = ()
        self._times = times
        self._neighbours: dict[NodeId, _Neighbour] = {}
        self._result: Numbers | None = None

    @property
    def due(self) -> float | None:
        """When a letter must be sent again next."""
        dues = [one.due for end in self._ends for one in end.sent.unconfirmed]
        return min(dues, default=None)

    @property
    def result(self) -> Numbers | None:
        """What the rounds returned."""
        return self._result

    @property
    def may_rest(self) -> bool:
        """Whether the rounds have ended and all letters are confirmed."""
        is_confirmed = not any(end.sent.unconfirmed for end in self._ends)
        return self._result is not None and is_confirmed

    @property
    def _ends(self) -> Sequence[_Neighbour]:
        return tuple(self._neighbours.values())

    def begin(self, now: float) -> Sequence[Post]:
        """Send the letters of the first round."""
        return self._go_on(now, None)

    def wake(self, now: float) -> Sequence[Post]:
        """Send letters again whose receipts have not come in time."""
        posts = []
        for neighbour, end in self._neighbours.items():
            for one in end.sent.unconfirmed:
                if one.due <= now:
                    one.n_before += 1
                    posts.append(self._post(now, neighbour, one))
        return posts

    def hear(self, now: float, sender: NodeId, content: Any) -> Sequence[Post]:
        """Take a letter or a receipt, and go on if a round is complete."""
        end = self._end(sender)
        if isinstance(content, Receipt):
            self._confirm(now, end, content)
            return ()
        end.sent.confirm(content.received)
        if end.came.add(content.number):
            end.inbox[content.number] = content.values
        receipt = _receipt(content, sender, end.came.n_received)
        return [*self._walk(now), receipt]

    def _end(self, neighbour: NodeId) -> _Neighbour:
        if neighbour not in self._neighbours:
            self._neighbours[neighbour] = _Neighbour(self._times[neighbour])
        return self._neighbours[neighbour]

    def _confirm(self, now: float, end: _Neighbour, receipt: Receipt) -> None:
        found = end.sent.after(receipt.number - 1)
        if found is not None and found.number == receipt.number:
            end.times.learn(found.n_bytes, now - receipt.sent_at)
        end.sent.confirm(receipt.received)
        end.sent.drop(receipt.number)

    def _walk(self, now: float) -> list[Post]:
        """Go through all rounds whose letters have come."""
        posts: list[Post] = []
        while self._rounds is not None and self._has_come():
            inbox = {one: self._end(one).use_next() for one in self._senders}
            posts += self._go_on(now, inbox)
        return posts

    def _has_come(self) -> bool:
        return all(self._end(one).has_next for one in self._senders)

    def _go_on(self, now: float, inbox: dict[NodeId, Numbers] | None) -> list[Post]:
        """Give the rounds what has come, and send what they want sent."""
        assert self._rounds is not None
        try:
            swap = self._rounds.send(inbox)  # type: ignore[arg-type]  # None starts it
        except StopIteration as stop:
            self._result, self._rounds, self._senders = stop.value, None, ()
            return []
        self._senders = tuple(swap.senders)
        posts = []
        for neighbour, values in swap.letters.items():
            outgoing = self._end(neighbour).sent
            one = _Sent(outgoing.n_sent + 1, values, now)
            outgoing.keep(one)
            posts.append(self._post(now, neighbour, one))
        return posts + (self._walk(now) if inbox is None else [])

    def _post(self, now: float, neighbour: NodeId, one: _Sent) -> Post:
        end = self._neighbours[neighbour]
        one.due = now + end.times.timeout(one.n_bytes, one.n_before)
        content = Letter(one.number, end.came.n_received, now, one.values)
        return Post(neighbour, content, one.n_bytes, is_resent=one.n_before > 0)


def _receipt(letter: Letter, sender: NodeId, received: int) -> Post:
    content = Receipt(letter.number, received, letter.sent_at)
    return Post(sender, content, HEADER, is_letter=False)


@dataclass(frozen=True, slots=True)
class ResendingSeat:
    """One node's place in the averagings of a scheme whose letters are sent again.

    Parameters
    ----------
    scheme : RoundByRound
        The scheme.
    node : int
        The number of the node.
    times : mapping
        The round-trip times to its neighbours.
    """

    scheme: RoundByRound
    node: NodeId
    times: defaultdict[NodeId, RoundTrips] = field(
        default_factory=lambda: defaultdict(RoundTrips)
    )

    def party(self, value: Numbers, step: int) -> RoundsParty:
        """Return this node's party of one averaging."""
        return RoundsParty(self.scheme.rounds(self.node, value, step), self.times)

    def answer(self, now: float, sender: NodeId, content: Any) -> Sequence[Post]:
        """Confirm a letter that came early, or again after all was confirmed."""
        return [_receipt(content, sender, 0)] if isinstance(content, Letter) else ()


@dataclass(frozen=True, slots=True)
class Resending:
    """A round-by-round scheme over links that lose letters.

    Parameters
    ----------
    averaging : Averaging
        The scheme.

    Examples
    --------
    >>> import numpy as np
    >>> from dssfn.consensus.tree import Tree
    >>> from dssfn.topology import build_topology
    >>> scheme = Resending(Tree(build_topology("path", 2)))
    >>> root = scheme.seat(0).party(np.array([1]), step=0)
    >>> leaf = scheme.seat(1).party(np.array([2]), step=0)
    >>> root.begin(0.0), leaf.due
    ([], None)
    >>> (lost,) = leaf.begin(0.0)
    >>> (again,) = leaf.wake(leaf.due)
    >>> total, receipt = root.hear(1.0, 1, again.content)
    >>> again.is_resent, root.result, total.content.values
    (True, array([3]), array([3]))
    """

    averaging: Averaging

    @property
    def name(self) -> str:
        """The name of the scheme."""
        return self.averaging.name

    def seat(self, node: NodeId) -> ResendingSeat:
        """Return a new seat for a node."""
        return ResendingSeat(self.averaging, node)


def _named(name: str, topology: Topology, tol: float) -> Resending:
    averaging: Averaging | None = AVERAGING[name](topology, tol)
    if averaging is None:
        raise PlanError(
            f"`scheme`: {name} would leave an error above {tol:g} on this graph of "
            f"{topology.n_nodes} nodes. Use chebyshev or tree."
        )
    return Resending(averaging)


gossip, chebyshev, exact, tree = (
    partial(_named, name) for name in ("gossip", "chebyshev", "exact", "tree")
)
