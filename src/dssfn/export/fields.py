"""Random units that see small rectangles of a picture, as operators.

See `dssfn.exact.fields`, which says what a field is.
"""

from __future__ import annotations

import numpy as np

from dssfn.exact.bounds import LEVELS, TOP
from dssfn.exact.fields import (
    REFERENCE,
    exact_fields,
    picture_sides,
    random_fields,
    windows,
)
from dssfn.export.graph import Graph, Tensor
from dssfn.export.lengths import add_squares
from dssfn.export.whole_numbers import add_whole


def add_field_units(
    graph: Graph,
    y: Tensor,
    shape: tuple[int, ...],
    key: tuple[int, int, int],
    width: int,
) -> Tensor:
    """Add the units of pictures y (P, J), whole numbers; (width, J), float32."""
    fields, lengths = random_fields(shape, key, max(width, REFERENCE))
    dtype = exact_fields(fields).dtype.type
    pictures = graph.reshaped(graph.cast(y, dtype), *picture_sides(shape))
    weights = graph.small(fields, dtype)
    total = ""
    for down, across in windows(shape):
        window = graph.rows(pictures, down.start, down.stop)
        window = graph.rows(window, across.start, across.stop, axis=1)
        flat = graph.reshaped(window, fields.shape[1])
        seen = graph.node("Relu", graph.node("MatMul", weights, flat))
        total = graph.node("Add", total, seen) if total else seen
    factors = (1.0 / lengths).astype(np.float32)[:, None]
    Z = graph.node("Mul", graph.cast(total, np.float32), factors)
    strength = _add_strength(graph, graph.rows(Z, 0, REFERENCE))
    Z = graph.node("Mul", graph.rows(Z, 0, width), strength)
    return add_whole(graph, Z, TOP, least=0, dtype=np.float32)


def _add_strength(graph: Graph, reference: Tensor) -> Tensor:
    """Add LEVELS over the root mean square of units, zero for empty pictures."""
    whole = graph.cast(graph.node("Round", reference), np.float64)
    squares = add_squares(graph, whole, REFERENCE, np.float64)
    root = graph.node("Sqrt", graph.node("Div", squares, np.float64(REFERENCE)))
    found = graph.node("Div", np.float64(LEVELS), root)
    is_seen = graph.node("Greater", root, np.float64(0.0))
    strength = graph.node("Where", is_seen, found, np.float64(0.0))
    return graph.cast(strength, np.float32)
