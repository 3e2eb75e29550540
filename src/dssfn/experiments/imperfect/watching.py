"""How good what every node holds is, while simulated time passes.

Parties are wrapped: whoever looks reads what a party would say now, and adds up what it
sends. Looking changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dssfn._typing import Array, NodeId
from dssfn.parties import Party, PartyScheme, Post, Seat

STEP = 1.25  # from one look to the next, as a factor of simulated time
FIRST_LOOK = 0.02  # seconds


@dataclass(slots=True)
class Watch:
    """The largest gap of all nodes, against time and bytes.

    Parameters
    ----------
    gap_of : callable
        Takes what a party would say, or None, and returns the relative cost gap of the
        matrix that follows.
    n_nodes : int
        How many nodes there are.
    """

    gap_of: Callable[[Any], float]
    n_nodes: int
    n_bytes: int = 0
    times: list[float] = field(default_factory=list)
    bytes_sent: list[int] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    _parties: dict[NodeId, Any] = field(default_factory=dict)
    _next: float = FIRST_LOOK

    def add(self, node: NodeId, party: Party) -> None:
        """Watch a node's party."""
        self._parties[node] = party

    def note(self, now: float, posts: Sequence[Post]) -> None:
        """Add up what is sent, and look at all nodes if it is time."""
        self.n_bytes += sum(post.n_bytes for post in posts)
        if now >= self._next:
            self.look(now)
            self._next = now * STEP

    def look(self, now: float) -> None:
        """Keep how good what the worst of all nodes holds is."""
        held = [_said_by(self._parties.get(node)) for node in range(self.n_nodes)]
        known: dict[int, float] = {}  # nodes that found the same hold one array
        for values in held:
            if id(values) not in known:
                known[id(values)] = self.gap_of(values)
        self.times.append(now)
        self.bytes_sent.append(self.n_bytes)
        self.gaps.append(max(known.values()))


def _said_by(party: Any) -> Array | None:
    """Return what a party would say now: push-sum's estimate, relaxed ADMM's x."""
    if party is None or party.result is not None:
        return None if party is None else party.result
    if hasattr(party, "estimate"):
        estimate: Array | None = party.estimate()
        return estimate
    x: Array | None = getattr(party, "x", None)
    return x


@dataclass(slots=True)
class WatchedParty:
    """A party that somebody looks at."""

    party: Party
    watch: Watch

    @property
    def due(self) -> float | None:
        """When the party wants to be woken."""
        return self.party.due

    @property
    def result(self) -> Any | None:
        """What the party has found."""
        return self.party.result

    @property
    def may_rest(self) -> bool:
        """Whether the party may rest."""
        return self.party.may_rest

    def begin(self, now: float) -> Sequence[Post]:
        """Let the party begin."""
        return self._noted(now, self.party.begin(now))

    def wake(self, now: float) -> Sequence[Post]:
        """Wake the party."""
        return self._noted(now, self.party.wake(now))

    def hear(self, now: float, sender: NodeId, content: Any) -> Sequence[Post]:
        """Let the party hear."""
        return self._noted(now, self.party.hear(now, sender, content))

    def _noted(self, now: float, posts: Sequence[Post]) -> Sequence[Post]:
        posts = list(posts)
        self.watch.note(now, posts)
        return posts


@dataclass(frozen=True, slots=True)
class WatchedSeat:
    """A seat whose parties are watched."""

    node: NodeId
    seat: Seat
    watch: Watch

    def party(self, value: Any, step: int) -> WatchedParty:
        """Return the party of an averaging, watched."""
        party = self.seat.party(value, step)
        self.watch.add(self.node, party)
        return WatchedParty(party, self.watch)

    def answer(self, now: float, sender: NodeId, content: Any) -> Sequence[Post]:
        """Answer as the seat does."""
        posts = list(self.seat.answer(now, sender, content))
        self.watch.note(now, posts)
        return posts


@dataclass(frozen=True, slots=True)
class WatchedScheme:
    """A scheme whose parties are watched; a `dssfn.parties.PartyScheme`."""

    scheme: PartyScheme
    watch: Watch

    @property
    def name(self) -> str:
        """The name of the scheme."""
        return self.scheme.name

    def seat(self, node: NodeId) -> WatchedSeat:
        """Return a watched seat for a node."""
        return WatchedSeat(node, self.scheme.seat(node), self.watch)


def thinned(values: Sequence[float], most: int = 60) -> list[int]:
    """Return which of many values to keep: the first, the last, and some between.

    >>> thinned(range(5), 3)
    [0, 2, 4]
    """
    kept = np.unique(np.linspace(0, len(values) - 1, most).round().astype(int))
    return [int(k) for k in kept]
