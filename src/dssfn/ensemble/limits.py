"""What the tallies of a training can be, sample by sample.

Scores and targets are clipped at 32, see `dssfn.exact.bounds`: they are 64 apart at the
most. One-hot targets are zero or one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.ensemble.basis import Basis
from dssfn.ensemble.calibrate import SLOPES
from dssfn.ensemble.validation import measure_of, most_score_numbers
from dssfn.exact.bounds import STEPS, WIDE
from dssfn.scores import ClassMeasure
from dssfn.sum_bounds import SumBounds
from dssfn.summation import Summation

LARGEST = WIDE / STEPS  # score or target
APART = 2 * LARGEST


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of all tallies, where sums are exact.

    Parameters
    ----------
    plan : Plan
        What all nodes agreed on.
    basis : Basis
        How much samples weigh.
    summation : Summation
        How the tallies are summed.
    """

    plan: Plan
    basis: Basis
    summation: Summation

    def described(self, times: int) -> SumBounds | None:
        """Return the bounds of `Track.tally`, several times over.

        All samples are counted in the fourth sum, so that it is their weight.
        """
        cost, of_zero = self._cost(APART), self._cost(LARGEST)
        high = np.array([cost, of_zero, 1.0, 1.0, of_zero, 1.0])
        low = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
        return self._bounds(np.tile(low, times), np.tile(high, times))

    def judged(self, n: int) -> SumBounds | None:
        """Return the bounds of n squared errors, each with its correct answers."""
        high = np.tile([self._cost(APART), 1.0], n)
        return self._bounds(np.zeros(2 * n), high)

    def losses(self) -> SumBounds | None:
        """Return the bounds of the log losses of all slopes.

        A loss is the logarithm of a sum of Q powers, none above one, and what the
        right class is behind, times the slope.
        """
        most = self._factor * (math.log(self.plan.n_outputs) + APART * SLOPES)
        return self._bounds(np.zeros(len(SLOPES)), most)

    def scores(self, n_nodes: int) -> SumBounds | None:
        """Return the bounds of sums of validation scores.

        They are weights and shares of them, but for the log loss, and the errors of a
        regression; figures that a node publishes are its own.
        """
        n = most_score_numbers(self.plan, n_nodes)
        low, high = np.full(n, -np.inf), np.full(n, np.inf)
        measure = measure_of(
            self.plan, self.basis.target_shift, self.basis.target_scale
        )
        if isinstance(measure, ClassMeasure):
            low[: measure.size] = 0.0
            high[: measure.size] = 1.0
            high[measure.place_of_loss] = -math.log(np.finfo(float).eps)
        else:
            low[0], high[0] = 0.0, 1.0
        return self._bounds(low, high)

    @property
    def _factor(self) -> float:
        """The most by which the weight of a class multiplies that of a sample."""
        return float(self.basis.class_factors.max(initial=1.0))

    def _cost(self, largest: float) -> float:
        """Return the greatest squared length of Q numbers, times a class's weight."""
        return self.plan.n_outputs * largest**2 * self._factor

    def _bounds(self, low: Array, high: Array) -> SumBounds | None:
        return self.summation.bounds(low, high, self.basis.weight)
