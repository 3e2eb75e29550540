"""How long letters are under way: distributions of delays, in seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from dssfn.errors import PlanError


class Delay(Protocol):
    """A distribution of delays."""

    @property
    def median(self) -> float:
        """The delay that half of all letters exceed, in seconds."""

    def draw(self, rng: np.random.Generator) -> float:
        """Return the delay of one letter, in seconds."""


def _check(delay: Any) -> None:
    """Refuse numbers that are negative or not finite."""
    for one in fields(delay):
        value = getattr(delay, one.name)
        if not (math.isfinite(value) and value >= 0):
            raise PlanError(
                f"`delay`: its {one.name} must be finite and not negative, got "
                f"{value!r}."
            )


@dataclass(frozen=True, slots=True)
class Constant:
    """The same delay for every letter, in seconds."""

    seconds: float = 0.0

    def __post_init__(self) -> None:
        _check(self)

    @property
    def median(self) -> float:
        """The delay itself."""
        return self.seconds

    def draw(self, rng: np.random.Generator) -> float:
        """Return the delay."""
        return self.seconds


@dataclass(frozen=True, slots=True)
class Uniform:
    """Delays that are equally likely between two bounds, in seconds."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check(self)
        if self.high < self.low:
            raise PlanError(
                f"`delay` must end no earlier than it begins, {self.low:g} s, got "
                f"{self.high:g} s."
            )

    @property
    def median(self) -> float:
        """The middle of both bounds."""
        return (self.low + self.high) / 2

    def draw(self, rng: np.random.Generator) -> float:
        """Return the delay of one letter."""
        return self.low + (self.high - self.low) * rng.random()


@dataclass(frozen=True, slots=True)
class Exponential:
    """Delays that are exponential, with a mean in seconds."""

    mean: float

    def __post_init__(self) -> None:
        _check(self)

    @property
    def median(self) -> float:
        """The mean times log 2."""
        return self.mean * math.log(2)

    def draw(self, rng: np.random.Generator) -> float:
        """Return the delay of one letter."""
        return self.mean * rng.standard_exponential()


@dataclass(frozen=True, slots=True)
class Lognormal:
    """Delays whose logarithm is normal: most are near the median, some much longer.

    Parameters
    ----------
    median : float
        In seconds.
    sigma : float
        The standard deviation of the natural logarithm. With 0.5, which is usual of
        wide-area networks, one letter in a hundred takes more than 3.2 times the
        median.
    """

    median: float
    sigma: float = 0.5

    def __post_init__(self) -> None:
        _check(self)

    def draw(self, rng: np.random.Generator) -> float:
        """Return the delay of one letter."""
        return self.median * math.exp(self.sigma * rng.standard_normal())
