"""What is attacked: models of several kinds, and the totals that they are made of.

All are trained with one seed: the seed of a federation is in its plan, and in the model
file, so that an attacker trains with the same random matrices.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.accuracy.models import CLASSIFIERS, LOGISTIC
from benchmarks.privacy.leverage import first_totals, log_leverages
from benchmarks.privacy.membership import Train
from benchmarks.privacy.sets import LabelledRows
from dssfn import SSFNClassifier
from dssfn._typing import Array
from dssfn.ensemble.folds import fold_rule
from dssfn.errors import OverfitWarning
from dssfn.shard import one_hot

SEED = 0
LEAST_ERROR = 1e-20
FIXED = {"n_layers": 5, "width": 1000, "members": 1, "units": "dense"}
PAPER = {"n_layers": 5, "preset": "paper"}

Subject: TypeAlias = Callable[[LabelledRows], Train]


def by_scores(**settings: Any) -> Subject:
    """Return networks with these settings, of which the scores are seen."""

    def subject(rows: LabelledRows) -> Train:
        def train(some: NDArray[np.intp]) -> Array:
            return _said(_network(rows, some, settings).network_.scores(rows.X.T), rows)

        return train

    return subject


def by_file(rows: LabelledRows) -> Train:
    """Return networks of which the file is seen, with all members of the ensemble.

    A row's fold follows from its content and the seed, so that whoever has the file
    knows which member was not trained on the row, if it was a training row at all. The
    third of the numbers is how much larger the error of that member is.
    """

    def train(some: NDArray[np.intp]) -> Array:
        model = _network(rows, some, {}).network_
        scores = model.member_scores(rows.X.T)  # (K, Q, J)
        K, J = len(scores), len(rows.y)
        errors = np.log(_errors(scores, rows))  # (K, J)
        fold = np.minimum(fold_rule(model.plan, 0)(rows.X.T), K - 1)
        left_out = errors[fold, np.arange(J)]
        others = (errors.sum(axis=0) - left_out) / (K - 1)
        return np.column_stack([_said(scores.mean(axis=0), rows), left_out - others])

    return train


def by_totals(rows: LabelledRows) -> Train:
    """Return trainings of which the totals of layers 0 and 1 are seen."""

    def train(some: NDArray[np.intp]) -> Array:
        with threadpool_limits(1, user_api="blas"):  # the matrices are small
            return log_leverages(first_totals(rows.some(some), seed=SEED), rows.X)

    return train


def by_logistic(rows: LabelledRows) -> Train:
    """Return logistic regressions, of which the probabilities are seen."""

    def train(some: NDArray[np.intp]) -> Array:
        model = CLASSIFIERS[LOGISTIC](SEED).fit(rows.X[some], rows.y[some])
        logs = model.predict_log_proba(rows.X)
        of_class = logs[np.arange(len(rows.y)), rows.y]
        rest = np.log(np.maximum(-np.expm1(of_class), LEAST_ERROR))
        logit: Array = of_class - rest
        return logit

    return train


@dataclass(frozen=True, slots=True)
class Attacked:
    """Something that is attacked.

    Parameters
    ----------
    subject : callable
        Trains it.
    seen : mapping of str to int
        How many of the numbers that it says an attacker sees, by what that is called.
    """

    subject: Subject
    seen: Mapping[str, int]


SUBJECTS = (
    Attacked(by_file, {"network of default size: scores": 2, "the same: its file": 3}),
    Attacked(by_totals, {"the same: totals of its first layers": 5}),
    Attacked(by_scores(**FIXED), {"5 layers of 1000 units: scores": 2}),
    Attacked(by_scores(**PAPER), {"preset paper, 5 layers: scores": 2}),
    Attacked(by_logistic, {"logistic regression: probabilities": 1}),
)


def _network(
    rows: LabelledRows, some: NDArray[np.intp], settings: Mapping[str, Any]
) -> SSFNClassifier:
    model = SSFNClassifier(random_state=SEED, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverfitWarning)  # some are made to overfit
        return model.fit(rows.X[some], rows.y[some])


def _said(scores: Array, rows: LabelledRows) -> Array:
    """Return how near scores (Q, J) are to the target, and by how much they are right.

    The first is the logarithm of the squared error, with the sign changed; the second
    the score of the row's class less the best of the others.
    """
    J = np.arange(len(rows.y))
    of_class = scores[rows.y, J]
    others = scores.copy()
    others[rows.y, J] = -np.inf
    return np.stack([-np.log(_errors(scores, rows)), of_class - others.max(axis=0)], 1)


def _errors(scores: Array, rows: LabelledRows) -> Array:
    """Return the squared error of scores (.., Q, J), which is never quite zero."""
    squares = (scores - one_hot(rows.y, rows.n_classes)) ** 2
    errors: Array = squares.sum(axis=-2) + LEAST_ERROR
    return errors
