"""The features of one layer of one member.

How this works. Members grow their scores layer by layer: S_l = S_{l-1} + O_l F_l. The
features F of a layer are a constant, the scores so far on both sides of their mean, as
relu(S - c) and relu(c - S), and random units relu(R a). So O = 0 keeps the layer before
("lossless flow"), and a ridge pulls towards it.

The input a of the units is made of the features before, standardised, and a constant;
it is scaled to length 1 before R. So a unit does not depend on how many others there
are, and a wider layer has the units of the narrower one, and new ones.
"""

from __future__ import annotations

import math

import numpy as np

from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.network import standardise

CONSTANT = 1  # rows of a layer's features before the scores and the units


def n_features_of(layer: int, n_inputs: int, n_outputs: int, width: int) -> int:
    """Return the number of rows of F: the constant and inputs, scores or units.

    >>> n_features_of(0, 4, 2, 100), n_features_of(1, 4, 2, 100)
    (5, 105)
    """
    return CONSTANT + (n_inputs if layer == 0 else 2 * n_outputs + width)


def scaled_inputs(plan: Plan, X: Array, shift: Array, scale: Array) -> Array:
    """Return the inputs V of the plan: standardised, or as they are."""
    return standardise(X, shift, scale) if plan.standardize else X


def linear_features(V: Array) -> Array:
    """Return the features of layer 0: a constant and the scaled inputs V (P, J)."""
    F: Array = np.empty((CONSTANT + len(V), V.shape[1]))
    F[:CONSTANT] = 1.0
    F[CONSTANT:] = V
    return F


def hidden_features(S: Array, centre: Array, R: Array, A: Array, gain: float) -> Array:
    """Return the features of a hidden layer, of shape (1 + 2Q + width, J).

    Parameters
    ----------
    S : array of shape (Q, J)
        The scores so far.
    centre : array of shape (Q,)
        Their mean over the member's training samples.
    R : array of shape (width, n)
        The random matrix, uniform on [-1, 1].
    A : array of shape (n, J)
        The inputs of the units, columns of length 1.
    gain : float
        Root mean square of a unit before the ReLU.
    """
    Q, J = S.shape
    F: Array = np.empty((CONSTANT + 2 * Q + len(R), J))
    F[:CONSTANT] = 1.0
    deviation = S - centre[:, None]
    F[CONSTANT : CONSTANT + Q] = deviation
    np.negative(deviation, out=F[CONSTANT + Q : CONSTANT + 2 * Q])
    units = F[CONSTANT + 2 * Q :]
    np.matmul(R, A, out=units)
    units *= math.sqrt(3) * gain  # a uniform number on [-1, 1] has a variance of 1/3
    np.maximum(F, 0.0, out=F)
    return F


def unit_length(values: Array, bias: float) -> Array:
    """Return columns of length 1, made of the values and a constant.

    A column of zeros stays zero.
    """
    A: Array = np.empty((len(values) + 1, values.shape[1]))
    A[:-1] = values
    A[-1] = bias
    norms = np.sqrt(np.einsum("ij,ij->j", A, A))
    norms[norms == 0] = 1.0
    A /= norms
    return A


def next_inputs(
    F: Array, S: Array, mean: Array, deviation: Array, bias: float
) -> Array:
    """Return the inputs of the next layer's units: units and scores, standardised.

    Parameters
    ----------
    F : array of shape (1 + 2Q + width, J)
        The features of this layer.
    S : array of shape (Q, J)
        The scores after this layer.
    mean, deviation : arrays of shape (width + Q,)
        Of the units and the scores, over the member's training samples.
    bias : float
        The constant beside them.
    """
    Q = len(S)
    values = np.vstack([F[CONSTANT + 2 * Q :], S])
    values -= mean[:, None]
    values /= deviation[:, None]
    return unit_length(values, bias)
