"""Few samples, few features, few nodes: whatever is left must still be learned."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from dssfn import DSSFNClassifier, DSSFNRegressor, SSFNClassifier, SSFNRegressor
from dssfn.errors import PlanError

RANDOM = {"random_state": 0}
SIZES = [{}, {"n_layers": 2, "width": 10}, {"n_layers": 0}, {"members": 2}]
EACH = pytest.mark.parametrize(
    "settings",
    [RANDOM | size for size in SIZES],
    ids=["auto", "fixed", "linear", "two"],
)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@EACH
def test_a_class_may_have_one_sample(iris, settings):
    X, y = iris
    rows = np.r_[0:50, 50:100, 120]
    model = SSFNClassifier(**settings).fit(X[rows], y[rows])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(X[rows], y[rows]) > 0.75
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)


@EACH
@pytest.mark.parametrize("n_samples", [2, 3, 5, 9])
def test_there_may_be_fewer_samples_than_members(settings, n_samples):
    X = np.arange(n_samples, dtype=float)[:, None]
    y = np.arange(n_samples) % 2
    model = DSSFNClassifier(**settings).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    number = DSSFNRegressor(**settings).fit(X, X[:, 0])
    assert np.isfinite(number.predict(X)).all()


@pytest.mark.parametrize("estimator", [SSFNRegressor, DSSFNRegressor])
@pytest.mark.parametrize("size", SIZES[:3])
def test_a_single_sample_is_its_own_prediction(estimator, size):
    X, y = np.array([[1.0, 2.0]]), np.array([42.0])
    model = estimator(**size, **RANDOM).fit(X, y)
    # A member that leaves it out has no sample at all, and predicts zero of the scaled
    # target, which is the mean.
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-12)


@EACH
def test_one_sample_repeated_is_a_constant(settings):
    X = np.tile([[1.5, -2.0]], (40, 1))
    y = np.arange(40) % 4 == 0
    model = SSFNClassifier(**settings).fit(X, y)
    assert not model.predict(X).any()
    number = SSFNRegressor(**settings).fit(X, y.astype(float))
    np.testing.assert_allclose(number.predict(X), 0.25, rtol=1e-9)


@EACH
@pytest.mark.parametrize("n_nodes", [1, 2])
def test_one_node_or_two_learn_the_network_of_one_machine(iris, settings, n_nodes):
    X, y = iris
    few = DSSFNClassifier(n_nodes, partition="by-class", **settings).fit(X, y)
    one = SSFNClassifier(**settings).fit(X, y)
    np.testing.assert_allclose(
        few.decision_function(X), one.decision_function(X), atol=1e-7
    )


@EACH
def test_constant_columns_are_ignored(iris, settings):
    X, y = iris
    more = np.hstack(
        [X, np.full((150, 1), 7.25), np.zeros((150, 1)), np.ones((150, 1))]
    )
    model = DSSFNClassifier(3, **settings).fit(more, y)
    assert model.score(more, y) > 0.8
    assert model.node_spread_ < 1e-9


@EACH
def test_constant_columns_alone_say_how_frequent_classes_are(settings):
    X, y = np.ones((60, 3)), np.arange(60) % 3 == 0
    model = SSFNClassifier(**settings).fit(X, y)
    assert not model.predict(X).any()
    assert np.isfinite(model.predict_proba(X)).all()


@EACH
def test_one_feature_is_enough(settings):
    X = np.linspace(-1, 1, 80)[:, None]
    model = DSSFNClassifier(4, **settings).fit(X, X[:, 0] > 0)
    assert model.score(X, X[:, 0] > 0) > 0.9


def test_more_members_than_samples_are_refused(iris):
    X, y = iris
    rows = np.r_[0:3, 50:53]
    assert SSFNClassifier(members=6, **RANDOM).fit(X[rows], y[rows]).members_ == 6
    for estimator in (SSFNClassifier, DSSFNClassifier):
        model = estimator(members=7, **RANDOM)
        with pytest.raises(PlanError, match=r"`members` must not exceed .* 7 for 6\."):
            model.fit(X[rows], y[rows])


def test_whole_nodes_may_be_left_out(iris):
    X, y = iris
    model = DSSFNClassifier(4, folds="nodes", **RANDOM).fit(X, y)
    assert model.members_ == 4
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("settings", "members"),
    [({}, 10), ({"members": 3}, 3), ({"size": "ssfn", "width": 50}, 1)],
)
def test_what_was_found_is_told_under_the_name_of_the_parameter(
    iris, settings, members
):
    X, y = iris
    model = SSFNClassifier(**settings, **RANDOM).fit(X, y)
    plan = model.network_.plan
    assert model.members_ == members == len(model.network_.member_scores(X.T))
    assert model.n_layers_ == plan.n_layers == len(model.network_.outputs) - 1
    assert model.width_ == plan.width
    assert model.scale_ == plan.scale in ("columns", "common")
    assert model.get_params()["n_layers"] is None
    assert [record.layer for record in model.history_] == list(
        range(len(model.history_))
    )


def test_a_given_size_is_told_too(iris):
    model = SSFNClassifier(n_layers=3, width=20, **RANDOM).fit(*iris)
    found = model.n_layers_, model.width_, model.members_, model.scale_
    assert found == (3, 20, 1, "columns")
    assert not hasattr(clone(model), "n_layers_")


@EACH
def test_an_estimator_from_its_network_says_and_predicts_the_same(iris, settings):
    X, y = iris
    model = DSSFNClassifier(3, **settings).fit(X, y)
    again = DSSFNClassifier.from_network(model.network_)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert (again.n_layers_, again.members_) == (model.n_layers_, model.members_)
    pickled = pickle.loads(pickle.dumps(again))
    np.testing.assert_array_equal(pickled.predict(X), model.predict(X))
    # It knows all its settings, so that it could be fitted again.
    assert again.fit(X, y).n_layers_ == model.n_layers_


@EACH
def test_probabilities_are_the_geometric_mean_of_those_of_the_members(iris, settings):
    X, y = iris
    model = SSFNClassifier(**settings).fit(X, y)
    members = model.member_probabilities(X)
    assert members.shape == (model.members_, 150, 3)
    np.testing.assert_allclose(members.sum(axis=2), 1, rtol=1e-12)
    # The softmax of mean scores has the mean of the members' log odds.
    mean = np.exp(np.log(members).mean(axis=0))
    expected = mean / mean.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)
