"""The program of a node whose network finds its own size.

How this works. A layer takes two averagings: one of the members' sums over their
training samples, by which every node solves the layer for all ridges, and one of the
errors on validation samples for each of them, by which every node takes the same ridge.
The input scale is chosen at layer 1, and the width there too, by growing it while the
validation error falls; a wider layer sends its new sums only. The depth is that of the
lowest validation error. Every choice is a function of agreed numbers. At the end nodes
agree on how steep the probabilities are, and on how good the model is on validation
samples.

`size = "ssfn"` is the same with one member, no validation samples, and training errors,
which follow from the sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dssfn._typing import Array, NodeId, Numbers
from dssfn.config import Plan
from dssfn.ensemble.arithmetic import Arithmetic
from dssfn.ensemble.basis import BasedSamples, Basis, agree_basis
from dssfn.ensemble.calibrate import SLOPES, best_slope, slope_losses
from dssfn.ensemble.choices import EXACT, Rules, choose, rules_of
from dssfn.ensemble.dense import Dense
from dssfn.ensemble.folds import fold_rule
from dssfn.ensemble.integer import Integer
from dssfn.ensemble.layer_records import layer_record
from dssfn.ensemble.limits import Limits
from dssfn.ensemble.model import Ensemble
from dssfn.ensemble.solve import (
    Solved,
    moments_of,
    settle,
    solve_hidden,
    solve_linear,
    training_cost,
)
from dssfn.ensemble.stages import (
    BEFORE,
    ensemble_of,
    errors_of,
    is_complete,
    picked_scale,
    scales_of,
    steps_of,
    width_of,
    widths_of,
)
from dssfn.ensemble.track import TALLY, Track
from dssfn.ensemble.units import n_features_of
from dssfn.ensemble.validation import score_message, score_stage
from dssfn.programs import (
    INPUTS,
    NO_RIDER,
    Agreed,
    MembersOf,
    Message,
    Program,
    run_about,
)
from dssfn.progress import Progress, Stage
from dssfn.records import LayerRecord
from dssfn.shard import Samples
from dssfn.sum_bounds import SumBounds, repeated

OnProgress = Callable[[Progress], None]
OnLayer = Callable[[LayerRecord], None]


def grow_ensemble(
    samples: Samples,
    plan: Plan,
    *,
    n_nodes: int,
    node: NodeId = 0,
    memory: int | None = None,
    n_threads: int = 1,
    members_of: MembersOf | None = None,
    start: Progress | None = None,
    on_progress: OnProgress | None = None,
    on_layer: OnLayer | None = None,
) -> Program[Ensemble]:
    """Grow members layer by layer on one node's samples, and find their size.

    Parameters are those of `dssfn.training.train_node`.
    """
    is_elastic = members_of is not None
    if start is None:
        program = agree_basis(samples, plan, n_nodes, n_threads, is_elastic=is_elastic)
        basis, _, before = yield from run_about(INPUTS, program)
        progress = Progress((), (), before)
    else:
        basis, progress = Basis.from_stage(start.stages[0]), start
    # Of nodes that come and go nobody knows how much their samples weigh.
    bounding = replace(basis, weight=math.inf) if is_elastic else basis
    with ExitStack() as stack:
        growth = _Growth(
            plan=plan,
            basis=basis,
            bounding=bounding,
            members_of=members_of,
            arithmetic=(arithmetic := arithmetic_of(plan, bounding, n_nodes)),
            node=node,
            n_nodes=n_nodes,
            tracks=[
                stack.enter_context(closing(track))
                for track in _tracks(
                    samples, plan, basis, arithmetic, node, memory, n_threads
                )
            ],
            progress=progress,
            on_progress=on_progress,
            on_layer=on_layer,
        )
        growth.replay()
        yield from growth.run()
    return ensemble_of(plan, growth.progress)


def arithmetic_of(plan: Plan, basis: Basis, n_nodes: int) -> Arithmetic:
    """Return what a training computes with."""
    if plan.is_exact:
        return Integer(plan, basis.weighing(plan))
    return Dense(plan, n_nodes)


def _tracks(
    samples: Samples,
    plan: Plan,
    basis: Basis,
    arithmetic: Arithmetic,
    node: NodeId,
    memory: int | None,
    n_threads: int,
) -> Iterator[Track]:
    """Yield a track for every scale of the inputs that is tried."""
    K = basis.n_members
    for factors in scales_of(plan, basis):
        yield Track(
            BasedSamples(samples, basis),
            plan,
            arithmetic,
            basis.shift,
            basis.scale,
            factors,
            n_members=K,
            fold_of=fold_rule(plan.replace(members=K), node),
            counted=basis.targets.counted,
            keep=memory is None or needed_memory(plan, K, samples.n_samples) <= memory,
            n_threads=n_threads,
        )


def needed_memory(plan: Plan, n_members: int, n_samples: int) -> int:
    """Return the bytes that a node's chunks may take, and as much for all else."""
    units, others = plan.most_width, 3 * plan.n_outputs + plan.n_features
    a_sample = (1 if plan.is_exact else 8) * units + 8 * others
    return 2 * 2 * n_members * a_sample * n_samples


@dataclass(frozen=True, slots=True)
class _Tried:
    """A layer of one track, solved for all ridges, one of which was chosen.

    Parameters
    ----------
    solved : Solved
        The sums and all solutions.
    choice : int
        The number of the ridge.
    error, correct : float
        Squared error and correct answers on validation samples, of all nodes.
    before : float
        The squared error that the layer before has on the same samples.
    """

    solved: Solved
    choice: int
    error: float
    correct: float
    before: float

    @property
    def width(self) -> int:
        return width_of(self.solved.paths[0])


@dataclass(slots=True)
class _Growth:
    """A training under way on one node. Every layer is a stage of its progress.

    Parameters
    ----------
    plan, node, n_nodes, members_of, on_progress, on_layer
        As in `grow_ensemble`.
    basis : Basis
        What was agreed on before the first layer.
    bounding : Basis
        The same, as far as totals can be held to it.
    arithmetic : Arithmetic
        What the training computes with.
    tracks : list of Track
        One for every scale of the inputs, until one is picked.
    progress : Progress
        The layers that are solved.
    """

    plan: Plan
    basis: Basis
    bounding: Basis
    members_of: MembersOf | None
    arithmetic: Arithmetic
    node: NodeId
    n_nodes: int
    tracks: list[Track]
    progress: Progress
    on_progress: OnProgress | None
    on_layer: OnLayer | None
    rules: Rules = field(init=False)
    limits: Limits = field(init=False)
    n_steps: int = 0  # averagings of this stage
    cost: float = 0.0  # of one member, before the layer that is being solved

    def __post_init__(self) -> None:
        self.rules = rules_of(self.plan, self.basis.weight)
        self.limits = Limits(self.plan, self.bounding, self.arithmetic.summation)

    def run(self) -> Program[None]:
        """Go on from the progress to the end."""
        if not self.progress.stages:
            yield from self._linear_layer()
        while not self.rules.is_deep_enough(errors_of(self.progress)):
            yield from self._hidden_layer(len(self.progress.stages))
        if not is_complete(self.progress):
            yield from self._last_stage()

    def replay(self) -> None:
        """Bring the tracks to where the progress is."""
        for layer, stage in enumerate(self.progress.layers):
            if layer > 0:
                self._begin(layer)
                for width in steps_of(stage):
                    for track in self.tracks:
                        track.widen(layer, self._centres, width)
            self._advance(layer, stage)

    def _linear_layer(self) -> Program[None]:
        """Solve layer 0 for every scale of the inputs."""
        plan, K = self.plan, self.basis.n_members
        n = n_features_of(0, plan.n_features, plan.n_outputs, 0)
        request = self._sums(0, 0, n, K + 1, self.tracks[0].fill_linear)
        numbers, before = yield from self._exchange(0, request, self._rider())
        scales = tuple(tuple(one.tolist()) for one in scales_of(plan, self.basis))
        has_classes = not plan.is_regression
        arguments = (numbers, K, n, scales, self.rules.pulls(0), has_classes)
        solved, gaps = yield Agreed(solve_linear, (self.arithmetic, *arguments))
        tried = yield from self._judge(0, self.tracks, solved, before)
        outputs = []
        for one in tried:
            outputs.append(np.stack((yield self._settling(0, one))))
        stage = {
            **self.basis.stage(),
            "O": np.stack(outputs),
            "centres": self.arithmetic.centres(solved[0].levels()),
            "gaps": np.array(gaps, dtype=float),
            "validation": np.stack([self._validation(one) for one in tried]),
        }
        if self.rules.most_layers == 0:
            stage["picked"] = _pick(tried)
        self._finish(0, stage)

    def _hidden_layer(self, layer: int) -> Program[None]:
        """Solve a hidden layer, and find its width if that is open."""
        self._begin(layer)
        width, *wider = self.rules.widths(layer, widths_of(self.progress))
        every, before = yield from self._solve(layer, width, None)
        picked = _pick(every)
        number = int(picked[0])
        self._tell(layer - 1, before[number], number)
        if layer == 1:
            self._keep_track(number)
        tried = every[number]
        tries = [(number, width, one.error) for number, one in enumerate(every)]
        for width in wider:
            if not self._may_widen():
                break
            (next_one,), _ = yield from self._solve(layer, width, tried.solved)
            tries.append((number, width, next_one.error))
            if not self.rules.is_worth_it(tried.error, next_one.error):
                self.tracks[0].narrow(tried.width)
                break
            tried = next_one
        outputs = yield self._settling(layer, tried)
        means, deviations = yield Agreed(moments_of, (tried.solved, outputs))
        means = means.copy()
        means[:, -self.plan.n_outputs :] += self._centres
        stage = {
            "O": np.stack(outputs),
            "means": means,
            "deviations": deviations,
            "validation": self._validation(tried)[None],
            "tries": np.array(tries, dtype=float),
        }
        if self.members_of:
            stage[BEFORE] = np.array([tried.before])
        self._finish(layer, stage | ({"picked": picked} if layer == 1 else {}))

    def _may_widen(self) -> bool:
        """Return whether the sums of more units are of the same samples.

        Sums of products of some units over other nodes' samples than those of others
        are no layer's of anybody.
        """
        if self.members_of is None:
            return True
        first = self.progress.n_averagings
        at_first, now = self.members_of(first), self.members_of(first + self.n_steps)
        return list(at_first) == list(now)

    def _solve(
        self, layer: int, width: int, old: Solved | None
    ) -> Program[tuple[list[_Tried], Array]]:
        """Solve a layer of some width on every track.

        Returns the solutions and the tallies of the layer before.
        """
        K, tracks, arithmetic = self.basis.n_members, self.tracks, self.arithmetic
        n = n_features_of(layer, 0, self.plan.n_outputs, width)
        first = len(old.gains) if old else 0
        for track in tracks:
            track.widen(layer, self._centres, width)

        def fill(into: Numbers) -> None:
            for track, part in zip(tracks, np.split(into, len(tracks)), strict=True):
                track.fill_hidden(part, first, n)

        rider = NO_RIDER if old else self._rider()
        request = self._sums(layer, first, n, len(tracks) * K, fill)
        numbers, before = yield from self._exchange(layer, request, rider)
        solved = []
        for part in np.split(numbers, len(tracks)):
            arguments = (part, K, (first, n), old, self.rules.pulls(layer))
            solved.append((yield Agreed(solve_hidden, (arithmetic, *arguments))))
        tried = yield from self._judge(layer, tracks, solved, before)
        return tried, before

    def _judge(
        self,
        layer: int,
        tracks: Sequence[Track],
        solved: Sequence[Solved],
        before: Array,
    ) -> Program[list[_Tried]]:
        """Choose the ridge on every track, by its error on validation samples."""
        if self.basis.n_members == 1:
            if before.size:
                self.cost = float(before[0, 0])
            (one,) = solved
            return [_Tried(one, 0, training_cost(one, self.cost), 0.0, self.cost)]
        mine = [
            track.validation(one.paths)
            for track, one in zip(tracks, solved, strict=True)
        ]
        n_sums = sum(len(one.paths[0]) for one in solved)
        bounds = self.limits.judged(n_sums)
        totals = yield from self._total(layer, np.concatenate(mine), bounds)
        tried = []
        for one, sums in zip(solved, totals.reshape(len(solved), -1, 2), strict=True):
            errors = np.maximum(sums[:, 0], EXACT * self.basis.weight)
            choice = choose(errors)
            error, correct = float(errors[choice]), float(sums[choice, 1])
            # The last ridge keeps the layer before.
            tried.append(_Tried(one, choice, error, correct, float(errors[-1])))
        return tried

    def _last_stage(self) -> Program[None]:
        """Agree on probabilities, and on how good the model is."""
        n_layers = len(self.progress.stages)
        slope = yield from self._calibration(n_layers - 1)
        scores: dict[str, Array] = {}
        if self.basis.n_members > 1:
            scores = yield from self._validation_scores(n_layers - 1, slope)
        self._finish(n_layers, {"slope": np.array([slope]), **scores})

    def _calibration(self, layer: int) -> Program[float]:
        """Find how steep the probabilities are, and tell of the last layer."""
        (track,) = self.tracks
        losses = self.arithmetic.summation.tally(len(SLOPES))
        if not self.plan.is_regression:
            for S, T, weights in track.best():
                losses.add(slope_losses(S, T, weights))
        request = Message.of(losses.numbers(), self.limits.losses())
        numbers, before = yield from self._exchange(layer, request, self._rider())
        self._tell(layer, before[0], picked_scale(self.progress, layer))
        return best_slope(self.arithmetic.summation.read(numbers))

    def _validation_scores(self, layer: int, slope: float) -> Program[dict[str, Array]]:
        """Agree on how good the model is on validation samples."""
        (track,) = self.tracks
        plan, basis = self.plan, self.basis
        where = {"node": self.node, "n_nodes": self.n_nodes}
        mine = score_message(track.best(), plan, basis, slope=slope, **where)
        tally = self.arithmetic.summation.tally(len(mine))
        tally.add(mine[:, None])
        bounds = self.limits.scores(self.n_nodes)
        totals = yield from self._total(layer, tally.numbers(), bounds)
        return score_stage(totals, plan, basis)

    def _sums(
        self, layer: int, first: int, n: int, times: int, fill: Callable[[Any], None]
    ) -> Message:
        """Return a message of sums of features `first` to n, several times over."""
        size = self.arithmetic.size(layer, first, n)
        bounds = repeated(self.arithmetic.bounds(layer, first, n), size, times)
        return Message((times * size,), fill, exact=self.plan.is_exact, bounds=bounds)

    def _settling(self, layer: int, tried: _Tried) -> Agreed:
        """Return the request for the output matrices of a layer."""
        pull = self.rules.pulls(layer)[tried.choice]
        arguments = (layer, tried.solved, tried.choice, pull)
        return Agreed(settle, (self.arithmetic, *arguments))

    def _total(
        self, layer: int, numbers: Numbers, bounds: SumBounds | None
    ) -> Program[Array]:
        """Return the sums over all nodes of what a tally holds."""
        reply, _ = yield from self._exchange(layer, Message.of(numbers, bounds))
        return self.arithmetic.summation.read(reply)

    def _exchange(
        self, layer: int, request: Message, rider: Numbers = NO_RIDER
    ) -> Program[tuple[Numbers, Array]]:
        """Return the reply to a message, and the sums of tallies that ride along."""
        self.n_steps += 1
        bounds = self.limits.described(len(self.tracks)) if rider.size else None
        reply = (yield request.about(layer, rider, bounds)).ravel()
        tallies = self.arithmetic.summation.read(reply[request.size :])
        return reply[: request.size], tallies.reshape(-1, TALLY)

    def _begin(self, layer: int) -> None:
        """Bring the tracks from one layer to the inputs of the next."""
        before = self.progress.stages[layer - 1]
        for track in self.tracks:
            if layer == 1:
                track.begin_first()
            else:
                track.begin_next(before["means"], before["deviations"])

    def _finish(self, layer: int, stage: Stage) -> None:
        """Take a stage as solved."""
        self.progress = self.progress.then(stage, self.n_steps)
        self.n_steps = 0
        if self.on_progress:
            self.on_progress(self.progress)
        if "O" in stage:
            self._advance(layer, stage)

    def _advance(self, layer: int, stage: Stage) -> None:
        """Let all samples pass through a solved layer."""
        outputs = stage["O"] if layer == 0 else stage["O"][None]
        if "picked" in stage and len(self.tracks) > 1:
            picked = int(stage["picked"][0])
            self._keep_track(picked)
            outputs = outputs[[picked]] if layer == 0 else outputs
        errors = errors_of(self.progress)[: layer + 1]
        for track, O in zip(self.tracks, outputs, strict=True):
            if layer > 0:
                track.drop_inputs()
            track.advance(O)
            if self.rules.depth(errors) == layer:
                track.keep_best()

    def _keep_track(self, picked: int) -> None:
        for number, track in enumerate(self.tracks):
            if number != picked:
                track.close()
        self.tracks = [self.tracks[picked]]

    @property
    def _centres(self) -> Array:
        return self.progress.stages[0]["centres"]

    def _rider(self) -> Numbers:
        return np.concatenate([track.tally() for track in self.tracks])

    def _validation(self, tried: _Tried) -> Array:
        return np.array([tried.error, tried.correct, float(tried.choice)])

    def _tell(self, layer: int, tally: Array, number: int) -> None:
        """Make the record of a layer known, for the scale of this number."""
        if self.on_layer:
            known = self.plan, self.basis, self.rules, self.progress
            self.on_layer(layer_record(*known, layer, tally, number))


def _pick(tried: Sequence[_Tried]) -> Array:
    return np.array([float(choose(np.array([one.error for one in tried])))])
