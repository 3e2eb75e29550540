"""What members are built on: agreed moments of inputs and targets, weights of classes.

All members, and all nodes, see the samples through it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.ensemble.choices import members_for
from dssfn.errors import PlanError
from dssfn.exact.bounds import check_node_samples
from dssfn.exact.gram_bounds import Weighing
from dssfn.programs import INPUTS, Program, run_about
from dssfn.progress import Stage
from dssfn.scaling import (
    Weighted,
    agree_exact_scaling,
    agree_scaling,
    agree_usual_weight,
)
from dssfn.shard import Rows, Samples
from dssfn.sum_bounds import CountBounds
from dssfn.targets import Targets, weighing_of

CHUNK = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """The agreed numbers that come before the first layer.

    Parameters
    ----------
    weight : float
        The weight of all samples: their number, unless they are weighted.
    n_members : int
        The number of members, K.
    shift, scale : arrays of shape (P,)
        Mean and deviation of the inputs.
    constant : array of shape (P,)
        One where an input is constant, else zero.
    target_shift, target_scale : arrays of shape (Q,)
        Mean and deviation of the targets of a regression; zero and one for classes.
    class_factors : array of shape (Q,)
        What the weights of each class's samples are multiplied by.
    usual_weight : int, optional
        With integer units a usual weight of a sample, those of classes included, as a
        power of two; None if all are whole numbers.
    """

    weight: float
    n_members: int
    shift: Array
    scale: Array
    constant: Array
    target_shift: Array
    target_scale: Array
    class_factors: Array
    usual_weight: int | None = None

    @property
    def targets(self) -> Targets:
        """What is done to targets and weights."""
        return Targets(self.target_shift, self.target_scale, self.class_factors)

    def weighing(self, plan: Plan) -> Weighing:
        """Return how much the samples of all nodes weigh."""
        return weighing_of(plan, self.targets, self.weight, self.usual_weight)

    def stage(self) -> dict[str, Array]:
        """Return the numbers as arrays of a stage."""
        return {
            "weight": np.array([self.weight]),
            "members": np.array([float(self.n_members)]),
            "shift": self.shift,
            "scale": self.scale,
            "constant": self.constant,
            **self.targets.stage(),
            **self._weight_stage(),
        }

    def _weight_stage(self) -> dict[str, Array]:
        if self.usual_weight is None:
            return {}
        return {"usual_weight": np.array([float(self.usual_weight)])}

    @classmethod
    def from_stage(cls, stage: Stage) -> Basis:
        """Return the basis that a stage holds."""
        return cls(
            weight=float(stage["weight"][0]),
            n_members=int(stage["members"][0]),
            shift=stage["shift"],
            scale=stage["scale"],
            constant=stage["constant"],
            target_shift=stage["target_shift"],
            target_scale=stage["target_scale"],
            class_factors=stage["class_factors"],
            usual_weight=(
                int(stage["usual_weight"][0]) if "usual_weight" in stage else None
            ),
        )


def agree_basis(
    samples: Samples,
    plan: Plan,
    n_nodes: int,
    n_threads: int = 1,
    *,
    is_elastic: bool = False,
) -> Program[Basis]:
    """Agree on the moments of inputs and targets, and on what follows from them."""
    P = plan.n_features

    def rows() -> Iterator[Weighted]:
        for X, T, weights in samples.chunks(CHUNK):
            yield np.vstack([X, T]), weights

    counted = min(samples.n_samples, _least_samples(plan))
    if plan.is_exact:
        check_node_samples(samples.n_samples)
        exact = agree_exact_scaling(
            rows,
            P + plan.n_outputs,
            n_threads,
            has_gaps=plan.has_gaps,
            names=plan.data_names,
            n_shares=0 if plan.is_regression else plan.n_outputs,
            is_elastic=is_elastic,
        )
        moments, total, _ = yield from run_about(
            INPUTS,
            exact,
            np.array([counted]),
            CountBounds(n_nodes * _least_samples(plan)),
        )
        n_counted, weight = int(total[0]), moments.weight
    else:
        program = agree_scaling(rows, samples.weight, has_gaps=plan.has_gaps)
        rider = np.array([float(counted)])
        moments, mean, _ = yield from run_about(INPUTS, program, rider)
        n_counted = round(n_nodes * float(mean[0]))
        # This sum is not exact, and must not turn a thousand samples into fewer.
        weight = round(n_nodes * moments.weight, 6)
    _check_members(plan, n_counted)
    shift, scale, constant = moments.shift[:P], moments.scale[:P], moments.constant[:P]
    if not plan.standardize:
        shift, scale = shift if plan.has_gaps else np.zeros(P), np.ones(P)
    targets = Targets.of(plan, moments.shift[P:], moments.scale[P:])
    usual_weight = None
    if plan.is_exact:
        weighing = agree_usual_weight(
            map(targets.applied, samples.chunks(CHUNK)),
            math.inf if is_elastic else weight,
            targets.class_factors,
        )
        usual_weight, _, _ = yield from run_about(INPUTS, weighing)
    return Basis(
        weight=weight,
        n_members=_n_members(plan, weight, n_nodes),
        shift=shift,
        scale=scale,
        constant=constant.astype(float),
        target_shift=targets.shift,
        target_scale=targets.scale,
        class_factors=targets.class_factors,
        usual_weight=usual_weight,
    )


def _least_samples(plan: Plan) -> int:
    """Return how many samples all nodes together must have.

    A node that has as many tells no more than that.
    """
    return plan.members if isinstance(plan.members, int) else 1


def _check_members(plan: Plan, n_samples: int) -> None:
    """Refuse more members than there are samples to leave out."""
    if n_samples < _least_samples(plan):
        raise PlanError(
            "`members` must not exceed the number of samples, as each member leaves "
            f"some out, got {plan.members} for {n_samples}. Give fewer members, or "
            "leave it out."
        )


def _n_members(plan: Plan, weight: float, n_nodes: int) -> int:
    if plan.size == "ssfn":
        return 1
    if isinstance(plan.members, int):
        return plan.members
    if plan.folds == "nodes":
        return min(n_nodes, MOST_NODES_LEFT_OUT)
    return members_for(weight)


MOST_NODES_LEFT_OUT = 20  # one after the other; of more nodes, several at a time


@dataclass(frozen=True, slots=True)
class BasedSamples:
    """Samples with targets and weights as the basis has them."""

    samples: Samples
    basis: Basis

    @property
    def n_features(self) -> int:
        """The number of features, P."""
        return self.samples.n_features

    @property
    def n_outputs(self) -> int:
        """The number of targets, Q."""
        return self.samples.n_outputs

    @property
    def n_samples(self) -> int:
        """The number of samples, J."""
        return self.samples.n_samples

    @property
    def weight(self) -> float:
        """The sum of the samples' weights, before those of the classes."""
        return self.samples.weight

    @property
    def has_gaps(self) -> bool:
        """Whether features may be missing, as NaN."""
        return self.samples.has_gaps

    def chunks(self, size: int) -> Iterator[Rows]:
        """Yield the samples with scaled targets and the weights of their classes."""
        return map(self.basis.targets.applied, self.samples.chunks(size))
