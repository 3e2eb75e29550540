"""Probabilities from scores: softmax(slope * scores), the slope found by validation."""

from __future__ import annotations

from functools import reduce

import numpy as np

from dssfn._typing import Array

# In single precision, since powers and logarithms may differ in the last bit between
# processors.
SLOPES: Array = np.logspace(-0.5, 2.0, 51).astype(np.float32).astype(float)
ENOUGH = 1e-5  # of the loss of the flattest probabilities


def slope_losses(S: Array, T: Array, weights: Array | None) -> Array:
    """Return the log loss of samples with scores S and classes T (Q, J).

    It has one row for each slope and one column for each sample.
    """
    highest = S.max(axis=0)
    behind = highest - (S * T).sum(axis=0)  # the right class, behind the first one
    losses = []
    for slope in SLOPES:
        # numpy's own sum of one sample's powers takes another order than that of many.
        powers = reduce(np.add, np.exp(slope * (S - highest)))
        loss = np.log(powers) + slope * behind
        losses.append(loss if weights is None else loss * weights)
    return np.stack(losses)


def best_slope(losses: Array) -> float:
    """Return the slope of the lowest loss, between the steps of the grid.

    A parabola through the lowest loss and its neighbours gives the place. Where classes
    are so well apart that steeper is always better, it is the first slope that is good
    enough.
    """
    k = int(np.flatnonzero(losses <= losses.min() + ENOUGH * losses[0])[0])
    if not 0 < k < len(losses) - 1 or losses[k + 1] < losses[k]:
        return float(SLOPES[k])
    left, here, right = losses[k - 1 : k + 2]
    bend = left - 2 * here + right
    offset = 0.5 * (left - right) / bend if bend > 0 else 0.0
    step = np.log(SLOPES[1] / SLOPES[0])
    return float(np.float32(SLOPES[k] * np.exp(np.clip(offset, -0.5, 0.5) * step)))


def softmax(scores: Array, slope: float) -> Array:
    """Return probabilities of shape (J, Q) for scores of that shape.

    >>> softmax(np.array([[1.0, 1.0]]), slope=3.0)
    array([[0.5, 0.5]])
    """
    scaled = slope * (scores - scores.max(axis=1, keepdims=True))
    powers = np.exp(scaled)
    probabilities: Array = powers / powers.sum(axis=1, keepdims=True)
    return probabilities
