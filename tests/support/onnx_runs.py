"""Exported models, run by onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

from dssfn.export import to_onnx
from dssfn.modelfile import network_of

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def session(content):
    """Load an exported model on the processor."""
    return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])


def answers(content, given):
    """Return all outputs of an exported model by their names, for X or for columns."""
    loaded = session(content)
    names = [one.name for one in loaded.get_outputs()]
    feed = given if isinstance(given, dict) else {"X": given}
    return dict(zip(names, loaded.run(None, feed), strict=True))


def columns_of(frame, schema):
    """Return the inputs of an exported model, from a table of pandas."""
    return {
        column.name: _numbers(frame[column.name])
        if column.kind == "number"
        else _texts(frame[column.name])
        for column in schema.used
    }


def _numbers(values):
    return values.to_numpy(dtype=np.float64, na_value=np.nan)[:, None]


def _texts(values):
    pairs = zip(values, values.isna(), strict=True)
    texts = ["" if is_gap else str(value) for value, is_gap in pairs]
    return np.array(texts, dtype=object)[:, None]


def assert_same_answers(model, X, *, rtol=0.0, columns=None):
    """Compare an exported model with the library; by default to the last bit.

    Probabilities are compared up to the rounding of an exponential. The graph takes X,
    or the columns that become X.
    """
    network = network_of(model)
    scores = network.scores(X.T)
    content = to_onnx(model, encoded=columns is None)
    found = answers(content, X if columns is None else columns)
    size = np.abs(scores).max(initial=0)  # a score near zero has few digits of its own
    if network.plan.is_regression:
        assert np.abs(found["prediction"] - scores.T).max(initial=0) <= rtol * size
        return
    assert np.abs(found["scores"] - scores.T).max(initial=0) <= rtol * size
    classes = np.array(network.plan.classes)
    assert (found["label"] == classes[scores.argmax(axis=0)]).all()
    P = network.probabilities(scores).T
    atol = 1e-12 + 1e3 * rtol
    np.testing.assert_allclose(found["probabilities"], P, rtol=0, atol=atol)
