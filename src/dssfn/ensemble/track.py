"""A node's samples as the members see them.

How this works. A chunk of samples has, for every member, its scores so far and the
features of the current layer. Chunks are kept from layer to layer, or made again from
the samples in every pass, where keeping them would take more memory than the node may
use. Chunks are independent of each other, and several threads take one each; for sums
that depend on the order of chunks, they take a member each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, Numbers
from dssfn.config import Plan
from dssfn.ensemble.arithmetic import Accumulator, Arithmetic
from dssfn.ensemble.folds import Folds
from dssfn.ensemble.units import CONSTANT, unit_inputs
from dssfn.lanes import Lanes
from dssfn.network import scaled_inputs
from dssfn.shard import Rows, Samples

Item = TypeVar("Item")
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
    inputs : list, empty when they are not needed any more
        The inputs of the units of the current layer, or of the next one for layer 0, by
        member.
    features : list
        The features of the current layer, by member; None where there are none yet.
    """

    T: Array
    weights: Array | None
    counted: Array | None
    folds: Folds
    scores: list[Array]
    inputs: list[Any]
    features: list[Any]

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
    arithmetic : Arithmetic
        Makes features and their sums.
    shift, scale, factors : arrays of shape (P,)
        The inputs are used as (x - shift) / scale; those of units are multiplied by the
        factors.
    n_members : int
        The number of members, K.
    fold_of : callable
        Returns the folds of samples X (P, c).
    counted : callable
        Returns weights without those of the classes, for targets T (Q, c) and weights.
    keep : bool
        Whether chunks are kept in memory.
    n_threads : int
        How many chunks or members to work on at once.
    """

    def __init__(
        self,
        samples: Samples,
        plan: Plan,
        arithmetic: Arithmetic,
        shift: Array,
        scale: Array,
        factors: Array,
        *,
        n_members: int,
        fold_of: Callable[[Array], Folds],
        counted: Counted = lambda T, weights: weights,
        keep: bool = True,
        n_threads: int = 1,
    ) -> None:
        self._samples, self._plan = samples, plan
        self._arithmetic = arithmetic
        self._shift, self._scale, self._factors = shift, scale, factors
        self._members = range(n_members)
        self._fold_of, self._counted = fold_of, counted
        self._kept: list[_Chunk] | None = None
        self._keep = keep
        self._done: list[Callable[[_Chunk], None]] = []  # what was done to every chunk
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
        self._n_threads = n_threads
        # Sums that are exact may be added up in any order, so that threads take chunks.
        self._lanes = Lanes(n_threads if arithmetic.is_exact else 1, waiting=1)
        self._best: list[Array] = []  # validation scores of the best layer, by chunk

    def close(self) -> None:
        """Free what was kept."""
        self._lanes.close()
        if self._pool:
            self._pool.shutdown()
        self._kept, self._best = None, []

    def fill_linear(self, into: Numbers) -> None:
        """Write the sums of layer 0, by fold: those of all members follow from them."""
        n = CONSTANT + self._plan.n_features
        groups = len(self._members) + 1  # the last is left out by nobody
        parts = into.reshape(groups, -1)
        lanes = [
            [self._arithmetic.sums(0, 0, n) for _ in range(groups)]
            for _ in range(self._lanes.n)
        ]

        def add(lane: int, chunk: _Chunk) -> None:
            group = np.minimum(chunk.folds, groups - 1)
            for number, one in enumerate(lanes[lane]):
                rows = np.flatnonzero(group == number)
                F, S = chunk.features[0], chunk.scores[0]
                one.add(F, chunk.T, S, chunk.weights, rows)

        self._sum(add)
        for ones, part in zip(zip(*lanes, strict=True), parts, strict=True):
            _write(ones, part)

    def fill_hidden(self, into: Numbers, first: int, n: int) -> None:
        """Write the sums of features `first` to n of a hidden layer, by member."""
        parts = into.reshape(len(self._members), -1)
        lanes = [
            [self._arithmetic.sums(1, first, n) for _ in self._members]
            for _ in range(self._lanes.n)
        ]

        def add(lane: int, chunk: _Chunk) -> None:
            def of_member(k: int) -> None:
                F, S = chunk.features[k], chunk.scores[k]
                lanes[lane][k].add(F, chunk.T, S, chunk.weights, chunk.trains(k))

            self._each(of_member)

        self._sum(add)
        sums = list(zip(*lanes, strict=True))
        self._map(lambda k: _write(sums[k], parts[k]), self._members)

    def validation(self, paths: Sequence[Array]) -> Numbers:
        """Return squared error and correct answers on validation samples, by ridge.

        Parameters
        ----------
        paths : sequence of arrays of shape (n_pulls, Q, n)
            The output matrices of every member.

        Returns
        -------
        array
            A tally of n_pulls * 2 sums.
        """
        tally = self._arithmetic.summation.tally(2 * len(paths[0]))

        def judge(chunk: _Chunk) -> Array:
            judged = []
            for k in self._members:
                rows = chunk.validates(k)
                T = chunk.T[:, rows]
                w, n = _some(chunk.weights, rows), _some(chunk.counted, rows)
                F, S = chunk.features[k], chunk.scores[k]
                scores = self._arithmetic.tried(S, paths[k], F, rows)
                judged.append(np.vstack([_judged(S, T, w, n) for S in scores]))
            return np.hstack(judged)

        for values in self._over(judge):
            tally.add(values)
        return tally.numbers()

    def advance(self, outputs: Sequence[Array]) -> None:
        """Add O F to the scores of every member."""

        def step(chunk: _Chunk) -> None:
            for k in self._members:
                S, F = chunk.scores[k], chunk.features[k]
                chunk.scores[k] = self._arithmetic.advanced(S, outputs[k], F)

        self._do(step)

    def tally(self) -> Numbers:
        """Return a tally for the mean of the members' scores, of 6 sums.

        They are the cost, the cost of zero, the correct samples, and all of them; the
        cost of zero and the number of those that a member validates on.
        """
        tally = self._arithmetic.summation.tally(TALLY)
        for values in self._over(_tally):
            tally.add(values)
        return tally.numbers()

    def widen(self, layer: int, centres: Array, width: int) -> None:
        """Give a hidden layer this many units; those that it has stay as they are."""

        def step(chunk: _Chunk) -> None:
            for k in self._members:
                A, S, F = chunk.inputs[k], chunk.scores[k], chunk.features[k]
                chunk.features[k] = self._arithmetic.widened(
                    F, S, centres[k], A, (layer, k), width
                )

        self._do(step)

    def begin_first(self) -> None:
        """Go on to layer 1, whose units see the inputs."""

        def step(chunk: _Chunk) -> None:
            chunk.features = [None] * len(self._members)

        self._do(step)

    def begin_next(self, means: Array, deviations: Array) -> None:
        """Go on to the next hidden layer, whose units see units and scores."""

        def step(chunk: _Chunk) -> None:
            chunk.inputs = [None] * len(self._members)
            for k in self._members:
                F, S = chunk.features[k], chunk.scores[k]
                inputs = self._arithmetic.next_inputs(F, S, means[k], deviations[k])
                chunk.inputs[k], chunk.features[k] = inputs, None

        self._do(step)

    def narrow(self, width: int) -> None:
        """Take units of a hidden layer back."""

        def step(chunk: _Chunk) -> None:
            narrowed = self._arithmetic.narrowed
            chunk.features = [narrowed(F, width) for F in chunk.features]

        self._do(step)

    def drop_inputs(self) -> None:
        """Forget the inputs of the units: the layer has its width."""
        for chunk in self._kept or ():
            chunk.inputs = []

    def keep_best(self) -> None:
        """Keep the validation scores as those of the best layer so far."""
        self._best = list(self._over(_validation_scores))

    def best(self) -> Iterator[tuple[Array, Array, Array | None]]:
        """Yield scores of validation samples at the best layer, targets and weights."""

        def validated(chunk: _Chunk) -> tuple[Array, Array | None]:
            rows = np.flatnonzero(chunk.folds < len(self._members))
            return chunk.T[:, rows], _some(chunk.weights, rows)

        for S, (T, weights) in zip(self._best, self._over(validated), strict=True):
            yield S, T, weights

    def _each(self, work: Callable[[int], None]) -> None:
        """Do something for every member; on threads, if chunks are not."""
        if self._lanes.n == 1:
            self._map(work, self._members)
        else:
            for k in self._members:
                work(k)

    def _map(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> list[Result]:
        return list((self._pool.map if self._pool else map)(work, items))

    def _sum(self, add: Callable[[int, _Chunk], None]) -> None:
        """Add every chunk to the sums of a lane; those of a lane are added in turn."""
        made = self._lanes.map(
            lambda lane, item: add(lane, self._made(item)), self._items()
        )
        for _ in made:
            pass

    def _do(self, step: Callable[[_Chunk], None]) -> None:
        """Do something to every chunk, now or whenever it is made again."""
        if not self._keep:
            self._done.append(step)
            return
        for _ in self._over(step):
            pass

    def _over(self, work: Callable[[_Chunk], Result]) -> Iterator[Result]:
        """Yield what every chunk gives, in their order; threads take one each."""
        items = self._items()
        while batch := list(islice(items, self._n_threads)):
            yield from self._map(lambda item: work(self._made(item)), batch)

    def _items(self) -> Iterator[_Chunk | Rows]:
        """Yield chunks, or samples that they are made of."""
        if not self._keep:
            yield from self._samples.chunks(CHUNK)
            return
        if self._kept is None:
            self._kept = self._map(self._made, self._samples.chunks(CHUNK))
        yield from self._kept

    def _made(self, item: _Chunk | Rows) -> _Chunk:
        """Return a chunk at the current layer."""
        if isinstance(item, _Chunk):
            return item
        X, T, weights = item
        K, arithmetic = len(self._members), self._arithmetic
        V = scaled_inputs(self._plan, X, self._shift, self._scale)
        seen = unit_inputs(self._plan, V, self._shift, self._scale, self._factors)
        chunk = _Chunk(
            T=arithmetic.targets(T),
            weights=weights,
            counted=self._counted(T, weights),
            folds=self._fold_of(X),
            scores=[np.zeros(T.shape)] * K,
            inputs=[arithmetic.first_inputs(seen)] * K,
            features=[arithmetic.linear(V)] * K,
        )
        for step in self._done:
            step(chunk)
        return chunk


def _write(sums: Sequence[Accumulator], into: Numbers) -> None:
    """Write the sums of all lanes."""
    total, *others = sums
    for one in others:
        total.merge(one)
    total.write(into)


def _some(weights: Array | None, rows: NDArray[np.intp]) -> Array | None:
    return None if weights is None else weights[rows]


def _judged(S: Array, T: Array, weights: Array | None, counted: Array | None) -> Array:
    """Return the squared error of every sample, and whether it is correct, (2, c)."""
    D, right = T - S, _is_right(S, T)
    errors = np.einsum("ij,ij->j", D, D)
    correct = right.astype(float)
    return np.stack(
        [
            errors if weights is None else errors * weights,
            correct if counted is None else correct * counted,
        ]
    )


def _is_right(S: Array, T: Array) -> NDArray[np.bool_]:
    """Return where the largest score is that of the class; nowhere for one output."""
    if len(T) == 1:
        return np.zeros(T.shape[1], dtype=bool)
    right: NDArray[np.bool_] = S.argmax(axis=0) == T.argmax(axis=0)
    return right


def _tally(chunk: _Chunk) -> Array:
    """Return the numbers of every sample that `Track.tally` adds up, (6, c)."""
    S = np.mean(chunk.scores, axis=0)
    T, weights = chunk.T, chunk.weights
    ones = np.ones(T.shape[1])
    w = ones if weights is None else weights
    n = ones if chunk.counted is None else chunk.counted
    # numpy's own sum of one sample's squares takes another order than that of many.
    cost, squares = (reduce(np.add, D**2) * w for D in (T - S, T))
    correct = _is_right(S, T) * n
    left_out = chunk.folds < len(chunk.scores)
    return np.stack([cost, squares, correct, n, squares * left_out, n * left_out])


def _validation_scores(chunk: _Chunk) -> Array:
    """Return every sample's score by the member that was not trained on it."""
    stacked = np.stack(chunk.scores)
    rows = np.flatnonzero(chunk.folds < len(chunk.scores))
    scores: Array = stacked[chunk.folds[rows], :, rows].T
    return scores
