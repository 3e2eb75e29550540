"""The members' arithmetic of real numbers, as operators.

See `dssfn.ensemble.dense`; random matrices are kept as constants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.export.graph import Graph, Tensor
from dssfn.export.lengths import add_lengths
from dssfn.export.whole_numbers import add_both_sides
from dssfn.network import member_matrix


class Features(NamedTuple):
    """Features of a layer: all of them (n, J), and the random units (width, J)."""

    all: Tensor
    units: Tensor | None = None


class UnitInputs(NamedTuple):
    """What random units see: columns of length 1, and how many rows they have."""

    values: Tensor
    n: int


@dataclass(frozen=True, slots=True)
class Dense:
    """The arithmetic of real numbers."""

    graph: Graph
    plan: Plan

    def linear(self, V: Tensor) -> Features:
        """Return a constant and the inputs."""
        return Features(self.graph.node("Concat", self._row(1.0), V, axis=0))

    def _row(self, value: float) -> Tensor:
        return self.graph.same_for_all(np.array([[value]]))

    def first_inputs(self, V: Tensor) -> UnitInputs:
        """Return the inputs and a constant, scaled to length 1."""
        return self._of_length_1(V, self.plan.n_features)

    def _of_length_1(self, V: Tensor, n: int) -> UnitInputs:
        values = self.graph.node("Concat", V, self._row(self.plan.bias), axis=0)
        lengths = add_lengths(self.graph, values, n + 1, np.float64)
        return UnitInputs(self.graph.node("Div", values, lengths), n + 1)

    def next_inputs(
        self, F: Features, S: Tensor, mean: Array, deviation: Array
    ) -> UnitInputs:
        """Return units, scores and a constant, scaled to length 1."""
        assert F.units is not None
        values = self.graph.node("Concat", F.units, S, axis=0)
        shifted = self.graph.node("Sub", values, mean[:, None])
        scaled = self.graph.node("Div", shifted, deviation[:, None])
        return self._of_length_1(scaled, len(mean))

    def hidden(
        self, S: Tensor, centre: Array, A: UnitInputs, key: tuple[int, int], width: int
    ) -> Features:
        """Return a constant, scores on both sides of their mean, and random units."""
        graph, plan = self.graph, self.plan
        R = member_matrix(plan.seed, *key, width, A.n)
        gain = math.sqrt(3) * plan.gain
        units = graph.node("Relu", graph.node("MatMul", gain * R, A.values))
        sides = add_both_sides(graph, graph.node("Sub", S, centre[:, None]))
        every = graph.node("Concat", self._row(1.0), *sides, units, axis=0)
        return Features(every, units)

    def advanced(self, S: Tensor | None, O: Array, F: Features) -> Tensor:
        """Return S + O F."""
        scores = self.graph.node("MatMul", O, F.all)
        return scores if S is None else self.graph.node("Add", S, scores)
