"""Links that lose, delay, repeat and reorder letters, and a clock, for tests."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dssfn.parties import Party, Post


@dataclass
class BadLinks:
    """What may happen to a letter, at random.

    Parameters
    ----------
    seed : int
        Which chances are taken.
    loss, repeats : float
        The probability that a letter is lost, or comes twice.
    delay, jitter : float
        Seconds that every letter takes, and the mean of what is added at random.
    away : callable
        Says whether a node is away at a time: it neither hears nor wakes.
    answer : callable
        What a node that rests says to a letter.
    """

    seed: int = 0
    loss: float = 0.0
    repeats: float = 0.0
    delay: float = 0.1
    jitter: float = 0.0
    away: Callable[[int, float], bool] = lambda node, now: False
    answer: Callable[[int, float, int, Any], Any] = lambda node, now, sender, what: ()
    sent: list[Post] = field(default_factory=list)
    now: float = 0.0

    def run(self, parties: Mapping[int, Party], *, until: float = 1e5) -> None:
        """Run parties until all of them rest and no letter is under way."""
        self.rng, self.order = np.random.default_rng(self.seed), itertools.count()
        self.queue: list[tuple[float, int, int, Any]] = []
        self.resting: set[int] = set()
        for node, party in parties.items():
            self._carry(node, party.begin(0.0))
            self._wind(node, party, None)
        while self.queue:
            self.now, _, node, letter = heapq.heappop(self.queue)
            assert self.now < until, "the parties did not end in time"
            self._happen(node, parties[node], letter)
        assert all(party.may_rest for party in parties.values())

    def _happen(self, node: int, party: Party, letter: Any) -> None:
        if self.away(node, self.now):
            if letter is None:  # wakes later
                self._push(self.now + self.delay, node, None)
            return
        due = party.due
        if letter is not None and node in self.resting:
            self._carry(node, self.answer(node, self.now, *letter))
        elif letter is not None:
            self._carry(node, party.hear(self.now, *letter))
            self._wind(node, party, due)
        elif due is not None and due <= self.now:
            self._carry(node, party.wake(self.now))
            self._wind(node, party, None)

    def _wind(self, node: int, party: Party, before: float | None) -> None:
        if party.may_rest:
            self.resting.add(node)
        elif party.due is not None and party.due != before:
            self._push(max(party.due, self.now), node, None)

    def _carry(self, node: int, posts: Any) -> None:
        for post in posts:
            self.sent.append(post)
            for _ in range(1 + (self.rng.random() < self.repeats)):
                if self.rng.random() >= self.loss:
                    takes = self.delay + self.rng.exponential(self.jitter)
                    self._push(self.now + takes, post.receiver, (node, post.content))

    def _push(self, when: float, node: int, letter: Any) -> None:
        heapq.heappush(self.queue, (when, next(self.order), node, letter))
