"""A network that finds its own size, once more: dense arrays, one place, no sums.

Written from the description of the method, to be compared with `dssfn.ensemble`. It
shares with it the constants of the rules, the folds and the random matrices, which have
tests of their own, and nothing else. Samples are columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dssfn.ensemble.choices import (
    FALL,
    PATIENCE,
    RIDGES,
    TIE,
    WIDER,
    members_for,
    widths_for,
)
from dssfn.ensemble.folds import folds_of
from dssfn.network import member_matrix


@dataclass
class Grown:
    """What was found, and the scores of all columns by every member."""

    members: int
    scale: str = ""
    ridges: list[tuple] = field(default_factory=list)  # by layer; afresh or not
    widths: list[int] = field(default_factory=list)  # by hidden layer
    errors: list[float] = field(default_factory=list)  # by layer
    depth: int = 0
    slope: float = 0.0
    scores: np.ndarray | None = None  # (K, Q, J) at the depth that was found
    is_close: bool = False  # whether rounding could have made another choice


def grow(X, T, plan, weights=None, fresh=None):
    """Train on the columns of X; the columns of `fresh` only pass through."""
    J, Q = X.shape[1], len(T)
    w = np.ones(J) if weights is None else weights
    everything = X if fresh is None else np.hstack([X, fresh])
    weight = float(w.sum())
    T, w, targets = _based(T, w, plan)
    K = plan.members if isinstance(plan.members, int) else members_for(weight)
    folds = folds_of(X, max(K, 5), plan.seed)
    trains = [w * (folds != k) for k in range(K)]
    centres = [_mean(T, w_k) for w_k in trains]
    found = Grown(K)

    tracks = {}
    for name, V in _scaled(everything, X, weights, plan).items():
        F = [np.vstack([np.ones(V.shape[1]), V])] * K
        S = [np.zeros((Q, V.shape[1]))] * K
        solved = _solve(0, F, S, T, w, folds, trains, plan, found)
        tracks[name] = (V, *solved)

    def hidden(layer, inputs, S, width):
        F = []
        for k in range(K):
            A = np.vstack([inputs[k], np.full((1, inputs[k].shape[1]), plan.bias)])
            length = np.linalg.norm(A, axis=0)
            A = A / np.where(length > 0, length, 1)
            R = member_matrix(plan.seed, layer, k, width, len(A))
            D = S[k] - centres[k]
            parts = [np.ones((1, A.shape[1])), D, -D, math.sqrt(3) * plan.gain * R @ A]
            F.append(
                np.vstack([parts[0], *(np.maximum(part, 0) for part in parts[1:])])
            )
        return F, _solve(layer, F, S, T, w, folds, trains, plan, found)

    most = plan.n_layers if isinstance(plan.n_layers, int) else 20
    if most == 0:
        name = _pick({name: track[1] for name, track in tracks.items()}, found)
        _, error, S, ridge = tracks[name]
        found.scale, found.errors, found.ridges = name, [error], [ridge]
        return _closed(found, [S], T, w, folds, J, targets, plan)

    given = isinstance(plan.width, int)
    width, *wider = [plan.width] if given else widths_for(weight)
    first = {
        name: hidden(1, [V] * K, S, width) for name, (V, _, S, _) in tracks.items()
    }
    name = _pick({name: solved[0] for name, (_, solved) in first.items()}, found)
    V, error, S0, ridge = tracks[name]
    found.scale, found.errors, found.ridges, stages = name, [error], [ridge], [S0]
    F, (error, S, ridge) = first[name]
    for more in wider:
        F_more, (error_more, S_more, ridge_more) = hidden(1, [V] * K, S0, more)
        found.is_close |= _is_close(error_more, (1 - WIDER) * error)
        if error_more >= (1 - WIDER) * error:
            break
        width, F, error, S, ridge = more, F_more, error_more, S_more, ridge_more
    while True:
        found.errors.append(error)
        found.ridges.append(ridge)
        found.widths.append(width)
        stages.append(S)
        if _is_enough(found, most, plan.n_layers == "auto"):
            return _closed(found, stages, T, w, folds, J, targets, plan)
        inputs = []
        for k in range(K):
            values = np.vstack([F[k][1 + 2 * Q :], S[k]])
            mean = _mean(values[:, :J], trains[k])
            D = values - mean
            deviation = np.sqrt(_mean(D[:, :J] ** 2, trains[k]))
            inputs.append(D / np.where(deviation > 1e-7, deviation, 1))
        F, (error, S, ridge) = hidden(len(stages), inputs, S, width)


def _based(T, w, plan):
    """Targets and weights as they are learned, and how to undo the targets' scale."""
    Q = len(T)
    if plan.targets:
        mean = _mean(T, w)
        deviation = np.sqrt(_mean((T - mean) ** 2, w))
        deviation[deviation <= 1e-12 * np.abs(mean)] = 1
        return (T - mean) / deviation, w, (mean, deviation)
    factors = np.ones(Q)
    if plan.class_weight == "balanced":
        counts = T @ w
        factors = w.sum() / (Q * np.where(counts > 0, counts, w.sum()))
    elif plan.class_weight is not None:
        factors = np.array(plan.class_weight)
    return T, w * (factors @ T), (0.0, 1.0)


def _scaled(everything, X, weights, plan):
    """The inputs, for every scale that is tried; the one that wins a tie comes last."""
    if not plan.standardize:
        return {"columns": everything}
    w = np.ones(X.shape[1]) if weights is None else weights
    mean = _mean(X, w)
    deviation = np.sqrt(_mean((X - mean) ** 2, w))
    constant = deviation <= 1e-12 * np.abs(mean)
    deviation[constant] = 1
    D = everything - mean
    common = np.ones_like(deviation)
    if not constant.all():
        common[~constant[:, 0]] = math.sqrt(np.mean(deviation[~constant] ** 2))
    both = {"common": D / common, "columns": D / deviation}
    return both if plan.scale == "auto" else {plan.scale: both[plan.scale]}


def _solve(layer, F, S, T, w, folds, trains, plan, found):
    """Return the error on validation samples, all scores, and the ridge chosen."""
    tries = [(False, plan.ridge)]
    if plan.ridge == "auto":
        tries = [(False, ridge) for ridge in (*RIDGES, math.inf)]
        if layer > 0:
            tries = [(True, ridge) for ridge in RIDGES] + tries
    J, scores, errors = T.shape[1], [], []
    for afresh, ridge in tries:
        # A layer that starts afresh learns the targets; others, what is left of them.
        start = [np.zeros_like(one) for one in S] if afresh else S
        S_new = [
            start[k] + _ridge(F[k][:, :J], T - start[k][:, :J], trains[k], ridge) @ F[k]
            for k in range(len(F))
        ]
        errors.append(
            sum(
                float((w * (T - S_new[k][:, :J]) ** 2)[:, folds == k].sum())
                for k in range(len(F))
            )
        )
        scores.append(S_new)
    choice = _ties(errors, found)[-1]
    # What is fitted exactly has errors of nothing but rounding.
    found.is_close |= errors[choice] < 1e-14 * float((w * T**2).sum())
    return errors[choice], scores[choice], tries[choice]


def _ridge(F, D, w, ridge):
    """Least squares with weights and a ridge on all but the constant."""
    Q, n = len(D), len(F) - 1
    if not w.any():
        return np.zeros((Q, n + 1))
    rows = w > 0
    F, D, w = F[1:, rows], D[:, rows], w[rows]
    f, d = _mean(F, w), _mean(D, w)
    slopes = np.zeros((Q, n))
    A = (F - f) * np.sqrt(w)
    A[np.linalg.norm(A, axis=1) <= 1e-7 * np.linalg.norm(F * np.sqrt(w), axis=1)] = 0
    if np.isfinite(ridge) and A.any():
        pull = math.sqrt(ridge * np.sum(A**2) / n)
        left = np.vstack([A.T, pull * np.eye(n)])
        right = np.vstack([((D - d) * np.sqrt(w)).T, np.zeros((n, Q))])
        slopes = np.linalg.lstsq(left, right)[0].T
    return np.hstack([d - slopes @ f, slopes])


def _mean(values, w):
    """The weighted mean of every row; zero of no samples."""
    return values @ w[:, None] / (w.sum() or 1.0)


def _ties(errors, found):
    """Which errors are the lowest, up to rounding."""
    lowest = min(errors)
    found.is_close |= any(
        lowest * (1 + TIE / 30) < error < lowest * (1 + 30 * TIE) for error in errors
    )
    return [k for k, error in enumerate(errors) if error <= lowest * (1 + TIE)]


def _pick(errors, found):
    return list(errors)[_ties(list(errors.values()), found)[-1]]


def _is_close(a, b):
    return abs(a - b) <= 1e-6 * max(a, b)


def _is_enough(found, most, is_open):
    errors = found.errors
    if len(errors) > most:
        return True
    if not is_open or len(errors) <= PATIENCE:
        return False
    before, last = min(errors[:-PATIENCE]), min(errors[-PATIENCE:])
    found.is_close |= _is_close(last, (1 - FALL) * before)
    return last >= (1 - FALL) * before


def _closed(found, stages, T, w, folds, J, targets, plan):
    """Take the best depth, its slope, and the scores in the targets' own units."""
    found.depth = len(stages) - 1
    if plan.n_layers == "auto":
        found.depth = _ties(found.errors, found)[0]
    S = stages[found.depth]
    mean, deviation = targets
    found.scores = np.stack([mean + deviation * one for one in S])
    if not plan.targets:
        found.slope = _slope(S, T, w, folds, J)
    return found


def _slope(S, T, w, folds, J):
    """The slope of the lowest log loss on validation samples, by a parabola."""
    grid = np.logspace(-0.5, 2.0, 51)
    losses = np.zeros(51)
    for k, scores in enumerate(S):
        rows = np.flatnonzero(folds == k)
        Z = scores[:, rows]
        behind = Z - (Z * T[:, rows]).sum(axis=0)  # zero for the class itself
        others = np.where(T[:, rows] == 1, -np.inf, behind)
        for number, slope in enumerate(grid):
            odds = np.logaddexp.reduce(slope * others, axis=0)
            losses[number] += w[rows] @ np.logaddexp(0.0, odds)
    k = next(k for k in range(51) if losses[k] <= losses.min() + 1e-5 * losses[0])
    if k in (0, 50) or losses[k + 1] < losses[k]:
        return float(grid[k])
    a, b, c = losses[k - 1 : k + 2]
    place = math.log(grid[k])
    if a - 2 * b + c > 0:
        place += 0.5 * (a - c) / (a - 2 * b + c) * math.log(grid[1] / grid[0])
    return math.exp(place)
