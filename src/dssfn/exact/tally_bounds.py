"""What exact tallies can be: sums of bounded numbers over samples with weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dssfn._typing import Array, Integers
from dssfn.exact.limbs import ExactTally

# Weights and numbers of samples are rounded before they are added up, each to 53 bits,
# and what a node states as the weight of its samples is rounded as often as it has
# samples: far less than this share.
ROUNDING = 1e-9
# Of every number, and of every weight, what lies below 2^-280 is cut off: less than
# this, for all samples.
CUT_OFF = 1e-70


@dataclass(frozen=True, slots=True, eq=False)
class TallyBounds:
    """The bounds of a tally.

    A number between `low` and `high` of every sample, times its weight, adds up to one
    between `low` and `high` times the weight of all, whatever the samples are.

    Parameters
    ----------
    low, high : arrays of shape (n,)
        The least and the greatest number of one sample; infinite for any.
    weight : float
        How much the samples of all nodes weigh; infinity if that is not known.
    is_stated : bool
        Whether the first sum is the weight of the samples, which bounds the others.

    Examples
    --------
    >>> tally = ExactTally(2)
    >>> tally.add(np.array([[0.5, 1.0], [-2.0, 2.0]]))
    >>> bounds = TallyBounds(np.array([0.0, -2.0]), np.array([1.0, 2.0]))
    >>> bounds.fault(tally.numbers(), 2.0)
    >>> bounds.fault(tally.numbers(), 1.0)
    'a sum of 1.5 is above 1'
    """

    low: Array
    high: Array
    weight: float = math.inf
    is_stated: bool = False

    def fault(self, sums: Integers, weight: float) -> str | None:
        """Return what is wrong with a tally; None if nothing is."""
        values = ExactTally.read(np.ascontiguousarray(sums))
        weight = min(weight, self.weight)
        if self.is_stated:
            stated = float(values[0])
            if not stated >= 0:
                return f"the weight of samples is negative, {stated:g}"
            if not math.isinf(weight) and not _is_about(stated, weight):
                return f"the weight of samples is {stated:g} and not {weight:g}"
            weight = stated
        low = -_most(-self.low, weight)
        high = _most(self.high, weight)
        if (is_below := values < low).any():
            k = int(is_below.argmax())
            return f"a sum of {values[k]:g} is below {low[k]:g}"
        if (is_above := values > high).any():
            k = int(is_above.argmax())
            return f"a sum of {values[k]:g} is above {high[k]:g}"
        return None


def _is_about(stated: float, weight: float) -> bool:
    return abs(stated - weight) <= ROUNDING * weight + CUT_OFF


def _most(high: Array, weight: float) -> Array:
    """Return upper bounds for samples of a weight, a little higher for rounding.

    Of samples whose weight nobody knows, no more than the sign is known.
    """
    if math.isinf(weight):
        return np.where(high > 0, np.inf, 0.0)
    with np.errstate(invalid="ignore"):  # of infinity, times a weight of zero
        slack = np.abs(high) * (ROUNDING * weight + CUT_OFF) + CUT_OFF
        most = high * weight + slack
    return np.where(np.isinf(high), high, most)
