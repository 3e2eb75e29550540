"""A node's features, grown layer by layer in chunks of columns.

How this works. One pass over the samples per layer does everything: a chunk of features
is scored with the layer's output matrix, its cost and right answers are counted, the
next layer's features take its place, and the next layer's sums take those in while they
are still in the processor's cache. So no two layers are ever held at once, and a node
needs its layer's sums, one chunk, and a place for the rest: memory, or a temporary file
where that would go over the budget.

A node with few samples makes its sums when they are wanted, and keeps none.

Several threads take a chunk each, with sums of their own. That is faster than threads
inside a dense product, since the work between the products is divided as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from dssfn._typing import Array, Integers, Numbers
from dssfn.chunk_store import ChunkStore, InFile, InMemory
from dssfn.config import Plan
from dssfn.errors import PlanError
from dssfn.exact.bounds import CHUNK as EXACT_CHUNK
from dssfn.exact.bounds import STEPS, WIDE
from dssfn.exact.gram_bounds import GramBounds, Weighing
from dssfn.exact.samples import SampleSums, in_steps
from dssfn.integer_units import IntegerFeatures, IntegerUnits
from dssfn.lanes import Lanes
from dssfn.network import DenseUnits, scaled_inputs
from dssfn.problem import ExactShare, LayerProblem, LayerShare, LayerSums, weighted
from dssfn.shard import Rows, Samples
from dssfn.summation import Exact, Floating, Summation
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


class Held(NamedTuple):
    """Some samples at one layer: features, targets and weights."""

    Y: Any
    T: Array
    weights: Array | None


class Arithmetic(Protocol):
    """What features are made of, and how they are summed."""

    @property
    def summation(self) -> Summation:
        """How other numbers are summed over samples and nodes."""

    def first(self, V: Array) -> Any:
        """Return the features of layer 0, from scaled inputs V (P, c)."""

    def scores(self, layer: int, O: Array, Y: Any) -> Array:
        """Return O Y, (Q, c)."""

    def following(self, layer: int, scores: Array, Y: Any) -> Any:
        """Return the features of layer + 1 from those of `layer` and their scores."""

    def no_sums(self, layer: int) -> Any:
        """Return a layer's sums over no samples, which can be merged."""

    def add(self, sums: Any, layer: int, held: Held) -> None:
        """Add samples to a layer's sums."""

    def share_of(self, layer: int, sums: Any) -> Any:
        """Return a node's share of a layer's problem, from its sums."""

    def share_of_few(self, layer: int, held: Sequence[Held]) -> Any:
        """Return a node's share of a layer's problem, from its few samples."""

    def packed(self, Y: Any) -> tuple[Numbers, ...]:
        """Return features as arrays, to be kept."""

    def unpacked(self, arrays: tuple[Numbers, ...]) -> Any:
        """Return the features that were kept."""


@dataclass(frozen=True, slots=True)
class DenseArithmetic(DenseUnits):
    """Features are real numbers."""

    n_nodes: int = 1

    @property
    def summation(self) -> Floating:
        """Sums are rounded."""
        return Floating(self.n_nodes)

    def no_sums(self, layer: int) -> LayerSums:
        """Return a layer's sums over no samples."""
        return LayerSums.zeros(self.plan.n_outputs, self.plan.inputs_of(layer))

    def add(self, sums: LayerSums, layer: int, held: Held) -> None:
        """Add samples to a layer's sums."""
        sums.add(*held)

    def share_of(self, layer: int, sums: LayerSums) -> LayerShare:
        """Return the sums, which are the share."""
        return sums

    def share_of_few(self, layer: int, held: Sequence[Held]) -> LayerShare:
        """Return the samples side by side."""
        chunks = [weighted(*one) for one in held]
        Y, T = (_joined(list(parts)) for parts in zip(*chunks, strict=True))
        return LayerProblem(Y.astype(np.float64, copy=False), T)

    def packed(self, Y: Array) -> tuple[Numbers, ...]:
        """Return the only array."""
        return (Y,)

    def unpacked(self, arrays: tuple[Numbers, ...]) -> Array:
        """Return the only array."""
        return arrays[0]


@dataclass(frozen=True, slots=True)
class IntegerArithmetic(IntegerUnits):
    """Features are small integers."""

    weighing: Weighing = field(default_factory=Weighing)

    @property
    def summation(self) -> Exact:
        """Sums are exact."""
        return Exact()

    def no_sums(self, layer: int) -> SampleSums:
        """Return a layer's sums over no samples."""
        usual = self.weighing.usual
        return SampleSums(self.layout(layer, weighted=usual is not None), usual)

    def add(self, sums: SampleSums, layer: int, held: Held) -> None:
        """Add samples to a layer's sums."""
        Y: IntegerFeatures = held.Y
        sums.add(self.wide(layer, Y), Y.units, in_steps(held.T), held.weights)

    def share_of(self, layer: int, sums: SampleSums) -> ExactShare:
        """Return the sums as a share."""
        return self._share(layer, sums.write)

    def share_of_few(self, layer: int, held: Sequence[Held]) -> ExactShare:
        """Return a share that makes the sums when they are wanted."""

        def fill(into: Integers) -> None:
            sums = self.no_sums(layer)
            for one in held:
                self.add(sums, layer, one)
            sums.write(into)

        return self._share(layer, fill)

    def _share(self, layer: int, fill: Callable[[Integers], None]) -> ExactShare:
        weighted = self.weighing.usual is not None
        layout = self.layout(layer, weighted=weighted)
        n_wide = self.layout(layer, weighted=False).n_wide
        bounds = GramBounds(
            layout,
            n_wide,
            self.weighing,
            largest_left=WIDE if self.plan.is_regression else STEPS,
            is_positive=layer > 0,
        )
        gains = tuple(self.gains(layer).tolist())
        return ExactShare(layout, n_wide, gains, fill, bounds)

    def packed(self, Y: IntegerFeatures) -> tuple[Numbers, ...]:
        """Return both arrays."""
        return tuple(Y)

    def unpacked(self, arrays: tuple[Numbers, ...]) -> IntegerFeatures:
        """Return both arrays."""
        return IntegerFeatures(*arrays)


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
        # Integer features are so small that some may wait while others are at work.
        self._lanes = Lanes(n_threads, waiting=1 if plan.is_exact else 0)
        self._chunk, fits = _room(samples, plan, memory, n_threads)
        self._store: ChunkStore = InMemory() if fits else InFile()
        self._shift = np.zeros(plan.n_features)
        self._scale = np.ones(plan.n_features)
        self._targets: Targets | None = None
        self._sums: list[Any] = []  # sums of the current layer, one per thread
        self._arithmetic: Arithmetic = DenseArithmetic(plan)
        if plan.is_exact:
            self._arithmetic = IntegerArithmetic(plan)

    @property
    def weight(self) -> float:
        """The sum of the samples' weights."""
        return self._samples.weight

    @property
    def kept_bytes(self) -> int:
        """The bytes that are kept of all samples between two passes."""
        return self._store.n_bytes

    def samples(self) -> Iterator[Rows]:
        """Yield the samples as they came, chunk by chunk."""
        return self._samples.chunks(self._chunk)

    def scale(
        self,
        shift: Array,
        scale: Array,
        targets: Targets | None = None,
        weighing: Weighing | None = None,
    ) -> None:
        """Use (x - shift) / scale as the inputs from now on.

        Targets and weights are used as `targets` has them, or as they came. For integer
        features it is given how much samples weigh, if that was agreed on.
        """
        self._shift, self._scale, self._targets = shift, scale, targets
        if self._plan.is_exact:
            self._arithmetic = IntegerArithmetic(self._plan, weighing or Weighing())

    def share(self) -> Any:
        """Return this node's share of the current layer's problem; it is given once."""
        layer, arithmetic = self._layer, self._arithmetic
        if self._has_few(layer):
            few = [self._prepared(one) for one in self._chunks()]
            return arithmetic.share_of_few(layer, few)
        if layer == 0:
            self._sums = self._no_sums(0)

            def add(lane: int, held: Held) -> None:
                arithmetic.add(self._sums[lane], 0, held)

            for _ in self._each(add):
                pass
        total, *others = self._sums
        for sums in others:
            total.merge(sums)
        self._sums = []
        return arithmetic.share_of(layer, total)

    def advance(self, O: Array) -> Numbers:
        """Score the layer with O and grow the next one, in one pass.

        Returns
        -------
        array
            A tally of four sums: the cost, the cost of O = 0, the weight of the correct
            samples and that of all samples; without weights, how many they are. In a
            regression, none is correct.
        """
        plan, layer, arithmetic = self._plan, self._layer, self._arithmetic
        is_last = layer == plan.n_layers
        sums = [] if is_last or self._has_few(layer + 1) else self._no_sums(layer + 1)

        def step(lane: int, held: Held) -> tuple[Array, Held]:
            Y, T, weights = held
            scores = arithmetic.scores(layer, O, Y)
            if not is_last:
                held = Held(arithmetic.following(layer, scores, Y), T, weights)
            if sums:
                arithmetic.add(sums[lane], layer + 1, held)
            counted = self._targets.counted(T, weights) if self._targets else weights
            return _tally(scores, T, weights, counted), held

        tally = arithmetic.summation.tally(4)
        for k, (values, held) in enumerate(self._each(step)):
            tally.add(values)
            if not is_last:
                features = arithmetic.packed(held.Y)
                self._store.put(k, (held.T, held.weights, *features))
        self._sums = sums
        self._layer += 1
        return tally.numbers()

    def close(self) -> None:
        """Free the memory or the temporary file."""
        self._lanes.close()
        self._store.close()

    def _has_few(self, layer: int) -> bool:
        """Return whether samples are fewer than features, and so the smaller share."""
        return self._samples.n_samples < self._plan.inputs_of(layer)

    def _no_sums(self, layer: int) -> list[Any]:
        return [self._arithmetic.no_sums(layer) for _ in range(self._lanes.n)]

    def _each(self, step: Callable[[int, Held], Result]) -> Iterator[Result]:
        """Apply a step to every chunk of the layer, one on every thread at a time."""

        def run(lane: int, held: Held | Rows) -> Result:
            return step(lane, self._prepared(held))

        return self._lanes.map(run, self._chunks())

    def _chunks(self) -> Iterator[Held | Rows]:
        if self._layer == 0:
            yield from self.samples()
            return
        for T, weights, *features in self._store.chunks():
            assert T is not None
            Y = self._arithmetic.unpacked(tuple(A for A in features if A is not None))
            yield Held(Y, T, weights)

    def _prepared(self, rows: Held | Rows) -> Held:
        """Return a chunk's features: at layer 0 its samples are scaled first."""
        if isinstance(rows, Held):
            return rows
        if self._targets is not None:
            rows = self._targets.applied(rows)
        V = scaled_inputs(self._plan, rows.X, self._shift, self._scale)
        return Held(self._arithmetic.first(V), rows.T, rows.weights)


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.hstack(parts)


def least_memory(plan: Plan, n_threads: int = 1) -> int:
    """Return the smallest budget in bytes with which a node can work."""
    return _fixed(plan, n_threads) + n_threads * SMALLEST_CHUNK * _column(plan)


def _room(
    samples: Samples, plan: Plan, memory: int | None, n_threads: int
) -> tuple[int, bool]:
    """Return the columns of a chunk, and whether all features fit into memory."""
    # Few samples stay in one piece: that piece is their share of the layer.
    chunk = EXACT_CHUNK if plan.is_exact else CHUNK * 8 // _item(plan)
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
    """Return the bytes of a random unit."""
    return 1 if plan.is_exact else np.dtype(plan.precision).itemsize


def _fixed(plan: Plan, n_threads: int) -> int:
    first, n = plan.inputs_of(0), plan.n_units
    return 8 * MATRICES * max(first, n) ** 2 + n_threads * _sums(plan, first, n)


def _sums(plan: Plan, first: int, n: int) -> int:
    """Return the bytes of a thread's sums: of layer 0, or of another layer."""
    if not plan.is_exact:
        return 8 * max(first, n) ** 2
    # Two words and a float64 for wide numbers; a float64 and a float32 for units.
    return max(24 * first**2, 12 * n**2)


def _column(plan: Plan) -> int:
    """Return the bytes for one sample: as read, as scaled, and two layers of it."""
    return 8 * (3 * plan.inputs_of(0) + 2 * plan.n_units + 4 * plan.n_outputs)


def _tally(
    scores: Array, T: Array, weights: Array | None, counted: Array | None
) -> Array:
    """Return four numbers of every sample, (4, c); see `Features.advance`."""
    D = T - scores
    is_correct = scores.argmax(axis=0) == T.argmax(axis=0)
    if len(T) == 1:  # a real number to be predicted: the only one is always the largest
        is_correct[:] = False
    costs = [_squared_lengths(A) for A in (D, T)]
    counts = [is_correct.astype(float), np.ones(T.shape[1])]
    return np.stack(
        [*(one if weights is None else one * weights for one in costs)]
        + [one if counted is None else one * counted for one in counts]
    )


def _squared_lengths(A: Array) -> Array:
    """Return the squared lengths of columns, the same to the last bit in any chunk.

    A product or a sum over an axis may take another order for a single column.
    """
    lengths: Array = np.zeros(A.shape[1])
    for row in A:
        lengths += row * row
    return lengths
