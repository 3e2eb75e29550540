"""Targets as a training sees them: scaled numbers, or classes with weights.

The targets of a regression are scaled by agreed moments, so that neither their unit nor
their level matters; a model gives its predictions in the unit of the targets. The
samples of a class may weigh more than those of others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dssfn._typing import Array
from dssfn.config import BALANCED, Plan
from dssfn.exact.gram_bounds import Weighing
from dssfn.progress import Stage
from dssfn.shard import Rows


def are_agreed(plan: Plan) -> bool:
    """Return whether the nodes must agree on moments of the targets.

    >>> are_agreed(Plan(n_features=1, targets=("price",)))
    True
    >>> are_agreed(Plan(n_features=1, classes=("no", "yes")))
    False
    """
    return plan.is_regression or plan.class_weight == BALANCED


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """What is done to the targets and the weights of all samples.

    Parameters
    ----------
    shift, scale : arrays of shape (Q,)
        The targets are used as (t - shift) / scale: mean and deviation of those of a
        regression, zero and one for classes.
    class_factors : array of shape (Q,)
        What the weights of each class's samples are multiplied by.
    """

    shift: Array
    scale: Array
    class_factors: Array

    @classmethod
    def of(cls, plan: Plan, mean: Array, deviation: Array) -> Targets:
        """Return what a plan asks for, given the moments of the targets.

        The mean of a class's row is its share of the samples. A plan for which nothing
        must be agreed on takes any moments.
        """
        Q = plan.n_outputs
        if plan.is_regression:
            return cls(mean, deviation, np.ones(Q))
        return cls(np.zeros(Q), np.ones(Q), _class_factors(plan, mean))

    @classmethod
    def from_stage(cls, stage: Stage) -> Targets:
        """Return what a stage holds."""
        return cls(stage["target_shift"], stage["target_scale"], stage["class_factors"])

    def stage(self) -> dict[str, Array]:
        """Return the numbers as arrays of a stage."""
        return {
            "target_shift": self.shift,
            "target_scale": self.scale,
            "class_factors": self.class_factors,
        }

    def applied(self, rows: Rows) -> Rows:
        """Return samples with scaled targets and the weights of their classes."""
        X, T, weights = rows
        if (self.class_factors != 1.0).any():
            factors = self.class_factors @ T
            weights = factors if weights is None else weights * factors
        if (self.shift != 0).any() or (self.scale != 1).any():
            T = (T - self.shift[:, None]) / self.scale[:, None]
        return Rows(X, T, weights)

    def counted(self, T: Array, weights: Array | None) -> Array | None:
        """Return weights as they came: a share of samples counts no class more.

        Parameters
        ----------
        T, weights : arrays
            Targets and weights that were `applied`.
        """
        if weights is None or (self.class_factors == 1.0).all():
            return weights
        return weights / (self.class_factors @ T)


def _class_factors(plan: Plan, shares: Array) -> Array:
    """Return the factors of the plan; `shares` are the classes' shares of samples."""
    Q = plan.n_outputs
    if plan.class_weight is None:
        return np.ones(Q)
    if plan.class_weight == BALANCED:
        return 1.0 / (Q * np.where(shares > 0, shares, 1.0))
    return np.array(plan.class_weight, dtype=float)


def weighing_of(
    plan: Plan, targets: Targets, given: float, usual: int | None
) -> Weighing:
    """Return how much the samples of all nodes weigh in sums.

    Balanced classes weigh as much together as without factors: a class of a share s of
    the samples has the factor 1 / (Q s), so that each of the Q weighs one Q-th.

    Parameters
    ----------
    plan : Plan
        What all nodes agreed on.
    targets : Targets
        The factors of the classes.
    given : float
        How much the samples weigh as they came.
    usual : int, optional
        A usual weight as a power of two, if some weight is no whole number.
    """
    factor = float(targets.class_factors.max(initial=1.0))
    used = given if plan.class_weight == BALANCED else factor * given
    return Weighing(given, factor, used, usual)
