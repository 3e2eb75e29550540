"""What members are built on: agreed moments of inputs and targets, weights of classes.

All members, and all nodes, see the samples through it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dssfn._typing import Array
from dssfn.config import BALANCED, Plan
from dssfn.ensemble.choices import members_for
from dssfn.programs import Program
from dssfn.progress import Stage
from dssfn.scaling import Weighted, agree_scaling
from dssfn.shard import Rows, Samples

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
    """

    weight: float
    n_members: int
    shift: Array
    scale: Array
    constant: Array
    target_shift: Array
    target_scale: Array
    class_factors: Array

    def stage(self) -> dict[str, Array]:
        """Return the numbers as arrays of a stage."""
        return {
            "weight": np.array([self.weight]),
            "members": np.array([float(self.n_members)]),
            "shift": self.shift,
            "scale": self.scale,
            "constant": self.constant,
            "target_shift": self.target_shift,
            "target_scale": self.target_scale,
            "class_factors": self.class_factors,
        }

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
        )


def agree_basis(samples: Samples, plan: Plan, n_nodes: int) -> Program[Basis]:
    """Agree on the moments of inputs and targets, and on what follows from them."""
    P, Q = plan.n_features, plan.n_outputs

    def rows() -> Iterator[Weighted]:
        for X, T, weights in samples.chunks(CHUNK):
            yield np.vstack([X, T]), weights

    moments = yield from agree_scaling(rows, samples.weight)
    # A sum over nodes is not exact, and must not turn a thousand samples into fewer.
    weight = round(n_nodes * moments.weight, 6)
    shift, scale, constant = moments.shift[:P], moments.scale[:P], moments.constant[:P]
    if not plan.standardize:
        shift, scale = np.zeros(P), np.ones(P)
    target_shift, target_scale = np.zeros(Q), np.ones(Q)
    if plan.is_regression:
        target_shift, target_scale = moments.shift[P:], moments.scale[P:]
    return Basis(
        weight=weight,
        n_members=_n_members(plan, weight, n_nodes),
        shift=shift,
        scale=scale,
        constant=constant.astype(float),
        target_shift=target_shift,
        target_scale=target_scale,
        class_factors=_class_factors(plan, moments.shift[P:]),
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


def _class_factors(plan: Plan, shares: Array) -> Array:
    """Return the factors of the plan; `shares` are the classes' shares of samples."""
    Q = plan.n_outputs
    if plan.class_weight is None:
        return np.ones(Q)
    if plan.class_weight == BALANCED:
        return 1.0 / (Q * np.where(shares > 0, shares, 1.0))
    return np.array(plan.class_weight, dtype=float)


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

    def chunks(self, size: int) -> Iterator[Rows]:
        """Yield the samples with scaled targets and the weights of their classes."""
        basis = self.basis
        weighs = (basis.class_factors != 1.0).any()
        scales = (basis.target_shift != 0).any() or (basis.target_scale != 1).any()
        for X, T, weights in self.samples.chunks(size):
            if weighs:
                factors = basis.class_factors @ T
                weights = factors if weights is None else weights * factors
            if scales:
                T = (T - basis.target_shift[:, None]) / basis.target_scale[:, None]
            yield Rows(X, T, weights)
