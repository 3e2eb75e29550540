"""Sums of floating-point numbers that are exact: a long integer for each.

How this works. A number is a whole multiple of 2^-280, if what lies below that is cut
off. It is written with digits of 28 bits, and the digits of equal places are added up
in int64. So the sum does not depend on the order, nor on who adds what. Only at the end
it is rounded to a float, once.
"""

from __future__ import annotations

import math

import numpy as np

from dssfn._typing import Array, Integers
from dssfn.errors import DataError

BITS = 28
LOWEST = -280  # exponent of the last place
N_LIMBS = 2 * -LOWEST // BITS
LARGEST = 2.0**-LOWEST
IN_CACHE = 2**16  # numbers to work on at once, so that they stay in the cache
MOST_AT_ONCE = 2**20  # digits that float64 adds up without rounding
HALVING = 2.0**27 + 1  # cuts a number into halves, whose products by 2^26 are exact


def add_exactly(values: Array, limbs: Integers) -> None:
    """Add numbers (.., J), which must be finite, over their last axis to `limbs`.

    Parameters
    ----------
    values : array of shape (.., J)
        Below 2^280 in size.
    limbs : contiguous int64 array of shape (.., N_LIMBS)
        The digits so far, changed in place.
    """
    limbs = limbs.reshape(-1, N_LIMBS)
    values = values.reshape(len(limbs), values.shape[-1])
    many, step = values.shape[-1], max(1, IN_CACHE // max(values.shape[-1], 1))
    for row in range(0, len(values), step):
        rows = slice(row, row + step)
        for start in range(0, many, MOST_AT_ONCE):
            part = values[rows, start : start + MOST_AT_ONCE]
            _add_part(np.array(part, dtype=np.float64), limbs[rows])


def _add_part(left: Array, limbs: Integers) -> None:
    """Add numbers (n, J) over their last axis; they are lost."""
    largest = max(float(left.max(initial=0.0)), -float(left.min(initial=0.0)))
    if not largest < LARGEST:
        raise DataError(
            "Numbers, times the weights of their samples, must be below 2^280, about "
            f"2e84, so that their sums are exact, got {largest:g}. Give smaller ones, "
            'or use `units = "dense"`.'
        )
    place = (math.frexp(largest)[1] - 1 - LOWEST) // BITS if largest else -1
    digits = np.empty_like(left)
    while place >= 0 and left.any():
        unit = 2.0 ** (LOWEST + BITS * place)
        np.multiply(left, 1.0 / unit, out=digits)
        np.trunc(digits, out=digits)
        limbs[:, place] += digits.sum(axis=-1).astype(np.int64)
        digits *= unit
        left -= digits
        place -= 1


def rounded(limbs: Integers) -> Array:
    """Return the sums as floats, each rounded once.

    >>> limbs = np.zeros(N_LIMBS, dtype=np.int64)
    >>> add_exactly(np.array([1e80, 1.0, -1e80]), limbs)
    >>> float(rounded(limbs))
    1.0
    """
    flat = limbs.reshape(-1, N_LIMBS)
    sums = np.array([_as_float(row) for row in flat.tolist()], dtype=np.float64)
    return sums.reshape(limbs.shape[:-1])


def _as_float(digits: list[int]) -> float:
    total = 0
    for digit in reversed(digits):
        total = (total << BITS) + digit
    return total / (1 << -LOWEST)  # Python rounds the quotient of integers correctly


class ExactTally:
    """Sums of n numbers over samples, as an exact message carries them.

    Examples
    --------
    >>> tally = ExactTally(1)
    >>> tally.add(np.array([[0.1, 0.2, -0.1]]))
    >>> float(ExactTally.read(tally.numbers())[0])
    0.2
    """

    def __init__(self, n: int) -> None:
        self._limbs = np.zeros((n, N_LIMBS), dtype=np.int64)

    def add(self, values: Array, weights: Array | None = None) -> None:
        """Add the numbers of some samples, (n, c), times the weights of these, (c,).

        A weight that is a whole number counts the sample so often, exactly.
        """
        if weights is None:
            add_exactly(values, self._limbs)
            return
        shifted = values * HALVING
        high = shifted - (shifted - values)  # Veltkamp: the upper half of the bits
        for half in (high, values - high):
            add_exactly(half * weights, self._limbs)

    def numbers(self) -> Integers:
        """Return the sums as a message of n * N_LIMBS integers."""
        return self._limbs.ravel()

    @staticmethod
    def read(numbers: Integers) -> Array:
        """Return the n sums of a total of messages, rounded once."""
        return rounded(numbers.reshape(-1, N_LIMBS))
