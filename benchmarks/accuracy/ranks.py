"""Ranks of models over data sets, and when two of them differ.

They follow J. Demsar, "Statistical Comparisons of Classifiers over Multiple Data Sets"
(JMLR 7, 2006).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range

LEVEL = 0.05  # of the critical difference


def mean_ranks(scores: ArrayLike) -> NDArray[np.float64]:
    """Return the mean rank of every model: 1 is the best, equal scores share ranks.

    Parameters
    ----------
    scores : array of shape (sets, models)
        Larger is better.

    Examples
    --------
    >>> mean_ranks([[0.9, 0.8, 0.7], [0.6, 0.6, 0.5]]).tolist()
    [1.25, 1.75, 3.0]
    """
    # The last bits of a mean over splits depend on nothing that matters.
    rounded = np.round(np.asarray(scores, dtype=float), 12)
    ranks: NDArray[np.float64] = rankdata(-rounded, axis=1).mean(axis=0)
    return ranks


def chance(scores: ArrayLike) -> float:
    """Return the p-value of Friedman's test that all models are equally good.

    Parameters
    ----------
    scores : array of shape (sets, models)
        At least three models.
    """
    return float(friedmanchisquare(*np.asarray(scores, dtype=float).T).pvalue)


def critical_difference(n_models: int, n_sets: int) -> float:
    """Return Nemenyi's critical difference of mean ranks, at 0.05.

    >>> round(critical_difference(5, 30), 2)
    1.11
    """
    q = studentized_range.ppf(1 - LEVEL, n_models, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_models * (n_models + 1) / (6 * n_sets)))


def alike(ranks: Sequence[float], difference: float) -> list[tuple[float, float]]:
    """Return the largest groups of ranks that lie within a critical difference.

    Every group is given by its first and its last rank; a rank that is alone is none.

    >>> alike([1.0, 1.8, 2.5, 4.0], 1.0)
    [(1.0, 1.8), (1.8, 2.5)]
    """
    ordered = sorted(ranks)
    groups: list[tuple[float, float]] = []
    for first in ordered:
        last = max(rank for rank in ordered if rank - first <= difference)
        if last > max([first, *(end for _, end in groups)]):
            groups.append((first, last))
    return groups
