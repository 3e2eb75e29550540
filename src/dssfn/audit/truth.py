"""What a node really holds: its sums of layer 0, made from its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from dssfn._typing import Array
from dssfn.audit.sums import FirstLayer, Sums
from dssfn.config import BALANCED, Plan
from dssfn.errors import PlanError
from dssfn.exact.bounds import STEPS
from dssfn.exact.samples import in_steps
from dssfn.network import scaled_inputs
from dssfn.problem import weighted
from dssfn.progress import Stage
from dssfn.shard import Samples
from dssfn.targets import Targets
from dssfn.training import Model

CHUNK = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """What nodes have agreed on to scale inputs and targets, which all of them know.

    Parameters
    ----------
    shift, scale : arrays of shape (P,)
        The inputs are used as (x - shift) / scale.
    targets : Targets, optional
        What is done to targets and weights; left out, nothing.
    """

    shift: Array
    scale: Array
    targets: Targets | None = None

    @classmethod
    def of_stage(cls, stage: Stage) -> Self:
        """Return the scaling of a training's first stage."""
        targets = Targets.from_stage(stage) if "target_shift" in stage else None
        return cls(stage["shift"], stage["scale"], targets)

    @classmethod
    def of_model(cls, model: Model) -> Self:
        """Return the scaling of a trained model."""
        plan, Q = model.plan, model.plan.n_outputs
        if plan.class_weight == BALANCED:
            raise PlanError(
                '`class_weight`: "balanced" depends on the row counts of all nodes, '
                "which a model file does not hold, so there is nothing to compare "
                "with. Give the attackers' own data instead."
            )
        weights = Targets.of(plan, np.zeros(Q), np.ones(Q)).class_factors
        targets = Targets(model.target_shift, model.target_scale, weights)
        return cls(model.shift, model.scale, targets)

    def unscaled(self, plan: Plan, V: Array) -> Array:
        """Return inputs (.., P) as they were before they were scaled."""
        return V * self.scale + self.shift if plan.standardize else V


def true_sums(samples: Samples, plan: Plan, scaling: Scaling) -> Sums:
    """Return a node's Y Y^T and T Y^T of layer 0, row by row from its samples.

    Integer units see inputs in steps of 2^-17, and so do these.
    """
    layer = FirstLayer(plan)
    G: Array = np.zeros((layer.n, layer.n))
    C: Array = np.zeros((plan.n_outputs, layer.n))
    for rows in samples.chunks(CHUNK):
        if scaling.targets is not None:
            rows = scaling.targets.applied(rows)
        V, T = scaled_inputs(plan, rows.X, scaling.shift, scaling.scale), rows.T
        if plan.is_exact:
            V, T = (in_steps(np.array(A)) / STEPS for A in (V, T))
        Y, T = weighted(layer.features(V), T, rows.weights)
        G += Y @ Y.T
        C += T @ Y.T
    return Sums((G,), (C,))
