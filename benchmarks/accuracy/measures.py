"""What is measured of a model on one split of one data set."""

from __future__ import annotations

import time
import warnings

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss, r2_score
from threadpoolctl import threadpool_limits

from benchmarks.accuracy.models import Model
from benchmarks.accuracy.tabular import Split
from dssfn.rows import Metrics

N_BINS = 15


def fit(model: Model, X: ArrayLike, y: ArrayLike) -> float:
    """Fit a model and return the seconds that it took."""
    # On small sets OpenMP's threads, which only boosting uses, wait for each other far
    # longer than they work if the machine has anything else to do.
    with threadpool_limits(1, "openmp"), warnings.catch_warnings():
        # A perceptron that is not done after its epochs is used as it is.
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        model.fit(X, y)
        return time.perf_counter() - start


def classification(model: Model, split: Split) -> Metrics:
    """Fit a classifier; return its accuracy, its time, and how it is calibrated."""
    seconds = fit(model, split.X_train, split.y_train)
    predicted = model.predict(split.X_test)
    metrics: Metrics = {
        "accuracy": float(np.mean(predicted == split.y_test)),
        "fit_seconds": seconds,
        **sizes(split),
    }
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(split.X_test)
        loss = log_loss(split.y_test, probabilities, labels=model.classes_)
        chosen = model.classes_[probabilities.argmax(axis=1)]
        is_right = chosen == split.y_test
        error = calibration_error(probabilities.max(axis=1), is_right)
        metrics |= {"log_loss": float(loss), "calibration_error": error}
    return metrics


def calibration_error(confidence: ArrayLike, is_right: ArrayLike) -> float:
    """Return the expected calibration error of the most probable classes.

    Samples are put into bins of equal width by the probability of their most probable
    class. The error is the mean distance of the bins' accuracies from their mean
    probabilities, weighted by samples.

    >>> calibration_error([0.9, 0.9, 0.6, 0.6], [True, False, True, True])
    0.4
    """
    sure, right = np.asarray(confidence, dtype=float), np.asarray(is_right, dtype=float)
    bins = np.clip(np.ceil(sure * N_BINS).astype(int) - 1, 0, N_BINS - 1)
    gaps = np.bincount(bins, weights=right - sure, minlength=N_BINS)
    return float(np.abs(gaps).sum() / len(sure))


def regression(model: Model, split: Split) -> Metrics:
    """Fit a regressor; return its coefficient of determination and its time."""
    seconds = fit(model, split.X_train, split.y_train)
    return {
        "r2": float(r2_score(split.y_test, model.predict(split.X_test))),
        "fit_seconds": seconds,
        **sizes(split),
    }


def sizes(split: Split) -> Metrics:
    """Return how many rows and columns there are."""
    return {
        "n_train": len(split.y_train),
        "n_test": len(split.y_test),
        "n_features": split.X_train.shape[1],
    }
