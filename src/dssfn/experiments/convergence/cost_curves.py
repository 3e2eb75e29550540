"""The cost after every ADMM iteration, or after every layer.

What the nodes agree on in an iteration is seen by `simulate`; its cost over all samples
is computed afterwards from the sums of each layer, so that looking does not disturb the
training.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing
from pathlib import Path

import numpy as np

from dssfn._typing import Array
from dssfn.ball import project_ball
from dssfn.experiments.trial import data_of, ring, settings_of
from dssfn.features import Features
from dssfn.problem import LayerShare
from dssfn.programs import Message
from dssfn.rows import Metrics
from dssfn.runs import Run, divided, make_plan
from dssfn.shard import Pooled
from dssfn.simulator import simulate
from dssfn.training import Model


def curve_of(
    name: str, solver: str, seed: int, *, quick: bool, data_dir: Path | None
) -> Metrics:
    """Return the curve of a training with the paper's settings, by ADMM or krylov."""
    data = data_of(name, seed, quick=quick, data_dir=data_dir)
    graph = ring()
    settings = settings_of("paper", name, graph.n_nodes, quick=quick)
    if solver == "krylov":
        settings |= {"solver": "krylov", "consensus": "tree"}
    plan = make_plan(data, seed=seed, **settings)
    run = divided(data, plan, graph, "iid")
    curve = admm_curve if solver == "admm" else layer_curve
    return curve(run)


def layer_curve(run: Run) -> Metrics:
    """Return the averagings up to the end of every layer, and the cost there."""
    result = simulate(run.shards, run.plan, run.topology)
    ends = np.cumsum([record.iterations for record in result.history])
    return {
        "averagings": ends.tolist(),
        "cost": [record.cost for record in result.history],
    }


def admm_curve(run: Run) -> Metrics:
    """Return the cost of what the nodes agree on in every ADMM iteration."""
    plan = run.plan
    agreed: defaultdict[int, list[Array]] = defaultdict(list)

    def keep(message: Message, mean: Array) -> None:
        shape = plan.n_outputs, plan.inputs_of(max(message.layer, 0))
        if message.layer >= 0 and message.size >= shape[0] * shape[1]:
            Z = mean.ravel()[: shape[0] * shape[1]].reshape(shape)
            agreed[message.layer].append(project_ball(Z, plan.radius))

    result = simulate(run.shards, plan, run.topology, on_average=keep)
    costs = costs_of(run, result.networks[0], agreed)
    return {"averagings": list(range(1, len(costs) + 1)), "cost": costs}


def costs_of(run: Run, network: Model, agreed: dict[int, list[Array]]) -> list[float]:
    """Return sum_m ||T_m - Z Y_m||^2 of every Z, layer by layer, over all samples."""
    samples = Pooled(run.shards)
    costs: list[float] = []
    with closing(Features(samples, network.plan)) as features:
        features.scale(network.shift, network.scale)
        for layer, O in enumerate(network.outputs):
            share = features.share()
            cost_of_zero = float(features.advance(O)[1])
            costs += [cost_of_zero + _gain(share, Z) for Z in agreed[layer]]
    return costs


def _gain(share: LayerShare, Z: Array) -> float:
    """Return ||T - Z Y||^2 - ||T||^2 = <Z G - 2 C, Z>."""
    ZG = share.operator()(Z.T).T
    return float(np.vdot(ZG - 2 * share.cross(), Z))
