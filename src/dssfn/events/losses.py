"""Which letters are lost on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dssfn.errors import PlanError


class Fate(Protocol):
    """The losses of one arc, one letter after the other."""

    def is_lost(self, rng: np.random.Generator) -> bool:
        """Return whether the next letter is lost."""


class Loss(Protocol):
    """A model of losses."""

    @property
    def mean(self) -> float:
        """The share of letters that are lost in the long run."""

    def fate(self, rng: np.random.Generator) -> Fate:
        """Return the losses of one arc, as they begin."""


@dataclass(frozen=True, slots=True)
class Independent:
    """Every letter is lost with the same probability, whatever became of others.

    Parameters
    ----------
    mean : float
        The probability; 1 is a link that is cut.
    """

    mean: float = 0.0

    def __post_init__(self) -> None:
        check_probability("loss", self.mean)

    def fate(self, rng: np.random.Generator) -> Independent:
        """Return the losses of one arc, which need no memory."""
        return self

    def is_lost(self, rng: np.random.Generator) -> bool:
        """Return whether the next letter is lost."""
        return self.mean > 0 and rng.random() < self.mean


@dataclass(frozen=True, slots=True)
class Bursts:
    """Losses come in bursts: the model of Gilbert and Elliott.

    An arc is either well and loses nothing, or ill and loses everything; before every
    letter it may change. The probabilities of both changes follow from the share of
    letters that are lost and from how many of them are lost in a row.

    Parameters
    ----------
    mean : float
        The share of letters that are lost in the long run, below 1.
    length : float
        The mean number of letters that are lost in a row, at least 1 and at least
        mean / (1 - mean).

    Examples
    --------
    >>> bursts = Bursts(mean=0.5, length=4.0)
    >>> bursts.falling_ill, bursts.recovering
    (0.25, 0.25)
    """

    mean: float
    length: float

    def __post_init__(self) -> None:
        check_probability("loss", self.mean)
        least = max(1.0, self.mean / (1 - self.mean)) if self.mean < 1 else np.inf
        if not least <= self.length < np.inf:
            raise PlanError(
                f"`burst` must be at least {least:g} messages at a loss of "
                f"{self.mean:g}, got {self.length:g}."
            )

    @property
    def recovering(self) -> float:
        """The probability that an ill arc is well at the next letter."""
        return 1 / self.length

    @property
    def falling_ill(self) -> float:
        """The probability that an arc that is well is ill at the next letter."""
        return self.mean / (self.length * (1 - self.mean))

    def fate(self, rng: np.random.Generator) -> Fate:
        """Return the losses of one arc, which begins as it is in the long run."""
        return _BurstsOfArc(self, is_ill=rng.random() < self.mean)


@dataclass(slots=True)
class _BurstsOfArc:
    model: Bursts
    is_ill: bool

    def is_lost(self, rng: np.random.Generator) -> bool:
        was_ill = self.is_ill
        change = self.model.recovering if was_ill else self.model.falling_ill
        if rng.random() < change:
            self.is_ill = not was_ill
        return was_ill


def check_probability(name: str, value: float) -> None:
    """Refuse what is not a probability."""
    if not 0 <= value <= 1:
        raise PlanError(f"`{name}` must lie in 0..1, got {value!r}.")
