from __future__ import annotations

import numpy as np
import pytest
import sklearn.datasets
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from dssfn.datasets import load, load_dataset, split
from dssfn.errors import DataError, PlanError
from tests.support.data_sets import assert_equal


def test_the_split_is_that_of_scikit_learn():
    X, y = sklearn.datasets.load_iris(return_X_y=True)
    expected = train_test_split(X, y, test_size=0.3, random_state=7, stratify=y)
    data = load_dataset("iris", test_size=0.3, seed=7)
    got = (data.X_train, data.X_test, data.y_train, data.y_test)
    assert all(np.array_equal(a, b) for a, b in zip(got, expected, strict=True))


def test_the_seed_decides_the_split():
    assert_equal(load_dataset("wine", seed=2**40), load_dataset("wine", seed=2**40))
    one, two = load_dataset("wine", seed=0), load_dataset("wine", seed=1)
    assert not np.array_equal(one.X_test, two.X_test)


@settings(derandomize=True, max_examples=50)
@given(
    labels=st.lists(st.integers(0, 3), min_size=8, max_size=60),
    test_size=st.floats(0.1, 0.5),
    seed=st.integers(0, 2**63 - 1),
)
def test_a_split_keeps_every_sample_once_and_classes_in_proportion(
    labels, test_size, seed
):
    y = np.array([0, 0, 1, 1, *labels])
    X = np.arange(len(y), dtype=float)[:, None]
    data = split("law", X, y, test_size=test_size, seed=seed)
    rows = np.concatenate([data.X_train, data.X_test])[:, 0].astype(int)
    assert np.array_equal(np.sort(rows), np.arange(len(y)))
    assert np.array_equal(y[rows], np.concatenate([data.y_train, data.y_test]))
    counts = np.bincount(y)
    counts = counts[counts > 0]
    if counts.min() >= 2 and len(data.y_test) >= len(counts):
        expected = np.bincount(y) * len(data.y_test) / len(y)
        got = np.bincount(data.y_test, minlength=len(expected))
        assert np.abs(got - expected).max() < 2


def test_a_class_too_rare_to_stratify_is_split_at_random():
    y = np.array([0] * 10 + [1] * 10 + [2])
    data = split("rare", np.zeros((21, 1)), y, test_size=0.25, seed=0)
    assert len(data.y_test) == 6


@pytest.mark.parametrize("test_size", [0, 1, -0.1, 1.5, float("nan"), "half"])
def test_the_test_share_must_lie_between_0_and_1(test_size):
    with pytest.raises(PlanError, match="`test_size` must be above 0 and below 1"):
        load_dataset("iris", test_size=test_size)
    with pytest.raises(PlanError, match="`test_size` must be above 0 and below 1"):
        load("missing.csv", test_size=test_size)


@pytest.mark.parametrize("seed", [-1, 0.5, True])
def test_the_seed_must_be_a_whole_number(seed):
    with pytest.raises(PlanError, match="`seed` must be a whole number"):
        load_dataset("iris", seed=seed)


def test_a_split_must_leave_a_training_sample():
    with pytest.raises(DataError, match="leaves none of 1 samples for training"):
        split("one", np.zeros((1, 1)), np.zeros(1), test_size=0.5, seed=0)
