"""Features as small integers, whose sums are exact.

How this works. Inputs, scores and targets are rounded to multiples of 2^-17, and random
units to one byte each; `dssfn.exact.bounds` proves that all sums of their products are
exact then. Output matrices are rounded as well, so that scores are the same on every
processor. All of a member's numbers therefore depend on its samples alone, and not on
who holds them, nor on how they are added up.

The features of a layer count a unit in deviations, of which one has 32 levels; the
plan's gain says how large units are beside scores when a ridge is put on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, Integers, Numbers
from dssfn.config import Plan
from dssfn.ensemble.choices import Pull
from dssfn.ensemble.ridge import Sums, settled_output
from dssfn.ensemble.units import CONSTANT
from dssfn.exact.bounds import (
    DEVIATION,
    FIRST_DEVIATION,
    FIRST_TOP,
    LEVELS,
    STEPS,
    TOP,
    WIDE,
)
from dssfn.exact.fields import field_units
from dssfn.exact.gram import Layout, read_products
from dssfn.exact.gram_bounds import GramBounds, Weighing
from dssfn.exact.outputs import rounded_outputs, scores_of
from dssfn.exact.samples import (
    SampleSums,
    both_sides,
    in_steps,
    level_values,
    no_units,
    whole,
)
from dssfn.exact.structured import Bytes, random_units
from dssfn.summation import Exact


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """The features of one layer of one member, for some samples.

    Parameters
    ----------
    values : int32 array of shape (m, c)
        In steps of 2^-17: the inputs, or the scores from their mean.
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
        if self.two_sided:
            W = both_sides(values, CONSTANT)
        else:
            W = np.empty((CONSTANT + len(values), values.shape[1]))
            W[CONSTANT:] = values
        W[:CONSTANT] = STEPS
        return W


@dataclass(frozen=True, slots=True)
class Integer:
    """The arithmetic of small integers.

    Parameters
    ----------
    plan : Plan
        What all nodes agreed on.
    weighing : Weighing
        How much the samples of all nodes weigh.
    """

    plan: Plan
    weighing: Weighing = field(default_factory=Weighing)

    @property
    def usual_weight(self) -> int | None:
        """A usual weight, as a power of two; None if all are whole numbers."""
        return self.weighing.usual

    @property
    def is_exact(self) -> bool:
        """Sums may be added up in any order."""
        return True

    @property
    def summation(self) -> Exact:
        """Sums are exact."""
        return Exact()

    def targets(self, T: Array) -> Array:
        """Return targets in steps of 2^-17."""
        return in_steps(T) / STEPS

    def centres(self, levels: Array) -> Array:
        """Return means in steps of 2^-17."""
        return in_steps(levels) / STEPS

    def linear(self, V: Array) -> Features:
        """Return the inputs in steps of 2^-17, at most 32 deviations from the mean."""
        values = in_steps(V).astype(np.int32)
        return Features(values, no_units(V.shape[1]), two_sided=False)

    def first_inputs(self, V: Array) -> NDArray[np.int16]:
        """Return inputs and a constant in steps of 2^-8, or pixels in those of 1/32."""
        if self.plan.image_shape is not None:
            return whole(V * LEVELS, TOP).astype(np.int16)
        A = np.empty((len(V) + 1, V.shape[1]), dtype=np.int16)
        A[:-1] = whole(V * FIRST_DEVIATION, FIRST_TOP)
        A[-1] = min(round(self.plan.bias * FIRST_DEVIATION), FIRST_TOP)
        return A

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
        A[:width] = whole(units, TOP)
        A[width:-1] = whole(scores, TOP)
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
        keys, shape = (self.plan.seed, *key), self.plan.image_shape
        if shape is not None and key[0] == 1:
            new = field_units(A.astype(np.float32), shape, keys, have, width)
        else:
            exact = np.float32 if A.dtype == np.int8 else np.float64
            new = random_units(A.astype(exact), keys, have, width)
        if F is not None:
            return Features(F.values, np.vstack([F.units, new]), two_sided=True)
        values = in_steps(S - centre[:, None]).astype(np.int32)
        return Features(values, new, two_sided=True)

    def narrowed(self, F: Features, width: int) -> Features:
        """Return the first units only."""
        return Features(F.values, F.units[:width], F.two_sided)

    def advanced(self, S: Array, O: Array, F: Features) -> Array:
        """Return S + O F, in steps of 2^-17."""
        return in_steps(S + scores_of(O, F.wide(), F.units)) / STEPS

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
        return in_steps(steps) / STEPS

    def sums(self, layer: int, first: int, n: int) -> IntegerSums:
        """Return sums over no samples."""
        layout = self._layout(layer, first, n)
        return IntegerSums(SampleSums(layout, self.usual_weight))

    def size(self, layer: int, first: int, n: int) -> int:
        """Return how many numbers such sums take in a message."""
        return self._layout(layer, first, n).size

    def bounds(self, layer: int, first: int, n: int) -> GramBounds:
        """Return what sums over samples can be.

        Features of hidden layers are never negative. Before layer 0 all scores are
        zero, so that of classes no more than one is left over.
        """
        is_one_hot = layer == 0 and not self.plan.is_regression
        return GramBounds(
            self._layout(layer, first, n),
            self._n_wide(layer),
            self.weighing,
            largest_left=STEPS if is_one_hot else WIDE,
            constant=CONSTANT,
            is_positive=layer > 0,
        )

    def read(
        self, numbers: Numbers, layer: int, first: int, n: int, old: Sums | None = None
    ) -> Sums:
        """Return the sums over all nodes."""
        totals: Integers = numbers.astype(np.int64, copy=False)
        found = read_products(totals, self._layout(layer, first, n))
        weighted = self.usual_weight is not None
        values = level_values(self._n_wide(layer), n, weighted=weighted)
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

    def settled(
        self, layer: int, sums: Sums, pull: Pull, guess: Array, gains: Array
    ) -> Array:
        """Return the output matrix that every processor finds, and rounds alike."""
        O = settled_output(sums.scaled(gains), pull) * gains
        return rounded_outputs(O, self._n_wide(layer))

    def _n_wide(self, layer: int) -> int:
        plan = self.plan
        return CONSTANT + (2 * plan.n_outputs if layer else plan.n_features)

    def _layout(self, layer: int, first: int, n: int) -> Layout:
        n_wide = self._n_wide(layer) if self.usual_weight is None else n
        return Layout(self.plan.n_outputs, n_wide, first, n)


@dataclass(frozen=True, slots=True)
class IntegerSums:
    """Exact sums of new features over some samples."""

    sums: SampleSums

    def add(
        self,
        F: Features,
        T: Array,
        S: Array,
        weights: Array | None,
        rows: NDArray[np.intp],
    ) -> None:
        """Add some samples."""
        if not len(rows):
            return
        is_some = len(rows) < F.values.shape[1]
        W = F.wide(rows if is_some else np.s_[:])
        U = F.units[:, rows] if is_some else F.units
        D = in_steps(T[:, rows] - S[:, rows])
        self.sums.add(W, U, D, None if weights is None else weights[rows])

    def merge(self, other: IntegerSums) -> None:
        """Add the samples of other sums."""
        self.sums.merge(other.sums)

    def write(self, into: Numbers) -> None:
        """Write the sums as a message carries them."""
        self.sums.write(into)
