"""The last part of a graph: what it answers, with one row for each sample.

A sample that cannot be used gets numbers that are none (NaN), and there is no label for
it: asking for labels then fails, as `predict` does. Nothing is guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn.calibration import FLOOR
from dssfn.config import Plan
from dssfn.ensemble import Ensemble
from dssfn.errors import InputError
from dssfn.export.graph import Graph, Tensor
from dssfn.training import Model

# The name of the operator that fails; runtimes show it.
NO_LABEL = "X_must_hold_finite_numbers_not_too_far_from_the_training_data"
KINDS = {"U": np.dtype(object), "b": np.dtype(bool), "f": np.dtype(np.float64)}
KINDS |= {"i": np.dtype(np.int64), "u": np.dtype(np.uint64)}  # text is kept as objects


@dataclass(frozen=True, slots=True)
class Answer:
    """One output of a graph.

    Parameters
    ----------
    name : str
        Its name.
    dtype : numpy.dtype
        Its type; that of objects stands for text.
    n_columns : int, optional
        How many columns it has; None if it has one number or label for each sample.
    """

    name: str
    dtype: np.dtype[Any]
    n_columns: int | None


def add_answers(
    graph: Graph, model: Model, scores: Tensor, usable: Tensor
) -> list[Answer]:
    """Add the outputs of a model.

    Parameters
    ----------
    graph : Graph
        The graph.
    model : Network or Ensemble
        The model.
    scores : tensor of shape (Q, J)
        Its scores.
    usable : tensor of shape (1, J)
        Which samples can be used.
    """
    plan, Q = model.plan, model.plan.n_outputs
    rows = graph.node("Transpose", scores, perm=[1, 0])
    usable = graph.node("Transpose", usable, perm=[1, 0])
    real = np.dtype(np.float64)

    def answer(values: Tensor, name: str) -> Answer:
        graph.node("Where", usable, values, np.float64(np.nan), name=name)
        return Answer(name, real, Q)

    if plan.is_regression:
        return [answer(rows, "prediction")]
    labels = class_labels(plan)
    _add_label(graph, labels, rows, usable)
    return [
        Answer("label", labels.dtype, None),
        answer(_add_probabilities(graph, model, rows), "probabilities"),
        answer(rows, "scores"),
    ]


def class_labels(plan: Plan) -> NDArray[Any]:
    """Return the classes as an array of a type that ONNX has.

    >>> class_labels(Plan(n_features=1, classes=(False, True))).dtype
    dtype('bool')
    """
    labels = np.array(plan.classes)
    if labels.dtype.kind not in KINDS:
        raise InputError(
            "`classes` must be text, numbers of 64 bits or true/false to be written "
            f"as ONNX, got {labels.dtype}. Name them otherwise, as text."
        )
    return labels.astype(KINDS[labels.dtype.kind])


def _add_label(
    graph: Graph, labels: NDArray[Any], rows: Tensor, usable: Tensor
) -> None:
    """Add the first class with the largest score."""
    codes = graph.node("ArgMax", rows, axis=1, keepdims=0)
    is_usable = graph.node("Squeeze", usable, np.array([1], dtype=np.int64))
    none = np.int64(len(labels))  # is the code of no class
    codes = graph.node("Where", is_usable, codes, none)
    found = graph.node("Gather", labels, codes, axis=0, name=NO_LABEL)
    graph.node("Identity", found, name="label")


def _add_probabilities(graph: Graph, model: Model, rows: Tensor) -> Tensor:
    """Add the class probabilities, which are calibrated if members found a slope."""
    if not isinstance(model, Ensemble) or model.n_members == 1:
        return _add_nearest_probabilities(graph, rows, model.plan.n_outputs)
    steep = graph.node("Mul", rows, np.float64(model.slope))
    return graph.node("Softmax", steep, axis=1)


def _add_nearest_probabilities(graph: Graph, rows: Tensor, Q: int) -> Tensor:
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
    return graph.node("Add", shrunk, np.float64(FLOOR / Q))
