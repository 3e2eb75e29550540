"""Exact sums of products of features over samples.

How this works. Features come as wide numbers W and random units U, one row each, all of
them whole numbers (see `dssfn.exact.bounds`). Products of two units are added up by
`ssyrk` in float32, where they are exact at the greatest speed, and those of wide
numbers by `dsyrk` in float64. No sum of products, nor a part of it, is larger than the
largest sum of squares of a feature (Cauchy and Schwarz). So when that would go over
what the precision holds, the sums are moved first: to float64, or to two words. In
practice this is seldom.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from dssfn._rank_update import update_gram
from dssfn._typing import Array, Integers, Numbers
from dssfn.exact.blas_check import check_blas
from dssfn.exact.bounds import CHUNK, FLOAT32, FLOAT64, WIDE_CHUNK, WORD
from dssfn.exact.structured import Bytes

BLOCK = 32  # units that are made float64 at once, so that they stay in the cache
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
        joined_words(high, low) for high, low in zip(words[:k], words[k:], strict=True)
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


def joined_words(high: Integers, low: Integers) -> Array:
    """Return high * 2^28 + low, rounded."""
    carried = high + (low >> WORD_BITS)
    rest = low & (WORD - 1)
    total: Array = carried.astype(np.float64) * WORD + rest.astype(np.float64)
    return total


class Squares:
    """The sums of squares of features over samples, which must stay below a limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._sums: Array | None = None

    def taken(self, *features: Numbers) -> bool:
        """Take more samples in, (n, c) each, unless the limit would be reached."""
        more = np.concatenate([np.einsum("ij,ij->i", A, A) for A in features])
        total = more if self._sums is None else self._sums + more
        # Below, not at the limit: in floats, 2^53 + 1 is 2^53.
        fits = self._sums is None or bool(total.max(initial=0.0) < self._limit)
        if fits:
            self._sums = total.astype(np.float64)
        return fits

    def clear(self) -> None:
        """Begin anew."""
        self._sums = None


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
        # What has not been moved to words, or to float64, yet.
        self._recent_wide: list[Array] = [
            np.zeros(words.shape[1:], order="F") for words in self._words
        ]
        self._wide_squares = Squares(FLOAT64)
        self._recent_units = np.zeros((m_units, m_units), np.float32, order="F")
        self._unit_squares = Squares(FLOAT32)

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
        while not self._wide_squares.taken(W, D):
            self._settle_wide()
        by_old, among, C = self._recent_wide
        new = W[self._layout.old_wide :]
        by_old += new @ W[: self._layout.old_wide].T
        update_gram(among, new)
        C += D @ new.T

    def _add_units(self, W: Array, U: Bytes, D: Array) -> None:
        """Add products of units by units and by wide numbers."""
        layout = self._layout
        units = U.astype(np.float32)
        new = units[layout.old_units :]
        while not self._unit_squares.taken(new):
            self._settle_units()
        update_gram(self._recent_units, new)
        if layout.old_units:
            self._by_units += new @ units[: layout.old_units].T
        both = np.vstack([W, D])
        for start in range(0, len(new), BLOCK):
            rows = slice(start, start + BLOCK)
            products = new[rows].astype(np.float64) @ both.T
            self._by_wide[rows] += products[:, : len(W)]
            self._C[:, rows] += products[:, len(W) :].T

    def _settle_wide(self) -> None:
        for words, recent in zip(self._words, self._recent_wide, strict=True):
            high = np.floor(recent / WORD)
            words[0] += high.astype(np.int64)
            words[1] += (recent - high * WORD).astype(np.int64)
            recent[:] = 0
        self._wide_squares.clear()

    def _settle_units(self) -> None:
        self._units += self._recent_units
        self._recent_units[:] = 0
        self._unit_squares.clear()

    def merge(self, other: ExactSums, times: int = 1) -> None:
        """Add the samples of other sums, so many times."""
        for mine, theirs in zip(self._arrays(), other._arrays(), strict=True):
            mine += times * theirs

    def _arrays(self) -> Iterator[Numbers]:
        self._settle_wide()
        self._settle_units()
        yield from self._words
        yield from (self._by_wide, self._by_units, self._units, self._C)

    def write(self, into: Integers) -> None:
        """Write the sums as a message."""
        self._settle_wide()
        self._settle_units()
        for words in self._words:  # of many ways to write a sum as two words, one
            words[0] += words[1] >> WORD_BITS
            words[1] &= WORD - 1
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
