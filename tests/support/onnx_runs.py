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


def answers(content, X):
    """Return all outputs of an exported model by their names."""
    loaded = session(content)
    names = [one.name for one in loaded.get_outputs()]
    return dict(zip(names, loaded.run(None, {"X": X}), strict=True))


def assert_same_answers(model, X, *, rtol=0.0):
    """Compare an exported model with the library; by default to the last bit.

    Probabilities are compared up to the rounding of an exponential.
    """
    network = network_of(model)
    scores = network.scores(X.T)
    found = answers(to_onnx(model), X)
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
