"""Importance is what shuffling a column costs, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.inspection import permutation_importance as by_sklearn

from dssfn import SSFNClassifier, SSFNRegressor
from dssfn.config import Plan
from dssfn.errors import DataError, InputError
from dssfn.network import Network
from dssfn.permutation import (
    MOST_MEASURED,
    SCREENED,
    groups_of,
    permutation_importance,
)
from dssfn.schema import Column, Schema, Target
from tests.support.networks import ensemble, network

RNG = np.random.default_rng(7)


def one_hot(y):
    return (y == np.unique(y)[:, None]).astype(float)


def linear(weights, units="auto", **settings):
    """A model without hidden layers, whose inputs are taken as they come."""
    O = np.atleast_2d(np.array(weights, dtype=float))
    Q, P = O.shape
    named = {"classes": tuple(range(Q))} if Q > 1 else {"targets": ("t",)}
    plan = Plan(n_features=P, n_layers=0, width=1, members=1, bias=0.0, units=units,
                **named, **settings)  # fmt: skip
    return Network(plan, (O,), np.zeros(P), np.ones(P))


def figures(importance, name):
    return {one.name: one.figures[name] for one in importance.columns}


@pytest.fixture(scope="module")
def classified():
    X, y = load_wine(return_X_y=True)
    X = X[:, :6]  # some of them matter, some do not
    return SSFNClassifier(n_layers=1, width=20, random_state=0).fit(X, y), X, y


def assert_the_same_in_expectation(ours, theirs, n_repeats):
    """Means of permutations drawn apart: five standard errors of their difference."""
    stds = np.array([one.std for one in ours])
    error = np.sqrt((stds**2 + theirs.importances_std**2) / n_repeats)
    means = np.array([one.mean for one in ours])
    np.testing.assert_array_less(
        np.abs(means - theirs.importances_mean), 5 * error + 1e-12
    )


@pytest.mark.parametrize(
    ("name", "scoring"),
    [("accuracy_lost", "accuracy"), ("log_loss_added", "neg_log_loss")],
)
def test_classes_are_explained_as_scikit_learn_does(classified, name, scoring):
    model, X, y = classified
    n_repeats = 60
    found = permutation_importance(
        model.network_, X.T, one_hot(y), n_repeats=n_repeats, seed=1
    )
    theirs = by_sklearn(
        model, X, y, scoring=scoring, n_repeats=n_repeats, random_state=0
    )
    of = figures(found, name)
    ours = [of[f"feature {k + 1}"] for k in range(X.shape[1])]
    assert_the_same_in_expectation(ours, theirs, n_repeats)
    assert found.baseline["accuracy"] == model.score(X, y)


def test_numbers_are_explained_as_scikit_learn_does():
    X = RNG.normal(size=(120, 3))
    y = 3 * X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * RNG.normal(size=120)
    model = SSFNRegressor(n_layers=1, width=20, random_state=0).fit(X, y)
    n_repeats = 60
    found = permutation_importance(
        model.network_, X.T, y[None], n_repeats=n_repeats, seed=1
    )
    theirs = by_sklearn(model, X, y, scoring="r2", n_repeats=n_repeats, random_state=0)
    of = figures(found, "r2_lost")
    ours = [of[f"feature {k + 1}"] for k in range(3)]
    assert_the_same_in_expectation(ours, theirs, n_repeats)
    assert found.columns[0].name == "feature 1"
    assert found.figures == ("r2_lost", "rmse_added")


def test_a_target_that_is_the_column_loses_twice_its_variance():
    # Of a uniform permutation, the mean of (x - x')^2 is 2 var(x): R2 falls by 2.
    X = RNG.normal(size=(2, 400))
    found = permutation_importance(
        linear([1.0, 0.0], units="dense"), X, X[:1], n_repeats=50
    )
    lost = figures(found, "r2_lost")
    # Of one permutation the deviation is about 2 / sqrt(J); of 50, a seventh of it.
    assert lost["feature 1"].mean == pytest.approx(2.0, abs=5 * 0.1 / np.sqrt(50))
    assert lost["feature 2"] == type(lost["feature 2"])(mean=0.0, std=0.0)


@pytest.mark.parametrize("units", ["integer", "dense"])
@pytest.mark.parametrize("labelled", [True, False])
def test_a_column_that_the_model_ignores_has_an_importance_of_exactly_zero(
    units, labelled
):
    model = linear([[1.0, 0.0, -0.5], [-1.0, 0.0, 0.5]], units=units)
    X = RNG.normal(size=(3, 5000))  # more than one chunk
    T = one_hot(X[0] < 0) if labelled else None
    found = permutation_importance(model, X, T, most_samples=5000)
    (ignored,) = [one for one in found.columns if one.name == "feature 2"]
    assert all(one.mean == one.std == 0.0 for one in ignored.figures.values())
    assert found.columns[0].name == "feature 1"


@pytest.mark.parametrize("model", [network(), ensemble(P=3)], ids=["one", "members"])
def test_a_constant_column_has_an_importance_of_exactly_zero(model):
    X = RNG.normal(size=(3, 30))
    X[1] = 4.0
    found = permutation_importance(model, X)
    (constant,) = [one for one in found.columns if one.name == "feature 2"]
    assert all(one.mean == one.std == 0.0 for one in constant.figures.values())


def test_noise_is_unimportant_and_the_cause_is_not():
    X = RNG.normal(size=(300, 2))
    y = X[:, 0] > 0
    model = SSFNClassifier(n_layers=1, width=20, random_state=0).fit(X, y)
    new = RNG.normal(size=(2, 1000))
    found = permutation_importance(model.network_, new, one_hot(new[0] > 0))
    lost = figures(found, "accuracy_lost")
    assert lost["feature 1"].mean > 0.4  # a coin is right half of the time
    assert abs(lost["feature 2"].mean) < 0.02


def test_two_copies_of_a_column_share_alike_what_one_has_alone():
    x = RNG.normal(size=300)
    T = one_hot(x > 0)[::-1]  # the first class is x > 0
    copies = linear([[0.5, 0.5], [-0.5, -0.5]])
    alone = linear([[1.0], [-1.0]])
    first, second = permutation_importance(copies, np.stack([x, x]), T).columns
    (only,) = permutation_importance(alone, x[None], T).columns
    assert first.figures == second.figures  # every column is permuted in the same ways
    shared = first.figures["accuracy_lost"].mean
    assert 0 < shared < only.figures["accuracy_lost"].mean


def test_the_same_seed_gives_the_same_and_samples_stay_as_they_are():
    X = RNG.normal(size=(3, 50))
    before = X.copy()
    one, two, other = (permutation_importance(network(), X, seed=s) for s in (3, 3, 4))
    assert one == two
    assert one != other
    np.testing.assert_array_equal(X, before)


def test_of_many_samples_some_are_chosen():
    X = RNG.normal(size=(3, 500))
    found = permutation_importance(network(), X, most_samples=40)
    assert (found.n_samples, found.n_used) == (500, 40)
    whole = permutation_importance(network(), X, most_samples=500)
    for name, one in figures(found, "probability_moved").items():
        # Forty samples tell the mean of shares to within 4 / sqrt(40) of a half.
        assert abs(one.mean - figures(whole, "probability_moved")[name].mean) < 0.32


def test_of_many_columns_those_are_measured_that_move_predictions():
    P, few = 3 * MOST_MEASURED, [5, 77, 140]
    weights = np.zeros((2, P))
    weights[0, few] = 1.0
    X = RNG.normal(size=(P, 300))
    told = []
    found = permutation_importance(
        linear(weights), X, on_column=lambda done, total: told.append((done, total))
    )
    assert found.n_columns == P
    assert len(found.columns) == MOST_MEASURED
    assert found.n_screened == SCREENED
    assert {one.name for one in found.columns[:3]} == {f"feature {k + 1}" for k in few}
    assert told == [(k + 1, MOST_MEASURED) for k in range(MOST_MEASURED)]


def test_without_labels_the_moves_of_predictions_are_measured():
    X = RNG.normal(size=(2, 200))
    found = permutation_importance(linear([[5.0, 0.1], [-5.0, -0.1]]), X)
    assert found.figures == ("probability_moved", "classes_changed")
    assert found.baseline == {}
    changed = figures(found, "classes_changed")
    assert changed["feature 1"].mean == pytest.approx(0.5, abs=0.1)
    assert changed["feature 2"].mean < 0.05
    found = permutation_importance(linear([2.0, 0.0], units="dense"), X)
    assert found.figures == ("prediction_moved",)
    # The mean distance of two normal numbers is 2 / sqrt(pi) of their deviations.
    (moved, still) = found.columns
    assert moved.figures["prediction_moved"].mean == pytest.approx(1.128, abs=0.15)
    assert still.figures["prediction_moved"].mean == 0.0


def test_equal_targets_have_no_r2():
    X = RNG.normal(size=(1, 20))
    found = permutation_importance(linear([1.0], units="dense"), X, np.ones((1, 20)))
    assert found.figures == ("rmse_added",)


def test_the_features_of_a_column_of_a_schema_are_permuted_together():
    schema = Schema(
        columns=(
            Column(name="age", kind="number", missing=True),
            Column(name="id", kind="ignore"),
            Column(name="pain", kind="category", levels=("a", "b"), other=True),
        ),
        target=Target(column="ill", classes=("no", "yes")),
    )
    groups = groups_of(Plan(**schema.settings()))
    assert [(one.name, one.features.tolist()) for one in groups] == [
        ("age", [0, 1]), ("pain", [2, 3, 4]),
    ]  # fmt: skip
    weights = np.array([[0.0, 0.0, 1.0, -1.0, 0.0], [0.0, 0.0, -1.0, 1.0, 0.0]])
    plan = Plan(**schema.settings(), n_layers=0, width=1, members=1, bias=0.0)
    model = Network(plan, (weights,), np.zeros(5), np.ones(5))
    levels = np.eye(3)[RNG.integers(0, 3, 100)].T
    gaps = np.where(np.arange(100) % 9, np.arange(100.0), np.nan)
    X = np.vstack([gaps, np.isnan(gaps), levels])
    found = permutation_importance(model, X)
    assert [(one.name, one.n_features) for one in found.columns] == [
        ("pain", 3), ("age", 2),
    ]  # fmt: skip
    assert found.columns[1].figures["probability_moved"].mean == 0.0


@given(st.integers(4, 40), st.integers(4, 40), st.integers(1, 4))
def test_parts_of_a_picture_hold_every_pixel_once(height, width, channels):
    shape = (height, width) if channels == 1 else (height, width, channels)
    P = height * width * channels
    groups = groups_of(Plan(n_features=P, classes=(0, 1), image_shape=shape))
    assert len(groups) <= MOST_MEASURED
    assert len({one.name for one in groups}) == len(groups)
    every = np.concatenate([one.features for one in groups])
    assert sorted(every.tolist()) == list(range(P))


def test_a_part_of_a_picture_is_named_by_its_rows_and_columns():
    groups = groups_of(Plan(n_features=28 * 28, classes=(0, 1), image_shape=(28, 28)))
    assert len(groups) == 49
    assert groups[8].name == "rows 5-8, columns 5-8"
    assert groups[8].features[:5].tolist() == [116, 117, 118, 119, 144]


def test_mistakes_are_explained():
    X = np.zeros((3, 10))
    with pytest.raises(DataError, match="at least 2, got 1"):
        permutation_importance(network(), X[:, :1])
    for wrong in ({"n_repeats": 1}, {"most_samples": 1}, {"seed": -1}):
        (name,) = wrong
        with pytest.raises(InputError, match=f"`{name}` must"):
            permutation_importance(network(), X, **wrong)
    with pytest.raises(InputError, match="at most 10000, got 10001"):
        permutation_importance(linear(np.zeros((2, 10_001))), np.zeros((10_001, 2)))
