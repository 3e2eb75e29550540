"""Mean and deviation of every feature, agreed on over the network."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.errors import DataError
from dssfn.network import SUMMATION_ERROR
from dssfn.programs import Message, Program

Weighted: TypeAlias = tuple[Array, Array | None]  # features (P, c) and weights (c,)


class Moments(NamedTuple):
    """The agreed moments of some features.

    Parameters
    ----------
    weight : float
        The mean over the nodes of their samples' weight.
    shift : array of shape (P,)
        The mean of every feature.
    scale : array of shape (P,)
        Its standard deviation; one if it is constant.
    constant : array of shape (P,)
        Whether it is.
    """

    weight: float
    shift: Array
    scale: Array
    constant: NDArray[np.bool_]


def agree_scaling(
    rows: Callable[[], Iterable[Weighted]], weight: float
) -> Program[Moments]:
    """Agree on mean and standard deviation of every feature over the network.

    Two passes, so that a large mean does not drown a small deviation. The third average
    makes the nodes' results equal to rounding, which two averages that are only as
    accurate as asked for do not: scaled differently on every node, data of low rank
    would gain directions that they do not have.

    Parameters
    ----------
    rows : callable
        Returns samples and their weights, (P, c) at a time.
    weight : float
        The sum of this node's weights: without weights, the number of its samples.
    """
    total = sum((_sum(X, weights) for X, weights in rows()), np.zeros(()))
    sums = yield Message.of(np.concatenate([[weight], total]))
    if not sums[0] > 0:
        raise DataError(
            "`sample_weight` must be positive for some samples; it is zero for those "
            "of all nodes."
        )
    rough = sums[1:] / sums[0]
    mine = sum(
        (_moments(X - rough[:, None], weights) for X, weights in rows()), np.zeros(())
    )
    moments = yield Message.of(mine)
    rest, squares = np.split(moments / sums[0], 2)
    shift = rough + rest
    scale = np.sqrt(np.maximum(squares - rest**2, 0.0))
    # Samples and their number are averaged with the same weights, so the mean of a
    # feature that is constant on all nodes is exact, however rough the averages.
    constant = scale <= SUMMATION_ERROR * np.abs(shift)
    scaling = np.concatenate([shift, np.where(constant, 1.0, scale)])
    agreed = yield Message.of(scaling)
    P = len(shift)
    return Moments(float(sums[0]), agreed[:P], agreed[P:], constant)


def _sum(X: Array, weights: Array | None) -> Array:
    total: Array = X.sum(axis=1) if weights is None else X @ weights
    return total


def _moments(D: Array, weights: Array | None) -> Array:
    return np.concatenate([_sum(D, weights), _sum(D**2, weights)])
