"""A model's predictions for samples, and how good they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, NodeId
from dssfn.ensemble import Ensemble, measure_of
from dssfn.network import CHUNK
from dssfn.scores import Measure, Scores, Tally
from dssfn.shard import Rows, Samples
from dssfn.training import Model

Predicted: TypeAlias = Iterator[tuple[Array, Rows]]
"""Predictions (Q, c), which are probabilities for classes, and their samples."""


def measure_for(network: Model) -> Measure:
    """Return how the predictions of a model are measured."""
    plan = network.plan
    if isinstance(network, Ensemble):
        return measure_of(plan, network.target_shift, network.target_scale)
    return measure_of(plan, np.zeros(plan.n_outputs), np.ones(plan.n_outputs))


def leaves_out(network: Model) -> bool:
    """Return whether there are samples that some member was not trained on."""
    return isinstance(network, Ensemble) and network.n_members > 1


def predict(network: Model, samples: Samples) -> Predicted:
    """Yield what a model predicts for samples that it was not trained on."""
    for rows in samples.chunks(CHUNK):
        yield _prediction(network, network.scores(rows.X)), rows


def predict_left_out(network: Model, samples: Samples, node: NodeId) -> Predicted:
    """Yield what members predict for the training samples of a node that they left out.

    Samples that no member left out are not among them.
    """
    assert isinstance(network, Ensemble)
    for rows in samples.chunks(CHUNK):
        scores = network.validation_scores(rows.X, node=node)
        left_out = np.isfinite(scores[0])
        yield _prediction(network, scores[:, left_out]), some_of(rows, left_out)


def some_of(rows: Rows, which: NDArray[np.bool_]) -> Rows:
    """Return the samples where a mask (c,) says so."""
    weights = None if rows.weights is None else rows.weights[which]
    return Rows(rows.X[:, which], rows.T[:, which], weights)


def scores_on(measure: Measure, predicted: Iterable[tuple[Array, Rows]]) -> Scores:
    """Return how good predictions are."""
    tally = Tally(measure)
    for prediction, rows in predicted:
        tally.add(prediction, rows.T, rows.weights)
    return tally.scores()


def _prediction(network: Model, scores: Array) -> Array:
    return scores if network.plan.is_regression else network.probabilities(scores)
