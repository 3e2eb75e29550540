"""Exact sums of products of features over samples.

How this works. Features come as wide numbers W and random units U, one row each, all of
them whole numbers (see `dssfn.exact.bounds`). Products of two units are added up by
`ssyrk` over a chunk of samples, in float32, where they are exact at the greatest speed,
and from chunk to chunk in float64. Products of wide numbers are added up in float64
over a chunk, and from chunk to chunk as two words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from dssfn._rank_update import add_gram
from dssfn._typing import Array, Integers, Numbers
from dssfn.exact.blas_check import check_blas
from dssfn.exact.bounds import CHUNK, WIDE_CHUNK, WORD
from dssfn.exact.structured import Bytes

BLOCK = 128  # units that are made float64 at once, so that they stay in the cache
WORD_BITS = WORD.bit_length() - 1


@dataclass(frozen=True, slots=True)
class Layout:
    """Which sums a message holds: those of new features, by all features.

    Parameters
    ----------
    n_outputs : int
        Q, the rows of what is left over.
    n_wide : int
        The first rows of the features, which are wide numbers; the others are units.
    first, n : int
        The new features are those from `first` to n.
    """

    n_outputs: int
    n_wide: int
    first: int
    n: int

    @property
    def old_wide(self) -> int:
        """Wide rows that are not new."""
        return min(self.first, self.n_wide)

    @property
    def new_wide(self) -> int:
        """Wide rows that are new."""
        return self.n_wide - self.old_wide

    @property
    def old_units(self) -> int:
        """Units that are not new."""
        return self.first - self.old_wide

    @property
    def new_units(self) -> int:
        """Units that are new."""
        return self.n - self.n_wide - self.old_units

    @property
    def wide_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the sums that take two words: by old rows, by new rows, and C."""
        m = self.new_wide
        return (m, self.old_wide), (m * (m + 1) // 2,), (self.n_outputs, m)

    @property
    def narrow_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the others: new units by wide rows, by old and new units, and C."""
        m = self.new_units
        by_old = (m, self.n_wide), (m, self.old_units)
        return *by_old, (m * (m + 1) // 2,), (self.n_outputs, m)

    @property
    def size(self) -> int:
        """How many integers a message has.

        >>> Layout(n_outputs=2, n_wide=3, first=0, n=4).size
        30
        """
        wide, narrow = self._sizes(self.wide_shapes), self._sizes(self.narrow_shapes)
        return 2 * sum(wide) + sum(narrow)

    @staticmethod
    def _sizes(shapes: tuple[tuple[int, ...], ...]) -> list[int]:
        return [int(np.prod(shape)) for shape in shapes]

    def split(self, message: Integers) -> tuple[list[Integers], list[Integers]]:
        """Return the sums of a message: high and low words of wide ones, and others."""
        shapes = [*self.wide_shapes, *self.wide_shapes, *self.narrow_shapes]
        ends = np.cumsum(self._sizes(tuple(shapes)))[:-1]
        parts = np.split(message, ends)
        shaped = [part.reshape(s) for part, s in zip(parts, shapes, strict=True)]
        n = 2 * len(self.wide_shapes)
        return shaped[:n], shaped[n:]


class Products(NamedTuple):
    """Sums of products as floats, each rounded once.

    Parameters
    ----------
    cross : array of shape (m, first)
        New features by old ones.
    upper : array of shape (m, m)
        New features by new ones, upper triangle.
    C : array of shape (Q, m)
        What is left over by new features.
    """

    cross: Array
    upper: Array
    C: Array


def read_products(message: Integers, layout: Layout) -> Products:
    """Return the sums of a total of messages, of whole numbers as they were added."""
    words, narrow = layout.split(message)
    k = len(words) // 2
    old, triangle, C_wide = (
        _joined(high, low) for high, low in zip(words[:k], words[k:], strict=True)
    )
    by_wide, by_units, units, C_units = (part.astype(np.float64) for part in narrow)
    m_wide, m_units = layout.new_wide, layout.new_units
    m = m_wide + m_units
    upper: Array = np.zeros((m, m), order="F")
    upper[:m_wide, :m_wide] = _unpacked(m_wide, triangle)
    upper[m_wide:, m_wide:] = _unpacked(m_units, units)
    upper[:m_wide, m_wide:] = by_wide[:, layout.old_wide :].T
    cross: Array = np.zeros((m, layout.first))
    cross[:m_wide, : layout.old_wide] = old
    cross[m_wide:, : layout.old_wide] = by_wide[:, : layout.old_wide]
    cross[m_wide:, layout.old_wide :] = by_units
    return Products(cross, upper, np.hstack([C_wide, C_units]))


def _unpacked(n: int, packed: Array) -> Array:
    upper: Array = lapack.dtpttr(n, packed)[0] if n else np.zeros((0, 0))
    return upper


def _joined(high: Integers, low: Integers) -> Array:
    """Return high * 2^28 + low, rounded."""
    carried = high + (low >> WORD_BITS)
    rest = low & (WORD - 1)
    total: Array = carried.astype(np.float64) * WORD + rest.astype(np.float64)
    return total


class ExactSums:
    """Sums over samples that grow chunk by chunk."""

    def __init__(self, layout: Layout) -> None:
        check_blas()
        self._layout = layout
        Q, m_wide, m_units = layout.n_outputs, layout.new_wide, layout.new_units
        self._words = [
            np.zeros((2, *shape), dtype=np.int64)
            for shape in ((m_wide, layout.old_wide), (m_wide, m_wide), (Q, m_wide))
        ]
        self._by_wide: Array = np.zeros((m_units, layout.n_wide))
        self._by_units: Array = np.zeros((m_units, layout.old_units))
        self._units: Array = np.zeros((m_units, m_units), order="F")
        self._C: Array = np.zeros((Q, m_units))

    def add(self, W: Array, U: Bytes, D: Array) -> None:
        """Add samples with wide rows W, units U and what is left over D.

        Parameters
        ----------
        W : float64 array of shape (n_wide, c)
            Whole numbers of at most 2^22.
        U : uint8 array of shape (n - n_wide, c)
            All units, old and new, of at most 127.
        D : float64 array of shape (Q, c)
            Whole numbers of at most 2^22.
        """
        for start in range(0, W.shape[1], CHUNK):
            columns = slice(start, start + CHUNK)
            self._add_chunk(W[:, columns], U[:, columns], D[:, columns])

    def _add_chunk(self, W: Array, U: Bytes, D: Array) -> None:
        layout = self._layout
        for start in range(0, W.shape[1] if layout.new_wide else 0, WIDE_CHUNK):
            self._add_wide(*(A[:, start : start + WIDE_CHUNK] for A in (W, D)))
        if layout.new_units:
            self._add_units(W, U, D)

    def _add_wide(self, W: Array, D: Array) -> None:
        """Add products of wide numbers."""
        layout = self._layout
        new = W[layout.old_wide :]
        among = np.zeros((len(new), len(new)), order="F")
        add_gram(among, new)
        sums = (new @ W[: layout.old_wide].T, among, D @ new.T)
        for words, left in zip(self._words, sums, strict=True):
            high = np.floor(left / WORD)
            words[0] += high.astype(np.int64)
            words[1] += (left - high * WORD).astype(np.int64)

    def _add_units(self, W: Array, U: Bytes, D: Array) -> None:
        """Add products of units by units and by wide numbers."""
        layout = self._layout
        singles = U.astype(np.float32)
        new_units = singles[layout.old_units :]
        add_gram(self._units, new_units)
        if layout.old_units:
            self._by_units += new_units @ singles[: layout.old_units].T
        both = np.vstack([W, D])
        for start in range(0, len(new_units), BLOCK):
            rows = slice(start, start + BLOCK)
            products = new_units[rows].astype(np.float64) @ both.T
            self._by_wide[rows] += products[:, : len(W)]
            self._C[:, rows] += products[:, len(W) :].T

    def merge(self, other: ExactSums, times: int = 1) -> None:
        """Add the samples of other sums, so many times."""
        for mine, theirs in zip(self._arrays(), other._arrays(), strict=True):
            mine += times * theirs

    def _arrays(self) -> Iterator[Numbers]:
        yield from self._words
        yield from (self._by_wide, self._by_units, self._units, self._C)

    def write(self, into: Integers) -> None:
        """Write the sums as a message."""
        old, new, C = self._words
        triangle = np.triu_indices(self._layout.new_wide)
        by_column = np.lexsort((triangle[0], triangle[1]))
        i, j = triangle[0][by_column], triangle[1][by_column]
        parts = [
            part
            for k in range(2)
            for part in (old[k].ravel(), new[k][i, j], C[k].ravel())
        ]
        parts += [self._by_wide.ravel(), self._by_units.ravel()]
        packed = lapack.dtrttp(self._units)[0] if len(self._units) else np.empty(0)
        parts += [packed, self._C.ravel()]
        at = 0
        for part in parts:
            into[at : at + part.size] = part
            at += part.size
