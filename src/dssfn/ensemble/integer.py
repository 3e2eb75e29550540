"""Features as small integers, whose sums are exact.

How this works. Inputs, scores and targets are rounded to multiples of 2^-16, and random
units to one byte each; `dssfn.exact.bounds` proves that all sums of their products are
exact then. Output matrices are rounded as well, so that scores are the same on every
processor. All of a member's numbers therefore depend on its samples alone, and not on
who holds them, nor on how they are added up.

The features of a layer count a unit in deviations, of which one has 32 levels; the
plan's gain says how large units are beside scores when a ridge is put on.

A weight that is a whole number counts a sample so often, exactly. With other weights
the features are multiplied by the roots of these, and rounded once more. All of them
are wide numbers then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, Integers, Numbers
from dssfn.config import Plan
from dssfn.ensemble.choices import Pull
from dssfn.ensemble.ridge import Sums, settled_output
from dssfn.ensemble.units import CONSTANT
from dssfn.errors import DataError
from dssfn.exact.bounds import (
    DEVIATION,
    FIRST_DEVIATION,
    FIRST_TOP,
    LEVELS,
    STEPS,
    TOP,
    WIDE,
    check_node_samples,
)
from dssfn.exact.gram import ExactSums, Layout, read_products
from dssfn.exact.outputs import rounded_outputs, scores_of
from dssfn.exact.structured import Bytes, random_units
from dssfn.summation import Exact

LARGEST_ROOT = 45.0  # of a sample's weight; 127 * 45 * 2^8 is below 2^21
ROOT_OF_UNIT, ROOT_OF_WIDE = 2.0**8, 2.0**-2  # what features are multiplied by as well


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """The features of one layer of one member, for some samples.

    Parameters
    ----------
    values : int32 array of shape (m, c)
        In steps of 2^-16: the inputs, or the scores from their mean.
    units : uint8 array of shape (width, c)
        Random units.
    two_sided : bool
        Whether the values are scores, both sides of which are features.
    """

    values: NDArray[np.int32]
    units: Bytes
    two_sided: bool

    def wide(self, rows: NDArray[np.intp] | slice = np.s_[:]) -> Array:
        """Return a constant and the values, or both of their sides, in steps."""
        values = self.values[:, rows]
        m, c = values.shape
        W: Array = np.empty((CONSTANT + m * (1 + self.two_sided), c))
        W[:CONSTANT] = STEPS
        W[CONSTANT : CONSTANT + m] = values
        if self.two_sided:
            np.negative(values, out=W[CONSTANT + m :], casting="unsafe")
            np.maximum(W, 0.0, out=W)
        return W


@dataclass(frozen=True, slots=True)
class Integer:
    """The arithmetic of small integers.

    Parameters
    ----------
    plan : Plan
        What all nodes agreed on.
    weight_exponent : int, optional
        A usual weight of a sample, as a power of two; None if all are whole numbers.
    """

    plan: Plan
    weight_exponent: int | None = None

    @property
    def summation(self) -> Exact:
        """Sums are exact."""
        return Exact()

    def targets(self, T: Array) -> Array:
        """Return targets in steps of 2^-16."""
        return _in_steps(T) / STEPS

    def centres(self, levels: Array) -> Array:
        """Return means in steps of 2^-16."""
        return _in_steps(levels) / STEPS

    def linear(self, V: Array) -> Features:
        """Return the inputs in steps of 2^-16, at most 32 deviations from the mean."""
        values = _in_steps(V).astype(np.int32)
        return Features(values, _no_units(V.shape[1]), two_sided=False)

    def first_inputs(self, V: Array) -> NDArray[np.int16]:
        """Return the inputs and a constant, in steps of 2^-8."""
        return _with_bias(
            V * FIRST_DEVIATION, self.plan.bias * FIRST_DEVIATION, FIRST_TOP, np.int16
        )

    def next_inputs(
        self, F: Features, S: Array, mean: Array, deviation: Array
    ) -> NDArray[np.int8]:
        """Return units, scores and a constant, in steps of a sixteenth."""
        width = len(F.units)
        factors, offsets = DEVIATION / deviation, DEVIATION * mean / deviation
        units = F.units * (factors[:width, None] / LEVELS).astype(np.float32)
        units -= offsets[:width, None].astype(np.float32)
        scores = S * factors[width:, None] - offsets[width:, None]
        A = np.empty((width + len(S) + 1, S.shape[1]), dtype=np.int8)
        A[:width] = _whole(units, TOP)
        A[width:-1] = _whole(scores, TOP)
        A[-1] = min(round(self.plan.bias * DEVIATION), TOP)
        return A

    def widened(
        self,
        F: Features | None,
        S: Array,
        centre: Array,
        A: NDArray[np.int8] | NDArray[np.int16],
        key: tuple[int, int],
        width: int,
    ) -> Features:
        """Return the features of a hidden layer."""
        have = 0 if F is None else len(F.units)
        exact = np.float32 if A.dtype == np.int8 else np.float64
        new = random_units(A.astype(exact), (self.plan.seed, *key), have, width)
        if F is not None:
            return Features(F.values, np.vstack([F.units, new]), two_sided=True)
        values = _in_steps(S - centre[:, None]).astype(np.int32)
        return Features(values, new, two_sided=True)

    def narrowed(self, F: Features, width: int) -> Features:
        """Return the first units only."""
        return Features(F.values, F.units[:width], F.two_sided)

    def advanced(self, S: Array, O: Array, F: Features) -> Array:
        """Return S + O F, in steps of 2^-16."""
        return _in_steps(S + scores_of(O, F.wide(), F.units)) / STEPS

    def tried(
        self, S: Array, outputs: Array, F: Features, rows: NDArray[np.intp]
    ) -> Array:
        """Return the scores of some samples for every output matrix."""
        n_pulls, Q, n = outputs.shape
        W = F.wide(rows)
        stacked = outputs.reshape(n_pulls * Q, n)
        steps = stacked[:, : len(W)] @ W / STEPS
        if len(F.units):
            units = F.units[:, rows].astype(np.float64)
            steps += stacked[:, len(W) :] @ units / LEVELS
        steps = steps.reshape(n_pulls, Q, len(rows))
        steps += S[:, rows]
        return _in_steps(steps) / STEPS

    def sums(self, layer: int, first: int, n: int) -> IntegerSums:
        """Return sums over no samples."""
        return IntegerSums(self._layout(layer, first, n), self.weight_exponent)

    def size(self, layer: int, first: int, n: int) -> int:
        """Return how many numbers such sums take in a message."""
        return self._layout(layer, first, n).size

    def read(
        self, numbers: Numbers, layer: int, first: int, n: int, old: Sums | None = None
    ) -> Sums:
        """Return the sums over all nodes."""
        totals: Integers = numbers.astype(np.int64, copy=False)
        found = read_products(totals, self._layout(layer, first, n))
        values = self._values(layer, n)
        cross = found.cross * np.outer(values[first:], values[:first])
        upper = found.upper * np.outer(values[first:], values[first:])
        C = found.C * (values[0] * values[first:])  # what is left over is wide
        return Sums.bordered(old, cross, upper, C)

    def gains(self, layer: int, n: int) -> Array:
        """Return the gain of the units, and one for the others."""
        gains = np.ones(n)
        gains[self._n_wide(layer) :] = self.plan.gain
        return gains

    def rounded(self, path: Array, layer: int) -> Array:
        """Return output matrices whose products with features are exact."""
        return rounded_outputs(path, self._n_wide(layer), n_digits=1)

    def settled(self, sums: Sums, pull: Pull, guess: Array, gains: Array) -> Array:
        """Return the output matrix that every processor finds, and rounds alike."""
        O = settled_output(sums.scaled(gains), pull) * gains
        layer = int(len(gains) != CONSTANT + self.plan.n_features)
        return rounded_outputs(O, self._n_wide(layer))

    def _n_wide(self, layer: int) -> int:
        plan = self.plan
        return CONSTANT + (2 * plan.n_outputs if layer else plan.n_features)

    def _layout(self, layer: int, first: int, n: int) -> Layout:
        n_wide = self._n_wide(layer) if self.weight_exponent is None else n
        return Layout(self.plan.n_outputs, n_wide, first, n)

    def _values(self, layer: int, n: int) -> Array:
        """Return the value of one level of every feature, a power of two each."""
        values = np.full(n, 1.0 / STEPS)
        values[self._n_wide(layer) :] = 1.0 / LEVELS
        if self.weight_exponent is not None:
            values[: self._n_wide(layer)] /= ROOT_OF_WIDE
            values[self._n_wide(layer) :] /= ROOT_OF_UNIT
        return values


class IntegerSums:
    """Exact sums of new features over some samples."""

    def __init__(self, layout: Layout, weight_exponent: int | None) -> None:
        self._layout, self._sums = layout, ExactSums(layout)
        self._exponent = weight_exponent
        self._n_samples = 0

    def add(
        self,
        F: Features,
        T: Array,
        S: Array,
        weights: Array | None,
        rows: NDArray[np.intp],
    ) -> None:
        """Add some samples."""
        if self._exponent is None and weights is not None:
            for times, some in _by_bit(weights, rows):
                part = IntegerSums(self._layout, None)
                part.add(F, T, S, None, some)
                self._sums.merge(part._sums, times)
            return
        if not len(rows):
            return
        self._n_samples += len(rows)
        check_node_samples(self._n_samples)
        is_some = len(rows) < F.values.shape[1]
        W = F.wide(rows if is_some else np.s_[:])
        U = F.units[:, rows] if is_some else F.units
        D = _in_steps(T[:, rows] - S[:, rows])
        if self._exponent is not None:
            roots = self._roots(weights, rows)
            D, wide = (_whole(A * (roots * ROOT_OF_WIDE), WIDE) for A in (D, W))
            units = _whole(U * (roots * ROOT_OF_UNIT), WIDE)
            W, U = np.vstack([wide, units]), _no_units(len(rows))
        self._sums.add(W, U, D)

    def _roots(self, weights: Array | None, rows: NDArray[np.intp]) -> Array:
        """Return the roots of the samples' weights, in units of a usual one."""
        assert self._exponent is not None
        w = np.ones(len(rows)) if weights is None else weights[rows]
        roots: Array = np.sqrt(np.ldexp(w, -self._exponent))
        largest = float(roots.max())
        if largest > LARGEST_ROOT:
            raise DataError(
                f"A sample's weight must be at most {LARGEST_ROOT**2:.0f} times a "
                f"usual one, of about {math.ldexp(1.0, self._exponent):g}, so that "
                f"sums are exact; got {float(w.max()):g}. Lower it, or use `units = "
                '"dense"`.'
            )
        return roots

    def write(self, into: Numbers) -> None:
        """Write the sums as a message carries them."""
        self._sums.write(into)


def _by_bit(
    weights: Array, rows: NDArray[np.intp]
) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield powers of two, and the rows whose weights, whole numbers, hold them."""
    w = weights[rows].astype(np.int64)
    for bit in range(int(w.max(initial=0)).bit_length()):
        yield 1 << bit, rows[(w >> bit) & 1 == 1]


def _in_steps(values: Array) -> Array:
    """Return whole numbers of steps of 2^-16, at most 2^21."""
    return _whole(values * STEPS, WIDE)


def _whole(values: Numbers, most: int) -> Numbers:
    """Return the nearest whole numbers, at most as large as given."""
    np.rint(values, out=values)
    np.clip(values, -most, most, out=values)
    return values


def _with_bias(
    values: Array, bias: float, most: int, kind: type[np.int16]
) -> NDArray[np.int16]:
    A = np.empty((len(values) + 1, values.shape[1]), dtype=kind)
    A[:-1] = _whole(values, most)
    A[-1] = min(round(bias), most)
    return A


def _no_units(c: int) -> Bytes:
    return np.empty((0, c), dtype=np.uint8)
