from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from dssfn import DSSFNClassifier, SSFNClassifier, SSFNRegressor
from dssfn.errors import OverfitWarning, PlanError
from dssfn.estimators import verbosity

FIXED = {"n_layers": 2, "width": 10, "random_state": 0}


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_a_fit_is_silent_unless_told_otherwise(iris, capsys):
    SSFNClassifier(**FIXED).fit(*iris)
    shown = capsys.readouterr()
    assert shown.out == shown.err == ""


@pytest.mark.parametrize("verbose", [1, 2, True, np.int64(2)])
def test_where_no_bar_can_be_drawn_there_is_a_line_per_layer(iris, capsys, verbose):
    SSFNClassifier(**FIXED, verbose=verbose).fit(*iris)
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert [line.split("  ")[0] for line in lines] == [f"layer {k}/2" for k in range(3)]
    assert all(line.endswith(" dB") for line in lines)


def test_a_line_of_a_network_that_finds_its_size_says_what_was_found(iris, capsys):
    model = DSSFNClassifier(3, random_state=0, verbose=2).fit(*iris)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(model.history_)
    record = model.history_[1]
    assert lines[1] == (
        f"layer 1  {record.width} units  train {record.train_error_db:.2f} dB  "
        f"validation {record.validation_error_db:.2f} dB"
    )


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # by which rich takes any stream as one
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize("settings", [FIXED, {"random_state": 0}])
def test_a_long_fit_draws_a_bar_and_takes_it_away(
    iris, capsys, terminal, monkeypatch, settings
):
    monkeypatch.setattr(verbosity, "PATIENCE", 0.0)
    monkeypatch.setattr(verbosity.threading, "Timer", _AtOnce)
    SSFNClassifier(**settings, verbose=1).fit(*iris)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "layer 0" in shown.err
    assert shown.err.endswith("\x1b[2K")  # the line is cleared at the end


class _AtOnce:
    """A timer that does not wait, so that a quick fit is a long one."""

    daemon = False

    def __init__(self, seconds, work):
        self.start = work

    def cancel(self):
        pass

    def join(self):
        pass


def test_a_quick_fit_draws_nothing(iris, capsys, terminal, monkeypatch):
    monkeypatch.setattr(verbosity, "PATIENCE", 600.0)
    SSFNClassifier(**FIXED, verbose=1).fit(*iris)
    assert capsys.readouterr().err.strip("\x1b[?25hl\n") == ""


def test_a_fit_that_fails_leaves_no_bar_behind(iris, capsys, terminal, monkeypatch):
    monkeypatch.setattr(verbosity.threading, "Timer", _AtOnce)
    X, y = iris
    with pytest.raises(PlanError, match="`members`"):
        SSFNClassifier(members=50, verbose=1).fit(X[45:55], y[45:55])
    assert capsys.readouterr().err.endswith("\x1b[2K")


@pytest.mark.parametrize("verbose", [-1, "much", None, 0.5])
def test_odd_verbosity_is_refused(iris, verbose):
    with pytest.raises(PlanError, match="`verbose` must be 0, 1 or 2"):
        SSFNClassifier(**FIXED, verbose=verbose).fit(*iris)


def noise(n_samples):
    """Samples whose classes cannot be predicted, and their labels."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n_samples, 60)), rng.integers(2, size=n_samples)


BY_HEART = {"n_layers": 2, "width": 400, "members": 5, "ridge": 1e-6, "random_state": 0}


@pytest.mark.parametrize("estimator", [SSFNClassifier, DSSFNClassifier])
def test_who_learns_samples_by_heart_is_warned(estimator):
    with pytest.warns(OverfitWarning, match=r"correctly, but only \d\d\.\d%") as caught:
        estimator(**BY_HEART).fit(*noise(120))
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "model",
    [
        SSFNClassifier(random_state=0),
        SSFNClassifier(size="ssfn", width=100, random_state=0),
        SSFNClassifier(n_layers=2, width=300, random_state=0),
        DSSFNClassifier(random_state=0),
    ],
)
def test_who_knows_what_was_left_out_is_not_warned(iris, model):
    model.fit(*iris)  # a warning would be an error here


def test_few_samples_and_numbers_are_no_reason_to_warn():
    SSFNClassifier(**BY_HEART).fit(*noise(60))
    X, y = noise(120)
    SSFNRegressor(**BY_HEART).fit(X, y.astype(float))
