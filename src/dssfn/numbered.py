"""Numbered letters between two ends: kept until they are confirmed, used once.

How this works. Whoever sends numbers its letters from 1 and keeps each until the other
end has confirmed it. Whoever receives knows up to which number all have come, and says
so with everything that it sends; what comes a second time is told by its number. So
nothing is lost and nothing is used twice, whatever happens on the way.

This is the bookkeeping alone: it knows neither connections nor clocks.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from dssfn.errors import ProtocolError


class Numbered(Protocol):
    """Anything that has a number on its way to the other end."""

    @property
    def number(self) -> int:
        """Its number, from 1."""


Item = TypeVar("Item", bound=Numbered)


@dataclass(slots=True)
class Outgoing(Generic[Item]):
    """What was sent in one direction, as far as it is not confirmed.

    Parameters
    ----------
    n_sent : int
        How many were sent.
    unconfirmed : deque
        Those that the other end may not have, ascending.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> outgoing = Outgoing()
    >>> for number in (1, 2, 3):
    ...     outgoing.keep(SimpleNamespace(number=number))
    >>> outgoing.confirm(1)
    >>> outgoing.drop(3)
    >>> [one.number for one in outgoing.unconfirmed]
    [2]
    """

    n_sent: int = 0
    unconfirmed: deque[Item] = field(default_factory=deque)

    def keep(self, item: Item) -> None:
        """Keep what is sent, until it is confirmed; its number is `n_sent + 1`."""
        assert item.number == self.n_sent + 1
        self.n_sent = item.number
        self.unconfirmed.append(item)

    def after(self, number: int) -> Item | None:
        """Return the first after a number that the other end may not have."""
        return next((one for one in self.unconfirmed if one.number > number), None)

    def confirm(self, received: int) -> None:
        """Drop all up to a number, which the other end says it has."""
        if received > self.n_sent:
            raise ProtocolError(
                f"it confirms {received} messages, but only {self.n_sent} were sent"
            )
        while self.unconfirmed and self.unconfirmed[0].number <= received:
            self.unconfirmed.popleft()

    def drop(self, number: int) -> None:
        """Drop a single one, which the other end says it has."""
        found = self.after(number - 1)
        if found is not None and found.number == number:
            self.unconfirmed.remove(found)


@dataclass(slots=True)
class Incoming:
    """Which numbers have come in one direction.

    Parameters
    ----------
    n_received : int
        The number up to which all have come.
    early : set of int
        Those that have come before their turn.

    Examples
    --------
    >>> incoming = Incoming()
    >>> [incoming.add(number) for number in (2, 1, 2)], incoming.n_received
    ([True, True, False], 2)
    """

    n_received: int = 0
    early: set[int] = field(default_factory=set)

    def has(self, number: int) -> bool:
        """Return whether a number has come before."""
        return number <= self.n_received or number in self.early

    def add(self, number: int) -> bool:
        """Note that a number has come, and return whether it is new."""
        if self.has(number):
            return False
        self.early.add(number)
        while self.n_received + 1 in self.early:
            self.n_received += 1
            self.early.remove(self.n_received)
        return True

    def skip_to(self, number: int) -> None:
        """Note that a number has come, and that none before it will."""
        self.n_received = number
        self.early = {one for one in self.early if one > number}
