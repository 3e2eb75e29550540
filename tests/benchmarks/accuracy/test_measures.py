"""What is measured of a model, against values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.svm import SVC

from benchmarks.accuracy.measures import calibration_error, classification, regression
from benchmarks.accuracy.tabular import Split


def test_the_calibration_error_weighs_the_gaps_of_the_bins_by_their_samples():
    # Bins are 1/15 wide: 0.61 and 0.66 share the tenth, 0.95 is in the last.
    confidence = [0.61, 0.66, 0.95, 0.95, 0.95]
    is_right = [True, False, True, True, False]
    by_hand = (abs(1 - 1.27) + abs(2 - 2.85)) / 5
    assert calibration_error(confidence, is_right) == pytest.approx(by_hand, abs=1e-12)


def test_gaps_of_different_bins_do_not_cancel():
    assert calibration_error([0.5, 0.7], [True, False]) == pytest.approx(0.6)


def test_right_probabilities_have_no_calibration_error():
    assert calibration_error([1.0, 1.0, 0.5, 0.5], [True, True, True, False]) == 0


@pytest.fixture
def split():
    X = np.zeros((8, 2))
    return Split(X, np.array([0, 0, 0, 0, 0, 0, 1, 1]), X[:4], np.array([0, 0, 1, 1]))


def test_a_classifier_is_measured_by_accuracy_log_loss_and_calibration(split):
    found = classification(DummyClassifier(strategy="prior"), split)
    assert found["accuracy"] == 0.5
    # Three quarters for the first class, everywhere.
    by_hand = -(np.log(0.75) + np.log(0.25)) / 2
    assert found["log_loss"] == pytest.approx(by_hand, abs=1e-12)
    assert found["calibration_error"] == pytest.approx(0.25, abs=1e-12)
    assert (found["n_train"], found["n_test"], found["n_features"]) == (8, 4, 2)


def test_a_classifier_without_probabilities_is_measured_by_accuracy_alone(split):
    found = classification(SVC(), split)
    assert "accuracy" in found
    assert "log_loss" not in found


def test_a_mean_explains_nothing():
    X, y = np.zeros((4, 1)), np.array([1.0, 2.0, 3.0, 4.0])
    assert regression(DummyRegressor(), Split(X, y, X, y))["r2"] == 0
