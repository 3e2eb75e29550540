"""scikit-learn's multi-layer perceptrons on the nodes, and averages of them.

Two ways that people use instead of dSSFN. Federated averaging: every node trains for
some epochs, then all take the mean of their weights, each counted by its samples.
Decentralised SGD: after one or a few minibatches a node mixes its weights with its
neighbours'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neural_network import MLPClassifier

from dssfn._typing import Array
from dssfn.consensus import Averaging
from dssfn.errors import NumericalError
from dssfn.hosting import Traffic

BATCH = 32  # samples of a minibatch, as far as a node has them

Labelled = tuple[Array, NDArray[np.intp]]
"""Samples in rows, standardised, and their class numbers."""


def flat(model: Any) -> Array:
    """Return all weights of a perceptron in one vector."""
    return np.concatenate([A.ravel() for A in (*model.coefs_, *model.intercepts_)])


def set_flat(model: Any, weights: Array) -> None:
    """Give a perceptron other weights, in the order of `flat`."""
    arrays = (*model.coefs_, *model.intercepts_)
    parts = np.split(weights, np.cumsum([A.size for A in arrays])[:-1])
    for A, part in zip(arrays, parts, strict=True):
        A[:] = part.reshape(A.shape)


@dataclass(frozen=True, slots=True)
class Local:
    """The settings of a node that trains its perceptron.

    Parameters
    ----------
    hidden : int
        Units of the one hidden layer.
    rate, momentum : float
        Step size and momentum of SGD.
    epochs : int
        Passes over the node's samples before an average.
    steps : int
        Minibatches before a mixing.
    """

    hidden: int
    rate: float
    momentum: float = 0.0
    epochs: int = 1
    steps: int = 1


class Learners:
    """One perceptron per node, all with the same first weights.

    Parameters
    ----------
    samples : sequence of (X, y)
        The samples of each node; a node may lack a class.
    n_classes : int
        The number of classes, Q.
    local : Local
        How each node trains.
    seed : int
        Key of the first weights and of the minibatches.

    Examples
    --------
    >>> X, y = np.eye(4), np.arange(4)
    >>> nodes = Learners([(X[:2], y[:2]), (X[2:], y[2:])], 4, Local(3, 0.1), seed=0)
    >>> weights = nodes.weights()
    >>> weights.shape, bool((weights[0] == weights[1]).all())
    ((2, 31), True)
    """

    def __init__(
        self, samples: Sequence[Labelled], n_classes: int, local: Local, *, seed: int
    ) -> None:
        self.samples, self.local = samples, local
        classes = np.arange(n_classes)
        seeds = np.random.SeedSequence(seed).generate_state(len(samples) + 1)
        self._rngs = [np.random.default_rng(s) for s in seeds[1:]]
        # The weights are made in a first call, which also trains: hence the tiny rate.
        first = _perceptron(local.hidden, 1e-12, 0.0, BATCH, int(seeds[0]))
        X, y = samples[0]
        first.set_params(batch_size=1).partial_fit(X[:1], y[:1], classes=classes)
        self.models = []
        for (X, y), s in zip(samples, seeds[1:], strict=True):
            size = min(BATCH, len(y))
            model = _perceptron(local.hidden, local.rate, local.momentum, size, int(s))
            model.partial_fit(X[:size], y[:size], classes=classes)
            set_flat(model, flat(first))
            for velocity in model._optimizer.velocities:  # of that first step
                velocity[:] = 0
            self.models.append(model)
        self._batches = [self._endless(node) for node in range(len(samples))]

    def weights(self) -> Array:
        """Return every node's weights, (M, size)."""
        return np.stack([flat(model) for model in self.models])

    def set_weights(self, weights: Array) -> None:
        """Give every node its own weights."""
        for node, model in enumerate(self.models):
            set_flat(model, weights[node])

    def train_epochs(self) -> None:
        """Train every node on all its samples."""
        for model, (X, y) in zip(self.models, self.samples, strict=True):
            # One call with all epochs: its checks take longer than its minibatches.
            rows = np.tile(np.arange(len(y)), self.local.epochs)
            _train(model, X[rows], y[rows])

    def train_steps(self) -> None:
        """Train every node on a few minibatches."""
        for model, batches in zip(self.models, self._batches, strict=True):
            _train(model, *next(batches))

    def accuracies(self, X: Array, y: NDArray[np.intp]) -> list[float]:
        """Return every node's share of right answers; one if all weights are equal."""
        models = self.models[:1] if self.are_equal() else self.models
        return [float(np.mean(model.predict(X) == y)) for model in models]

    def accuracy_of_mean(self, X: Array, y: NDArray[np.intp]) -> float:
        """Return the share of right answers with the mean of all nodes' weights."""
        weights, model = self.weights(), self.models[0]
        set_flat(model, weights.mean(axis=0))
        right = model.predict(X) == y
        set_flat(model, weights[0])
        return float(np.mean(right))

    def are_equal(self) -> bool:
        """Return whether all nodes have the same weights, to the last bit."""
        weights = self.weights()
        return bool((weights == weights[0]).all())

    def _endless(self, node: int) -> Iterator[Labelled]:
        X, y = self.samples[node]
        size = min(BATCH, len(y)) * self.local.steps
        rows = np.empty(0, dtype=np.intp)
        while True:
            while len(rows) < size:
                rows = np.concatenate([rows, self._rngs[node].permutation(len(y))])
            yield X[rows[:size]], y[rows[:size]]
            rows = rows[size:]


def _train(model: Any, X: Array, y: NDArray[np.intp]) -> None:
    try:
        model.partial_fit(X, y)
    except ValueError as exc:
        if "non-finite" not in str(exc):
            raise
        raise NumericalError(
            f"A perceptron diverged. Lower `rate` from {model.learning_rate_init:g}."
        ) from exc


def _perceptron(
    hidden: int, rate: float, momentum: float, batch: int, seed: int
) -> Any:
    return MLPClassifier(
        hidden_layer_sizes=(hidden,),
        solver="sgd",
        learning_rate_init=rate,
        momentum=momentum,
        batch_size=batch,
        random_state=seed,
    )


Method = Callable[[Learners, Averaging, Traffic, int], None]
"""Trains on all nodes for a while, then averages their weights once."""


def federated_round(
    nodes: Learners, averaging: Averaging, traffic: Traffic, step: int
) -> None:
    """Train for local epochs, then take the mean of all weights, by samples."""
    nodes.train_epochs()
    counts = np.array([len(y) for _, y in nodes.samples], dtype=float)
    # Nodes know the mean of the counts since they agreed on the scaling.
    shares = counts / counts.mean()
    weights = shares[:, None] * nodes.weights()
    traffic.add(averaging, weights.shape[1])
    nodes.set_weights(averaging.mix(weights, step))


def mixed_step(
    nodes: Learners, averaging: Averaging, traffic: Traffic, step: int
) -> None:
    """Train on some minibatches, then mix once with the neighbours."""
    nodes.train_steps()
    weights = nodes.weights()
    traffic.add(averaging, weights.shape[1])
    nodes.set_weights(averaging.mix(weights, step))
