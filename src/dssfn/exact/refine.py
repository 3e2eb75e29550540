"""Solutions of linear systems that are right to the last bit on every processor.

How this works. BLAS and LAPACK round differently on different processors, and for
different numbers of threads. A solution that they give is only a first guess here: what
it leaves over is computed exactly, by products of slices that are short enough to be
added up without rounding, and a correction is solved for, until the solution is known
to some 70 bits. Rounded to far fewer, it is the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dssfn._typing import Array
from dssfn.ball import Solver, factored
from dssfn.errors import NumericalError

N_SLICES = 4  # of a solution
MATRIX_SLICES = 3
CORRECTIONS = 40  # four are usual, 11 if a thousand features are nearly one
SPARE = 8  # bits of the last slice that need not be right


def exact_product(A: Array, B: Array) -> Array:
    """Return A B, the same on every processor, and rounded about once.

    >>> bool(exact_product(np.array([[1.0, 2.0]]), np.ones((2, 1)))[0, 0] == 3.0)
    True
    """
    high, low = _product(slices(A, A.shape[1]), slices(B, A.shape[1]))
    return high + low


def slices(A: Array, n: int, n_slices: int = N_SLICES) -> list[Array]:
    """Return matrices that sum to A, and whose products over n terms are exact.

    With four of them, entries are cut off below 2^-75 or so of the largest.
    """
    largest = float(np.abs(A).max(initial=0.0))
    if not largest:
        return [A]
    bits = _bits(n)
    exponent = math.frexp(largest)[1] - bits
    found, left = [], A.copy()
    for _ in range(n_slices):
        unit = 2.0**exponent
        part = left * (1.0 / unit)
        np.rint(part, out=part)
        part *= unit
        found.append(part)
        left -= part
        exponent -= bits
    return found


def _bits(n: int) -> int:
    """Return the bits of a slice."""
    return (53 - max(n, 1).bit_length()) // 2


def _product(A: Sequence[Array], B: Sequence[Array]) -> tuple[Array, Array]:
    """Return the product of two sums of slices as two floats, the second small."""
    return _sum([A[i] @ B[j] for i, j in _pairs(len(A), len(B))])


def _pairs(n: int, m: int) -> list[tuple[int, int]]:
    """Return which slices to multiply, large products first."""
    return [
        (i, rank - i)
        for rank in range(n + m - 1)
        for i in range(max(0, rank - m + 1), min(rank + 1, n))
    ]


def _sum(terms: Sequence[Array]) -> tuple[Array, Array]:
    """Return a sum of matrices as two floats, the second small."""
    high, low = terms[0], np.zeros_like(terms[0])
    for term in terms[1:]:
        high, error = _two_sum(high, term)
        low = low + error
    return _two_sum(high, low)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a + b as a rounded sum and its error (Knuth)."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def refined_solution(A: Array, C: Array) -> Array:
    """Return O with O A = C, (Q, n), the same to the last bit on every processor.

    Parameters
    ----------
    A : array of shape (n, n)
        Symmetric and positive definite, with a condition of at most 1e14 or so.
    C : array of shape (Q, n)
        The right-hand sides.
    """
    return RefinedSystem(A, C).solution()


class RefinedSystem:
    """The equations O (G + lam I) = C, to be solved for one lam or several.

    Parameters
    ----------
    G : array of shape (n, n)
        Symmetric. What is below 2^-63 or so of its largest number is cut off, far below
        the rounding of that.
    C : array of shape (Q, n)
        The right-hand sides.
    """

    def __init__(self, G: Array, C: Array) -> None:
        self._C = C
        self._slices = slices(G, len(G), MATRIX_SLICES)
        self._factor = factored(G)
        self._last: tuple[float, Solver | None] | None = None

    def factor(self, lam: float) -> Solver | None:
        """Return a rough solver; that of the last lam is kept."""
        if self._last is None or self._last[0] != lam:
            self._last = lam, self._factor(lam)
        return self._last[1]

    def solution(self, lam: float = 0.0) -> Array:
        """Return O, the same to the last bit on every processor.

        Parameters
        ----------
        lam : float
            Of 16 bits at most, so that its products with slices are exact.
        """
        solve, n = self._solver(lam), len(self._slices[0])
        high, low = solve(self._C), np.zeros_like(self._C)
        size = float(np.abs(high).max(initial=0.0))
        enough = size * 2.0 ** (SPARE - N_SLICES * _bits(n))
        before = size
        for _ in range(CORRECTIONS):
            change = solve(self._left_over(high, low, lam))
            high, error = _two_sum(high, change)
            high, low = _two_sum(high, low + error)
            changed = float(np.abs(change).max(initial=0.0))
            # Every correction is smaller than the one before by about the same factor.
            if changed <= enough or changed * (changed / before) <= enough:
                return high
            before = changed
        raise NumericalError(
            "A layer's linear system is too close to singular to be solved. Use "
            '`units = "dense"`, or give members a larger `ridge`.'
        )

    def _left_over(self, high: Array, low: Array, lam: float) -> Array:
        """Return C - O (G + lam I) for O = high + low, as if it were rounded once."""
        n = len(self._slices[0])
        # Slice k is about 2^(-k bits) of the first, and those of `low` come two places
        # after those of `high`. Products beyond slice N_SLICES + 1 are left out; with
        # one slice less, corrections would end too early at a condition of 1e13.
        O = [(k, part) for k, part in enumerate(slices(high, n))]
        if low.any():
            O += [(k + 2, part) for k, part in enumerate(slices(low, n))]
        terms = [self._C]
        for j, part in enumerate(self._slices):
            kept = [one for k, one in O if k + j <= N_SLICES + 1]
            # One large product is quicker than many small ones.
            terms += [-one for one in np.split(np.vstack(kept) @ part, len(kept))]
        if lam:
            terms += [-lam * part for _, part in O]
        return np.add(*_sum(terms))

    def _solver(self, lam: float) -> Solver:
        solver = self.factor(lam)
        if solver is None:
            raise NumericalError(
                'A layer\'s matrix could not be factored. Use `units = "dense"`, or '
                "give members a larger `ridge`."
            )
        return solver
