"""Output matrices that are rounded, so that scores are exact.

Columns of wide numbers are sums of two matrices, whose products with wide numbers are
exact in float64. Columns of units are numbers with four digits of 7 bits, which have
exact products with units in float32 (see `dssfn.exact.bounds`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.exact.blas_check import check_blas
from dssfn.exact.bounds import (
    DIGIT,
    HALF_DIGIT,
    LEVELS,
    N_DIGITS,
    ROWS,
    STEPS,
    digit_bits,
)
from dssfn.exact.structured import Bytes

UNIT_BITS = N_DIGITS * (DIGIT.bit_length() - 1) - 1  # the sign takes one
SMALLEST = -1000  # exponent of a last bit; what is smaller is zero
MOST_BITS = 26  # of each of two matrices, whose sum is a float64


def rounded_outputs(O: Array, n_wide: int, n_digits: int = 2) -> Array:
    """Return output matrices (.., Q, n) rounded so that their scores are exact.

    Parameters
    ----------
    O : array of shape (.., Q, n)
        Output matrices, each of which is rounded by itself.
    n_wide : int
        The first columns, which are for wide numbers.
    n_digits : int
        Of the columns for wide numbers.
    """
    found = np.empty_like(O)
    for one, rounded in zip(_matrices(O), _matrices(found), strict=True):
        bits = min(digit_bits(n_wide), MOST_BITS)
        rounded[:, :n_wide] = on_grid(one[:, :n_wide], n_digits * bits)
        rounded[:, n_wide:] = on_grid(one[:, n_wide:], UNIT_BITS)
    return found


def _matrices(O: Array) -> Array:
    return O.reshape(-1, *O.shape[-2:])


def scores_of(O: Array, W: Array, U: Bytes) -> Array:
    """Return O times features, exactly but for one last rounding, of shape (Q, c).

    Parameters
    ----------
    O : array of shape (Q, n)
        As `rounded_outputs` returns it.
    W : array of shape (n_wide, c)
        Wide numbers, in steps.
    U : uint8 array of shape (n - n_wide, c)
        Units, in levels.
    """
    check_blas()
    n_wide = len(W)
    high, low = wide_parts(O[:, :n_wide])
    scores: Array = (high @ W + low @ W) / STEPS
    if len(U):
        unit, digits = _digits(O[:, n_wide:])
        sums = np.zeros((len(digits) * len(O), U.shape[1]))
        planes = np.vstack(digits)
        for start in range(0, len(U), ROWS):
            rows = slice(start, start + ROWS)
            sums += planes[:, rows] @ U[rows].astype(np.float32)
        powers = DIGIT ** np.arange(len(digits), dtype=np.float64)
        total = np.tensordot(powers, sums.reshape(len(digits), *scores.shape), axes=1)
        scores += total * (unit / LEVELS)
    return scores


def wide_parts(wide: Array) -> tuple[Array, Array]:
    """Return two matrices of this sum, whose products with wide numbers are exact."""
    high = on_grid(wide, min(digit_bits(wide.shape[1]), MOST_BITS))
    return high, wide - high


def _digits(O: Array) -> tuple[float, list[NDArray[np.float32]]]:
    """Return the unit of rounded numbers, and their digits, the lowest first."""
    unit = _unit(O, UNIT_BITS)
    left = np.rint(O / unit)
    digits = []
    for _ in range(N_DIGITS - 1):
        higher = np.floor((left + HALF_DIGIT) / DIGIT)
        digits.append((left - higher * DIGIT).astype(np.float32))
        left = higher
    return unit, [*digits, left.astype(np.float32)]


def on_grid(A: Array, bits: int) -> Array:
    """Return numbers rounded to so many bits of the largest.

    >>> float(on_grid(np.array([1.0, 0.3]), 3)[1])
    0.25
    """
    unit = _unit(A, bits)
    rounded: Array = np.rint(A / unit) * unit
    return rounded


def _unit(A: Array, bits: int) -> float:
    """Return the last bit of the largest number that has so many bits.

    A largest number that would be rounded up to the next power of two is taken as that,
    so that numbers on a grid stay where they are when they are put on it again.
    """
    largest = float(np.abs(A).max(initial=0.0))
    unit = math.ldexp(1.0, max(math.frexp(largest)[1] - bits, SMALLEST))
    return unit if round(largest / unit) < 2**bits else 2 * unit
