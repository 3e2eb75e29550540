"""Members that found their size, as operators: what `dssfn.ensemble.Ensemble` does."""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np

from dssfn._typing import Array
from dssfn.ensemble import Ensemble
from dssfn.ensemble.units import CONSTANT, pixel_offsets
from dssfn.export.dense import Dense
from dssfn.export.graph import Graph, Tensor
from dssfn.export.inputs import add_scaling
from dssfn.export.integer import Integer
from dssfn.export.targets import add_unit_of_targets

F = TypeVar("F")  # features of a layer
A = TypeVar("A")  # inputs of its units


class Arithmetic(Protocol[F, A]):
    """What members do with features and scores (Q, J), of which S are those so far."""

    def linear(self, V: Tensor) -> F:
        """Return the features of layer 0, of scaled inputs (P, J)."""

    def first_inputs(self, V: Tensor) -> A:
        """Return the inputs of the units of layer 1."""

    def next_inputs(self, F: F, S: Tensor, mean: Array, deviation: Array) -> A:
        """Return the inputs of the units of the next layer."""

    def hidden(
        self, S: Tensor, centre: Array, A: A, key: tuple[int, int], width: int
    ) -> F:
        """Return the features of a hidden layer."""

    def advanced(self, S: Tensor | None, O: Array, F: F) -> Tensor:
        """Return S + O F; left out, S is zero."""


def add_ensemble(graph: Graph, model: Ensemble, X: Tensor) -> Tensor:
    """Add the mean scores (Q, J) of all members, for features X (P, J)."""
    plan = model.plan
    V = add_scaling(graph, plan, X, model.shift, model.scale)
    seen = graph.node("Mul", V, model.factors[:, None])
    if plan.image_shape is not None:
        offsets = pixel_offsets(model.shift, model.scale, model.factors)
        seen = graph.node("Add", seen, offsets[:, None])
    if plan.is_exact:
        total = _add_members(graph, model, Integer(graph, plan), V, seen)
    else:
        total = _add_members(graph, model, Dense(graph, plan), V, seen)
    return graph.node("Div", total, np.float64(model.n_members))


def _add_members(
    graph: Graph,
    model: Ensemble,
    arithmetic: Arithmetic[F, A],
    V: Tensor,
    seen: Tensor,
) -> Tensor:
    """Add the sum of the members' scores."""
    linear, first = arithmetic.linear(V), arithmetic.first_inputs(seen)
    total = ""
    for member in range(model.n_members):
        with graph.part(f"member_{member}"):
            S = _add_member(graph, model, arithmetic, linear, first, member)
            scores = add_unit_of_targets(
                graph, S, model.target_shift, model.target_scale
            )
        total = graph.node("Add", total, scores) if total else scores
    return total


def _add_member(
    graph: Graph,
    model: Ensemble,
    arithmetic: Arithmetic[F, A],
    features: F,
    inputs: A,
    member: int,
) -> Tensor:
    centre, Q = model.centres[member], model.plan.n_outputs
    S = arithmetic.advanced(None, model.outputs[0][member], features)
    for layer, outputs in enumerate(model.outputs[1:], start=1):
        with graph.part(f"layer_{layer}"):
            if layer > 1:
                moments = model.means[layer - 2], model.deviations[layer - 2]
                mean, deviation = (one[member] for one in moments)
                inputs = arithmetic.next_inputs(features, S, mean, deviation)
            width = outputs.shape[2] - CONSTANT - 2 * Q
            features = arithmetic.hidden(S, centre, inputs, (layer, member), width)
            S = arithmetic.advanced(S, outputs[member], features)
    return S
