"""The layers of a network of fixed size whose features are small integers.

How this works. A layer's features are the two sides of the scores, in steps of 2^-17,
and random units of one byte each, from a structured matrix (see `dssfn.exact`). The
units see the features before them: scores in steps of 1/64, units as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.exact.bounds import FIRST_DEVIATION, FIRST_TOP, STEPS, TOP
from dssfn.exact.gram import Layout
from dssfn.exact.outputs import scores_of
from dssfn.exact.samples import both_sides, in_steps, no_units, whole
from dssfn.exact.structured import Bytes, Whole, random_units

SCORE_LEVELS = 64  # of a score of one, as an input of units


class IntegerFeatures(NamedTuple):
    """The features of some samples at one layer.

    Parameters
    ----------
    values : int32 array of shape (m, c)
        In steps of 2^-17: the inputs and the bias at layer 0, then the scores.
    units : uint8 array of shape (width, c)
        Random units; none at layer 0.
    """

    values: NDArray[np.int32]
    units: Bytes


@dataclass(frozen=True, slots=True)
class IntegerUnits:
    """Features as small integers."""

    plan: Plan

    def first(self, V: Array) -> IntegerFeatures:
        """Return the features of layer 0: scaled inputs V (P, c), and the bias."""
        m, c = self.plan.inputs_of(0), V.shape[1]
        values = np.empty((m, c), dtype=np.int32)
        values[: len(V)] = in_steps(V)
        values[len(V) :] = round(self.plan.bias * STEPS)
        return IntegerFeatures(values, no_units(c))

    def wide(self, layer: int, Y: IntegerFeatures) -> Array:
        """Return the features that are wide numbers, in steps."""
        return both_sides(Y.values) if layer else Y.values.astype(np.float64)

    def scores(self, layer: int, O: Array, Y: IntegerFeatures) -> Array:
        """Return O Y in steps of 2^-17, (Q, c)."""
        scores: Array = in_steps(scores_of(O, self.wide(layer, Y), Y.units)) / STEPS
        return scores

    def following(
        self, layer: int, scores: Array, Y: IntegerFeatures
    ) -> IntegerFeatures:
        """Return the features of layer + 1 from those of `layer` and their scores."""
        plan = self.plan
        key = (plan.seed, layer + 1, 0)
        units = random_units(self._inputs(layer, Y), key, 0, plan.most_width)
        return IntegerFeatures((scores * STEPS).astype(np.int32), units)

    def _inputs(self, layer: int, Y: IntegerFeatures) -> Whole:
        """Return the inputs of the next layer's units, as whole numbers."""
        if layer == 0:
            return whole(Y.values / (STEPS / FIRST_DEVIATION), FIRST_TOP)
        sides = whole(both_sides(Y.values) / (STEPS / SCORE_LEVELS), TOP)
        y = np.empty((len(sides) + len(Y.units), sides.shape[1]), dtype=np.float32)
        y[: len(sides)], y[len(sides) :] = sides, Y.units
        return y

    def layout(self, layer: int, *, weighted: bool) -> Layout:
        """Return which sums a layer needs."""
        Q, n = self.plan.n_outputs, self.plan.inputs_of(layer)
        n_wide = 2 * Q if layer and not weighted else n
        return Layout(Q, n_wide, 0, n)

    def gains(self, layer: int) -> Array:
        """Return what features are multiplied by: units have a length of the gain."""
        plan = self.plan
        gains = np.ones(plan.inputs_of(layer))
        if layer:
            gains[2 * plan.n_outputs :] = plan.gain / math.sqrt(plan.most_width)
        return gains
