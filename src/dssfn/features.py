"""A node's features, grown layer by layer in chunks of columns.

How this works. One pass over the samples per layer does everything: a chunk of features
is scored with the layer's output matrix, its cost and right answers are counted, the
next layer's features take its place, and the next layer's sums take those in while they
are still in the processor's cache. So no two layers are ever held at once, and a node
needs its layer's sums, one chunk, and a place for the rest: memory, or a temporary file
where that would go over the budget.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from io import FileIO
from typing import Protocol

import numpy as np

from dssfn._typing import Array
from dssfn.ball import squared_norm
from dssfn.config import Plan
from dssfn.errors import DataError, PlanError
from dssfn.network import grow, inputs
from dssfn.problem import LayerProblem, LayerShare, LayerSums
from dssfn.shard import Samples

CHUNK = 512  # columns: enough for dense products, few enough for the cache
SMALLEST_CHUNK = 64
# What a layer needs beside its features, in n x n matrices of float64: the random
# matrix, the sums, the message and its average, and three to solve the layer in.
MATRICES = 6


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
    """

    def __init__(
        self, samples: Samples, plan: Plan, *, memory: int | None = None
    ) -> None:
        self._samples = samples
        self._plan = plan
        self._layer = 0
        self._chunk, fits = _room(samples, plan, memory)
        self._store: _Store = _InMemory() if fits else _InFile()
        self._shift = np.zeros(plan.n_features)
        self._scale = np.ones(plan.n_features)
        self._share: LayerShare | None = None

    def inputs(self) -> Iterator[Array]:
        """The samples as they came, chunk by chunk."""
        for X, _ in self._samples.chunks(self._chunk):
            yield X

    def scale(self, shift: Array, scale: Array) -> None:
        """Use (x - shift) / scale from now on."""
        self._shift, self._scale = shift, scale

    def share(self) -> LayerShare:
        """This node's share of the current layer's problem; given away once."""
        if self._layer == 0:
            gather = self._gather()
            for Y, T in self._chunks():
                gather.add(Y, T)
            return gather.share()
        share, self._share = self._share, None
        assert share is not None
        return share

    def advance(self, O: Array) -> Array:
        """Score the layer with O and grow the next one, in one pass.

        Returns
        -------
        array of shape (4,)
            Cost, cost of zero, correct samples, samples.
        """
        plan, layer = self._plan, self._layer
        self._layer += 1
        gather = self._gather()
        tally = np.zeros(4)
        for k, (Y, T) in enumerate(self._chunks(layer)):
            scores = O.astype(Y.dtype, copy=False) @ Y  # (Q, c)
            tally += _tally(scores, T)
            if layer < plan.n_layers:
                Y = grow(plan, layer, scores, Y)
                gather.add(Y, T)
                self._store.put(k, Y, T)
        if layer < plan.n_layers:
            self._share = gather.share()
        return tally

    def close(self) -> None:
        """Give the room back."""
        self._store.close()

    def _chunks(self, layer: int = 0) -> Iterator[tuple[Array, Array]]:
        if layer > 0:
            yield from self._store.chunks()
            return
        for X, T in self._samples.chunks(self._chunk):
            yield inputs(self._plan, X, self._shift, self._scale), T

    def _gather(self) -> _Gather:
        n, Q = self._plan.inputs_of(self._layer), self._plan.n_outputs
        return _Few() if self._samples.n_samples < n else _Many(Q, n)


class _Gather(Protocol):
    """Takes a layer in chunk by chunk, in the smaller of the two forms of a share."""

    def add(self, Y: Array, T: Array) -> None: ...
    def share(self) -> LayerShare: ...


class _Many:
    def __init__(self, Q: int, n: int) -> None:
        self._sums = LayerSums.zeros(Q, n)

    def add(self, Y: Array, T: Array) -> None:
        self._sums.add(Y, T)

    def share(self) -> LayerShare:
        return self._sums


class _Few:
    def __init__(self) -> None:
        self._parts: list[tuple[Array, Array]] = []

    def add(self, Y: Array, T: Array) -> None:
        self._parts.append((Y, T))

    def share(self) -> LayerShare:
        Y, T = (_joined(list(parts)) for parts in zip(*self._parts, strict=True))
        return LayerProblem(Y.astype(np.float64, copy=False), T)


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.hstack(parts)


class _Store(Protocol):
    """Where chunks of features wait for the next pass; one takes another's place."""

    def put(self, k: int, Y: Array, T: Array) -> None: ...
    def chunks(self) -> Iterator[tuple[Array, Array]]: ...
    def close(self) -> None: ...


class _InMemory:
    def __init__(self) -> None:
        self._parts: dict[int, tuple[Array, Array]] = {}

    def put(self, k: int, Y: Array, T: Array) -> None:
        self._parts[k] = Y, T

    def chunks(self) -> Iterator[tuple[Array, Array]]:
        for k in range(len(self._parts)):
            yield self._parts[k]

    def close(self) -> None:
        self._parts.clear()


class _InFile:
    """Chunks one after the other; read and written, not mapped, to bound the memory."""

    def __init__(self) -> None:
        self._file: FileIO = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        self._empty: list[Callable[[], tuple[Array, Array]]] = []  # chunk k's arrays
        self._offsets = [0]

    def put(self, k: int, Y: Array, T: Array) -> None:
        if k == len(self._empty):
            self._empty.append(_allocator(Y, T))
            self._offsets.append(self._offsets[-1] + Y.nbytes + T.nbytes)
        try:
            self._file.seek(self._offsets[k])
            for values in (Y, T):
                left = np.ascontiguousarray(values).data.cast("B")
                while left:  # a raw file may take less than it is given
                    left = left[self._file.write(left) :]
        except OSError as exc:
            raise DataError(
                f"Features could not be kept in `{tempfile.gettempdir()}` "
                f"({exc.strerror}). Set TMPDIR to a folder with more room, or raise "
                "`memory`."
            ) from exc

    def chunks(self) -> Iterator[tuple[Array, Array]]:
        for offset, empty in zip(self._offsets, self._empty, strict=False):
            self._file.seek(offset)
            arrays = empty()
            for values in arrays:
                left = values.data.cast("B")
                while left:
                    n_read = self._file.readinto(left)
                    assert n_read  # what was written can be read
                    left = left[n_read:]
            yield arrays

    def close(self) -> None:
        self._file.close()


def _allocator(Y: Array, T: Array) -> Callable[[], tuple[Array, Array]]:
    shapes, dtype = (Y.shape, T.shape), Y.dtype
    return lambda: (np.empty(shapes[0], dtype), np.empty(shapes[1]))


def least_memory(plan: Plan) -> int:
    """The smallest budget in bytes with which a node can work."""
    return _fixed(plan) + SMALLEST_CHUNK * _column(plan)


def _room(samples: Samples, plan: Plan, memory: int | None) -> tuple[int, bool]:
    """Columns of a chunk, and whether all features fit into memory."""
    # Few samples stay in one piece: that piece is their share of the layer.
    chunk = CHUNK * 8 // _item(plan)
    if samples.n_samples < plan.n_units:
        chunk = plan.n_units
    if memory is None:
        return chunk, True
    if memory < least_memory(plan):
        raise PlanError(
            f"`memory` must be at least {least_memory(plan) / 1e6:.0f} MB a node for "
            f"layers of {plan.n_units} units, got {memory / 1e6:.0f} MB."
        )
    left = memory - _fixed(plan)
    chunk = min(chunk, left // _column(plan))
    a_sample = plan.n_units * _item(plan) + plan.n_outputs * 8
    all_features = samples.n_samples * a_sample
    return chunk, all_features <= left - chunk * _column(plan)


def _item(plan: Plan) -> int:
    return np.dtype(plan.precision).itemsize


def _fixed(plan: Plan) -> int:
    n = max(plan.n_units, plan.inputs_of(0))
    return MATRICES * 8 * n * n


def _column(plan: Plan) -> int:
    """Bytes for one sample of a chunk: as read, as scaled, and two layers of it."""
    return 8 * (3 * plan.inputs_of(0) + 2 * plan.n_units + 4 * plan.n_outputs)


def _tally(scores: Array, T: Array) -> Array:
    correct = np.count_nonzero(scores.argmax(axis=0) == T.argmax(axis=0))
    costs = [squared_norm(T - scores), squared_norm(T)]
    return np.array([*costs, correct, T.shape[1]], dtype=float)
