"""A node's features, grown layer by layer in chunks of columns.

How this works. One pass over the samples per layer does everything: a chunk of features
is scored with the layer's output matrix, its cost and right answers are counted, the
next layer's features take its place, and the next layer's sums take those in while they
are still in the processor's cache. So no two layers are ever held at once, and a node
needs its layer's sums, one chunk, and a place for the rest: memory, or a temporary file
where that would go over the budget.

Several threads take a chunk each, with sums of their own. That is faster than threads
inside a dense product, since the work between the products is divided as well.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from itertools import islice
from typing import Protocol, TypeVar

import numpy as np

from dssfn._typing import Array
from dssfn.ball import squared_norm
from dssfn.config import Plan
from dssfn.errors import DataError, PlanError
from dssfn.network import grow, inputs
from dssfn.problem import LayerProblem, LayerShare, LayerSums, weighted
from dssfn.shard import Rows, Samples
from dssfn.targets import Targets

Result = TypeVar("Result")

# Columns: enough for dense products, few enough for the cache. Rows whose length is a
# power of two would share the same few places in it.
CHUNK = 640
SMALLEST_CHUNK = 64
# What a layer needs beside its features and each thread's sums, in n x n matrices of
# float64: the random matrix, the message and its average, and three to solve it in.
# All but the first are free during a pass, which leaves room to weigh a chunk.
MATRICES = 5


class Features:
    """The features of one node at the current layer, and what is known of them.

    Parameters
    ----------
    samples : Samples
        This node's data.
    plan : Plan
        What all nodes agreed on.
    memory : int, optional
        Bytes that this node may use. Features that do not fit are kept in a temporary
        file, without a name and gone with the program.
    n_threads : int
        How many chunks to work on at once.
    """

    def __init__(
        self,
        samples: Samples,
        plan: Plan,
        *,
        memory: int | None = None,
        n_threads: int = 1,
    ) -> None:
        self._samples = samples
        self._plan = plan
        self._layer = 0
        self._n_threads = n_threads
        self._chunk, fits = _room(samples, plan, memory, n_threads)
        self._store: _Store = _InMemory() if fits else _InFile()
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
        self._shift = np.zeros(plan.n_features)
        self._scale = np.ones(plan.n_features)
        self._targets: Targets | None = None
        self._sums: list[LayerSums] = []  # sums of the current layer, one per thread

    @property
    def weight(self) -> float:
        """The sum of the samples' weights."""
        return self._samples.weight

    def samples(self) -> Iterator[Rows]:
        """Yield the samples as they came, chunk by chunk."""
        return self._samples.chunks(self._chunk)

    def scale(self, shift: Array, scale: Array, targets: Targets | None = None) -> None:
        """Use (x - shift) / scale as the inputs from now on.

        Targets and weights are used as `targets` has them, or as they came.
        """
        self._shift, self._scale, self._targets = shift, scale, targets

    def share(self) -> LayerShare:
        """Return this node's share of the current layer's problem; it is given once."""
        if self._has_few(self._layer):
            chunks = [weighted(*self._prepared(rows)) for rows in self._chunks()]
            Y, T = (_joined(list(parts)) for parts in zip(*chunks, strict=True))
            return LayerProblem(Y.astype(np.float64, copy=False), T)
        if self._layer == 0:
            self._sums = self._no_sums(0)
            for _ in self._each(lambda lane, rows: self._sums[lane].add(*rows)):
                pass
        total, *others = self._sums
        for sums in others:
            total.merge(sums)
        self._sums = []
        return total

    def advance(self, O: Array) -> Array:
        """Score the layer with O and grow the next one, in one pass.

        Returns
        -------
        array of shape (4,)
            The cost, the cost of O = 0, the weight of the correct samples and that of
            all samples; without weights, how many they are. In a regression, none is
            correct.
        """
        plan, layer = self._plan, self._layer
        O = O.astype(plan.precision, copy=False)
        is_last = layer == plan.n_layers
        sums = [] if is_last or self._has_few(layer + 1) else self._no_sums(layer + 1)

        def step(lane: int, rows: Rows) -> tuple[Array, Rows]:
            Y, T, weights = rows
            scores = O @ Y  # (Q, c)
            if not is_last:
                Y = grow(plan, layer, scores, Y)
            if sums:
                sums[lane].add(Y, T, weights)
            counted = self._targets.counted(T, weights) if self._targets else weights
            return _tally(scores, T, weights, counted), Rows(Y, T, weights)

        tally = np.zeros(4)
        for k, (part, rows) in enumerate(self._each(step)):
            tally += part
            if not is_last:
                self._store.put(k, rows)
        if plan.is_regression:
            tally[2] = 0
        self._sums = sums
        self._layer += 1
        return tally

    def close(self) -> None:
        """Free the memory or the temporary file."""
        if self._pool:
            self._pool.shutdown()
        self._store.close()

    def _has_few(self, layer: int) -> bool:
        """Return whether samples are fewer than features, and so the smaller share."""
        return self._samples.n_samples < self._plan.inputs_of(layer)

    def _no_sums(self, layer: int) -> list[LayerSums]:
        Q, n = self._plan.n_outputs, self._plan.inputs_of(layer)
        return [LayerSums.zeros(Q, n) for _ in range(self._n_threads)]

    def _each(self, step: Callable[[int, Rows], Result]) -> Iterator[Result]:
        """Apply a step to every chunk of the layer, one on every thread at a time.

        A chunk's sums follow from its place, so that they are the same each time.
        """

        def run(lane: int, rows: Rows) -> Result:
            return step(lane, self._prepared(rows))

        chunks = self._chunks()
        if self._pool is None:
            yield from (run(0, rows) for rows in chunks)
            return
        while batch := list(islice(chunks, self._n_threads)):
            yield from self._pool.map(run, range(len(batch)), batch)

    def _chunks(self) -> Iterator[Rows]:
        if self._layer > 0:
            return self._store.chunks()
        return self.samples()

    def _prepared(self, rows: Rows) -> Rows:
        """Return a chunk's features: at layer 0 its samples are scaled first."""
        if self._layer > 0:
            return rows
        if self._targets is not None:
            rows = self._targets.applied(rows)
        return rows._replace(X=inputs(self._plan, rows.X, self._shift, self._scale))


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.hstack(parts)


class _Store(Protocol):
    """A store of chunks between two passes; a new chunk replaces an old one."""

    def put(self, k: int, rows: Rows) -> None: ...
    def chunks(self) -> Iterator[Rows]: ...
    def close(self) -> None: ...


class _InMemory:
    def __init__(self) -> None:
        self._parts: dict[int, Rows] = {}

    def put(self, k: int, rows: Rows) -> None:
        self._parts[k] = rows

    def chunks(self) -> Iterator[Rows]:
        for k in range(len(self._parts)):
            yield self._parts[k]

    def close(self) -> None:
        self._parts.clear()


class _InFile:
    """A store of chunks in a file, read and written, not mapped, to bound memory."""

    def __init__(self) -> None:
        self._file: FileIO = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        self._empty: list[Callable[[], Rows]] = []  # chunk k's arrays
        self._offsets = [0]

    def put(self, k: int, rows: Rows) -> None:
        arrays = _arrays(rows)
        if k == len(self._empty):
            self._empty.append(_allocator(rows))
            n_bytes = sum(values.nbytes for values in arrays)
            self._offsets.append(self._offsets[-1] + n_bytes)
        try:
            self._file.seek(self._offsets[k])
            for values in arrays:
                left = np.ascontiguousarray(values).data.cast("B")
                while left:  # a raw file may take less than it is given
                    left = left[self._file.write(left) :]
        except OSError as exc:
            raise DataError(
                f"Features could not be kept in `{tempfile.gettempdir()}` "
                f"({exc.strerror}). Set TMPDIR to a folder with more room, or raise "
                "`memory`."
            ) from exc

    def chunks(self) -> Iterator[Rows]:
        for offset, empty in zip(self._offsets, self._empty, strict=False):
            self._file.seek(offset)
            rows = empty()
            for values in _arrays(rows):
                left = values.data.cast("B")
                while left:
                    n_read = self._file.readinto(left)
                    assert n_read  # what was written can be read
                    left = left[n_read:]
            yield rows

    def close(self) -> None:
        self._file.close()


def _arrays(rows: Rows) -> list[Array]:
    return [values for values in rows if values is not None]


def _allocator(rows: Rows) -> Callable[[], Rows]:
    """Return a function that makes arrays for as many samples, and keeps none."""
    kinds = [(values.shape, values.dtype) for values in _arrays(rows)]
    return lambda: Rows(*(np.empty(*kind) for kind in kinds))


def least_memory(plan: Plan, n_threads: int = 1) -> int:
    """Return the smallest budget in bytes with which a node can work."""
    return _fixed(plan, n_threads) + n_threads * SMALLEST_CHUNK * _column(plan)


def _room(
    samples: Samples, plan: Plan, memory: int | None, n_threads: int
) -> tuple[int, bool]:
    """Return the columns of a chunk, and whether all features fit into memory."""
    # Few samples stay in one piece: that piece is their share of the layer.
    chunk = CHUNK * 8 // _item(plan)
    if samples.n_samples < plan.n_units:
        chunk = plan.n_units
    if memory is None:
        return chunk, True
    least = least_memory(plan, n_threads)
    if memory < least:
        raise PlanError(
            f"`memory` must be at least {math.ceil(least / 1e6)} MB a node for layers "
            f"of {plan.n_units} units, got {memory / 1e6:.0f} MB."
        )
    left = memory - _fixed(plan, n_threads)
    chunk = min(chunk, left // (n_threads * _column(plan)))
    a_sample = plan.n_units * _item(plan) + plan.n_outputs * 8
    all_features = samples.n_samples * a_sample
    return chunk, all_features <= left - n_threads * chunk * _column(plan)


def _item(plan: Plan) -> int:
    return np.dtype(plan.precision).itemsize


def _fixed(plan: Plan, n_threads: int) -> int:
    n = max(plan.n_units, plan.inputs_of(0))
    return (MATRICES + n_threads) * 8 * n * n


def _column(plan: Plan) -> int:
    """Return the bytes for one sample: as read, as scaled, and two layers of it."""
    return 8 * (3 * plan.inputs_of(0) + 2 * plan.n_units + 4 * plan.n_outputs)


def _tally(
    scores: Array, T: Array, weights: Array | None, counted: Array | None
) -> Array:
    errors, targets = weighted(T - scores, T, weights)
    costs = [squared_norm(errors), squared_norm(targets)]
    is_correct = scores.argmax(axis=0) == T.argmax(axis=0)
    if len(T) == 1:  # a real number to be predicted: the only one is always the largest
        is_correct[:] = False
    if counted is None:
        counts = [np.count_nonzero(is_correct), T.shape[1]]
    else:
        counts = [counted[is_correct].sum(), counted.sum()]
    return np.array([*costs, *counts], dtype=float)
