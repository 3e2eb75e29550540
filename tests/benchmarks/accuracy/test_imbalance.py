"""Positives become rare in training, and stay as they are in testing."""

from __future__ import annotations

import numpy as np

from benchmarks.accuracy.imbalance import thinned
from benchmarks.accuracy.tabular import Split


def test_one_and_a_half_per_cent_of_the_training_rows_are_positive():
    y = np.arange(4000) % 2
    X = np.arange(4000.0)[:, None]
    split = thinned(Split(X, y, X[:100], y[:100]), 0)
    assert (split.y_train == 0).sum() == 2000
    assert abs(split.y_train.mean() - 0.015) < 1e-3
    assert np.array_equal(split.y_train, split.X_train[:, 0] % 2)
    assert split.y_test.mean() == 0.5
