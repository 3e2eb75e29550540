"""The members' arithmetic of small integers, as operators.

See `dssfn.ensemble.integer`, whose numbers these are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.ensemble.units import CONSTANT
from dssfn.exact.bounds import (
    DEVIATION,
    FIRST_DEVIATION,
    FIRST_TOP,
    LEVELS,
    STEPS,
    TOP,
)
from dssfn.export.fields import add_field_units
from dssfn.export.graph import Graph, Tensor
from dssfn.export.structured import UnitInputs, add_random_units
from dssfn.export.whole_numbers import (
    add_both_sides,
    add_in_steps,
    add_levels,
    add_score_steps,
    add_scores,
    add_whole,
)


class Whole(NamedTuple):
    """Features as small integers.

    Parameters
    ----------
    wide : tensor of shape (n_wide, J)
        A constant and the inputs, or both sides of scores, in steps, float64.
    n_wide : int
        How many.
    units : tensor of shape (width, J), optional
        Random units in levels, float32.
    width : int
        How many.
    """

    wide: Tensor
    n_wide: int
    units: Tensor | None = None
    width: int = 0


@dataclass(frozen=True, slots=True)
class Integer:
    """The arithmetic of small integers, as in `dssfn.ensemble.integer`."""

    graph: Graph
    plan: Plan

    def linear(self, V: Tensor) -> Whole:
        """Return a constant and the inputs in steps."""
        values = add_in_steps(self.graph, V)
        return self._with_constant(values, n=self.plan.n_features)

    def _with_constant(self, *values: Tensor, n: int) -> Whole:
        constant = self.graph.same_for_all(np.full((CONSTANT, 1), float(STEPS)))
        wide = self.graph.node("Concat", constant, *values, axis=0)
        return Whole(wide, CONSTANT + n)

    def first_inputs(self, V: Tensor) -> UnitInputs:
        """Return inputs and a constant in steps of 2^-8, or pixels in those of 1/32."""
        graph, plan = self.graph, self.plan
        if plan.image_shape is not None:
            pixels = add_levels(graph, V, LEVELS, TOP)
            return UnitInputs(pixels, plan.n_features, (), TOP)
        bias = min(round(plan.bias * FIRST_DEVIATION), FIRST_TOP)
        levels = add_levels(graph, V, FIRST_DEVIATION, FIRST_TOP)
        return UnitInputs(levels, plan.n_features, (bias,), FIRST_TOP)

    def next_inputs(
        self, F: Whole, S: Tensor, mean: Array, deviation: Array
    ) -> UnitInputs:
        """Return units, scores and a constant, in steps of a sixteenth."""
        graph, width, single = self.graph, F.width, np.float32
        factors, offsets = DEVIATION / deviation, DEVIATION * mean / deviation
        assert F.units is not None
        scaled = graph.node(
            "Mul", F.units, (factors[:width, None] / LEVELS).astype(single)
        )
        units = graph.node("Sub", scaled, offsets[:width, None].astype(single))
        scaled = graph.node("Mul", S, factors[width:, None])
        scores = graph.node("Sub", scaled, offsets[width:, None])
        whole_scores = add_whole(graph, scores, TOP, least=-TOP, dtype=np.float64)
        values = graph.node(
            "Concat",
            add_whole(graph, units, TOP, least=-TOP, dtype=single),
            graph.cast(whole_scores, single),
            axis=0,
        )
        bias = min(round(self.plan.bias * DEVIATION), TOP)
        return UnitInputs(values, len(mean), (bias,), TOP)

    def hidden(
        self, S: Tensor, centre: Array, A: UnitInputs, key: tuple[int, int], width: int
    ) -> Whole:
        """Return a constant, scores on both sides of their mean, and random units."""
        graph, plan, keys = self.graph, self.plan, (self.plan.seed, *key)
        if plan.image_shape is not None and key[0] == 1:
            units = add_field_units(graph, A.values, plan.image_shape, keys, width)
        else:
            units = add_random_units(graph, A, keys, width)
        values = add_in_steps(graph, graph.node("Sub", S, centre[:, None]))
        both = add_both_sides(graph, values)
        wide, n_wide, _, _ = self._with_constant(*both, n=2 * plan.n_outputs)
        return Whole(wide, n_wide, units, width)

    def advanced(self, S: Tensor | None, O: Array, F: Whole) -> Tensor:
        """Return S + O F, in steps of 2^-17."""
        scores = add_scores(self.graph, O, F.n_wide, F.wide, F.units)
        if S is not None:
            scores = self.graph.node("Add", S, scores)
        return add_score_steps(self.graph, scores)
