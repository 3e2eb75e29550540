"""The last part of a graph: what it answers, with one row for each sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn.calibration import FLOOR
from dssfn.config import Plan
from dssfn.ensemble import Ensemble
from dssfn.errors import InputError
from dssfn.export.graph import Graph, Port, Tensor
from dssfn.hints import shortened
from dssfn.training import Model

# The types of labels by their kinds; text is kept as objects.
KINDS = {"U": np.dtype(object), "b": np.dtype(bool), "f": np.dtype(np.float64)}
KINDS |= {"i": np.dtype(np.int64)}


def add_answers(graph: Graph, model: Model, scores: Tensor) -> list[Port]:
    """Add the outputs of a model with these scores (Q, J)."""
    plan, Q = model.plan, model.plan.n_outputs
    real = np.dtype(np.float64)
    if plan.is_regression:
        rows = graph.node("Transpose", scores, perm=[1, 0], name="prediction")
        return [Port(rows, real, Q)]
    rows = graph.node("Transpose", scores, perm=[1, 0], name="scores")
    labels = class_labels(plan)
    codes = graph.node("ArgMax", rows, axis=1, keepdims=0)  # the first of equal ones
    label = graph.node("Gather", labels, codes, axis=0, name="label")
    probabilities = _add_probabilities(graph, model, rows, "probabilities")
    return [
        Port(label, labels.dtype, None),
        Port(probabilities, real, Q),
        Port(rows, real, Q),
    ]


def class_labels(plan: Plan) -> NDArray[Any]:
    """Return the classes as an array of a type that ONNX has.

    >>> class_labels(Plan(n_features=1, classes=(False, True))).dtype
    dtype('bool')
    """
    labels = np.array(plan.classes)
    kind = labels.dtype.kind
    is_same = kind == "U" or labels.tolist() == list(plan.classes)  # not rounded
    if kind not in KINDS or not is_same:
        raise InputError(
            "`classes` must be text, numbers of 64 bits or true/false to be written "
            f"as ONNX, got {shortened(plan.classes)}. Train with text instead."
        )
    return labels.astype(KINDS[kind])


def _add_probabilities(graph: Graph, model: Model, rows: Tensor, name: str) -> Tensor:
    """Add the class probabilities, which are calibrated if members found a slope."""
    if not isinstance(model, Ensemble) or model.n_members == 1:
        return _add_nearest_probabilities(graph, rows, model.plan.n_outputs, name)
    steep = graph.node("Mul", rows, np.float64(model.slope))
    return graph.node("Softmax", steep, axis=1, name=name)


def _add_nearest_probabilities(graph: Graph, rows: Tensor, Q: int, name: str) -> Tensor:
    """Add the nearest point of the simplex, softened: see `dssfn.calibration`."""
    highest = graph.node("ReduceMax", rows, axes=[1], keepdims=1)
    centred = graph.node("Sub", rows, highest)
    descending = graph.sorted(centred, Q)
    sums = graph.node("CumSum", descending, np.int64(1))
    above = graph.node("Sub", sums, np.float64(1.0))
    excess = graph.node("Div", above, np.arange(1.0, Q + 1)[None])
    # It rises while classes belong to the support, and falls from there on.
    threshold = graph.node("ReduceMax", excess, axes=[1], keepdims=1)
    nearest = graph.node("Relu", graph.node("Sub", centred, threshold))
    shrunk = graph.node("Mul", np.float64(1.0 - FLOOR), nearest)
    return graph.node("Add", shrunk, np.float64(FLOOR / Q), name=name)
