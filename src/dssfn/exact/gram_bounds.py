"""What exact sums of products can be: those of bounded features over samples.

How this works. Let feature i of a sample of weight w add at most s_i w to its sum of
squares. Then for samples of weight W altogether

- 0 <= G_ii <= s_i W,
- G_ij^2 <= G_ii G_jj (Cauchy and Schwarz), for every set of samples,
- C_qi^2 <= s W G_ii, where s is the same for what is left over,
- G_ij >= 0, where no feature is negative.

So no node can claim features that vary together by more than each of them varies. Old
features, whose sums of squares are not in the message, count with s_i W instead.

The s_i are proved by `dssfn.exact.bounds`: wide numbers are clipped at 2^22 and units
at 127, and a weight that is a whole number counts a sample so often. Other weights
multiply features by their roots, r^2 = w / u with u a usual weight, and by a constant,
before they are rounded. Rounding at most doubles a number: one that is not rounded to
zero is at least a half, and grows by a half at most. So then s_i is four times what it
would be without rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from dssfn._typing import Array, Integers
from dssfn.exact.bounds import STEPS, TOP, WIDE
from dssfn.exact.gram import Layout, joined_words
from dssfn.exact.samples import ROOT_OF_UNIT, ROOT_OF_WIDE

# Sums are rounded to float64 and multiplied a few times: far less than this share.
ROUNDING = 1e-9
DOUBLED = 2.0**2  # squares of numbers that rounding may have doubled


@dataclass(frozen=True, slots=True)
class Weighing:
    """How much the samples of a training weigh.

    Parameters
    ----------
    given : float
        The weight of all samples as they came: their number, if they have none.
    factor : float
        The most by which that of a sample's class multiplies it.
    used : float
        The weight of all samples, multiplied so.
    usual : int, optional
        A usual weight as a power of two, if some weight is no whole number.
    """

    given: float = math.inf
    factor: float = 1.0
    used: float = math.inf
    usual: int | None = None

    def of(self, given: float) -> float:
        """Return the most that samples weigh whose weights are these as they came."""
        return min(self.factor * min(given, self.given), self.used)


@dataclass(frozen=True, slots=True)
class GramBounds:
    """The bounds of sums of products.

    Parameters
    ----------
    layout : Layout
        Which sums there are.
    n_wide : int
        The first features, which are wide numbers before they are weighed.
    weighing : Weighing
        How much the samples weigh.
    largest_left : int
        The largest number of what is left over, in steps.
    constant : int
        The first features, which are one.
    is_positive : bool
        Whether no feature is negative.
    """

    layout: Layout
    n_wide: int
    weighing: Weighing
    largest_left: int = WIDE
    constant: int = 0
    is_positive: bool = False

    def fault(self, sums: Integers, weight: float) -> str | None:
        """Return what is wrong with sums of products; None if nothing is."""
        layout = self.layout
        words, (by_wide, by_units, units, C_units) = layout.split(sums)
        k = len(words) // 2
        old, among, C_wide = map(joined_words, words[:k], words[k:])
        squares, left = self._squares(weight)
        found = np.concatenate([_diagonal(among), _diagonal(units)])
        if fault := _fault_of_squares(found, squares[self._is_new]):
            return fault
        squares[self._is_new] = found
        roots = np.sqrt(squares) * (1 + ROUNDING)
        wide, narrow = roots[: layout.n_wide], roots[layout.n_wide :]
        new_wide, new_units = wide[layout.old_wide :], narrow[layout.old_units :]
        blocks = (
            (old, _outer(new_wide, wide[: layout.old_wide])),
            (among, _packed(new_wide)),
            (by_wide, _outer(new_units, wide)),
            (by_units, _outer(new_units, narrow[: layout.old_units])),
            (units, _packed(new_units)),
        )
        for products, most in blocks:
            if self.is_positive and products.min(initial=0) < 0:
                return "features that are never negative have a negative product"
            if _exceeds(products, most, is_positive=self.is_positive):
                return "products of two features are above those of their squares"
        root = np.array([math.sqrt(left) * (1 + ROUNDING)])
        for C, of in ((C_wide, new_wide), (C_units, new_units)):
            if _exceeds(C, _outer(root, of)):
                return "products of targets and features are above what both can be"
        return None

    @property
    def _is_new(self) -> NDArray[np.bool_]:
        """Which features are new: their sums of squares are in the message."""
        layout = self.layout
        is_new = np.ones(layout.n, dtype=bool)
        is_new[: layout.old_wide] = False
        is_new[layout.n_wide : layout.n - layout.new_units] = False
        return is_new

    def _squares(self, weight: float) -> tuple[Array, float]:
        """Return the greatest sums of squares of features, and of what is left over."""
        largest: Array = np.full(self.layout.n, float(TOP))
        largest[: self.n_wide] = WIDE
        largest[: self.constant] = STEPS
        left, most = float(self.largest_left), self.weighing.of(weight)
        if (usual := self.weighing.usual) is not None:
            largest[: self.n_wide] *= ROOT_OF_WIDE
            largest[self.n_wide :] *= ROOT_OF_UNIT
            left *= ROOT_OF_WIDE
            most *= math.ldexp(DOUBLED, -usual)
        most *= 1 + ROUNDING
        return largest**2 * most, left**2 * most


def _fault_of_squares(found: Array, most: Array) -> str | None:
    """Return what is wrong with sums of squares; None if nothing is."""
    if (found < 0).any():
        return f"a sum of squares is negative, {found.min():g}"
    if (is_above := found > most).any():
        k = int(is_above.argmax())
        return f"a sum of squares of {found[k]:g} is above {most[k]:g}"
    return None


def _diagonal(packed: Array | Integers) -> Array:
    """Return the diagonal of a packed triangle.

    >>> _diagonal(np.array([1.0, 2.0, 3.0]))
    array([1., 3.])
    """
    n = math.isqrt(2 * len(packed))
    columns = np.arange(n)
    diagonal: Array = packed[columns * (columns + 3) // 2].astype(np.float64)
    return diagonal


def _outer(a: Array, b: Array) -> Array:
    """Return the products of all pairs; nobody knows that of zero and infinity."""
    with np.errstate(invalid="ignore"):
        return np.outer(a, b)


def _packed(roots: Array) -> Array:
    """Return the products of all pairs, as a packed triangle."""
    if not len(roots):
        return np.empty(0)
    packed: Array = lapack.dtrttp(_outer(roots, roots).T)[0]
    return packed


def _exceeds(
    products: Array | Integers, most: Array, *, is_positive: bool = False
) -> bool:
    """Return whether a product is larger than it may be, with either sign."""
    if (products > most).any():
        return True
    return not is_positive and bool((products < -most).any())
