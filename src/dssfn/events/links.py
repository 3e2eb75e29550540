"""Links that lose, delay, repeat and reorder what they carry.

Every arc (an edge in one direction) has a random generator of its own, made from the
seed and the numbers of both nodes. So what happens on it depends on nothing but what
was sent over it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dssfn._typing import NodeId
from dssfn.errors import PlanError
from dssfn.events.delays import Constant, Delay
from dssfn.events.losses import Independent, Loss, check_probability

NO_LOSS, NO_DELAY = Independent(0.0), Constant(0.0)


@dataclass(frozen=True, slots=True)
class LinkModel:
    """What an arc does to letters.

    Parameters
    ----------
    loss : Loss
        Which letters are lost: `Independent` or `Bursts`.
    delay : Delay
        How long a letter is under way: `Constant`, `Uniform`, `Exponential` or
        `Lognormal`. Letters that are delayed differently overtake each other.
    duplicate : float
        The probability that a letter that is not lost comes twice; the second copy has
        a delay of its own.
    bandwidth : float, optional
        Bits per second; letters leave one after the other. Unlimited if left out.
    keeps_order : bool
        Whether no letter overtakes another: it waits for those before it.
    """

    loss: Loss = NO_LOSS
    delay: Delay = NO_DELAY
    duplicate: float = 0.0
    bandwidth: float | None = None
    keeps_order: bool = False

    def __post_init__(self) -> None:
        check_probability("duplicate", self.duplicate)
        if self.bandwidth is not None and not self.bandwidth > 0:
            raise PlanError(
                "`bandwidth` must be a positive number of bits per second, got "
                f"{self.bandwidth!r}. Leave it out for a link without limit."
            )


PERFECT = LinkModel()
"""A link that loses nothing and takes no time."""

Links: TypeAlias = LinkModel | Callable[[NodeId, NodeId], LinkModel]
"""One model for all arcs, or a function of sender and receiver."""


class Channel:
    """One arc of a simulated network.

    Parameters
    ----------
    model : LinkModel
        What the arc does to letters.
    rng : Generator
        The random numbers of this arc alone.

    Examples
    --------
    >>> slow = LinkModel(delay=Constant(0.5), bandwidth=8000.0)
    >>> channel = Channel(slow, np.random.default_rng(0))
    >>> channel.carry(0.0, 1000), channel.carry(0.0, 1000)
    ([1.5], [2.5])
    """

    def __init__(self, model: LinkModel, rng: np.random.Generator) -> None:
        self._model, self._rng = model, rng
        self._fate = model.loss.fate(rng)
        self._free_at = 0.0  # when all letters before have left
        self._last = 0.0  # when the last of them arrives

    @classmethod
    def of(cls, links: Links, seed: int, sender: NodeId, receiver: NodeId) -> Channel:
        """Return the arc between two nodes, as it begins."""
        model = links if isinstance(links, LinkModel) else links(sender, receiver)
        return cls(model, np.random.default_rng((seed, sender, receiver)))

    def carry(self, now: float, n_bytes: int) -> list[float]:
        """Return when what is sent now arrives: never, once, or twice."""
        model, rng = self._model, self._rng
        left = now
        if model.bandwidth is not None:
            left = max(now, self._free_at) + 8 * n_bytes / model.bandwidth
            self._free_at = left
        if self._fate.is_lost(rng):
            return []
        twice = model.duplicate > 0 and rng.random() < model.duplicate
        return [self._arrival(left) for _ in range(1 + twice)]

    def _arrival(self, left: float) -> float:
        arrival = left + self._model.delay.draw(self._rng)
        if self._model.keeps_order:
            arrival = self._last = max(arrival, self._last)
        return arrival
