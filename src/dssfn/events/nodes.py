"""Nodes that are slow, away for a while, or gone; and how long they compute.

Time is simulated, so how long a node computes follows from a formula and not from a
clock. A message of N numbers, most of them sums over the node's J samples, takes N J
multiplications; the arithmetic on agreed numbers before it, such as the solution of a
layer whose matrix has N numbers, takes about N sqrt(N). Both together, times a constant
of seconds, are the time of a node of usual speed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from dssfn.errors import PlanError

SECONDS_PER_NUMBER = 1e-9  # a multiplication and an addition on one core


def computing_seconds(
    size: int, n_samples: int, seconds_per_number: float = SECONDS_PER_NUMBER
) -> float:
    """Return the simulated time in which a node of usual speed makes a message.

    >>> computing_seconds(10_000, 400)
    0.005
    """
    return seconds_per_number * size * (n_samples + math.sqrt(size))


@dataclass(frozen=True, slots=True)
class NodeModel:
    """How fast a node is, and when it is there.

    While a node is away it neither computes, sends nor hears; what is sent to it is
    lost, and its memory stays.

    Parameters
    ----------
    slowness : float
        How many times longer than others it computes.
    away : tuple of pairs
        When it leaves and when it is back, in seconds of simulated time, ascending.
    gone : float
        When it leaves for good.

    Examples
    --------
    >>> node = NodeModel(slowness=2.0, away=((1.0, 5.0),))
    >>> node.is_present(3.0), node.next_present(3.0), node.finish(0.0, 1.0)
    (False, 5.0, 6.0)
    """

    slowness: float = 1.0
    away: tuple[tuple[float, float], ...] = ()
    gone: float = math.inf

    def __post_init__(self) -> None:
        if not 0 < self.slowness < math.inf:
            raise PlanError(f"`slowness` must be positive, got {self.slowness!r}.")
        if not self.gone >= 0:
            raise PlanError(f"`gone` must not be negative, got {self.gone!r}.")
        times = [time for interval in self.away for time in interval]
        in_order = all(a < b for a, b in pairwise(times))
        if times and not (in_order and times[0] >= 0 and math.isfinite(times[-1])):
            came = ", ".join(f"{start:g} s to {end:g} s" for start, end in self.away)
            raise PlanError(
                "`away` must hold intervals that end after they begin, one after "
                f"another, got {came}."
            )

    def is_present(self, now: float) -> bool:
        """Return whether the node is there."""
        return self.next_present(now) == now

    def next_present(self, now: float) -> float:
        """Return when the node is there next: now, later, or never (infinity)."""
        for start, end in self.away:
            if start <= now < end:
                now = end
        return now if now < self.gone else math.inf

    def finish(self, now: float, seconds: float) -> float:
        """Return when a computation ends that a node of usual speed does in a time."""
        now, left = self.next_present(now), seconds * self.slowness
        for start, end in self.away:
            if now <= start < now + left:
                left -= start - now
                now = end
        return now + left if now + left < self.gone else math.inf


USUAL = NodeModel()
"""A node of usual speed that is always there."""
