"""The first part of a graph: from what a user gives to the matrix of a network.

Whatever raw inputs become numbers by goes here, or for tables with a schema in
`dssfn.export.columns`; what follows sees the matrix alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.export.graph import Graph, Port, Tensor
from dssfn.network import LARGEST, rounding_noise

INPUT = "X"
# The names of operators that fail end in this; runtimes show them.
REFUSAL = "must_hold_finite_numbers_not_too_far_from_the_training_data"


def matrix_port(plan: Plan) -> Port:
    """Return the input X (J, P), float64."""
    return Port(INPUT, np.dtype(np.float64), plan.n_features)


def add_matrix(graph: Graph, plan: Plan, scale: Array) -> Tensor:
    """Add what makes columns of samples (P, J) from the input X (J, P), float64."""
    checked = add_checked(graph, INPUT, INPUT, scale, has_gaps=plan.has_gaps)
    return add_transposed(graph, checked)


def add_transposed(graph: Graph, rows: Tensor) -> Tensor:
    """Add what makes columns (P, J) from rows (J, P)."""
    # Einsum, since onnxruntime 1.20 would move a Transpose on until it meets a product
    # of matrices, and make of both an operator that it does not have in float64.
    return graph.node("Einsum", rows, equation="ij->ji")


def add_checked(
    graph: Graph, name: str, values: Tensor, scale: Array, *, has_gaps: bool
) -> Tensor:
    """Add what returns the values (J, n) of an input, if a network takes them.

    A value that a network refuses, since it is none or too far from the training data,
    is refused here as well: running the graph fails, and nothing is guessed.

    Parameters
    ----------
    graph : Graph
        The graph.
    name : str
        The name of the input.
    values : tensor of shape (J, n)
        Its values, float64.
    scale : array of shape (n,)
        The deviations of the features in the training data.
    has_gaps : bool
        Whether numbers may be missing, as NaN.
    """
    fits = graph.node("Less", graph.node("Abs", values), (LARGEST * scale)[None])
    if has_gaps:
        fits = graph.node("Or", fits, graph.node("IsNaN", values))
    counts = graph.cast(fits, np.float32)
    least = graph.node("ReduceMin", counts, axes=[1], keepdims=1)
    is_wrong = graph.cast(graph.node("Less", least, np.float32(0.5)), np.int64)
    # There is a zero at place 0, and nothing at place 1.
    zero = add_refusing(graph, np.zeros(1), is_wrong, f"{name}_{REFUSAL}")
    return graph.node("Add", values, zero)


def add_refusing(
    graph: Graph, values: NDArray[Any], places: Tensor, name: str
) -> Tensor:
    """Add what takes one of the values (m,) for each place, and fails at place m.

    No other operator may refuse what it gets, so this one does so for all of them.
    """
    return graph.node("Gather", values, places, axis=0, name=name)


def add_scaling(
    graph: Graph, plan: Plan, X: Tensor, shift: Array, scale: Array
) -> Tensor:
    """Add what standardises the features X (P, J), if the plan asks for it.

    Missing numbers become the mean in any case.
    """
    if not plan.standardize and not plan.has_gaps:
        return X
    if not plan.standardize:
        return graph.node("Where", graph.node("IsNaN", X), shift[:, None], X)
    deviation = graph.node("Sub", X, shift[:, None])
    V = graph.node("Div", deviation, scale[:, None])
    noise = rounding_noise(shift, scale)[:, None]
    is_kept = graph.node("Greater", graph.node("Abs", V), noise)  # NaN is not
    return graph.node("Where", is_kept, V, np.float64(0.0))
