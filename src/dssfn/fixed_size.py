"""The paper's Algorithm 1, from the view of one node: a network of fixed size.

`train_fixed` is a program (see `dssfn.programs`): whoever drives it sees messages only;
samples and labels stay in here.

The sums that describe a finished layer (cost, correct samples) ride along with the
first message of the next layer, so reporting costs no exchange of its own but for one
after the last layer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import numpy as np

from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.features import Features
from dssfn.network import Network
from dssfn.programs import INPUTS, NO_RIDER, Message, Program, run_about
from dssfn.progress import Progress
from dssfn.records import LayerRecord, record_of
from dssfn.scaling import agree_scaling
from dssfn.shard import Samples
from dssfn.solvers import solver_of


def train_fixed(
    samples: Samples,
    plan: Plan,
    *,
    n_nodes: int,
    memory: int | None = None,
    n_threads: int = 1,
    start: Progress | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_layer: Callable[[LayerRecord], None] | None = None,
) -> Program[Network]:
    """Grow the network layer by layer on one node's samples.

    Parameters are those of `dssfn.training.train_node`.
    """
    with closing(
        Features(samples, plan, memory=memory, n_threads=n_threads)
    ) as features:
        if start is None:
            shift, scale, before = yield from _scaling(features, plan)
            progress = Progress((), (), before)
        else:
            progress = start
            shift, scale = (start.stages[0][name] for name in ("shift", "scale"))
        features.scale(shift, scale)
        tally = NO_RIDER  # this node's part of the sums that describe the last layer
        for stage in progress.stages:
            tally = features.advance(stage["O"])
        for layer in range(len(progress.stages), plan.depth + 1):
            solver = solver_of(plan, layer, progress.iterations)
            solution = solver.program(features.share(), plan.radius)
            O, mean, n_averagings = yield from run_about(layer, solution, tally)
            if on_layer and layer > 0:
                record = record_of(layer - 1, n_nodes * mean, progress.iterations[-1])
                on_layer(record)
            inputs = {} if layer > 0 else {"shift": shift, "scale": scale}
            progress = progress.then({"O": O, **inputs}, n_averagings)
            if on_progress:
                on_progress(progress)
            tally = features.advance(O)
    mean = yield Message.of(tally).about(plan.depth)
    if on_layer:
        on_layer(record_of(plan.depth, n_nodes * mean, progress.iterations[-1]))
    return network_of(plan, progress)


def network_of(plan: Plan, progress: Progress) -> Network:
    """Return the network of a finished training."""
    first = progress.stages[0]
    outputs = tuple(stage["O"] for stage in progress.stages)
    return Network(plan, outputs, first["shift"], first["scale"])


def check_stages(plan: Plan, progress: Progress) -> None:
    """Refuse stages that no training with this plan has, with a ValueError."""
    Q, n_solved = plan.n_outputs, len(progress.stages)
    if not 1 <= n_solved <= plan.depth + 1:
        raise ValueError(f"it has {n_solved} layers")
    for layer, stage in enumerate(progress.stages):
        shapes: dict[str, tuple[int, ...]] = {"O": (Q, plan.inputs_of(layer))}
        if layer == 0:
            shapes |= dict.fromkeys(("shift", "scale"), (plan.n_features,))
        if {name: A.shape for name, A in stage.items()} != shapes:
            raise ValueError("its matrices are not those of the plan")


def is_complete(plan: Plan, progress: Progress | None) -> bool:
    """Return whether all layers are solved."""
    return progress is not None and len(progress.stages) == plan.depth + 1


def _scaling(features: Features, plan: Plan) -> Program[tuple[Array, Array, int]]:
    """Return the scaling of the inputs, and the averagings that it took."""
    if not plan.standardize:
        return np.zeros(plan.n_features), np.ones(plan.n_features), 0
    program = agree_scaling(features.inputs, features.weight)
    moments, _, n_averagings = yield from run_about(INPUTS, program)
    return moments.shift, moments.scale, n_averagings
