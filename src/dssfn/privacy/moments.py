"""Moments of the inputs by which they are scaled, of which one row changes little.

Every input has an agreed range, is put on -1 .. 1 with it and rounded to whole numbers
of 1/1024. A row adds one to the number of rows, and for every input its value and its
square. A missing number, which would be the middle of its range, adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dssfn._typing import Array, Integers
from dssfn.shard import Rows

ONE = 1024  # levels of a number between 0 and 1
LEAST_SPREAD = 0.05  # of half the range: a deviation below it may be noise alone
DEVIATION = 3.0  # of a scaled input, so that the constant beside them weighs little


class Range(NamedTuple):
    """The agreed ranges of the inputs, (P,) each."""

    low: Array
    high: Array

    @property
    def middle(self) -> Array:
        """The numbers that become 0."""
        return (self.low + self.high) / 2

    @property
    def half(self) -> Array:
        """The distances to the numbers that become 1."""
        return (self.high - self.low) / 2


class Scaling(NamedTuple):
    """What follows from the moments.

    Parameters
    ----------
    n_samples : float
        About how many samples there are.
    shift, scale : arrays of shape (P,)
        About the mean of every input, and a third of its deviation.
    """

    n_samples: float
    shift: Array
    scale: Array


def moments_of(chunks: Iterable[Rows], ranges: Range) -> Integers:
    """Return the sums over one node's samples: their number, values and squares."""
    P = len(ranges.low)
    sums = np.zeros(1 + 2 * P, dtype=np.int64)
    for X, _, _ in chunks:
        scaled = (X - ranges.middle[:, None]) / ranges.half[:, None]
        levels = np.rint(np.clip(np.nan_to_num(scaled, nan=0.0), -1, 1) * ONE)
        values = levels.astype(np.int64)
        sums[0] += ONE * X.shape[1]
        sums[1 : 1 + P] += values.sum(axis=1)
        sums[1 + P :] += (values * values // ONE).sum(axis=1)
    return sums


def moments_change(P: int) -> int:
    """Return the square of the largest change that one row can make to the sums.

    >>> moments_change(0) == ONE**2
    True
    """
    return ONE * ONE * (1 + 2 * P)


def scaling_of(totals: Integers, ranges: Range) -> Scaling:
    """Return the scaling of the inputs from noisy totals."""
    P = len(ranges.low)
    values = totals / ONE
    n = max(float(values[0]), 1.0)
    mean = np.clip(values[1 : 1 + P] / n, -1.0, 1.0)
    spread = np.sqrt(np.maximum(values[1 + P :] / n - mean**2, 0.0))
    spread = np.clip(spread, LEAST_SPREAD, 1.0)
    scale = ranges.half * spread / DEVIATION
    return Scaling(n, ranges.middle + ranges.half * mean, scale)
