"""Exact sums over samples, which may have weights.

A weight that is a whole number counts a sample so often, exactly. If some sample of
some node has another weight, all features are multiplied by the roots of the weights
first and rounded to wide numbers: so every sample is rounded by itself, and the sums
are exact again.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, Integers, Numbers
from dssfn.errors import DataError
from dssfn.exact.bounds import LEVELS, STEPS, WIDE, check_node_samples
from dssfn.exact.gram import ExactSums, Layout
from dssfn.exact.structured import Bytes

LARGEST_ROOT = 45.0  # of a sample's weight; 127 * 45 * 2^9 is below 2^22
ROOT_OF_UNIT, ROOT_OF_WIDE = 2.0**9, 2.0**-2  # what features are multiplied by as well


def in_steps(values: Array) -> Array:
    """Return whole numbers of steps of 2^-17, at most 2^22.

    >>> in_steps(np.array([0.5, 1e9])).tolist()
    [65536.0, 4194304.0]
    """
    return whole(values * STEPS, WIDE)


def whole(values: Numbers, most: int) -> Numbers:
    """Return the nearest whole numbers, at most as large as given, in place."""
    np.rint(values, out=values)
    np.clip(values, -most, most, out=values)
    return values


def no_units(c: int) -> Bytes:
    """Return no units of c samples."""
    return np.empty((0, c), dtype=np.uint8)


def both_sides(values: NDArray[np.int32], first_rows: int = 0) -> Array:
    """Return relu(values) and relu(-values), below some rows that are left empty."""
    m, c = values.shape
    W: Array = np.empty((first_rows + 2 * m, c))
    np.maximum(values, 0, out=W[first_rows : first_rows + m], casting="unsafe")
    np.minimum(values, 0, out=W[first_rows + m :], casting="unsafe")
    np.negative(W[first_rows + m :], out=W[first_rows + m :])
    return W


def level_values(n_wide: int, n: int, *, weighted: bool) -> Array:
    """Return the value of one level of n features, a power of two each.

    >>> level_values(1, 2, weighted=False).tolist()
    [7.62939453125e-06, 0.03125]
    """
    values = np.full(n, 1.0 / STEPS)
    values[n_wide:] = 1.0 / LEVELS
    if weighted:
        values[:n_wide] /= ROOT_OF_WIDE
        values[n_wide:] /= ROOT_OF_UNIT
    return values


class SampleSums:
    """Exact sums of features over samples.

    Parameters
    ----------
    layout : Layout
        Which sums.
    usual_weight : int, optional
        A usual weight of a sample, as a power of two; None if all weights of all nodes
        are whole numbers.
    """

    def __init__(self, layout: Layout, usual_weight: int | None) -> None:
        self._layout, self._usual_weight = layout, usual_weight
        # Sums of the samples whose weights, whole numbers, hold a power of two.
        self._by_bit: dict[int, ExactSums] = {0: ExactSums(layout)}
        self._n_samples = 0

    def add(self, W: Array, U: Bytes, D: Array, weights: Array | None) -> None:
        """Add samples, as `dssfn.exact.gram.ExactSums` does, with their weights."""
        self._n_samples += W.shape[1]
        check_node_samples(self._n_samples)
        if self._usual_weight is not None:
            roots = self._roots(weights, W.shape[1])
            D, wide = (whole(A * (roots * ROOT_OF_WIDE), WIDE) for A in (D, W))
            units = whole(U * (roots * ROOT_OF_UNIT), WIDE)
            W, U = np.vstack([wide, units]), no_units(len(roots))
        if self._usual_weight is not None or weights is None:
            self._by_bit[0].add(W, U, D)
            return
        counts = weights.astype(np.int64)
        for bit in range(int(counts.max(initial=0)).bit_length()):
            rows = np.flatnonzero((counts >> bit) & 1)
            self._of(bit).add(W[:, rows], U[:, rows], D[:, rows])

    def _of(self, bit: int) -> ExactSums:
        if bit not in self._by_bit:
            self._by_bit[bit] = ExactSums(self._layout)
        return self._by_bit[bit]

    def merge(self, other: SampleSums) -> None:
        """Add the samples of other sums."""
        self._n_samples += other._n_samples
        check_node_samples(self._n_samples)
        for bit, sums in other._by_bit.items():
            self._of(bit).merge(sums)

    def write(self, into: Integers) -> None:
        """Write the sums as a message carries them; nothing can be added then."""
        total = self._by_bit[0]
        for bit, sums in self._by_bit.items():
            if bit:
                total.merge(sums, 1 << bit)
        self._by_bit = {0: total}
        total.write(into)

    def _roots(self, weights: Array | None, c: int) -> Array:
        """Return the roots of the samples' weights, in units of a usual one."""
        assert self._usual_weight is not None
        w = np.ones(c) if weights is None else weights
        roots: Array = np.sqrt(np.ldexp(w, -self._usual_weight))
        if float(roots.max(initial=0.0)) > LARGEST_ROOT:
            raise DataError(
                f"A sample's weight must be at most {LARGEST_ROOT**2:.0f} times a "
                f"usual one, of about {math.ldexp(1.0, self._usual_weight):g}, so that "
                f"sums are exact; got {float(w.max()):g}. Lower it, or use `units = "
                '"dense"`.'
            )
        return roots
