"""The program of a node whose training is differentially private.

How this works. The network has one hidden layer, and its random units see the inputs
alone: the output matrix of layer 0 is zero, which tells nothing. Nodes release the
moments of the inputs, by which these are scaled, then the sums of the hidden layer,
from which every node computes its output matrix, and at last how well that does on the
training samples. Processors may round the matrix differently, so all take the first
node's, which is made of totals like everybody's.

More layers would share the budget: see docs/privacy.md for what that costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dssfn import fixed_size
from dssfn._typing import Array, Integers, NodeId
from dssfn.config import Plan, n_honest
from dssfn.errors import DataError, NumericalError
from dssfn.exact.bounds import CHUNK, LEVELS, check_node_samples
from dssfn.exact.outputs import rounded_outputs
from dssfn.integer_units import IntegerFeatures, IntegerUnits
from dssfn.network import Network, scaled_inputs
from dssfn.privacy.budget import ERRORS, LAYER, SCALING, budget_of
from dssfn.privacy.clipped_sums import (
    FINER,
    Clipped,
    read_sums,
    solve_noisy,
    sums_of,
)
from dssfn.privacy.moments import Range, moments_change, moments_of, scaling_of
from dssfn.privacy.noise import NoiseSource
from dssfn.privacy.training_errors import errors_change, errors_of, read_errors
from dssfn.programs import INPUTS, Agreed, Message, Program
from dssfn.progress import Progress, Stage
from dssfn.records import LayerRecord, record_of
from dssfn.shard import Rows, Samples

OUTPUT_BITS = 40  # of the largest number of an output matrix that nodes agree on
LARGEST_ROUNDING = 1e-6  # between two processors


def train_private(
    samples: Samples,
    plan: Plan,
    *,
    n_nodes: int,
    node: NodeId = 0,
    noise: NoiseSource | None = None,
    n_threads: int = 1,
    start: Progress | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_layer: Callable[[LayerRecord], None] | None = None,
) -> Program[Network]:
    """Train a network of one hidden layer, whose sums are noisy.

    Parameters are those of `dssfn.training.train_node`.
    """
    check_node_samples(samples.n_samples)
    n_honest(plan, n_nodes)  # refuses more colluders than nodes, before any pass
    source = noise or NoiseSource(budget_of(plan))
    progress = start
    if progress is None:
        stage = yield from _agree_scaling(samples, plan, n_nodes, source)
        progress = Progress((), (), 1).then(stage, 0)
        if on_progress:
            on_progress(progress)
    first = progress.stages[0]
    n_samples = float(first["n_samples"][0])
    if on_layer:
        on_layer(_record(0, (n_samples, 0.0), n_samples, 0))
    if len(progress.stages) == 1:
        stage = yield from _solve_layer(
            samples, plan, first, n_nodes, node, source, n_threads
        )
        progress = progress.then(stage, 2)
        if on_progress:
            on_progress(progress)
    if len(progress.stages) == 2:
        O = progress.stages[1]["O"]
        stage = yield from _agree_errors(samples, plan, first, O, n_nodes, source)
        progress = progress.then(stage, 1)
        if on_progress:
            on_progress(progress)
    if on_layer:
        errors = progress.stages[2]["errors"].tolist()
        on_layer(_record(1, errors, n_samples, sum(progress.iterations[1:])))
    return network_of(plan, progress)


def network_of(plan: Plan, progress: Progress) -> Network:
    """Return the network of a finished training."""
    layers = progress.first(2)
    assert layers is not None
    return fixed_size.network_of(plan, layers)


def check_stages(plan: Plan, progress: Progress) -> None:
    """Refuse stages that no training with this plan has, with a ValueError."""
    P, Q = plan.n_features, plan.n_outputs
    shapes: list[dict[str, tuple[int, ...]]] = [
        {"O": (Q, plan.inputs_of(0)), "shift": (P,), "scale": (P,), "n_samples": (1,)},
        {"O": (Q, plan.inputs_of(1))},
        {"errors": (2,)},
    ]
    came = [{name: A.shape for name, A in stage.items()} for stage in progress.stages]
    if not came or came != shapes[: len(came)]:
        raise ValueError("its matrices are not those of the plan")


def is_complete(progress: Progress | None) -> bool:
    """Return whether both layers are solved, and the errors are known."""
    return progress is not None and len(progress.stages) == 3


def _agree_scaling(
    samples: Samples, plan: Plan, n_nodes: int, source: NoiseSource
) -> Program[Stage]:
    """Release the moments of the inputs, and return layer 0."""
    ranges = Range(*plan.input_range)
    change = moments_change(plan.n_features)
    deviation = source.budget.factor_of(SCALING) * math.sqrt(change)
    mine = moments_of(_checked(samples.chunks(CHUNK)), ranges)
    mine += source.share(SCALING, mine, _share(plan, n_nodes, deviation))
    totals = yield Message.of(mine).about(INPUTS)
    found = scaling_of(totals, ranges)
    return {
        "O": np.zeros((plan.n_outputs, plan.inputs_of(0))),
        "shift": found.shift,
        "scale": found.scale,
        "n_samples": np.array([found.n_samples]),
    }


def _solve_layer(
    samples: Samples,
    plan: Plan,
    first: Stage,
    n_nodes: int,
    node: NodeId,
    source: NoiseSource,
    n_threads: int,
) -> Program[Stage]:
    """Release the sums of the hidden layer, and return it."""
    Q, limits = plan.n_outputs, Clipped(plan.most_width)
    deviation = source.budget.factor_of(LAYER) * math.sqrt(limits.most_change)
    mine = sums_of(
        _checked(samples.chunks(CHUNK)),
        lambda X: features_of(X, plan, first).units,
        Q,
        limits,
        n_threads,
    )
    agreed = (first["shift"], first["scale"])
    mine += source.share(LAYER, mine, _share(plan, n_nodes, deviation), agreed)
    totals = yield Message.of(mine).about(1)
    O = yield Agreed(_solved, (totals, Q, limits, deviation))
    O = yield from _agree_outputs(O, node)
    return {"O": rounded_outputs(O, 2 * Q)}


def _agree_errors(
    samples: Samples,
    plan: Plan,
    first: Stage,
    O: Array,
    n_nodes: int,
    source: NoiseSource,
) -> Program[Stage]:
    """Release how well the hidden layer does on training samples."""
    deviation = source.budget.factor_of(ERRORS) * math.sqrt(errors_change())
    mine = errors_of(
        _checked(samples.chunks(CHUNK)),
        lambda X: IntegerUnits(plan).scores(1, O, features_of(X, plan, first)),
    )
    agreed = (first["shift"], first["scale"], O)
    mine += source.share(ERRORS, mine, _share(plan, n_nodes, deviation), agreed)
    totals = yield Message.of(mine).about(1)
    return {"errors": read_errors(totals, float(first["n_samples"][0]))}


def features_of(X: Array, plan: Plan, first: Stage) -> IntegerFeatures:
    """Return the features of the hidden layer for inputs (P, c), by the scaling."""
    V = scaled_inputs(plan, X, first["shift"], first["scale"])
    units = IntegerUnits(plan)
    return units.following(0, np.zeros((plan.n_outputs, V.shape[1])), units.first(V))


def _solved(totals: Integers, Q: int, limits: Clipped, deviation: float) -> Array:
    """Return the output matrix of the hidden layer."""
    O = solve_noisy(read_sums(totals, Q, limits), deviation)
    wide = np.zeros((Q, 2 * Q))  # both sides of the scores of layer 0, which are zero
    return np.hstack([wide, O * (FINER * LEVELS)])


def _agree_outputs(O: Array, node: NodeId) -> Program[Array]:
    """Return the first node's output matrix: others send zeros to the total."""
    exponent = math.frexp(float(np.abs(O).max(initial=0.0)))[1] - OUTPUT_BITS
    levels = np.rint(np.ldexp(O, -exponent)).astype(np.int64)
    mine = np.concatenate([[exponent], levels.ravel()]).astype(np.int64)
    totals = yield Message.of(mine if node == 0 else np.zeros_like(mine)).about(1)
    agreed: Array = np.ldexp(totals[1:].astype(np.float64), int(totals[0]))
    agreed = agreed.reshape(O.shape)
    size = float(np.linalg.norm(O))
    if not np.linalg.norm(agreed - O) <= LARGEST_ROUNDING * size:
        raise NumericalError(
            "The first node computes another output matrix from the same totals. Some "
            "node does not follow the plan, or runs another version."
        )
    return agreed


def _share(plan: Plan, n_nodes: int, deviation: float) -> int:
    """Return the variance of one node's noise.

    Members that collude can take their own from the totals; that of the others is
    enough.
    """
    return math.ceil(deviation**2 / n_honest(plan, n_nodes))


def _checked(chunks: Iterator[Rows]) -> Iterator[Rows]:
    """Yield samples, each of which counts once and has one class."""
    for rows in chunks:
        if rows.weights is not None:
            raise DataError(
                "`sample_weight` must be left out with `epsilon`: the noise is "
                "calibrated for rows that count once. Train without weights."
            )
        is_one_hot = (rows.T == 1).sum(axis=0) == 1
        if not (is_one_hot & ((rows.T != 0).sum(axis=0) == 1)).all():
            raise DataError(
                "`T` must have a one for the class of every sample, and zeros, with "
                "`epsilon`; got other numbers."
            )
        yield rows


def _record(
    layer: int, errors: Sequence[float], n_samples: float, n_averagings: int
) -> LayerRecord:
    totals = np.array([errors[0], n_samples, errors[1], n_samples])
    return record_of(layer, totals, n_averagings, has_classes=layer > 0)
