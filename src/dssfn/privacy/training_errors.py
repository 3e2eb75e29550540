"""How well a model does on training samples, of which one row changes little.

A row adds its squared error, of at most two, and one if its class was found; both are
whole numbers of 1/1024.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from dssfn._typing import Array, Integers
from dssfn.privacy.moments import ONE
from dssfn.shard import Rows

MOST = 2.0  # squared error of a row, which counts by half


def errors_of(chunks: Iterable[Rows], scores_of: Callable[[Array], Array]) -> Integers:
    """Return the sums over one node's samples: squared errors, and right answers."""
    sums = np.zeros(2, dtype=np.int64)
    for X, T, _ in chunks:
        S = scores_of(X)
        squares = np.minimum(np.sum((T - S) ** 2, axis=0), MOST)
        sums[0] += int(np.rint(squares * (ONE / MOST)).sum())
        sums[1] += ONE * int(np.sum(S.argmax(axis=0) == T.argmax(axis=0)))
    return sums


def errors_change() -> int:
    """Return the square of the largest change that one row can make to the sums."""
    return 2 * ONE * ONE


def read_errors(totals: Integers, n_samples: float) -> Array:
    """Return squared error and right answers of noisy totals, as far as they can be."""
    found = np.array([MOST, 1.0]) * totals / ONE
    return np.clip(found, 0.0, n_samples * np.array([MOST, 1.0]))
