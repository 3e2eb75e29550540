"""The lengths of columns, as operators."""

from __future__ import annotations

from typing import Any

from dssfn.export.graph import Graph, Tensor


def add_lengths(graph: Graph, Y: Tensor, dtype: type[Any]) -> Tensor:
    """Add the lengths of columns, (1, J); one for those of nothing but zeros."""
    squares = graph.node("ReduceSumSquare", Y, axes=[0], keepdims=1)
    lengths = graph.node("Sqrt", squares)
    is_some = graph.node("Greater", lengths, dtype(0.0))
    return graph.node("Where", is_some, lengths, dtype(1.0))
