"""A node's samples as the members see them.

How this works. A chunk of samples has, for every member, its scores so far and the
features of the current layer. Chunks are kept from layer to layer, or made again from
the samples in every pass, where keeping them would take more memory than the node may
use. Members are independent of each other, and several threads take one each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dssfn._rank_update import add_gram
from dssfn._typing import Array
from dssfn.ball import squared_norm
from dssfn.config import Plan
from dssfn.ensemble.folds import Folds
from dssfn.ensemble.units import (
    CONSTANT,
    hidden_features,
    linear_features,
    next_inputs,
    scaled_inputs,
    unit_length,
)
from dssfn.network import member_matrix
from dssfn.problem import pack
from dssfn.shard import Samples

Result = TypeVar("Result")
Counted = Callable[[Array, Array | None], Array | None]

CHUNK = 1024  # columns: enough for dense products, few enough for the cache
TALLY = 6  # numbers that describe the scores of a layer


@dataclass(slots=True)
class _Chunk:
    """Some samples, and what every member has made of them.

    Parameters
    ----------
    T : array of shape (Q, c)
        Targets.
    weights : array of shape (c,), optional
        Weights of the samples.
    counted : array of shape (c,), optional
        The same without those of the classes: what a sample counts in an accuracy.
    folds : array of shape (c,)
        The member that does not train on a sample but validates on it.
    scores : list of arrays of shape (Q, c)
        The scores so far, by member.
    inputs : list of arrays, empty when they are not needed any more
        The inputs of the units of the current layer, by member.
    features : list of arrays of shape (n, c)
        The features of the current layer, by member.
    """

    T: Array
    weights: Array | None
    counted: Array | None
    folds: Folds
    scores: list[Array]
    inputs: list[Array]
    features: list[Array]

    def trains(self, member: int) -> NDArray[np.intp]:
        return np.flatnonzero(self.folds != member)

    def validates(self, member: int) -> NDArray[np.intp]:
        return np.flatnonzero(self.folds == member)


class Track:
    """One node's samples with one scale of the inputs, layer after layer.

    Parameters
    ----------
    samples : Samples
        This node's data.
    plan : Plan
        What all nodes agreed on.
    shift, scale : arrays of shape (P,)
        The inputs are used as (x - shift) / scale.
    n_members : int
        The number of members, K.
    fold_of : callable
        Returns the folds of samples X (P, c).
    counted : callable
        Returns weights without those of the classes, for targets T (Q, c) and weights.
    keep : bool
        Whether chunks are kept in memory.
    n_threads : int
        How many members to work on at once.
    """

    def __init__(
        self,
        samples: Samples,
        plan: Plan,
        shift: Array,
        scale: Array,
        *,
        n_members: int,
        fold_of: Callable[[Array], Folds],
        counted: Counted = lambda T, weights: weights,
        keep: bool = True,
        n_threads: int = 1,
    ) -> None:
        self._samples, self._plan = samples, plan
        self._shift, self._scale = shift, scale
        self._members = range(n_members)
        self._fold_of, self._counted = fold_of, counted
        self._kept: list[_Chunk] | None = None
        self._keep = keep
        self._done: list[Callable[[_Chunk], None]] = []  # what was done to every chunk
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
        self._best: list[Array] = []  # validation scores of the best layer, by chunk

    def close(self) -> None:
        """Free what was kept."""
        if self._pool:
            self._pool.shutdown()
        self._kept, self._best = None, []

    def fill_linear(self, into: Array) -> None:
        """Write the sums of layer 0, by fold: those of all members follow from them."""
        n = CONSTANT + self._plan.n_features
        groups = len(self._members) + 1  # the last is left out by nobody
        parts = into.reshape(groups, -1)
        sums = [_Sums(self._plan.n_outputs, 0, n) for _ in range(groups)]
        for chunk in self._chunks():
            group = np.minimum(chunk.folds, groups - 1)
            for number, one in enumerate(sums):
                rows = np.flatnonzero(group == number)
                one.add(chunk.features[0], chunk.T, chunk.weights, rows)
        for one, part in zip(sums, parts, strict=True):
            one.write(part)

    def fill_hidden(self, into: Array, first: int, n: int) -> None:
        """Write the sums of features `first` to n of a hidden layer, by member."""
        Q = self._plan.n_outputs
        parts = into.reshape(len(self._members), -1)
        sums = [_Sums(Q, first, n) for _ in self._members]
        for chunk in self._chunks():

            def add(k: int, chunk: _Chunk = chunk) -> None:
                left = chunk.T - chunk.scores[k]
                sums[k].add(chunk.features[k], left, chunk.weights, chunk.trains(k))

            self._each(add)
        self._each(lambda k: sums[k].write(parts[k]))

    def validation(self, paths: Sequence[Array]) -> Array:
        """Return squared error and correct answers on validation samples, by ridge.

        Parameters
        ----------
        paths : sequence of arrays of shape (n_pulls, Q, n)
            The output matrices of every member.

        Returns
        -------
        array of shape (n_pulls, 2)
        """
        total = np.zeros((len(paths[0]), 2))
        for chunk in self._chunks():

            def judge(k: int, chunk: _Chunk = chunk) -> Array:
                rows = chunk.validates(k)
                F, T = chunk.features[k][:, rows], chunk.T[:, rows]
                weights, counted = (
                    _some(chunk.weights, rows),
                    _some(chunk.counted, rows),
                )
                n_pulls, Q, n = paths[k].shape
                steps = paths[k].reshape(n_pulls * Q, n) @ F
                S = chunk.scores[k][:, rows]
                scores = steps.reshape(n_pulls, *S.shape) + S
                return np.array([_judged(S, T, weights, counted) for S in scores])

            total += sum(self._each(judge))
        return total

    def advance(self, outputs: Sequence[Array]) -> None:
        """Add O F to the scores of every member."""

        def step(chunk: _Chunk) -> None:
            def add(k: int) -> None:
                chunk.scores[k] = chunk.scores[k] + outputs[k] @ chunk.features[k]

            self._each(add)

        self._do(step)

    def tally(self) -> Array:
        """Return sums for the mean of the members' scores, of shape (6,).

        They are the cost, the cost of zero, the correct samples, and all of them; the
        cost of zero and the number of those that a member validates on.
        """
        return sum((_tally(chunk) for chunk in self._chunks()), np.zeros(TALLY))

    def widen(self, layer: int, centres: Array, width: int) -> None:
        """Give a hidden layer this many units; those that it has stay as they are."""
        plan = self._plan
        Q = plan.n_outputs

        def step(chunk: _Chunk) -> None:
            def grow(k: int) -> None:
                A, S = chunk.inputs[k], chunk.scores[k]
                R = member_matrix(plan.seed, layer, k, width, len(A))
                old = chunk.features[k]
                have = len(old) - CONSTANT - 2 * Q if len(old) else 0
                new = hidden_features(S, centres[k], R[have:], A, plan.gain)
                if have:
                    new = np.vstack([old, new[CONSTANT + 2 * Q :]])
                chunk.features[k] = new

            self._each(grow)

        self._do(step)

    def begin_first(self) -> None:
        """Go on to layer 1, whose units see the inputs."""
        plan, members = self._plan, self._members

        def step(chunk: _Chunk) -> None:
            V = chunk.features[0][CONSTANT:]
            chunk.inputs = [unit_length(V, plan.bias)] * len(members)
            chunk.features = [np.empty((0, 0))] * len(members)

        self._do(step)

    def begin_next(self, means: Array, deviations: Array) -> None:
        """Go on to the next hidden layer, whose units see units and scores."""
        plan, members = self._plan, self._members

        def step(chunk: _Chunk) -> None:
            def begin(k: int) -> Array:
                F, S = chunk.features[k], chunk.scores[k]
                chunk.features[k] = np.empty((0, 0))
                return next_inputs(F, S, means[k], deviations[k], plan.bias)

            chunk.inputs = self._each(begin)
            chunk.features = [np.empty((0, 0))] * len(members)

        self._do(step)

    def narrow(self, width: int) -> None:
        """Take units of a hidden layer back."""
        n = CONSTANT + 2 * self._plan.n_outputs + width

        def step(chunk: _Chunk) -> None:
            chunk.features = [F[:n] for F in chunk.features]

        self._do(step)

    def drop_inputs(self) -> None:
        """Forget the inputs of the units: the layer has its width."""
        for chunk in self._kept or ():
            chunk.inputs = []

    def keep_best(self) -> None:
        """Keep the validation scores as those of the best layer so far."""
        self._best = [_validation_scores(chunk) for chunk in self._chunks()]

    def best(self) -> Iterator[tuple[Array, Array, Array | None]]:
        """Yield scores of validation samples at the best layer, targets and weights."""
        for S, chunk in zip(self._best, self._chunks(), strict=True):
            rows = np.flatnonzero(chunk.folds < len(self._members))
            yield S, chunk.T[:, rows], _some(chunk.weights, rows)

    def _each(self, work: Callable[[int], Result]) -> list[Result]:
        if self._pool is None:
            return [work(k) for k in self._members]
        return list(self._pool.map(work, self._members))

    def _do(self, step: Callable[[_Chunk], None]) -> None:
        """Do something to every chunk, now or whenever it is made again."""
        if not self._keep:
            self._done.append(step)
            return
        for chunk in self._chunks():
            step(chunk)

    def _chunks(self) -> Iterator[_Chunk]:
        if self._keep:
            if self._kept is None:
                self._kept = list(self._fresh())
            yield from self._kept
            return
        for chunk in self._fresh():
            for step in self._done:
                step(chunk)
            yield chunk

    def _fresh(self) -> Iterator[_Chunk]:
        """Yield the chunks at layer 0."""
        Q, members = self._plan.n_outputs, self._members
        for X, T, weights in self._samples.chunks(CHUNK):
            V = scaled_inputs(self._plan, X, self._shift, self._scale)
            yield _Chunk(
                T=T,
                weights=weights,
                counted=self._counted(T, weights),
                folds=self._fold_of(X),
                scores=[np.zeros((Q, X.shape[1]))] * len(members),
                inputs=[],
                features=[linear_features(V)] * len(members),
            )


class _Sums:
    """Sums of new features over some samples, as a message carries them."""

    def __init__(self, Q: int, first: int, n: int) -> None:
        m = n - first
        self._first = first
        self._upper: Array = np.zeros((m, m), order="F")
        self._cross: Array = np.zeros((m, first))
        self._C: Array = np.zeros((Q, m))

    def add(
        self, F: Array, D: Array, weights: Array | None, rows: NDArray[np.intp]
    ) -> None:
        if not len(rows):
            return
        if len(rows) < F.shape[1]:
            F, D = F[:, rows], D[:, rows]
            weights = _some(weights, rows)
        if weights is not None:
            roots = np.sqrt(weights)
            F, D = F * roots, D * roots
        old, new = F[: self._first], F[self._first :]
        add_gram(self._upper, new)
        self._C += D @ new.T
        if self._first:
            self._cross += new @ old.T

    def write(self, into: Array) -> None:
        parts = self._cross.ravel(), pack(self._upper), self._C.ravel()
        np.concatenate(parts, out=into)


def _some(weights: Array | None, rows: NDArray[np.intp]) -> Array | None:
    return None if weights is None else weights[rows]


def _judged(
    S: Array, T: Array, weights: Array | None, counted: Array | None
) -> tuple[float, float]:
    """Return the squared error and the correct answers."""
    D, right = T - S, _is_right(S, T)
    error = squared_norm(D) if weights is None else (D**2).sum(axis=0) @ weights
    correct = np.count_nonzero(right) if counted is None else right @ counted
    return float(error), float(correct)


def _is_right(S: Array, T: Array) -> NDArray[np.bool_]:
    """Return where the largest score is that of the class; nowhere for one output."""
    if len(T) == 1:
        return np.zeros(T.shape[1], dtype=bool)
    right: NDArray[np.bool_] = S.argmax(axis=0) == T.argmax(axis=0)
    return right


def _tally(chunk: _Chunk) -> Array:
    S = np.mean(chunk.scores, axis=0)
    T, weights = chunk.T, chunk.weights
    cost, correct = _judged(S, T, weights, chunk.counted)
    ones = np.ones(T.shape[1])
    w = ones if weights is None else weights
    n = ones if chunk.counted is None else chunk.counted
    squares = (T**2).sum(axis=0)
    left_out = chunk.folds < len(chunk.scores)
    validated = squares @ (w * left_out), n @ left_out
    return np.array([cost, squares @ w, correct, n.sum(), *validated])


def _validation_scores(chunk: _Chunk) -> Array:
    """Return every sample's score by the member that was not trained on it."""
    stacked = np.stack(chunk.scores)
    rows = np.flatnonzero(chunk.folds < len(chunk.scores))
    scores: Array = stacked[chunk.folds[rows], :, rows].T
    return scores
