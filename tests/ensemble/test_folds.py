from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2

from dssfn.config import Plan
from dssfn.ensemble.folds import folds_of
from tests.support.strategies import seeds

shapes = st.tuples(st.integers(1, 5), st.integers(1, 40))


def tables(kind):
    width = 8 * np.dtype(kind).itemsize
    finite = st.floats(allow_nan=False, allow_infinity=False, width=width)
    return arrays(kind, shapes, elements=finite)


@given(tables(np.float64), st.integers(1, 20), seeds)
def test_the_fold_of_a_sample_follows_from_its_content_alone(X, n_folds, seed):
    folds = folds_of(X, n_folds, seed)
    assert folds.min() >= 0
    assert folds.max() < n_folds
    rng = np.random.default_rng(seed)
    order = rng.permutation(X.shape[1])
    np.testing.assert_array_equal(folds_of(X[:, order], n_folds, seed), folds[order])
    owner = rng.integers(3, size=X.shape[1])
    for node in set(owner.tolist()):
        mine = owner == node
        np.testing.assert_array_equal(folds_of(X[:, mine], n_folds, seed), folds[mine])
    twice = folds_of(np.hstack([X, X]), n_folds, seed)
    np.testing.assert_array_equal(twice, np.tile(folds, 2))


@given(tables(np.float32), seeds)
def test_numbers_that_are_equal_share_a_fold_whatever_their_bits(single, seed):
    double = single.astype(float)
    negative = np.where(double == 0, -0.0, double)
    folds = folds_of(double, 7, seed)
    for same in (single, negative, np.asfortranarray(double)):
        np.testing.assert_array_equal(folds_of(same, 7, seed), folds)


DISTINCT = {  # samples that all differ, as they come in practice
    "continuous": np.random.default_rng(0).normal(size=(4, 2000)),
    "one whole number": np.arange(2000.0)[None],
    "one number with two decimals": np.arange(2000)[None] / 100,
    "whole numbers": np.stack(np.meshgrid(*[np.arange(13.0)] * 3)).reshape(3, -1),
    "true and false": np.stack(np.meshgrid(*[[0.0, 1.0]] * 11)).reshape(11, -1),
    "plus and minus one": np.stack(np.meshgrid(*[[-1.0, 1.0]] * 11)).reshape(11, -1),
    "one of many": np.eye(2000),
    "powers of two": np.stack(
        np.meshgrid(2.0 ** np.arange(-22, 23), 2.0 ** np.arange(45))
    ).reshape(2, -1),
    "large and tiny": np.vstack(
        [1e150 + 1e138 * np.arange(2000), np.full(2000, 1e-150)]
    ),
}


@pytest.mark.parametrize("kind", DISTINCT)
@pytest.mark.parametrize("n_folds", [2, 3, 5, 10])
def test_folds_are_as_even_as_if_they_were_drawn(kind, n_folds):
    X = DISTINCT[kind]
    J = X.shape[1]
    # Of drawn folds the statistic has this distribution; a fair one exceeds the bound
    # once in a million times, and there are 108 of them here.
    bound = chi2.ppf(1 - 1e-6, n_folds - 1)
    for seed in (0, 1, 2**63 - 1):
        counts = np.bincount(folds_of(X, n_folds, seed), minlength=n_folds)
        assert ((counts - J / n_folds) ** 2).sum() / (J / n_folds) < bound


@pytest.mark.parametrize("kind", DISTINCT)
def test_another_seed_gives_other_folds(kind):
    X = DISTINCT[kind]
    same = folds_of(X, 5, seed=0) == folds_of(X, 5, seed=1)
    # a fifth by chance; five standard deviations of a binomial
    expected, deviation = 0.2, np.sqrt(0.2 * 0.8 / X.shape[1])
    assert abs(same.mean() - expected) < 5 * deviation


def test_folds_stay_what_they_are():
    """A training that goes on with a later version must find the same folds."""
    X = np.array([[0.0, 1.0, 0.5, -2.0, 1e300], [3.0, 3.0, -0.0, 1e-300, 7.25]])
    assert folds_of(X, 10, seed=0).tolist() == [6, 8, 5, 5, 1]
    assert folds_of(X, 10, seed=12345).tolist() == [3, 4, 7, 7, 4]


@pytest.mark.parametrize(("members", "n_folds"), [(2, 5), (5, 5), (7, 7)])
def test_a_member_trains_on_four_fifths_or_more(members, n_folds):
    plan = Plan(n_features=1, classes=(0, 1), members=members)
    assert plan.n_folds == n_folds
