"""The network of the same size, all of it learned by gradient descent.

Y_{l+1} = relu(W_{l+1} Y_l) for L layers of n units, scores O Y_L, and the paper's
squared error. Nodes average their gradients and all make the same step, so that the
training equals centralised gradient descent. All numbers of a network are kept in one
vector: the message is the gradient and, behind it, the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from dssfn._typing import Array
from dssfn.programs import Message, Program

COLUMNS = 1024  # samples in a pass: long enough for BLAS, short for memory

Step = Callable[[Array], Array]
"""From an agreed gradient to the change of the weights."""

Samples = tuple[Array, Array]
"""Y_0 of shape (P, J) and T of shape (Q, J)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a network.

    Parameters
    ----------
    n_inputs, n_units, n_layers, n_outputs : int
        Rows of Y_0; n; L; Q.

    Examples
    --------
    >>> Shape(n_inputs=3, n_units=5, n_layers=2, n_outputs=2).size
    50
    """

    n_inputs: int
    n_units: int
    n_layers: int
    n_outputs: int

    @property
    def matrices(self) -> list[tuple[int, int]]:
        """The shapes of W_1, .., W_L and O."""
        widths = [self.n_inputs, *[self.n_units] * self.n_layers, self.n_outputs]
        return [(rows, columns) for columns, rows in pairwise(widths)]

    @property
    def size(self) -> int:
        """The number of weights that are learned: the numbers of one gradient."""
        return sum(rows * columns for rows, columns in self.matrices)

    def views(self, weights: Array) -> list[Array]:
        """Return W_1, .., W_L and O, which share the memory of the vector."""
        ends = np.cumsum([rows * columns for rows, columns in self.matrices])
        parts = np.split(weights, ends[:-1])
        return [A.reshape(s) for A, s in zip(parts, self.matrices, strict=True)]

    def initial(self, seed: int, precision: str = "float64") -> Array:
        """Return He's weights, which keep the size of the features over the layers.

        The output matrix starts smaller, so that the first scores are near zero.
        """
        rng = np.random.default_rng(seed)
        weights: Array = np.empty(self.size, dtype=precision)
        *hidden, O = self.views(weights)
        for W in hidden:
            W[:] = rng.normal(scale=np.sqrt(2 / W.shape[1]), size=W.shape)
        O[:] = rng.normal(scale=0.1 / np.sqrt(O.shape[1]), size=O.shape)
        return weights


def cost_and_gradient(shape: Shape, weights: Array, Y: Array, T: Array) -> Array:
    """Return the gradient of ||T - O Y_L||_F^2, and the cost as the last number.

    Parameters
    ----------
    shape : Shape
        The sizes of the network.
    weights : array of shape (size,)
        All weights in one vector.
    Y : array of shape (P, J)
        The inputs, Y_0.
    T : array of shape (Q, J)
        The targets.

    Returns
    -------
    array of shape (size + 1,)
    """
    total: Array = np.zeros(shape.size + 1, dtype=weights.dtype)
    matrices, gradients = shape.views(weights), shape.views(total[:-1])
    for start in range(0, Y.shape[1], COLUMNS):
        columns = slice(start, start + COLUMNS)
        total[-1] += _add_gradients(matrices, gradients, Y[:, columns], T[:, columns])
    return total


def _add_gradients(
    matrices: list[Array], gradients: list[Array], Y: Array, T: Array
) -> float:
    features = [Y]  # Y_0, .., Y_L
    for W in matrices[:-1]:
        grown = W @ features[-1]
        features.append(np.maximum(grown, 0.0, out=grown))
    error = matrices[-1] @ features[-1] - T
    cost = float(np.vdot(error, error))
    error *= 2
    for W, G, Y_l in zip(
        reversed(matrices), reversed(gradients), reversed(features), strict=True
    ):
        G += error @ Y_l.T
        if Y_l is not Y:
            error = W.T @ error
            error *= Y_l > 0
    return cost


@dataclass(slots=True)
class Adam:
    """Adam's step, with its usual constants.

    Examples
    --------
    >>> Adam(0.1)(np.array([4.0, -2.0])).round(3).tolist()
    [-0.1, 0.1]
    """

    rate: float
    _count: int = 0
    _mean: Any = 0.0
    _square: Any = 0.0

    def __call__(self, gradient: Array) -> Array:
        """Return the change of the weights."""
        self._count += 1
        self._mean = 0.9 * self._mean + 0.1 * gradient
        self._square = 0.999 * self._square + 0.001 * gradient**2
        size = np.sqrt(self._square / (1 - 0.999**self._count))
        size += 1e-8
        change: Array = self._mean / size
        change *= -self.rate / (1 - 0.9**self._count)
        return change


@dataclass(slots=True)
class Momentum:
    """Nesterov's step; with `kept` 0, plain gradient descent.

    Examples
    --------
    >>> Momentum(0.1, kept=0.0)(np.array([4.0])).tolist()
    [-0.4]
    """

    rate: float
    kept: float = 0.9
    _velocity: Any = field(default=0.0)

    def __call__(self, gradient: Array) -> Array:
        """Return the change of the weights."""
        self._velocity = self.kept * self._velocity - self.rate * gradient
        change: Array = self.kept * self._velocity - self.rate * gradient
        return change


def descend(
    shape: Shape,
    weights: Array,
    step: Step,
    samples: Samples,
    *,
    mean_samples: float,
    n_iter: int,
) -> Program[Array]:
    """Run one node's gradient descent; yield what must be averaged, return weights.

    The cost rides along with every gradient and goes alone after the last step.

    Parameters
    ----------
    shape : Shape
        The sizes of the network.
    weights : array of shape (size,)
        Where to start, the same on all nodes.
    step : callable
        Maps a gradient to a change; the same on all nodes, with a state on each.
    samples : Y of shape (P, J), T of shape (Q, J)
        This node's samples.
    mean_samples : float
        Samples per node over the whole network: the descent is on the mean error.
    n_iter : int
        The number of steps, I.
    """
    weights = weights.copy()
    for _ in range(n_iter):
        mean = yield Message.of(cost_and_gradient(shape, weights, *samples))
        weights += step(mean[:-1] / mean_samples)
    yield Message.of(cost_and_gradient(shape, weights, *samples)[-1:])
    return weights


def centralised_costs(
    shape: Shape, weights: Array, step: Step, samples: Samples, n_iter: int
) -> Iterator[float]:
    """Yield the cost after 0, 1, .., n_iter steps of centralised descent.

    A cost is not finite once the steps were too large.
    """
    weights, n_samples = weights.copy(), samples[0].shape[1]
    for _ in range(n_iter + 1):
        with np.errstate(all="ignore"):
            values = cost_and_gradient(shape, weights, *samples)
            yield float(values[-1])
            weights += step(values[:-1] / n_samples)
