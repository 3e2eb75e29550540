"""A lower bound on epsilon, from how well somebody told members from others.

How this works. A training that is (epsilon, delta)-differentially private allows no
test of membership with TPR > exp(epsilon) FPR + delta nor, with the two answers
exchanged, with TNR > exp(epsilon) FNR + delta. So a test that does better than that
shows that epsilon is larger. The test is a threshold on scores. It is chosen on one
half of the trials and judged on the other, where both rates are replaced by their exact
confidence bounds (Clopper and Pearson).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta

from dssfn._typing import Array
from dssfn.errors import DataError

LEAST = 2  # members, and others: one to choose by, one to judge by
N_THRESHOLDS = 1000


def epsilon_lower_bound(
    scores: ArrayLike, is_member: ArrayLike, delta: float, confidence: float = 0.95
) -> float:
    """Return an epsilon that a training exceeds, with this confidence.

    It is zero if the scores show nothing. The confidence holds for trials that are
    independent of each other, as are trainings with one row each that is in or out.

    Parameters
    ----------
    scores : array of shape (n_trials,)
        The larger, the more likely the row was a member.
    is_member : bool array of shape (n_trials,)
        Whether it was.
    delta : float
        The delta of the guarantee that is put to the test.
    confidence : float
        How sure the bound is.

    Examples
    --------
    Answers that are true three times out of four have an epsilon of log 3, 1.099.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(100_000) < 0.5
    >>> answers = truth ^ (rng.random(100_000) < 0.25)
    >>> epsilon = epsilon_lower_bound(answers, truth, delta=0.0)
    >>> bool(1.0 < epsilon < np.log(3))
    True
    """
    found, truth = np.asarray(scores, dtype=float), np.asarray(is_member, dtype=bool)
    _check(found, truth, delta, confidence)
    members, others = found[truth], found[~truth]
    risk = (1 - confidence) / 2  # of each of the two rates
    chosen = [
        _best_threshold(above[::2], below[::2], delta, risk)
        for above, below in ((members, others), (-others, -members))
    ]
    (in_favour, at), (against, below_at) = chosen
    if in_favour >= against:
        judged = _bounds(members[1::2], others[1::2], np.array([at]), delta, risk)
    else:
        judged = _bounds(
            -others[1::2], -members[1::2], np.array([below_at]), delta, risk
        )
    return max(float(judged[0]), 0.0)


def rate_bounds(hits: ArrayLike, n_trials: int, risk: float) -> tuple[Array, Array]:
    """Return the lower and the upper bound of a rate, each wrong with a small risk.

    They are exact for any number of trials (Clopper and Pearson).

    >>> low, high = rate_bounds(0, 10, risk=0.05)
    >>> float(low), round(float(high), 3)  # 1 - 0.05 ** (1 / 10)
    (0.0, 0.259)
    """
    k = np.asarray(hits, dtype=float)
    low = np.where(k > 0, beta.ppf(risk, np.maximum(k, 1), n_trials - k + 1), 0.0)
    missed = np.maximum(n_trials - k, 1)
    high = np.where(k < n_trials, beta.ppf(1 - risk, k + 1, missed), 1.0)
    return low, high


def _best_threshold(
    above: Array, below: Array, delta: float, risk: float
) -> tuple[float, float]:
    """Return the largest bound of some thresholds, and that threshold."""
    thresholds = _thresholds(np.concatenate([above, below]))
    bounds = _bounds(above, below, thresholds, delta, risk)
    best = int(np.argmax(bounds))
    return float(bounds[best]), float(thresholds[best])


def _thresholds(values: Array) -> Array:
    """Return values to try as thresholds, the closer the higher they are."""
    ranks = np.geomspace(1, len(values), N_THRESHOLDS).astype(np.intp)
    some: Array = np.unique(np.sort(values)[-ranks])
    return some


def _bounds(
    above: Array, below: Array, thresholds: Array, delta: float, risk: float
) -> Array:
    """Return the bound on epsilon of every threshold; minus infinity for none."""
    true_low, _ = rate_bounds(_reaching(above, thresholds), len(above), risk)
    _, false_high = rate_bounds(_reaching(below, thresholds), len(below), risk)
    with np.errstate(divide="ignore"):
        found: Array = np.log(np.maximum(true_low - delta, 0.0)) - np.log(false_high)
    return found


def _reaching(values: Array, thresholds: Array) -> NDArray[np.intp]:
    """Return how many of the values reach each threshold."""
    under: NDArray[np.intp] = np.searchsorted(np.sort(values), thresholds, side="left")
    return len(values) - under


def _check(
    scores: Array, truth: NDArray[np.bool_], delta: float, confidence: float
) -> None:
    if scores.ndim != 1 or scores.shape != truth.shape:
        raise DataError(
            "`scores` and `is_member` must be vectors of one length, got shapes "
            f"{scores.shape} and {truth.shape}."
        )
    if np.isnan(scores).any():
        raise DataError("`scores` must be numbers, got NaN.")
    n_members = int(truth.sum())
    if min(n_members, len(truth) - n_members) < LEAST:
        raise DataError(
            f"`is_member` must have at least {LEAST} members and {LEAST} others, got "
            f"{n_members} and {len(truth) - n_members}. Make more trials."
        )
    if not 0 <= delta < 1:
        raise DataError(f"`delta` must lie in 0..1, got {delta!r}.")
    if not 0 < confidence < 1:
        raise DataError(f"`confidence` must lie between 0 and 1, got {confidence!r}.")
