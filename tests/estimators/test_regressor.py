from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_linnerud
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from dssfn import (
    DSSFNClassifier,
    DSSFNRegressor,
    SSFNClassifier,
    SSFNRegressor,
    load_network,
    save_network,
)
from dssfn.errors import DataError, InputError, PlanError

FIXED = {"n_layers": 2, "width": 30, "random_state": 0}
FOUND = {"random_state": 0}


@pytest.fixture(scope="module")
def waves():
    """A function of two features, with a little noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(400, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + rng.normal(0, 0.05, 400)
    return train_test_split(X, y, random_state=0)


def test_what_is_not_linear_is_learned(waves):
    X, X_test, y, y_test = waves
    model = SSFNRegressor(random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > 0.95
    assert LinearRegression().fit(X, y).score(X_test, y_test) < 0.1
    assert model.score(X_test, y_test) == r2_score(y_test, model.predict(X_test))


@pytest.mark.parametrize("settings", [FIXED, FOUND], ids=["fixed", "found"])
def test_the_unit_of_the_targets_changes_nothing_but_the_unit(waves, settings):
    X, X_test, y, _ = waves
    one = SSFNRegressor(**settings).fit(X, y).predict(X_test)
    other = SSFNRegressor(**settings).fit(X, 1e6 * y - 3e7).predict(X_test)
    # The mean is thirty deviations away, and the layers amplify what it rounds off.
    np.testing.assert_allclose((other + 3e7) / 1e6, one, atol=1e-8)


@pytest.mark.parametrize("settings", [FIXED, FOUND], ids=["fixed", "found"])
def test_without_hidden_layers_it_is_a_linear_regression(waves, settings):
    X, X_test, y, _ = waves
    model = SSFNRegressor(**settings | {"n_layers": 0, "ridge": "auto"})
    if settings is FOUND:
        model.set_params(members=2, ridge=1e-12)
    else:
        model.set_params(members=1)
    line = LinearRegression().fit(X, y).predict(X_test)
    for units, rounding in (("dense", 1e-9), ("integer", 1e-4 * y.std())):
        model.set_params(units=units)
        predicted = model.fit(X, y).predict(X_test)
        # Each of two members has seen four fifths of the samples. Inputs, targets and
        # predictions of integers are multiples of 2^-17 deviations.
        tolerance = 0.1 if settings is FOUND else rounding
        np.testing.assert_allclose(predicted, line, atol=tolerance)


@pytest.mark.parametrize("settings", [FIXED, FOUND], ids=["fixed", "found"])
@pytest.mark.parametrize("n_targets", [None, 1, 3])
def test_predictions_have_the_shape_of_the_targets(settings, n_targets):
    X, y = load_linnerud(return_X_y=True)
    y = y[:, 0] if n_targets is None else y[:, :n_targets]
    model = SSFNRegressor(**settings).fit(X, y)
    assert model.predict(X).shape == y.shape
    wanted = ("y",) if n_targets is None else tuple(f"y{k}" for k in range(n_targets))
    assert model.network_.plan.targets == wanted


def test_several_targets_share_a_network_and_keep_their_units():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    y = np.column_stack([1e5 + 1e3 * X[:, 0], 1e-4 * X[:, 1] * X[:, 2]])
    model = SSFNRegressor(random_state=0).fit(X, y)
    scores = r2_score(y, model.predict(X), multioutput="raw_values")
    assert scores[0] > 0.99
    assert scores[1] > 0.9


@pytest.mark.parametrize("settings", [FIXED, FOUND], ids=["fixed", "found"])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_nodes_learn_the_network_of_one_machine(waves, settings, weighted):
    X, X_test, y, _ = waves
    weights = np.random.default_rng(2).integers(0, 3, len(y)) if weighted else None
    one = SSFNRegressor(**settings).fit(X, y, weights)
    nodes = np.repeat(np.arange(5), 60)
    many = DSSFNRegressor(partition=nodes, **settings).fit(X, y, weights)
    assert (many.n_layers_, many.width_) == (one.n_layers_, one.width_)
    np.testing.assert_allclose(many.predict(X_test), one.predict(X_test), atol=1e-7)
    assert many.node_spread_ <= 1e-9


def test_the_spread_is_that_of_the_members(waves):
    X, X_test, y, _ = waves
    model = SSFNRegressor(random_state=0).fit(X, y)
    mean, deviation = model.predict(X_test, return_std=True)
    np.testing.assert_allclose(mean, model.predict(X_test), rtol=1e-12)
    members = model.network_.member_scores(X_test.T)[:, 0]
    assert len(members) == model.members_
    np.testing.assert_allclose(deviation, members.std(axis=0), rtol=1e-12)


def test_members_disagree_more_where_there_were_no_samples(waves):
    X, _, y, _ = waves
    model = SSFNRegressor(random_state=0).fit(X, y)
    far = np.array([[6.0, 6.0], [-6.0, 6.0], [6.0, -6.0]])
    _, here = model.predict(X, return_std=True)
    _, there = model.predict(far, return_std=True)
    assert there.min() > np.median(here)


def test_the_spread_of_several_targets_has_their_shape():
    X, y = load_linnerud(return_X_y=True)
    mean, deviation = SSFNRegressor(members=4).fit(X, y).predict(X, return_std=True)
    assert mean.shape == deviation.shape == y.shape


@pytest.mark.parametrize("settings", [FIXED, {"size": "ssfn"}])
def test_one_network_has_no_spread(waves, settings):
    X, _, y, _ = waves
    model = SSFNRegressor(**settings).fit(X, y)
    with pytest.raises(InputError, match="`return_std` needs `members` of at least 2"):
        model.predict(X, return_std=True)


@pytest.mark.parametrize("settings", [FIXED, FOUND], ids=["fixed", "found"])
@pytest.mark.parametrize("n_targets", [None, 2])
def test_a_model_file_predicts_the_same_bits(tmp_path, settings, n_targets):
    X, y = load_linnerud(return_X_y=True)
    y = y[:, 0] if n_targets is None else y[:, :n_targets]
    model = DSSFNRegressor(3, **settings).fit(X, y)
    save_network(model, tmp_path / "m.safetensors")
    network = load_network(tmp_path / "m.safetensors")
    for kind in (SSFNRegressor, DSSFNRegressor):
        again = kind.from_network(network)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert (again.n_layers_, again.members_) == (model.n_layers_, model.members_)


def test_a_network_of_the_other_kind_is_refused(waves):
    X, _, y, _ = waves
    numbers = SSFNRegressor(**FIXED).fit(X, y)
    classes = SSFNClassifier(**FIXED).fit(X, y > 0)
    with pytest.raises(InputError, match=r"predicts numbers\. Use `SSFNRegressor"):
        DSSFNClassifier.from_network(numbers.network_)
    with pytest.raises(InputError, match=r"predicts classes\. Use `SSFNClassifier"):
        DSSFNRegressor.from_network(classes.network_)


def test_pickle_and_clone_keep_what_they_should(waves):
    X, X_test, y, _ = waves
    model = DSSFNRegressor(3, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X_test), model.predict(X_test))
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "network_")


def test_frames_keep_the_names_of_their_columns():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = SSFNRegressor(**FIXED).fit(X, y)
    assert model.network_.plan.feature_names == tuple(X.columns)
    assert model.predict(X).shape == y.shape
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[X.columns[::-1]])
    frame = pd.DataFrame({"a": y, "b": -y})
    assert SSFNRegressor(**FIXED).fit(X, frame).predict(X).shape == (len(y), 2)


def test_a_history_of_numbers_knows_errors_but_no_accuracy(waves):
    X, _, y, _ = waves
    model = SSFNRegressor(random_state=0).fit(X, np.column_stack([y, -y]))
    for record in model.history_:
        assert record.train_accuracy is None
        assert record.validation_accuracy is None
        assert record.validation_error_db > record.train_error_db
    errors = [record.train_error_db for record in model.history_]
    last = errors[model.n_layers_]
    truth, predicted = np.column_stack([y, -y]), model.predict(X)
    # Of targets with a variance of one, the error in dB is that of 1 - R2. Targets are
    # rounded to 2^-17 in a training: a five-thousandth of such an error, at random.
    said = 10 * np.log10(1 - r2_score(truth, predicted))
    assert said > -30
    assert last == pytest.approx(said, abs=1e-3)


@pytest.mark.parametrize("settings", [FIXED, FOUND], ids=["fixed", "found"])
def test_a_constant_target_is_predicted_exactly(settings):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = SSFNRegressor(**settings).fit(X, np.full(30, 7.25))
    np.testing.assert_allclose(model.predict(X), 7.25, rtol=1e-12)


def test_a_target_too_large_to_be_squared_is_refused(waves):
    X, _, y, _ = waves
    with pytest.raises(DataError, match=r"`y` must be at most 1e.150 .*another"):
        SSFNRegressor(**FIXED).fit(X, 1e200 * y)


@pytest.mark.parametrize("how", ["by-class", "dirichlet:0.5"])
def test_numbers_cannot_be_divided_by_class(waves, how):
    X, _, y, _ = waves
    with pytest.raises(PlanError, match="`partition`"):
        DSSFNRegressor(3, partition=how, **FIXED).fit(X, y)
