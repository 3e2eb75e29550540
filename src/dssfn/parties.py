"""What a node does over links that lose, delay, repeat and reorder what they carry.

Over good links nodes walk in rounds (see `dssfn.consensus`). Over bad ones there are no
rounds: letters come when they come, or not at all, and a clock says when to try again.
A `Party` is one node's side of something that nodes find out together in that way. It
is a pure state machine: it is told the time and what has come, and says what to send;
whoever runs it, a simulator or a test, has the clock and the links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from dssfn._typing import NodeId


class Post(NamedTuple):
    """Something that a party sends.

    Parameters
    ----------
    receiver : int
        The neighbour that it is for.
    content : object
        What the neighbour's party hears, if it comes. Nobody may change it afterwards.
    n_bytes : int
        How long it is on the wire.
    is_letter : bool
        Whether it carries a matrix; an acknowledgement does not.
    is_resent : bool
        Whether it was sent before, and is sent again in case it was lost.
    """

    receiver: NodeId
    content: Any
    n_bytes: int
    is_letter: bool = True
    is_resent: bool = False


class Party(Protocol):
    """One node's side of one thing that nodes find out together over bad links.

    Times are seconds on the node's own clock, which never goes back.
    """

    @property
    def due(self) -> float | None:
        """When to call `wake` next; None if only a letter can change things."""

    @property
    def result(self) -> Any | None:
        """What this node has found; None until it is known, and never changes then."""

    @property
    def may_rest(self) -> bool:
        """Whether no neighbour needs this party any more, whatever was lost."""

    def begin(self, now: float) -> Sequence[Post]:
        """Start, and return what to send first."""

    def wake(self, now: float) -> Sequence[Post]:
        """Return what to send because time has passed."""

    def hear(self, now: float, sender: NodeId, content: Any) -> Sequence[Post]:
        """Take what a neighbour's party has sent, and return what to send now.

        The same content may come twice, late, and after later ones.
        """


class Seat(Protocol):
    """One node's place in all averagings of a training by one scheme.

    What a node learns of its neighbours on the way, such as how long letters take, is
    kept here, so that it is learned once.
    """

    def party(self, value: Any, step: int) -> Party:
        """Return this node's party of one averaging, for its own value."""

    def answer(self, now: float, sender: NodeId, content: Any) -> Sequence[Post]:
        """Return the reply to content for a party that is not there.

        Either it has not begun, and will hear the content when it does; only letters
        that it then answers with are sent, since the rest was said here. Or it rests.
        """


class PartyScheme(Protocol):
    """A way to average over links that lose, delay, repeat and reorder letters."""

    @property
    def name(self) -> str:
        """The name of the scheme in reports."""

    def seat(self, node: NodeId) -> Seat:
        """Return a new seat for a node; every training has its own."""


@dataclass(frozen=True, slots=True)
class Joint:
    """What a program yields to have something found out by a party of its own.

    Where a `dssfn.programs.Message` leaves it to the scheme how its average is found,
    this says itself which party finds what is wanted; the program receives its result.

    Parameters
    ----------
    make : callable
        Returns this node's party, from the number of the node, that of the step, which
        is the same on all nodes, and the numbers of its neighbours.
    layer : int
        The layer of the network that it is about.
    size : int
        How many numbers the node computes for it before it begins.
    """

    make: Callable[[NodeId, int, Sequence[NodeId]], Party]
    layer: int
    size: int = 0

    def about(self, layer: int) -> Joint:
        """Return the same request about a layer."""
        return replace(self, layer=layer)
