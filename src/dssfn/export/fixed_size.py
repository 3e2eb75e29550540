"""A network of fixed size, as operators: what `dssfn.network.Network` does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.exact.bounds import FIRST_DEVIATION, FIRST_TOP, STEPS, TOP
from dssfn.export.graph import Graph, Tensor
from dssfn.export.inputs import add_scaling
from dssfn.export.lengths import add_lengths
from dssfn.export.structured import UnitInputs, add_random_units
from dssfn.export.targets import add_unit_of_targets
from dssfn.export.whole_numbers import (
    add_both_sides,
    add_in_steps,
    add_levels,
    add_score_steps,
    add_scores,
)
from dssfn.integer_units import SCORE_LEVELS
from dssfn.network import Network, random_matrix

Y = TypeVar("Y")


class Layers(Protocol[Y]):
    """The layers of a network: features Y of some kind, and scores (Q, J)."""

    def first(self, V: Tensor) -> Y:
        """Return the features of layer 0, of scaled inputs (P, J)."""

    def scores(self, layer: int, O: Array, Y: Y) -> Tensor:
        """Return O Y."""

    def following(self, layer: int, scores: Tensor, Y: Y) -> Y:
        """Return the features of layer + 1."""


def add_network(graph: Graph, network: Network, X: Tensor) -> Tensor:
    """Add the scores (Q, J) of a network, float64, for features X (P, J)."""
    plan = network.plan
    V = add_scaling(graph, plan, X, network.shift, network.scale)
    if plan.is_exact:
        scores = _add_layers(graph, network, IntegerLayers(graph, plan), V)
    else:
        scores = _add_layers(graph, network, DenseLayers(graph, plan), V)
    if not plan.is_regression:
        return scores
    shift, scale = network.target_shift, network.target_scale
    return add_unit_of_targets(graph, scores, shift, scale)


def _add_layers(graph: Graph, network: Network, layers: Layers[Y], V: Tensor) -> Tensor:
    features = layers.first(V)
    for layer, O in enumerate(network.outputs):
        with graph.part(f"layer_{layer}"):
            scores = layers.scores(layer, O, features)
            if layer < network.plan.depth:
                features = layers.following(layer, scores, features)
    return graph.cast(scores, np.float64)


class Whole(NamedTuple):
    """Features as small integers.

    Parameters
    ----------
    values : tensor of shape (m, J)
        In steps of 2^-17, float64: the inputs without the bias, or the scores.
    units : tensor of shape (width, J), optional
        Random units in levels, float32.
    """

    values: Tensor
    units: Tensor | None


@dataclass(frozen=True, slots=True)
class IntegerLayers:
    """Layers of small integers, as `dssfn.integer_units.IntegerUnits` has them."""

    graph: Graph
    plan: Plan

    def first(self, V: Tensor) -> Whole:
        """Return the inputs in steps."""
        return Whole(add_in_steps(self.graph, V), None)

    def scores(self, layer: int, O: Array, Y: Whole) -> Tensor:
        """Return O Y in steps of 2^-17."""
        graph, n_wide = self.graph, 2 * self.plan.n_outputs
        if layer:
            wide = graph.node("Concat", *add_both_sides(graph, Y.values), axis=0)
        else:
            n_wide, wide = O.shape[1], Y.values
            if n_wide > self.plan.n_features:
                row = graph.same_for_all(np.array([[float(self._bias)]]))
                wide = graph.node("Concat", wide, row, axis=0)
        return add_score_steps(graph, add_scores(graph, O, n_wide, wide, Y.units))

    def following(self, layer: int, scores: Tensor, Y: Whole) -> Whole:
        """Return scores in steps, and random units of the features before."""
        graph, plan = self.graph, self.plan
        key = (plan.seed, layer + 1, 0)
        seen = self._inputs(layer, Y)
        units = add_random_units(graph, seen, key, plan.most_width)
        return Whole(graph.node("Mul", scores, np.float64(STEPS)), units)

    @property
    def _bias(self) -> int:
        return round(self.plan.bias * STEPS)

    def _inputs(self, layer: int, Y: Whole) -> UnitInputs:
        graph, plan = self.graph, self.plan
        if layer == 0:
            of_one = FIRST_DEVIATION / STEPS
            levels = add_levels(graph, Y.values, of_one, FIRST_TOP)
            bias = np.clip(np.rint(self._bias * of_one), -FIRST_TOP, FIRST_TOP)
            constants = (int(bias),) * (plan.inputs_of(0) - plan.n_features)
            return UnitInputs(levels, plan.n_features, constants, FIRST_TOP)
        of_scores = [
            graph.cast(add_levels(graph, side, SCORE_LEVELS / STEPS, TOP), np.float32)
            for side in add_both_sides(graph, Y.values)
        ]
        assert Y.units is not None
        values = graph.node("Concat", *of_scores, Y.units, axis=0)
        return UnitInputs(values, plan.inputs_of(layer), (), TOP)


@dataclass(frozen=True, slots=True)
class DenseLayers:
    """Layers of real numbers, in the plan's precision, with matrices that are kept."""

    graph: Graph
    plan: Plan

    def first(self, V: Tensor) -> Tensor:
        """Return scaled inputs, and a constant if the plan has one."""
        graph, plan = self.graph, self.plan
        if plan.bias:
            row = graph.same_for_all(np.array([[plan.bias]]))
            V = graph.node("Concat", V, row, axis=0)
        return graph.cast(V, self._dtype)

    def scores(self, layer: int, O: Array, Y: Tensor) -> Tensor:
        """Return O Y."""
        return self.graph.node("MatMul", O.astype(self._dtype), Y)

    def following(self, layer: int, scores: Tensor, Y: Tensor) -> Tensor:
        """Return both sides of the scores, and random units of a given norm."""
        graph, plan, dtype = self.graph, self.plan, self._dtype
        n, width = plan.inputs_of(layer), plan.most_width
        R = random_matrix(plan.seed, layer + 1, width, n, plan.precision)
        units = graph.node("MatMul", R, Y)
        lengths = add_lengths(graph, units, width, dtype)
        factors = graph.node("Div", dtype(plan.gain), lengths)
        units = graph.node("Mul", units, factors)
        sides = add_both_sides(graph, scores)
        return graph.node("Concat", *sides, graph.node("Relu", units), axis=0)

    @property
    def _dtype(self) -> type[Any]:
        return np.dtype(self.plan.precision).type
