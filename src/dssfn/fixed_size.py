"""The paper's Algorithm 1, from the view of one node: a network of fixed size.

`train_fixed` is a program (see `dssfn.programs`): whoever drives it sees messages only;
samples and labels stay in here.

The sums that describe a finished layer (cost, correct samples) ride along with the
first message of the next layer, so reporting costs no exchange of its own but for one
after the last layer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing

import numpy as np

from dssfn._typing import Array, Numbers
from dssfn.config import Plan
from dssfn.exact.bounds import STEPS, WIDE
from dssfn.exact.gram_bounds import Weighing
from dssfn.features import Features
from dssfn.network import Network
from dssfn.programs import INPUTS, NO_RIDER, Message, Program, run_about
from dssfn.progress import Progress, Stage
from dssfn.records import LayerRecord, record_of
from dssfn.scaling import (
    Weighted,
    agree_exact_scaling,
    agree_scaling,
    agree_usual_weight,
)
from dssfn.shard import Samples
from dssfn.solvers import solver_of
from dssfn.sum_bounds import SumBounds
from dssfn.summation import Summation, summation_of
from dssfn.targets import Targets, are_agreed, weighing_of

WEIGHT, USUAL_WEIGHT = "weight", "usual_weight"  # names of arrays of the first stage


def train_fixed(
    samples: Samples,
    plan: Plan,
    *,
    n_nodes: int,
    memory: int | None = None,
    n_threads: int = 1,
    is_elastic: bool = False,
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
            agreed, before = yield from _agree(
                features, plan, n_threads, is_elastic=is_elastic
            )
            progress = Progress((), (), before)
        else:
            agreed, progress = start.stages[0], start
        known = {} if is_elastic else agreed  # of nodes that come and go nothing is
        targets, weighing = _targets(plan, agreed), _weighing(plan, agreed, known)
        features.scale(agreed["shift"], agreed["scale"], targets, weighing)
        summation = summation_of(plan, n_nodes)
        bounds = _tally_bounds(plan, summation, weighing)
        tally: Numbers = NO_RIDER  # this node's part of what describes the last layer
        for stage in progress.stages:
            tally = features.advance(stage["O"])
        for layer in range(len(progress.stages), plan.depth + 1):
            solver = solver_of(plan, layer, progress.iterations)
            solution = solver.program(features.share(), plan.radius)
            program = run_about(layer, solution, tally, bounds)
            O, reply, n_averagings = yield from program
            if on_layer and layer > 0:
                totals = summation.read(reply)
                on_layer(_record(plan, layer - 1, totals, progress))
            stage = {"O": O} if layer > 0 else {"O": O, **agreed}
            progress = progress.then(stage, n_averagings)
            if on_progress:
                on_progress(progress)
            tally = features.advance(O)
    reply = yield Message.of(tally, bounds).about(plan.depth)
    if on_layer:
        totals = summation.read(reply)
        on_layer(_record(plan, plan.depth, totals, progress))
    return network_of(plan, progress)


def _record(plan: Plan, layer: int, totals: Array, progress: Progress) -> LayerRecord:
    n_averagings = progress.iterations[-1]
    has_classes = not plan.is_regression
    return record_of(layer, totals, n_averagings, has_classes=has_classes)


def network_of(plan: Plan, progress: Progress) -> Network:
    """Return the network of a finished training."""
    first = progress.stages[0]
    outputs = tuple(stage["O"] for stage in progress.stages)
    targets = _targets(plan, first)
    return Network(
        plan, outputs, first["shift"], first["scale"], targets.shift, targets.scale
    )


def check_stages(plan: Plan, progress: Progress) -> None:
    """Refuse stages that no training with this plan has, with a ValueError."""
    Q, n_solved = plan.n_outputs, len(progress.stages)
    if not 1 <= n_solved <= plan.depth + 1:
        raise ValueError(f"it has {n_solved} layers")
    for layer, stage in enumerate(progress.stages):
        shapes: dict[str, tuple[int, ...]] = {"O": (Q, plan.inputs_of(layer))}
        if layer == 0:
            shapes |= {name: A.shape for name, A in _nothing_agreed(plan).items()}
            for name in (WEIGHT, USUAL_WEIGHT):
                if name in stage and plan.is_exact:
                    shapes[name] = (1,)
        if {name: A.shape for name, A in stage.items()} != shapes:
            raise ValueError("its matrices are not those of the plan")


def is_complete(plan: Plan, progress: Progress | None) -> bool:
    """Return whether all layers are solved."""
    return progress is not None and len(progress.stages) == plan.depth + 1


def _agree(
    features: Features, plan: Plan, n_threads: int, *, is_elastic: bool
) -> Program[tuple[Stage, int]]:
    """Return the scaling of inputs and targets, and the averagings that it took."""
    agreed = _nothing_agreed(plan)
    of_inputs = plan.standardize or plan.has_gaps
    wanted = [of_inputs, are_agreed(plan)]  # moments of X, and of T
    if not any(wanted):
        return agreed, 0
    sizes = [plan.n_features, plan.n_outputs]
    n = sum(size for size, is_wanted in zip(sizes, wanted, strict=True) if is_wanted)

    def rows() -> Iterator[Weighted]:
        for X, T, weights in features.samples():
            some = [A for A, is_wanted in zip((X, T), wanted, strict=True) if is_wanted]
            yield np.vstack(some), weights

    gaps = plan.has_gaps
    program = agree_scaling(rows, features.weight, has_gaps=gaps)
    if plan.is_exact:
        start = 0 if of_inputs else plan.n_features
        names = plan.data_names and plan.data_names[start:]
        program = agree_exact_scaling(
            rows,
            n,
            n_threads,
            has_gaps=gaps,
            names=names,
            n_shares=plan.n_outputs if wanted[1] and not plan.is_regression else 0,
            is_elastic=is_elastic,
        )
    moments, _, n_averagings = yield from run_about(INPUTS, program)
    P = plan.n_features if of_inputs else 0
    if of_inputs:
        agreed |= {"shift": moments.shift[:P]}
    if plan.standardize:
        agreed |= {"scale": moments.scale[:P]}
    if are_agreed(plan):
        agreed |= Targets.of(plan, moments.shift[P:], moments.scale[P:]).stage()
    if plan.is_exact:
        targets = _targets(plan, agreed)
        chunks = map(targets.applied, features.samples())
        known = math.inf if is_elastic else moments.weight
        weighing = agree_usual_weight(chunks, known, targets.class_factors)
        usual_weight, _, n_more = yield from run_about(INPUTS, weighing)
        n_averagings += n_more
        agreed[WEIGHT] = np.array([moments.weight])
        if usual_weight is not None:
            agreed[USUAL_WEIGHT] = np.array([float(usual_weight)])
    return agreed, n_averagings


def _weighing(plan: Plan, agreed: Stage, known: Stage) -> Weighing:
    """Return how much samples weigh, as far as that is known and was agreed on."""
    weight, usual = known.get(WEIGHT), agreed.get(USUAL_WEIGHT)
    return weighing_of(
        plan,
        _targets(plan, agreed),
        math.inf if weight is None else float(weight[0]),
        None if usual is None else int(usual[0]),
    )


def _tally_bounds(
    plan: Plan, summation: Summation, weighing: Weighing
) -> SumBounds | None:
    """Return the bounds of `Features.advance`.

    Scores are clipped at 32 and targets of classes are zero or one, while those of a
    regression may be anything. All samples are counted in the last sum.
    """
    squares = math.inf
    if not plan.is_regression:
        squares = plan.n_outputs * (WIDE / STEPS + 1) ** 2 * weighing.factor
    high = np.array([squares, squares, 1.0, 1.0])
    return summation.bounds(np.array([0.0, 0.0, 0.0, 1.0]), high, weighing.given)


def _nothing_agreed(plan: Plan) -> dict[str, Array]:
    """Return the numbers that come before layer 0, as they are without agreement."""
    P = plan.n_features
    inputs = {"shift": np.zeros(P), "scale": np.ones(P)}
    return inputs | (_plain_targets(plan).stage() if are_agreed(plan) else {})


def _targets(plan: Plan, agreed: Stage) -> Targets:
    """Return what is done to targets; what need not be agreed on is in the plan."""
    return Targets.from_stage(agreed) if are_agreed(plan) else _plain_targets(plan)


def _plain_targets(plan: Plan) -> Targets:
    Q = plan.n_outputs
    return Targets.of(plan, np.zeros(Q), np.ones(Q))
