"""The lengths of columns, as operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from dssfn.export.graph import Graph, Tensor


def add_squares(graph: Graph, Y: Tensor, n: int, dtype: type[Any]) -> Tensor:
    """Add the sums of squares of the columns of Y (n, J), which is of this type."""
    # Runtimes multiply matrices several times faster than they add up columns.
    ones = np.ones((1, n), dtype=dtype)
    return graph.node("MatMul", ones, graph.node("Mul", Y, Y))


def add_lengths(graph: Graph, Y: Tensor, n: int, dtype: type[Any]) -> Tensor:
    """Add the lengths of columns, (1, J); one for those of nothing but zeros."""
    lengths = graph.node("Sqrt", add_squares(graph, Y, n, dtype))
    is_some = graph.node("Greater", lengths, dtype(0.0))
    return graph.node("Where", is_some, lengths, dtype(1.0))
