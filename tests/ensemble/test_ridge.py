from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from dssfn.ensemble.choices import Pull
from dssfn.ensemble.dense import Dense
from dssfn.ensemble.ridge import (
    Sums,
    message_size,
    next_moments,
    ridge_path,
    settled_output,
)
from dssfn.problem import pack
from tests.support.ensembles import plan_of
from tests.support.strategies import seeds

RIDGES = [1e-6, 1e-3, 0.1, 1.0, 100.0, np.inf]
PULLS = [*map(Pull, RIDGES)]


def sums_of(F, D, w=None):
    """The sums over samples in columns; the first feature is the constant."""
    w = np.ones(F.shape[1]) if w is None else w
    return Sums(np.triu(F * w @ F.T), D * w @ F.T)


def problem(seed, *, n=4, J=30, Q=2):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, J)) * rng.uniform(0.1, 5, (n, 1)) + rng.normal(
        size=(n, 1)
    )
    F = np.vstack([np.ones(J), features])
    return F, rng.normal(size=(Q, J)), rng.uniform(0.1, 3, J)


def layer_of(seed, width, J, Q, weighted):
    """The features of a hidden layer, the scores before it, targets and weights."""
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.1, 3, J) if weighted else np.ones(J)
    S, T = rng.normal(size=(Q, J)), rng.normal(size=(Q, J))
    before = S - (T @ w / w.sum())[:, None]
    units = np.maximum(rng.normal(size=(width, J)), 0)
    parts = [np.ones((1, J)), np.maximum(before, 0), np.maximum(-before, 0), units]
    return np.vstack(parts), S, T, w


def augmented(F, D, w, ridge):
    """Least squares with as many samples more as there are features to be pulled."""
    root = np.sqrt(w)
    mean = F[1:] @ w / w.sum()
    centred = (F[1:] - mean[:, None]) * root
    n = len(centred)
    pull = np.sqrt(ridge * (centred**2).sum() / n) * np.eye(n)
    constant = np.append(root, np.zeros(n))
    left = np.column_stack([constant, np.vstack([(F[1:] * root).T, pull])])
    right = np.vstack([(D * root).T, np.zeros((n, len(D)))])
    return np.linalg.lstsq(left, right)[0].T


@settings(max_examples=60)
@given(seeds, st.integers(1, 8), st.integers(2, 40), st.integers(1, 3), st.booleans())
def test_a_path_is_the_ridge_regression_of_every_ridge(seed, n, J, Q, weighted):
    F, D, w = problem(seed, n=n, J=J, Q=Q)
    w = w if weighted else np.ones(J)
    path = ridge_path(sums_of(F, D, w), PULLS)
    scatter = ((F[1:] - (F[1:] @ w / w.sum())[:, None]) ** 2 @ w).sum()
    for O, ridge in zip(path[:-1], RIDGES[:-1], strict=True):
        model = Ridge(alpha=ridge * scatter / n, solver="svd")
        model.fit(F[1:].T, D.T, sample_weight=w)
        # Normal equations whose condition is at most n / ridge.
        tolerance = 1e-13 * n / ridge
        said = model.predict(F[1:].T).reshape(J, Q).T
        np.testing.assert_allclose(O @ F, said, atol=tolerance * np.abs(D).max())
        np.testing.assert_allclose(
            O @ F, augmented(F, D, w, ridge) @ F, atol=tolerance * np.abs(D).max()
        )


@settings(max_examples=60)
@given(seeds, st.integers(1, 8), st.integers(2, 40), st.booleans())
def test_a_settled_output_is_that_of_the_path(seed, width, J, weighted):
    F, S, T, w = layer_of(seed, width, J, 2, weighted)
    sums = sums_of(F, T - S, w)
    for pull in (*PULLS, *(Pull(ridge, afresh=True) for ridge in RIDGES[:-1])):
        O, settled = ridge_path(sums, [pull])[0], settled_output(sums, pull)
        # Normal equations whose condition is at most n / ridge, by eigenvectors.
        tolerance = 1e-12 * len(F) / min(pull.ridge, 1.0)
        size = np.abs(O).max() * np.abs(F).max()
        np.testing.assert_allclose(settled @ F, O @ F, atol=tolerance * (1 + size))


def test_an_infinite_ridge_keeps_the_layer_before_but_for_its_mean():
    F, D, w = problem(0)
    O = ridge_path(sums_of(F, D, w), [Pull(np.inf)])[0]
    np.testing.assert_array_equal(O[:, 1:], 0)
    np.testing.assert_allclose(O[:, 0], D @ w / w.sum())


@settings(max_examples=60)
@given(seeds, st.integers(1, 8), st.integers(2, 40), st.integers(1, 3), st.booleans())
def test_a_layer_that_starts_afresh_is_the_ridge_regression_of_the_targets(
    seed, width, J, Q, weighted
):
    F, S, T, w = layer_of(seed, width, J, Q, weighted)
    path = ridge_path(sums_of(F, T - S, w), [Pull(r, afresh=True) for r in RIDGES[:-1]])
    n = len(F) - 1
    scatter = ((F[1:] - (F[1:] @ w / w.sum())[:, None]) ** 2 @ w).sum()
    for O, ridge in zip(path, RIDGES[:-1], strict=True):
        model = Ridge(alpha=ridge * scatter / n, solver="svd")
        model.fit(F[1:].T, T.T, sample_weight=w)
        said = model.predict(F[1:].T).reshape(J, Q).T
        # Normal equations whose condition is at most n / ridge.
        tolerance = 1e-12 * n / ridge * (np.abs(S).max() + np.abs(T).max())
        np.testing.assert_allclose(S + O @ F, said, atol=tolerance)


def test_no_samples_give_zero():
    F, D, w = problem(0)
    path = ridge_path(sums_of(F, D, 0 * w), PULLS)
    np.testing.assert_array_equal(path, 0)


def test_one_sample_is_met_by_the_constant():
    F, D, _ = problem(0, J=1)
    for O in ridge_path(sums_of(F, D), PULLS):
        np.testing.assert_allclose(O @ F, D, rtol=1e-12)
        np.testing.assert_allclose(O[:, 1:], 0, atol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.7, 1e6, 1e-6])
def test_a_constant_feature_gets_no_weight(value):
    F, D, w = problem(1)
    odd = np.insert(F, 2, value, axis=0)
    path = ridge_path(sums_of(odd, D, w), PULLS)
    np.testing.assert_array_equal(path[:, :, 2], 0)
    pulls = [Pull(4 / 5 * ridge) for ridge in RIDGES]  # the mean has one more
    few = ridge_path(sums_of(F, D, w), pulls)
    np.testing.assert_allclose(np.delete(path, 2, axis=2), few, rtol=1e-7)


def test_constant_features_alone_give_the_mean_whatever_rounding_leaves():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        F = np.vstack([np.ones(30), np.repeat(rng.normal(size=(6, 1)), 30, axis=1)])
        D, w = rng.normal(size=(2, 30)), rng.uniform(0.1, 3, 30)
        path = ridge_path(sums_of(F, D, w), PULLS)
        np.testing.assert_array_equal(path[:, :, 1:], 0)
        _, deviations = next_moments(sums_of(F, D, w), path[0])
        np.testing.assert_array_equal(deviations[:2], 1)


def test_features_that_are_copies_share_their_weight():
    F, D, w = problem(2)
    twice = np.vstack([F, F[1:]])
    # The mean eigenvalue and every eigenvalue but the zeros: half of them, twice as
    # large, so the same ridge pulls half as hard.
    path = ridge_path(sums_of(twice, D, w), PULLS)
    once = ridge_path(sums_of(F, D, w), [Pull(ridge / 2) for ridge in RIDGES])
    np.testing.assert_allclose(path[:, :, 1:5], path[:, :, 5:], atol=1e-9)
    np.testing.assert_allclose(path[:, :, 1:5] * 2, once[:, :, 1:], atol=1e-8)


@given(seeds, st.floats(1e-6, 1e6))
def test_means_do_as_well_as_sums(seed, factor):
    sums = sums_of(*problem(seed))
    scaled = Sums(sums.upper * factor, sums.C * factor)
    # rounding, times a condition of 4e6
    np.testing.assert_allclose(
        ridge_path(scaled, PULLS), ridge_path(sums, PULLS), rtol=1e-8, atol=1e-8
    )


def message_of(F, D, first):
    """The sums of the features from `first` on, as a message carries them."""
    old, new = F[:first], F[first:]
    parts = [(new @ old.T).ravel(), pack(np.triu(new @ new.T)), (D @ new.T).ravel()]
    return np.concatenate(parts)


@given(seeds, st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_sums_that_grow_by_a_border_are_those_made_at_once(seed, steps):
    F, D, _ = problem(seed, n=sum(steps) - 1 or 1)
    F = F[: sum(steps)]
    arithmetic = Dense(plan_of(F, D))
    sums, first = None, 0
    for n in np.cumsum(steps).tolist():
        message = message_of(F[:n], D, first)
        assert len(message) == message_size(len(D), first, n)
        sums = arithmetic.read(message, 1, first, n, sums)
        first = n
    whole = sums_of(F, D)
    np.testing.assert_allclose(np.triu(sums.upper), whole.upper, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sums.C, whole.C, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(sums.whole(), sums.whole().T)


def test_scaled_sums_are_those_of_scaled_features():
    F, D, w = problem(4)
    factors = np.array([1.0, 0.1, 3.0, 1e-9, 1e9])
    scaled, made = sums_of(F, D, w).scaled(factors), sums_of(F * factors[:, None], D, w)
    np.testing.assert_allclose(scaled.whole(), made.whole(), rtol=1e-12)
    np.testing.assert_allclose(scaled.C, made.C, rtol=1e-12)


@settings(max_examples=60)
@given(seeds, st.integers(1, 3), st.integers(1, 6), st.integers(2, 30), st.booleans())
def test_the_moments_of_the_next_layer_are_those_of_its_inputs(
    seed, Q, width, J, weighted
):
    F, S, T, w = layer_of(seed, width, J, Q, weighted)
    before = S - (T @ w / w.sum())[:, None]
    units = F[1 + 2 * Q :]
    sums = sums_of(F, T - S, w)
    O = ridge_path(sums, [Pull(0.1)])[0]
    inputs = np.vstack([units, before + O @ F])
    mean = inputs @ w / w.sum()
    deviation = np.sqrt((inputs - mean[:, None]) ** 2 @ w / w.sum())
    means, deviations = next_moments(sums, O)
    np.testing.assert_allclose(means, mean, rtol=1e-9, atol=1e-9)
    # a difference of squares: half the digits
    deviation = np.where(deviation > 1e-7, deviation, 1.0)
    np.testing.assert_allclose(deviations, deviation, rtol=1e-6)
