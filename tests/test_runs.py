from __future__ import annotations

import numpy as np
import pytest

from dssfn import DSSFNClassifier, build_topology
from dssfn.datasets import Dataset
from dssfn.runs import divided, execute, make_plan


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 4)), np.array(["no", "yes"])[rng.integers(2, size=60)]
    return Dataset("made up", X[:45], y[:45], X[45:], y[45:])


@pytest.mark.parametrize("how", ["iid", "by-class", "dirichlet:1"])
def test_an_estimator_and_an_experiment_learn_the_same_bits(data, how):
    plan = make_plan(data, n_layers=2, width=10, seed=3)
    run = divided(data, plan, build_topology("path", 3), how)
    outcome = execute(run, check_equivalence=False, on_layer=None)
    model = DSSFNClassifier(
        3, topology="path", partition=how, n_layers=2, width=10, random_state=3
    ).fit(data.X_train, data.y_train)
    for mine, theirs in zip(
        outcome.network.outputs, model.network_.outputs, strict=True
    ):
        assert mine.tobytes() == theirs.tobytes()
    predicted = model.classes_[outcome.tested.predicted]
    assert (model.predict(data.X_test) == predicted).all()
