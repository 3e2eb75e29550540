"""Figures of predictions, beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from dssfn import scores as module
from dssfn.scores import (
    EMPTY,
    NO_NEGATIVE,
    NO_POSITIVE,
    ONE_CLASS,
    ONE_TARGET,
    TOO_MANY,
    ClassMeasure,
    Scores,
    Tally,
    TargetMeasure,
    mean_auc,
    n_packed,
    packed,
    unpacked,
)
from dssfn.shard import one_hot

# Sums in another order differ by rounding only.
CLOSE = {"rel": 1e-12, "abs": 1e-12}


def predictions(n_classes, n_samples, seed=0, *, ties=False):
    """Random probabilities, labels and weights, with all classes present."""
    rng = np.random.default_rng(seed)
    truth = np.concatenate(
        [np.arange(n_classes), rng.integers(n_classes, size=n_samples - n_classes)]
    )
    P = rng.dirichlet(np.ones(n_classes), size=n_samples) + 0.5 * np.eye(n_classes)[
        truth
    ] * rng.random((n_samples, 1))
    if ties:
        P = np.round(P, 1) + 0.01
    P /= P.sum(axis=1, keepdims=True)
    return P.T, truth, rng.integers(1, 4, size=n_samples).astype(float)


def scored(P, truth, weights=None, *, chunk=7):
    tally = Tally(ClassMeasure(len(P)))
    T = one_hot(truth, len(P))
    for start in range(0, len(truth), chunk):
        part = slice(start, start + chunk)
        some = None if weights is None else weights[part]
        tally.add(P[:, part], T[:, part], some)
    return tally.scores()


@pytest.mark.parametrize("n_classes", [2, 3, 10, 120])
@pytest.mark.parametrize("weighted", [False, True])
def test_figures_of_a_classifier_are_scikit_learns(n_classes, weighted):
    P, truth, weights = predictions(n_classes, 400)
    given = weights if weighted else None
    says = P.argmax(axis=0)
    found = scored(P, truth, given)
    options = {"sample_weight": given}
    assert found.n == (weights.sum() if weighted else 400)
    assert found.accuracy == pytest.approx(
        metrics.accuracy_score(truth, says, **options), **CLOSE
    )
    assert found.balanced_accuracy == pytest.approx(
        metrics.balanced_accuracy_score(truth, says, **options), **CLOSE
    )
    assert found.log_loss == pytest.approx(
        metrics.log_loss(truth, P.T, labels=range(n_classes), **options), **CLOSE
    )
    if n_classes == 2:
        expected = metrics.roc_auc_score(truth, P[1], **options)
        recalls = metrics.recall_score(truth, says, average=None, **options)
        assert [found.specificity, found.sensitivity] == pytest.approx(recalls, **CLOSE)
    else:
        one_rest = {"multi_class": "ovr", "average": "macro", **options}
        expected = metrics.roc_auc_score(truth, P.T, **one_rest)
        assert found.sensitivity is found.specificity is None
    assert found.auc == pytest.approx(expected, **CLOSE)
    assert found.missing == {}


def test_equal_probabilities_count_half_in_the_area_under_the_curve():
    P, truth, weights = predictions(2, 300, ties=True)
    assert len(np.unique(P[1])) < len(truth) / 2
    expected = metrics.roc_auc_score(truth, P[1], sample_weight=weights)
    assert mean_auc(P, truth, weights) == pytest.approx(expected, **CLOSE)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_figures_of_a_regression_are_scikit_learns(n_outputs, weighted):
    rng = np.random.default_rng(2)
    # A mean that is large beside the deviation must not cost digits.
    T = 1e6 + rng.normal(size=(n_outputs, 200)) * np.arange(1, n_outputs + 1)[:, None]
    S = T + 0.3 * rng.normal(size=T.shape)
    weights = rng.integers(1, 4, size=200).astype(float) if weighted else None
    tally = Tally(TargetMeasure(T.mean(axis=1), T.std(axis=1)))
    for columns in (slice(0, 90), slice(90, None)):
        some = None if weights is None else weights[columns]
        tally.add(S[:, columns], T[:, columns], some)
    found, options = tally.scores(), {"sample_weight": weights}
    close = {"rel": 1e-8}  # T itself is known to 1e-10 of its deviation
    assert found.r2 == pytest.approx(metrics.r2_score(T.T, S.T, **options), **close)
    assert found.mae == pytest.approx(
        metrics.mean_absolute_error(T.T, S.T, **options), **close
    )
    assert found.rmse == pytest.approx(
        metrics.root_mean_squared_error(T.T, S.T, **options), **close
    )
    assert found.accuracy is found.auc is None


def test_the_calibration_error_is_the_mean_gap_of_fifteen_bins():
    P, truth, _ = predictions(3, 500)
    confidence, right = P.max(axis=0), P.argmax(axis=0) == truth
    gap = 0.0
    for low in np.arange(15) / 15:
        inside = (confidence > low) & (confidence <= low + 1 / 15)
        if inside.any():
            apart = abs(confidence[inside].mean() - right[inside].mean())
            gap += inside.mean() * apart
    found = scored(P, truth)
    assert found.calibration_error == pytest.approx(gap, **CLOSE)
    assert sum(one.n for one in found.calibration) == 500
    assert all(one.n > 0 for one in found.calibration)


def test_sums_of_parts_give_the_figures_of_the_whole():
    P, truth, _ = predictions(4, 100)
    measure, T = ClassMeasure(4), one_hot(truth, 4)
    parts = [
        measure.sums(P[:, rows], T[:, rows], None)
        for rows in np.array_split(np.arange(100), 3)
    ]
    whole = measure.scores(measure.sums(P, T, None))
    summed = measure.scores(sum(parts))
    assert summed.accuracy == whole.accuracy
    assert summed.log_loss == pytest.approx(whole.log_loss, **CLOSE)


@pytest.mark.parametrize("only", [0, 1])
def test_samples_of_one_class_have_no_area_and_say_why(only):
    P, _, _ = predictions(2, 20)
    found = scored(P, np.full(20, only))
    assert found.auc is None
    known, unknown = ("specificity", "sensitivity")[:: 1 if only == 0 else -1]
    assert getattr(found, known) == found.accuracy == found.balanced_accuracy
    assert getattr(found, unknown) is None
    why = NO_POSITIVE if only == 0 else NO_NEGATIVE
    assert found.missing == {unknown: why, "auc": ONE_CLASS}


def test_classes_that_are_absent_do_not_count():
    P, truth, _ = predictions(4, 100)
    truth = np.where(truth == 3, 0, truth)
    with pytest.warns(UserWarning, match="y_pred contains classes not in y_true"):
        expected = metrics.balanced_accuracy_score(truth, P.argmax(axis=0))
    found = scored(P, truth)
    assert found.balanced_accuracy == pytest.approx(expected, **CLOSE)
    each = [metrics.roc_auc_score(truth == q, P[q]) for q in range(3)]
    assert found.auc == pytest.approx(np.mean(each), **CLOSE)


def test_no_samples_have_no_figures():
    classes = Tally(ClassMeasure(2)).scores()
    assert classes == Scores(n=0, missing=classes.missing)
    assert set(classes.missing.values()) == {EMPTY}
    assert set(classes.missing) == set(ClassMeasure(2).figures)
    measure = TargetMeasure(np.zeros(1), np.ones(1))
    assert Tally(measure).scores().missing == dict.fromkeys(measure.figures, EMPTY)


def test_equal_targets_have_no_r2_and_say_why():
    tally = Tally(TargetMeasure(np.array([3.0]), np.array([2.0])))
    tally.add(np.array([[0.1, 0.2]]), np.array([[0.1, 0.1]]), None)
    found = tally.scores()
    assert found.r2 is None
    assert found.missing == {"r2": ONE_TARGET}
    assert found.mae == pytest.approx(0.05)


def test_more_probabilities_than_may_be_kept_have_no_area(monkeypatch):
    monkeypatch.setattr(module, "MOST_RANKED", 30)
    P, truth, _ = predictions(2, 20)
    found = scored(P, truth)
    assert found.auc is None
    assert found.missing == {"auc": TOO_MANY}
    assert found.accuracy is not None


@pytest.mark.parametrize("only", [None, 0])
def test_figures_survive_being_packed_into_numbers(only):
    P, truth, _ = predictions(2, 50)
    measure = ClassMeasure(2)
    given = scored(P, truth if only is None else np.full(50, only))
    numbers = packed(given, measure)
    assert numbers.shape == (n_packed(measure),)
    assert np.isfinite(numbers).all()
    again = unpacked(numbers, measure)
    for name in ("n", *measure.figures):
        assert getattr(again, name) == getattr(given, name)


def test_an_output_that_does_not_vary_has_no_part_in_r2():
    rng = np.random.default_rng(0)
    T = np.vstack([rng.normal(size=50), np.full(50, 3.0)])
    predicted = T + 0.1 * rng.normal(size=T.shape)
    measure = TargetMeasure(T.mean(axis=1), np.ones(2))
    scores = measure.scores(measure.sums(predicted, T, None))
    assert scores.r2 == pytest.approx(metrics.r2_score(T[0], predicted[0]))


def test_samples_of_small_weight_are_samples():
    P, truth, weights = predictions(2, 50)
    scores = scored(P, truth, 1e-9 * weights)
    assert scores.n == pytest.approx(1e-9 * weights.sum())
    assert scores.accuracy == pytest.approx(scored(P, truth, weights).accuracy)
