"""Numbers that are rounded, and scores of them: the parts of integer features.

How this works. Operators do in floating point what `dssfn.exact` does, in the same
order where a result is rounded, and in any order where it is exact: so a graph gives
the very numbers of the library, wherever an operator follows IEEE 754.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dssfn._typing import Array
from dssfn.exact.bounds import LEVELS, STEPS, WIDE
from dssfn.exact.outputs import UNIT_BITS, on_grid, wide_parts
from dssfn.export.graph import Graph, Tensor


def add_whole(
    graph: Graph, values: Tensor, most: int, *, least: int, dtype: type[Any]
) -> Tensor:
    """Add what gives the nearest whole numbers, clipped."""
    nearest = graph.node("Round", values)
    return graph.node("Clip", nearest, dtype(least), dtype(most))


def add_levels(graph: Graph, values: Tensor, levels: float, most: int) -> Tensor:
    """Add what gives whole numbers of levels on both sides of zero, in float64."""
    many = graph.node("Mul", values, np.float64(levels))
    return add_whole(graph, many, most, least=-most, dtype=np.float64)


def add_in_steps(graph: Graph, values: Tensor) -> Tensor:
    """Add what gives whole numbers of steps of 2^-17, at most 2^22."""
    return add_levels(graph, values, STEPS, WIDE)


def add_both_sides(graph: Graph, values: Tensor) -> list[Tensor]:
    """Add relu(values) and relu(-values)."""
    return [graph.node("Relu", values), graph.node("Relu", graph.node("Neg", values))]


def add_scores(
    graph: Graph, O: Array, n_wide: int, wide: Tensor, units: Tensor | None
) -> Tensor:
    """Add O times features, exact but for one last rounding, (Q, J).

    Parameters
    ----------
    graph : Graph
        The graph.
    O : array of shape (Q, n)
        An output matrix that is rounded.
    n_wide : int
        Its first columns, which are for wide numbers.
    wide : tensor of shape (n_wide, J)
        Wide numbers in steps, float64.
    units : tensor of shape (n - n_wide, J), optional
        Units in levels, float32.
    """
    high, low = (
        graph.node("MatMul", part / STEPS, wide) for part in wide_parts(O[:, :n_wide])
    )
    scores = graph.node("Add", high, low)
    if units is None:
        return scores
    # 28 bits by 7 bits, over 8192 units at most, are exact in float64 at once.
    of_units = on_grid(O[:, n_wide:], UNIT_BITS) / LEVELS
    total = graph.node("MatMul", of_units, graph.cast(units, np.float64))
    return graph.node("Add", scores, total)


def add_score_steps(graph: Graph, scores: Tensor) -> Tensor:
    """Add what rounds scores to multiples of 2^-17."""
    return graph.node("Mul", add_in_steps(graph, scores), np.float64(1 / STEPS))
