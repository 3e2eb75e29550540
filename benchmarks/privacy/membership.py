"""Was this row among the training rows? Attacks that try to tell, and how well they do.

How this works. Many models are trained, each on a random half of some candidate rows.
Each model in turn is attacked with the help of all others, for which the attacker knows
who was in (Carlini et al. 2022, the likelihood-ratio attack): what the model says of a
candidate is compared with what models say that have seen it, and with what models say
that have not. What a model says of a candidate may be one number or several; the first
one is larger for rows that were learned.

A user gives a function that trains on some of the candidates and says something of each
of them; it may train a network, a noisy one, or return what totals tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.errors import DataError

Flags: TypeAlias = NDArray[np.bool_]
Train: TypeAlias = Callable[[NDArray[np.intp]], Array]
"""Trains on candidates of these numbers; says something of all, (n,) or (n, d)."""

LEAST_MODELS = 8
PRIOR = 8.0  # models that the spread over all candidates counts for, beside one's own
LEAST_SPREAD = 1e-9  # of what never varies
N_RESAMPLES = 200


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """What N models say of n candidates.

    Parameters
    ----------
    said : array of shape (N, n, d)
        What every model says of every candidate.
    is_member : bool array of shape (N, n)
        Whether the candidate was among the rows that the model was trained on.
    """

    said: Array
    is_member: Flags


def train_models(train: Train, n_candidates: int, n_models: int, seed: int) -> Trials:
    """Train models, for each of which a coin decides whether a candidate is in.

    Parameters
    ----------
    train : callable
        Receives the numbers of the candidates to train on, and returns what the model
        says of all candidates.
    n_candidates, n_models : int
        How many candidates and models there are.
    seed : int
        The coins follow from it.

    Examples
    --------
    A model that remembers its rows:

    >>> def remember(rows):
    ...     return np.isin(np.arange(50), rows).astype(float)
    >>> trials = train_models(remember, 50, 16, seed=0)
    >>> measure(likelihood_ratio(trials), trials.is_member, seed=0).auc
    1.0
    """
    if n_models < LEAST_MODELS:
        raise DataError(
            f"`n_models` must be at least {LEAST_MODELS}, as each is compared with the "
            f"others, got {n_models}."
        )
    coins = np.random.default_rng(seed)
    is_member = coins.random((n_models, n_candidates)) < 0.5
    said = [np.asarray(train(np.flatnonzero(one)), dtype=float) for one in is_member]
    return Trials(np.stack(said).reshape(n_models, n_candidates, -1), is_member)


class _Spread(NamedTuple):
    """What other models say, by attacked model and candidate."""

    n: Array  # (N, n)
    mean: Array  # (N, n, d)
    covariance: Array  # (N, n, d, d)


def _spread(trials: Trials, counted: Flags) -> _Spread:
    """Return the spread over the counted trials of all models but the attacked one."""
    w = counted.astype(float)
    phi = trials.said - trials.said.mean(axis=(0, 1))  # less to round off
    squares = np.einsum("Ncd,Nce->Ncde", phi, phi) * w[..., None, None]
    firsts = phi * w[..., None]
    n = w.sum(axis=0) - w
    mean = (firsts.sum(axis=0) - firsts) / np.maximum(n, 1)[..., None]
    scatter = squares.sum(axis=0) - squares
    scatter -= n[..., None, None] * np.einsum("Ncd,Nce->Ncde", mean, mean)
    freedom = np.maximum(n - 1, 0)
    common = scatter.sum(axis=1) / np.maximum(freedom.sum(axis=1), 1)[:, None, None]
    d = phi.shape[2]
    common = common + LEAST_SPREAD * (1 + np.trace(common, axis1=1, axis2=2) / d)[
        :, None, None
    ] * np.eye(d)
    covariance = (scatter + PRIOR * common[:, None]) / (freedom + PRIOR)[
        ..., None, None
    ]
    covariance *= (1 + 1 / np.maximum(n, 1))[..., None, None]  # the mean is a guess too
    return _Spread(n, mean + trials.said.mean(axis=(0, 1)), covariance)


def _log_density(said: Array, spread: _Spread) -> Array:
    D = (said - spread.mean)[..., None]
    distance = (D * np.linalg.solve(spread.covariance, D)).sum(axis=(-2, -1))
    _, log_volume = np.linalg.slogdet(spread.covariance)
    density: Array = -(distance + log_volume) / 2
    return density


def likelihood_ratio(trials: Trials) -> Array:
    """Return how much likelier a model has seen a candidate than not, (N, n), as logs.

    What other models say is taken as normally distributed, by candidate. A candidate
    that all others have seen, or none of them, scores zero.
    """
    seen = _spread(trials, trials.is_member)
    unseen = _spread(trials, ~trials.is_member)
    found = _log_density(trials.said, seen) - _log_density(trials.said, unseen)
    scores: Array = np.where((seen.n > 0) & (unseen.n > 0), found, 0.0)
    return scores


def offline_ratio(trials: Trials) -> Array:
    """Return how far what is said of a candidate is above what others say, (N, n).

    For an attacker without models that have seen the candidate, in deviations of what
    the models say that have not.
    """
    first = Trials(trials.said[..., :1], trials.is_member)
    unseen = _spread(first, ~trials.is_member)
    deviations = np.sqrt(unseen.covariance[..., 0, 0])
    found = (first.said - unseen.mean)[..., 0] / deviations
    scores: Array = np.where(unseen.n > 0, found, 0.0)
    return scores


def threshold(trials: Trials) -> Array:
    """Return what is said of a candidate as it is, (N, n): one threshold for all."""
    first: Array = trials.said[..., 0]
    return first


ATTACKS: Mapping[str, Callable[[Trials], Array]] = MappingProxyType(
    {
        "likelihood ratio": likelihood_ratio,
        "likelihood ratio, offline": offline_ratio,
        "threshold": threshold,
    }
)


def attack(
    train: Train, n_candidates: int, n_models: int, seed: int
) -> tuple[Array, Flags]:
    """Attack models with the likelihood ratio, and return scores and the truth.

    Parameters are those of `train_models`.

    Returns
    -------
    scores, is_member : arrays of shape (n_models, n_candidates)
        The larger a score, the more likely the candidate was a member.
    """
    trials = train_models(train, n_candidates, n_models, seed)
    return likelihood_ratio(trials), trials.is_member


class Measured(NamedTuple):
    """How well members were told from others; intervals hold 95 of 100 resamples.

    Parameters
    ----------
    n_trials : int
        The pairs of a model and a candidate.
    auc : float
        How often a member scores higher than another; 0.5 by guessing.
    auc_interval : tuple of float
        Its interval.
    tpr : float
        The share of members that are found when one in a hundred others is taken for
        one; 0.01 by guessing.
    tpr_interval : tuple of float
        Its interval.
    accuracy : float
        The mean share of members and of others that are told right, by a threshold that
        was chosen on every second model and judged on the rest; 0.5 by guessing.
    """

    n_trials: int
    auc: float
    auc_interval: tuple[float, float]
    tpr: float
    tpr_interval: tuple[float, float]
    accuracy: float


def measure(
    scores: Array, is_member: Flags, seed: int, *, false_positives: float = 0.01
) -> Measured:
    """Return how well scores (N, n) tell members from others.

    Trials of one model are not independent, nor are those of one candidate, so that
    both models and candidates are drawn again for the intervals.
    """
    ordered = _Ordered(scores, is_member)
    rng = np.random.default_rng(seed)
    N, n = scores.shape
    drawn = []
    for _ in range(N_RESAMPLES):
        models = np.bincount(rng.integers(N, size=N), minlength=N)
        candidates = np.bincount(rng.integers(n, size=n), minlength=n)
        weights: Array = np.outer(models, candidates).astype(float)
        drawn.append(ordered.rates(weights, false_positives))
    (low, tpr_low), (high, tpr_high) = np.percentile(drawn, [2.5, 97.5], axis=0)
    auc, tpr = ordered.rates(np.ones((N, n)), false_positives)
    return Measured(
        n_trials=scores.size,
        auc=auc,
        auc_interval=(float(low), float(high)),
        tpr=tpr,
        tpr_interval=(float(tpr_low), float(tpr_high)),
        accuracy=_judged_accuracy(scores, is_member),
    )


class _Ordered:
    """Trials from the highest score down, equal scores together."""

    def __init__(self, scores: Array, is_member: Flags) -> None:
        self._order = np.argsort(-scores, axis=None, kind="stable")
        values = scores.ravel()[self._order]
        self._member = is_member.ravel()[self._order]
        self._ends = np.flatnonzero(np.append(values[1:] != values[:-1], True))

    def rates(self, weights: Array, false_positives: float) -> tuple[float, float]:
        """Return the AUC, and the true positives at a rate of false ones."""
        tpr, fpr = self.curve(weights)
        auc = float(np.trapezoid(tpr, fpr))
        # The last threshold that keeps to the rate: nothing in between is interpolated.
        return auc, float(tpr[np.searchsorted(fpr, false_positives, side="right") - 1])

    def curve(self, weights: Array) -> tuple[Array, Array]:
        """Return rates of true and false positives, by threshold."""
        w = weights.ravel()[self._order]
        rates = []
        for counted in (self._member, ~self._member):
            total = np.append(0.0, np.cumsum(w * counted)[self._ends])
            rates.append(total / max(total[-1], 1.0))
        return rates[0], rates[1]


def _judged_accuracy(scores: Array, is_member: Flags) -> float:
    """Return the balanced accuracy of a threshold that was chosen on other models."""
    chosen, truth = scores[::2], is_member[::2]
    tpr, fpr = _Ordered(chosen, truth).curve(np.ones(chosen.shape))
    values = np.append(np.inf, np.unique(chosen)[::-1])
    at = values[int(np.argmax(tpr - fpr))]
    guess, truth = scores[1::2] >= at, is_member[1::2]
    return float((guess[truth].mean() + (~guess[~truth]).mean()) / 2)
