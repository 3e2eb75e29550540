"""Weights of samples and of classes; scikit-learn's own checks are in test_contract."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import recall_score

from dssfn import DSSFNClassifier, SSFNClassifier, SSFNRegressor
from dssfn.errors import DataError, PlanError

FIXED = {"n_layers": 2, "width": 30, "random_state": 0}
FOUND = {"random_state": 0}
BOTH = pytest.mark.parametrize("settings", [FIXED, FOUND], ids=["fixed", "found"])


@BOTH
@pytest.mark.parametrize("n_nodes", [1, 4])
def test_whole_weights_are_repetitions(settings, n_nodes):
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).integers(0, 4, 150)
    one = DSSFNClassifier(n_nodes, **settings).fit(X, y, weights)
    other = DSSFNClassifier(n_nodes, **settings).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights)
    )
    for name in ("n_layers_", "width_", "members_", "scale_"):
        assert getattr(one, name) == getattr(other, name)
    # Sums in another order, amplified by the layers' condition.
    np.testing.assert_allclose(
        one.decision_function(X), other.decision_function(X), atol=1e-8
    )


def test_a_class_without_weight_is_no_class():
    X, y = load_iris(return_X_y=True)
    model = SSFNClassifier(**FIXED).fit(X, y, sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == [0, 2]
    with pytest.raises(DataError, match="at least two classes"):
        SSFNClassifier(**FIXED).fit(X, y, sample_weight=(y == 1).astype(float))


@BOTH
def test_a_common_factor_of_all_weights_changes_nothing(settings):
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).random(150) + 0.1
    one, other = (
        SSFNClassifier(**settings).fit(X, y, factor * weights) for factor in (1, 0.25)
    )
    np.testing.assert_allclose(
        one.decision_function(X), other.decision_function(X), atol=1e-8
    )


@pytest.mark.parametrize("estimator", [SSFNClassifier, DSSFNClassifier, SSFNRegressor])
@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.r_[-0.5, np.ones(149)], "not be negative, got -0.5 for sample 1"),
        (np.zeros(150), "zero"),
        (np.r_[np.nan, np.ones(149)], "NaN"),
        (np.r_[np.inf, np.ones(149)], "infinity"),
        (np.ones(149), r"\(149,\)"),
        (np.ones((150, 1)), "1D"),
        (["heavy"] * 150, "heavy"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(estimator, weights, said):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=said):
        estimator(**FIXED).fit(X, y, sample_weight=weights)


@pytest.fixture(scope="module")
def rare():
    """Two overlapping classes, of which one has 3 % of the samples."""
    rng = np.random.default_rng(3)
    y = (rng.random(1500) < 0.03).astype(int)
    return rng.normal(size=(1500, 4)) + 1.2 * y[:, None], y


@BOTH
def test_balanced_classes_find_what_is_rare(rare, settings):
    X, y = rare
    plain = SSFNClassifier(**settings).fit(X, y)
    balanced = SSFNClassifier(**settings, class_weight="balanced").fit(X, y)
    assert recall_score(y, plain.predict(X)) < 0.6
    assert recall_score(y, balanced.predict(X)) > 0.8


@BOTH
def test_balanced_weights_are_those_of_scikit_learn(rare, settings):
    X, y = rare
    counts = np.bincount(y)
    by_hand = {label: len(y) / (2 * counts[label]) for label in (0, 1)}
    one, other = (
        SSFNClassifier(**settings, class_weight=given).fit(X, y)
        for given in ("balanced", by_hand)
    )
    np.testing.assert_allclose(
        one.decision_function(X), other.decision_function(X), atol=1e-8
    )


@BOTH
def test_many_nodes_agree_on_what_balances_their_classes(rare, settings):
    X, y = rare
    settings = {**settings, "class_weight": "balanced"}
    one = SSFNClassifier(**settings).fit(X, y)
    many = DSSFNClassifier(5, partition="by-class", **settings).fit(X, y)
    np.testing.assert_allclose(
        one.decision_function(X), many.decision_function(X), atol=1e-7
    )


def test_class_weights_and_sample_weights_multiply():
    X, y = load_breast_cancer(return_X_y=True)
    weights = np.random.default_rng(0).random(len(y)) + 0.1
    # Without a scale of the inputs, which follows from the weights of samples alone.
    settings = {**FIXED, "standardize": False}
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    one = SSFNClassifier(**settings, class_weight={1: 3}).fit(X, y, weights)
    other = SSFNClassifier(**settings).fit(X, y, weights * np.where(y == 1, 3, 1))
    np.testing.assert_allclose(
        one.decision_function(X), other.decision_function(X), atol=1e-8
    )


def test_labels_of_class_weights_may_be_text():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    heavy = {"virginica": 1000.0}
    model = SSFNClassifier(**FIXED, class_weight=heavy).fit(X, names)
    assert model.network_.plan.class_weight == (1.0, 1.0, 1000.0)
    assert (model.predict(X[y == 2]) == "virginica").all()
    again = SSFNClassifier.from_network(model.network_)
    assert again.class_weight == {"setosa": 1.0, "versicolor": 1.0, **heavy}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({7: 2.0}, "labels that occur in `y`, got 7"),
        ({0: -1.0}, "positive number"),
        ({0: float("nan")}, "positive number"),
        ({0: "much"}, "positive number"),
        ("fair", "balanced"),
        ((1.0, 2.0), "each of the 3 classes"),
    ],
)
def test_class_weights_that_cannot_be_used_are_refused(given, said):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(PlanError, match=said):
        SSFNClassifier(**FIXED, class_weight=given).fit(X, y)


@BOTH
def test_the_accuracy_of_a_training_counts_samples_whatever_their_classes_weigh(
    settings,
):
    X, y = load_breast_cancer(return_X_y=True)
    few = np.r_[np.flatnonzero(y == 0)[:20], np.flatnonzero(y == 1)]
    X, y = X[few, :3], y[few]
    model = SSFNClassifier(class_weight="balanced", **settings).fit(X, y)
    said = model.history_[model.n_layers_]
    assert said.train_accuracy == model.score(X, y)
    assert isinstance(said.train_accuracy, float)
    if settings is FOUND:
        scores = model.network_.validation_scores(np.ascontiguousarray(X.T))
        known = np.isfinite(scores[0])
        right = (scores.argmax(axis=0) == y)[known]
        assert said.validation_accuracy == right.mean()


def test_results_of_weighted_classes_can_be_written():
    X, y = load_iris(return_X_y=True)
    model = SSFNClassifier(class_weight={0: 0.3}, **FOUND).fit(X, y)
    for record in model.history_:
        assert type(record.validation_accuracy) is float  # numpy's cannot be written
