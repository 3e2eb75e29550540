"""The first part of a graph: from what a user gives to the matrix of a network.

Whatever raw inputs become numbers by goes here; what follows sees the matrix alone.
"""

from __future__ import annotations

import numpy as np

from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.export.graph import Graph, Tensor
from dssfn.network import LARGEST, rounding_noise

INPUT = "X"
# The name of the operator that fails; runtimes show it.
REFUSAL = "X_must_hold_finite_numbers_not_too_far_from_the_training_data"


def add_inputs(graph: Graph, scale: Array, *, has_gaps: bool = False) -> Tensor:
    """Add what makes columns of samples (P, J) from the input X (J, P), float64.

    A value that a network refuses, since it is none or too far from the training data,
    is refused here as well: running the graph fails, and nothing is guessed.

    Parameters
    ----------
    graph : Graph
        The graph.
    scale : array of shape (P,)
        The deviations of the features in the training data.
    has_gaps : bool
        Whether numbers may be missing, as NaN.
    """
    fits = graph.node("Less", graph.node("Abs", INPUT), (LARGEST * scale)[None])
    if has_gaps:
        fits = graph.node("Or", fits, graph.node("IsNaN", INPUT))
    counts = graph.cast(fits, np.float32)
    least = graph.node("ReduceMin", counts, axes=[1], keepdims=1)
    is_wrong = graph.cast(graph.node("Less", least, np.float32(0.5)), np.int64)
    # There is a zero at place 0, and nothing at place 1: no operator but this one may
    # refuse what it gets.
    zero = graph.node("Gather", np.zeros(1), is_wrong, axis=0, name=REFUSAL)
    kept = graph.node("Add", INPUT, zero)
    # Einsum, since onnxruntime 1.20 would move a Transpose on until it meets a product
    # of matrices, and make of both an operator that it does not have in float64.
    return graph.node("Einsum", kept, equation="ij->ji")


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
