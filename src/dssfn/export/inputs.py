"""The first part of a graph: from what a user gives to the matrix of a network.

Whatever raw inputs become numbers by goes here; what follows sees the matrix alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.export.graph import Graph, Tensor
from dssfn.network import LARGEST, rounding_noise

INPUT = "X"


class Inputs(NamedTuple):
    """What the first part gives to the others.

    Parameters
    ----------
    values : tensor of shape (P, J)
        The features, float64; zero where they cannot be used.
    usable : tensor of shape (1, J)
        Whether all features of a sample can be used.
    """

    values: Tensor
    usable: Tensor


def add_inputs(graph: Graph, scale: Array) -> Inputs:
    """Add what makes columns of samples from X (J, P), and looks at each of them.

    A value that a network refuses, since it is none or too far from the training data,
    makes its sample unusable.

    Parameters
    ----------
    graph : Graph
        The graph.
    scale : array of shape (P,)
        The deviations of the features in the training data.
    """
    fits = graph.node("Less", graph.node("Abs", INPUT), (LARGEST * scale)[None])
    kept = graph.node("Where", fits, INPUT, np.float64(0.0))
    values = graph.node("Transpose", kept, perm=[1, 0])
    counts = graph.node("Transpose", graph.cast(fits, np.float32), perm=[1, 0])
    least = graph.node("ReduceMin", counts, axes=[0], keepdims=1)
    return Inputs(values, graph.node("Greater", least, np.float32(0.5)))


def add_scaling(
    graph: Graph, plan: Plan, X: Tensor, shift: Array, scale: Array
) -> Tensor:
    """Add what standardises the features X (P, J), if the plan asks for it."""
    if not plan.standardize:
        return X
    deviation = graph.node("Sub", X, shift[:, None])
    V = graph.node("Div", deviation, scale[:, None])
    noise = rounding_noise(shift, scale)[:, None]
    is_noise = graph.node("LessOrEqual", graph.node("Abs", V), noise)
    return graph.node("Where", is_noise, np.float64(0.0), V)
