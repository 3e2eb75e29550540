"""A model's predictions for samples, and how good they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, NodeId
from dssfn.ensemble import AgreedScores, Ensemble, measure_of
from dssfn.network import CHUNK
from dssfn.results import NodeScores, ValidationScores
from dssfn.scores import Measure, Scores, Tally, packed, unpacked
from dssfn.shard import Rows, Samples
from dssfn.training import Model


def measure_for(network: Model) -> Measure:
    """Return how the predictions of a model are measured."""
    Q = network.plan.n_outputs
    shift, scale = network.target_shift, network.target_scale
    return measure_of(network.plan, np.resize(shift, Q), np.resize(scale, Q))


def leaves_out(network: Model) -> bool:
    """Return whether there are samples that some member was not trained on."""
    return isinstance(network, Ensemble) and network.n_members > 1


def scores_of(network: Model, X: Array, node: NodeId | None) -> Array:
    """Return scores (Q, J) by members that were not trained on the samples in X (P, J).

    Parameters
    ----------
    network : Model
        The model.
    X : array of shape (P, J)
        The samples.
    node : int, optional
        The node that these are training samples of; those that no member has left out
        get NaN. None for samples that nobody was trained on.
    """
    if node is None:
        return network.scores(X)
    assert isinstance(network, Ensemble)
    return network.validation_scores(X, node=node)


def predictions(network: Model, scores: Array) -> Array:
    """Return what scores mean: probabilities of classes, or numbers as they are."""
    return scores if network.plan.is_regression else network.probabilities(scores)


def some_of(rows: Rows, which: NDArray[np.bool_]) -> Rows:
    """Return the samples where a mask (c,) says so."""
    weights = None if rows.weights is None else rows.weights[which]
    return Rows(rows.X[:, which], rows.T[:, which], weights)


class Tested(NamedTuple):
    """What a network says of the test samples.

    Parameters
    ----------
    predicted, labels : arrays of shape (J,)
        Class numbers: the network's predictions, and the true ones; none of a
        regression.
    correct : array of shape (L + 1,)
        How many predictions would be right after each layer.
    scores : Scores, optional
        How good the predictions are; None without test samples.
    """

    predicted: NDArray[np.intp]
    labels: NDArray[np.intp]
    correct: NDArray[np.intp]
    scores: Scores | None


def predict_test(network: Model, test: Samples | None) -> Tested:
    """Let a network predict the test samples, if there are any."""
    predicted, labels = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    correct = np.zeros(len(network.outputs), dtype=np.intp)
    tally, has_classes = Tally(measure_for(network)), not network.plan.is_regression
    for rows in test.chunks(CHUNK) if test else ():
        network.check_samples(rows.X)
        truth = rows.T.argmax(axis=0)
        for layer, scores in enumerate(network.staged_scores(rows.X)):
            says = scores.argmax(axis=0)
            correct[layer] += np.count_nonzero(says == truth)
        tally.add(predictions(network, scores), rows.T, rows.weights)
        if has_classes:
            predicted.append(says)
            labels.append(truth)
    return Tested(
        np.concatenate(predicted),
        np.concatenate(labels),
        correct,
        tally.scores() if test else None,
    )


def share_of_equal(a: NDArray[np.intp], b: NDArray[np.intp]) -> float | None:
    """Return the share of places where two vectors agree; None if they are empty."""
    return float(np.mean(a == b)) if len(a) else None


def validated(network: Model, samples: Samples, node: NodeId) -> Scores:
    """Return how good a model is on the validation samples of a node."""
    tally = Tally(measure_for(network))
    for rows in samples.chunks(CHUNK):
        scores = scores_of(network, rows.X, node)
        known = np.isfinite(scores[0])
        _, T, weights = some_of(rows, known)
        tally.add(predictions(network, scores[:, known]), T, weights)
    return tally.scores()


def validation_scores(
    agreed: AgreedScores | None, names: Sequence[str]
) -> ValidationScores | None:
    """Return what nodes agreed on about validation samples, with their names."""
    if agreed is None:
        return None
    rows = zip(names, agreed.by_node, strict=True) if agreed.by_node else ()
    nodes = tuple(NodeScores(node=name, scores=scores) for name, scores in rows)
    return ValidationScores(total=agreed.total, nodes=nodes)


def scores_by_node(network: Model, shards: Sequence[Samples]) -> tuple[Scores, ...]:
    """Return how good a model is on the validation samples of every node.

    They are those that nodes publish if the plan says so.
    """
    measure = measure_for(network)
    every = (validated(network, shard, node) for node, shard in enumerate(shards))
    return tuple(unpacked(packed(one, measure), measure) for one in every)
