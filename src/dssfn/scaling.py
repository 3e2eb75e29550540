"""Mean and deviation of every feature, agreed on over the network."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from dssfn._typing import Array
from dssfn.network import SUMMATION_ERROR
from dssfn.programs import Message, Program


def agree_scaling(
    inputs: Callable[[], Iterable[Array]], n_samples: int
) -> Program[tuple[Array, Array]]:
    """Agree on mean and standard deviation of every feature over the network.

    Two passes, so that a large mean does not drown a small deviation. The third average
    makes the nodes' results equal to rounding, which two averages that are only as
    accurate as asked for do not: scaled differently on every node, data of low rank
    would gain directions that they do not have.

    Parameters
    ----------
    inputs : callable
        Returns the samples, (P, c) at a time.
    n_samples : int
        The number of this node's samples, J.
    """
    total = sum((X.sum(axis=1) for X in inputs()), np.zeros(()))
    sums = yield Message.of(np.concatenate([[n_samples], total]))
    rough = sums[1:] / sums[0]
    mine = sum((_moments(X - rough[:, None]) for X in inputs()), np.zeros(()))
    moments = yield Message.of(mine)
    rest, squares = np.split(moments / sums[0], 2)
    shift = rough + rest
    scale = np.sqrt(np.maximum(squares - rest**2, 0.0))
    # Samples and their number are averaged with the same weights, so the mean of a
    # feature that is constant on all nodes is exact, however rough the averages.
    constant = scale <= SUMMATION_ERROR * np.abs(shift)
    scaling = np.concatenate([shift, np.where(constant, 1.0, scale)])
    agreed = yield Message.of(scaling)
    return agreed[: len(shift)], agreed[len(shift) :]


def _moments(D: Array) -> Array:
    return np.concatenate([D.sum(axis=1), (D**2).sum(axis=1)])
