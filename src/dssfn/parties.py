"""What a node does over links that lose, delay, repeat and reorder what they carry.

Over good links nodes walk in rounds (see `dssfn.consensus`). Over bad ones there are no
rounds: letters come when they come, or not at all, and a clock says when to try again.
A `Party` is one node's side of something that nodes find out together in that way. It
is a pure state machine: it is told the time and what has come, and says what to send;
whoever runs it, a simulator or a test, has the clock and the links.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """

    receiver: NodeId
    content: Any
    n_bytes: int
    is_letter: bool = True


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
