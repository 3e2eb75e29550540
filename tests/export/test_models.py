"""Exported models answer as the library does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import datasets
from sklearn.model_selection import train_test_split

from dssfn import SSFNClassifier, SSFNRegressor, load_network
from dssfn.network import Network
from tests.support.networks import ensemble, network
from tests.support.onnx_runs import assert_same_answers
from tests.support.trainings import DATA

SUPPORT = Path(__file__).parents[1] / "support"
BITS = 0.0
REAL_NUMBERS = 1e-12  # sums of real numbers depend on their order
SINGLE = 1e-5  # and more so in single precision

SETS = [
    "iris", "wine", "breast_cancer", "digits", "diabetes",
    "satimage", "vowel", "letter",
]  # fmt: skip
UNITS = [("integer", BITS), ("dense", REAL_NUMBERS)]
SIZES = [{"n_layers": 3, "width": 70}, {"n_layers": 2, "width": 70, "members": 3}]


def samples(name):
    """A training set and test samples; the real ones skip if there are none."""
    if hasattr(datasets, f"load_{name}"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return train_test_split(X, y, random_state=0)
    path = DATA / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"{name}.npz is not in the data folder (DSSFN_DATA_DIR)")
    with np.load(path) as data:
        X, X_test, y = (data[key] for key in ("X_train", "X_test", "y_train"))
    return X.astype(float), X_test.astype(float), y, None


@pytest.mark.parametrize(("units", "rtol"), UNITS)
@pytest.mark.parametrize("size", SIZES, ids=["fixed", "ensemble"])
@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer"])
def test_classifiers_answer_the_same(name, size, units, rtol):
    X, X_test, y, _ = samples(name)
    model = SSFNClassifier(**size, units=units, random_state=0).fit(X, y)
    assert_same_answers(model, X_test, rtol=rtol)


@pytest.mark.parametrize(("units", "rtol"), UNITS)
@pytest.mark.parametrize("size", SIZES, ids=["fixed", "ensemble"])
@pytest.mark.parametrize("n_targets", [1, 3])
def test_regressors_answer_the_same(n_targets, size, units, rtol):
    X, X_test, y, _ = samples("diabetes")
    Y = np.column_stack([y, X[:, 0] * X[:, 1], -(y**2)])[:, :n_targets]
    model = SSFNRegressor(**size, units=units, random_state=0).fit(X, Y)
    assert_same_answers(model, X_test, rtol=rtol)


def test_units_that_see_pictures_answer_the_same():
    X, X_test, y, _ = samples("digits")
    settings = {"image_shape": (8, 8), "width": 100, "members": 3}
    model = SSFNClassifier(**settings, random_state=0).fit(X, y)
    assert model.n_layers_ > 0
    assert_same_answers(model, X_test)


@pytest.mark.filterwarnings("ignore::dssfn.OverfitWarning")
@pytest.mark.parametrize(
    ("settings", "rtol"),
    [
        ({"preset": "paper", "n_layers": 2, "width": 30}, REAL_NUMBERS),
        ({"size": "ssfn", "n_layers": 3, "width": 100}, BITS),
        ({"size": "ssfn", "n_layers": 3, "width": 100, "units": "dense"}, REAL_NUMBERS),
        ({"n_layers": 0, "width": 1}, BITS),
        ({"n_layers": 0, "width": 1, "units": "dense", "bias": 0.0}, REAL_NUMBERS),
        ({"n_layers": 2, "width": 20, "bias": 0.0}, BITS),
        ({"n_layers": 2, "width": 20, "bias": 0.0, "members": 2}, BITS),
        ({"scale": "common"}, BITS),
        ({"standardize": False, "members": 2}, REAL_NUMBERS),
    ],
    ids=str,
)
def test_other_settings_answer_the_same(settings, rtol):
    X, X_test, y, _ = samples("iris")
    model = SSFNClassifier(**settings, random_state=3).fit(X, y)
    assert_same_answers(model, X_test, rtol=rtol)


def test_features_in_single_precision_answer_the_same():
    rng = np.random.default_rng(0)
    net = network(units="dense")
    plan = net.plan.replace(precision="float32", bias=1.0)
    first = rng.normal(size=(2, plan.inputs_of(0)))
    net = Network(plan, (first, *net.outputs[1:]), net.shift, net.scale)
    assert_same_answers(net, rng.normal(size=(50, 3)), rtol=SINGLE)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 99),
    P=st.integers(1, 80),
    K=st.integers(2, 3),
    widths=st.lists(st.integers(1, 90), max_size=3),
    units=st.sampled_from(UNITS),
    kind=st.sampled_from([{}, {"targets": ("a",)}, {"targets": ("a", "b", "c")}]),
)
def test_any_ensemble_answers_the_same(seed, P, K, widths, units, kind):
    name, rtol = units
    model = ensemble(seed, P=P, K=K, widths=widths, units=name, **kind)
    sizes = 10.0 ** np.arange(-6, 4)  # far from the training data, too
    X = np.random.default_rng(seed).normal(size=(10, P)) * sizes[:, None]
    assert_same_answers(model, X, rtol=100 * rtol)


@pytest.mark.parametrize(
    "model",
    [
        ensemble(P=300, widths=(100, 50)),
        ensemble(P=784, widths=(150, 100), image_shape=(28, 28)),
        network(P=1100, width=3000),
    ],
    ids=["many features", "pictures", "wide"],
)
def test_sums_that_need_double_precision_are_exact(model):
    X = np.random.default_rng(0).normal(size=(40, model.plan.n_features))
    assert_same_answers(model, X)


def test_samples_at_the_very_centre_answer_the_same():
    X, _, y, _ = samples("iris")
    for units, rtol in UNITS:
        model = SSFNClassifier(n_layers=2, width=20, units=units, random_state=0)
        model.fit(X, y)
        shift, scale = model.network_.shift, model.network_.scale
        rows = shift + np.outer([0, 1e-16, 1e-13, 1e-9], scale)
        assert_same_answers(model, rows, rtol=rtol)


def test_old_model_files_can_be_exported():
    rng = np.random.default_rng(0)
    for version in (1, 2):
        old = load_network(SUPPORT / f"version_{version}.safetensors")
        X = rng.normal(size=(30, old.plan.n_features))
        assert_same_answers(old, X, rtol=REAL_NUMBERS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dssfn.OverfitWarning")
@pytest.mark.parametrize(("units", "rtol"), UNITS)
@pytest.mark.parametrize(
    "name",
    SETS,
)
def test_defaults_answer_the_same_on_eight_sets(name, units, rtol):
    X, X_test, y, _ = samples(name)
    kind = SSFNRegressor if name == "diabetes" else SSFNClassifier
    assert_same_answers(kind(units=units, random_state=0).fit(X, y), X_test, rtol=rtol)


@pytest.mark.parametrize(
    ("settings", "rtol"),
    [
        ({"members": 2, "n_layers": 1, "width": 20}, BITS),
        ({"preset": "paper", "n_layers": 1, "width": 20}, REAL_NUMBERS),
    ],
)
def test_missing_numbers_become_the_mean(settings, rtol):
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, size=(80, 4))
    y = (X[:, 0] > 3).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = SSFNClassifier(**settings, random_state=0).fit(X, y)
    encoded = model._columns(X).T
    assert np.isnan(encoded).any()
    assert_same_answers(model, encoded, rtol=rtol)
