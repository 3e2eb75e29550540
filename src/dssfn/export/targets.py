"""Predicted numbers in the unit of the targets, as operators."""

from __future__ import annotations

from dssfn._typing import Array
from dssfn.export.graph import Graph, Tensor


def add_unit_of_targets(
    graph: Graph, scores: Tensor, shift: Array, scale: Array
) -> Tensor:
    """Add shift + scale * scores, for scores (Q, J) and one number per target."""
    # A runtime may fuse a product with a single number into the matrix product before,
    # which takes that number in single precision; so there is one for each sample.
    scaled = graph.node("Mul", graph.same_for_all(scale[:, None]), scores)
    return graph.node("Add", shift[:, None], scaled)
