"""Random units from structured matrices, as operators.

H D' H D y takes four small products and two vectors of signs, as in
`dssfn.exact.structured`; no large matrix is ever made. All blocks of units go through
the same operators, side by side.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dssfn.exact.bounds import FLOAT32, LEVELS, TOP, places
from dssfn.exact.structured import Signs, hadamard, random_signs, sides
from dssfn.export.graph import Graph, Tensor
from dssfn.export.lengths import add_squares
from dssfn.export.whole_numbers import add_whole


class UnitInputs(NamedTuple):
    """What random units see: whole numbers.

    Parameters
    ----------
    values : tensor of shape (m, J)
        As float32 or float64.
    n_values : int
        m.
    constants : tuple of int
        Further inputs, the same for all samples.
    most : int
        The largest size of any of them.
    """

    values: Tensor
    n_values: int
    constants: tuple[int, ...]
    most: int


def add_random_units(
    graph: Graph, inputs: UnitInputs, key: tuple[int, int, int], width: int
) -> Tensor:
    """Add random units of these inputs, (width, J), float32.

    Parameters
    ----------
    graph : Graph
        The graph.
    inputs : UnitInputs
        What they see.
    key : tuple of int
        Seed, layer and member.
    width : int
        How many.
    """
    n = inputs.n_values + len(inputs.constants)
    N = places(n)
    # No number on the way is larger than N times the length of its column.
    dtype = np.float32 if N * math.sqrt(n) * inputs.most < FLOAT32 else np.float64
    n_blocks = -(-width // N)
    signs = [random_signs(*key, N, block) for block in range(n_blocks)]
    D, D_ = (np.stack(side) for side in zip(*signs, strict=True))  # (blocks, N)
    signed = _add_signed(graph, inputs, D, dtype)
    Z = _add_transforms(graph, signed, D_, dtype)
    Z = graph.rows(graph.reshaped(Z, n_blocks * N), 0, width)
    Z = Z if dtype is np.float32 else graph.cast(Z, np.float32)
    Z = graph.node("Mul", Z, _add_factors(graph, inputs, N))
    return add_whole(graph, Z, TOP, least=0, dtype=np.float32)


def _add_signed(graph: Graph, inputs: UnitInputs, D: Signs, dtype: type[Any]) -> Tensor:
    """Add D y, filled up with zeros, (blocks, N, J)."""
    m, n_blocks, N = inputs.n_values, *D.shape
    y = graph.cast(inputs.values, dtype)
    signed = graph.node("Mul", y, graph.small(D[:, :m, None], dtype))
    if m == N:
        return signed
    rest = np.zeros((n_blocks, N - m, 1), dtype=dtype)
    for k, value in enumerate(inputs.constants):
        rest[:, k, 0] = dtype(value) * D[:, m + k]
    return graph.node("Concat", signed, graph.same_for_all(rest), axis=1)


def _add_transforms(graph: Graph, Y: Tensor, D_: Signs, dtype: type[Any]) -> Tensor:
    """Add H D' H Y, (blocks, a, b, J).

    H of N = a b places is H_a times H_b on arrays of shape (a, b), in either order; the
    one takes b J columns at once, the other J.
    """
    n_blocks, N = D_.shape
    a, b = sides(N)
    H_a, H_b = graph.small(hadamard(a), dtype), graph.small(hadamard(b), dtype)
    Y = graph.node("MatMul", H_b, graph.reshaped(Y, n_blocks, a, b))
    Y = graph.node("MatMul", H_a, graph.reshaped(Y, n_blocks, a, columns=b))
    Y = graph.reshaped(Y, n_blocks, N)
    Y = graph.node("Mul", Y, graph.small(D_[:, :, None], dtype))
    Y = graph.node("MatMul", H_a, graph.reshaped(Y, n_blocks, a, columns=b))
    return graph.node("MatMul", H_b, graph.reshaped(Y, n_blocks, a, b))


def _add_factors(graph: Graph, inputs: UnitInputs, N: int) -> Tensor:
    """Add what units are multiplied by, (1, J), float32."""
    is_small = inputs.n_values * inputs.most**2 < FLOAT32  # squares are exact
    dtype = np.float32 if is_small else np.float64
    y = graph.cast(inputs.values, dtype)
    of_values = add_squares(graph, y, inputs.n_values, dtype)
    constant = np.float64(sum(value**2 for value in inputs.constants))
    squares = graph.node("Add", graph.cast(of_values, np.float64), constant)
    # A whole number below one is zero; a column of zeros has no units, by any factor.
    lengths = graph.node("Max", graph.node("Sqrt", squares), np.float64(1.0))
    scaled = graph.node("Mul", np.float64(math.sqrt(N)), lengths)
    return graph.cast(graph.node("Div", np.float64(LEVELS), scaled), np.float32)
