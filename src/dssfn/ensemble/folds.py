"""Folds: which member validates on a sample.

The fold of a sample follows from its content, so that it does not depend on who holds
the sample or where, and equal samples share a fold. With ``folds = "nodes"`` all
samples of a node share one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, NodeId
from dssfn.config import Plan

Folds = NDArray[np.intp]


def fold_rule(plan: Plan, node: NodeId) -> Callable[[Array], Folds]:
    """Return what gives the folds of a node's samples X (P, J).

    A member leaves out the fold of its number; other folds are left out by nobody. The
    plan must have its members as a number.
    """
    if plan.members == 1:
        return partial(_one_fold, fold=1)
    if plan.folds == "nodes":
        return partial(_one_fold, fold=node % plan.most_members)
    return partial(folds_of, n_folds=plan.n_folds, seed=plan.seed)


def _one_fold(X: Array, fold: int) -> Folds:
    return np.full(X.shape[1], fold, dtype=np.intp)


def folds_of(X: Array, n_folds: int, seed: int) -> Folds:
    """Return the fold of every column of X (P, J), by a hash of its numbers.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 1.0], [0.0, 5.0, -0.0]])
    >>> folds = folds_of(X, 5, seed=0)
    >>> bool(folds[0] == folds[2])
    True
    """
    # Adding zero makes -0.0 the 0.0 that it is equal to.
    words = np.ascontiguousarray(X + 0.0, dtype="<f8").view("<u8")
    # Numbers such as 1.0 or 0.5 differ in their high bits only.
    words = words ^ (words >> np.uint64(32))
    stream = np.random.Philox(key=np.array([seed, _FOLDS], dtype=np.uint64))
    factors = stream.random_raw(len(X)).astype("<u8") | np.uint64(1)
    total = np.zeros(X.shape[1], dtype="<u8")
    for row, factor in zip(words, factors, strict=True):
        total += _mixed(row + factor) * factor
    return (_mixed(total) % np.uint64(n_folds)).astype(np.intp)


_FOLDS = 2**64 - 1  # a key of the random stream that no layer has


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return words whose bits all depend on all bits of the given ones (SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
