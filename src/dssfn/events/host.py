"""One node of a simulated network: its program, and the parties that answer it.

How this works. The program runs to its next request. A message becomes a party of the
scheme, and a `Joint` makes a party of its own; the program goes on with the party's
result. Neighbours may be ahead: what they send for a party that has not begun waits
here. They may be behind: a party whose result is known stays until nobody needs it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dssfn._typing import NodeId
from dssfn.events.shared import Shared
from dssfn.influence import Stated, check_total
from dssfn.lockstep import Finished, advance
from dssfn.parties import Joint, Party, Post, Seat
from dssfn.programs import Agreed, Message, Program

# From one neighbour for one party that has not begun. Before that party has answered, a
# neighbour has nothing new to say; it says the same again, or something that replaces
# what it said before.
MOST_EARLY = 8


class StepPost(NamedTuple):
    """Something that the party of a step sends."""

    step: int
    post: Post


@dataclass(slots=True)
class Host:
    """One node.

    Parameters
    ----------
    node : int
        Its number.
    program : Program
        Its training.
    seat : Seat
        Its place in the averagings.
    shared : Shared
        What it has in common with other nodes.
    neighbours : tuple of int
        Who shares an edge with it; parties of an averaging know that themselves.
    stated : Stated, optional
        What all nodes have stated of their samples, by which totals are judged.
    on_message : callable, optional
        Called with every message before it is averaged.
    """

    node: NodeId
    program: Program[Any]
    seat: Seat
    shared: Shared
    neighbours: tuple[NodeId, ...] = ()
    stated: Stated | None = None
    on_message: Callable[[Message], None] | None = None
    step: int = -1  # of the last party that has begun
    request: Message | Joint | None = None  # what the program waits for
    is_finished: bool = False  # whether the program has returned
    result: Any = None  # what it returned
    is_waiting: bool = False  # for a party that has begun
    unanswered: dict[NodeId, float] = field(default_factory=dict)  # since when, by whom
    _found: Any = None  # the result that the program waits for
    _parties: dict[int, Party] = field(default_factory=dict)
    _early: dict[int, dict[NodeId, deque[Any]]] = field(default_factory=dict)

    @property
    def due(self) -> float | None:
        """When a party must be woken next."""
        dues = (party.due for party in self._parties.values())
        return min((due for due in dues if due is not None), default=None)

    @property
    def has_found(self) -> bool:
        """Whether the result is known that the program waits for."""
        return self._found is not None

    def go_on(self) -> None:
        """Let the program go on with the result of its party."""
        found = self.shared.result(self.node, self.step, self._found)
        self._found, self.is_waiting = None, False
        if isinstance(self.request, Message):
            check_total(self.request, found, self.stated, is_masked=False)
        self.run(found)

    def run(self, reply: Any = None) -> None:
        """Let the program run to its next request; None starts it."""
        request: Any = advance(self.program, reply)
        while isinstance(request, Agreed):
            reply = self.shared.run(self.node, self.step, request)
            request = advance(self.program, reply)
        if isinstance(request, Finished):
            self.request, self.is_finished = None, True
            self.result = request.result
            return
        self.request = request
        if self.on_message and isinstance(request, Message):
            self.on_message(request)

    def begin(self, now: float) -> list[StepPost]:
        """Begin the party of the program's request, and let it hear what waits."""
        self.step, self.is_waiting = self.step + 1, True
        party = self._parties[self.step] = self._party()
        posts = self._from(now, self.step, party.begin(now))
        for sender, contents in self._early.pop(self.step, {}).items():
            for content in contents:
                heard = party.hear(now, sender, content)
                # The seat has answered already, as far as no letter was needed.
                letters = (post for post in heard if post.is_letter)
                posts += self._from(now, self.step, letters)
        self._look_at(self.step)
        return posts

    def _party(self) -> Party:
        """Return the party that answers the program's request."""
        if isinstance(self.request, Message):
            return self.seat.party(self.request.make(), self.step)
        assert isinstance(self.request, Joint)
        return self.request.make(self.node, self.step, self.neighbours)

    def hear(
        self, now: float, sender: NodeId, step: int, content: Any
    ) -> list[StepPost]:
        """Take what has come for the party of a step."""
        self.unanswered.pop(sender, None)
        if step in self._parties:
            posts = self._parties[step].hear(now, sender, content)
            self._look_at(step)
        else:
            if step > self.step:
                senders = self._early.setdefault(step, {})
                senders.setdefault(sender, deque(maxlen=MOST_EARLY)).append(content)
            posts = self.seat.answer(now, sender, content)
        return self._from(now, step, posts)

    def wake(self, now: float) -> list[StepPost]:
        """Wake the parties whose time has come."""
        posts: list[StepPost] = []
        for step, party in list(self._parties.items()):
            if party.due is not None and party.due <= now:
                posts += self._from(now, step, party.wake(now))
                self._look_at(step)
        return posts

    def _look_at(self, step: int) -> None:
        """Take the result of a party, if it is known, and let it rest, if it may."""
        party = self._parties[step]
        if step == self.step and self.is_waiting:
            self._found = party.result
        if party.may_rest:
            del self._parties[step]

    def _from(self, now: float, step: int, posts: Iterable[Post]) -> list[StepPost]:
        """Return what a party sends, and note who owes an answer since when."""
        outgoing = [StepPost(step, post) for post in posts]
        for _, post in outgoing:
            if post.is_letter:
                self.unanswered.setdefault(post.receiver, now)
        return outgoing
