"""Gradient descent over the graph, until its cost is as low as that of dSSFN.

How this works. Gradient descent is given what helps it: inputs standardised by agreed
means and a constant beside them, He's weights, Nesterov's or Adam's steps with the best
of several step sizes (looked for on a part of the samples; that is not charged), and a
cost that rides along with the gradient. Its steps are computed centrally, which the
averages of the gradients equal: the first of them are also made over the nodes, and
compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.consensus import Averaging
from dssfn.datasets import load_dataset
from dssfn.experiments.averages import average_together, scaling_of
from dssfn.experiments.communication import COMPARED, EtaCase
from dssfn.experiments.communication.gradient import (
    Adam,
    Momentum,
    Samples,
    Shape,
    Step,
    centralised_costs,
    descend,
)
from dssfn.hosting import Simulation, Traffic
from dssfn.network import DenseUnits, standardise
from dssfn.planning import settle
from dssfn.presets import paper_mu, resolve
from dssfn.rows import Metrics
from dssfn.runs import Run, divided, make_plan
from dssfn.shard import Shard
from dssfn.simulator import simulate
from dssfn.solvers.gram import Gram
from dssfn.topology import build_topology

STEPS: dict[str, tuple[Callable[[float], Step], tuple[float, ...]]] = {
    "adam": (Adam, (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)),
    "momentum": (Momentum, (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1)),
}
SEARCHED = 20  # iterations with each step size
SEARCHED_PART = 8  # on every eighth sample
CHECKED = 3  # iterations that are also made over the nodes
LARGEST_CHECKED = 500_000  # weights: twenty nodes hold a gradient each
POINTS = 100  # of a curve


def training_of(case: EtaCase, scheme: str, seed: int, data_dir: Path | None) -> Run:
    """Return the paper's training, or the same network with other solvers."""
    data = load_dataset(case.data, data_dir=data_dir, seed=seed)
    mu_input, mu_hidden = paper_mu(case.data, case.n_nodes) or (None, None)
    chosen = {
        "solver": COMPARED[scheme].solver,
        "consensus": COMPARED[scheme].consensus,
    }
    sizes = {"n_layers": case.n_layers, "width": case.width}
    settings = resolve("paper", chosen | sizes) | chosen
    plan = make_plan(
        data,
        mu_input=mu_input,
        mu_hidden=mu_hidden,
        seed=seed,
        **settings,
    )
    graph = build_topology("circular", case.n_nodes, degree=case.degree)
    return divided(data, plan, graph, "iid")


def measure_eta(
    case: EtaCase, scheme: str, seed: int, data_dir: Path | None = None
) -> Metrics:
    """Train both, and compare what they sent."""
    run = training_of(case, scheme, seed, data_dir)
    plan, averaging = settle(run.plan, run.topology)
    result = simulate(run.shards, plan, run.topology)
    target = result.history[-1].cost
    descent = descent_of(case, seed, data_dir)
    n_iter, reached = descent.reach(target)
    traffic = descent_traffic(descent.shape, n_iter, averaging, plan.n_features)
    ratio = traffic.scalars_per_node / result.traffic.scalars_per_node
    return {
        "target_cost": target,
        "target_db": result.history[-1].train_error_db,
        **_dssfn_metrics(result),
        **_descent_metrics(descent, n_iter, traffic, averaging),
        "reached": reached,
        "eta_formula": paper_ratio(plan, result, n_iter),
        "eta_measured": ratio,
        "eta_bytes": traffic.bytes_total / result.traffic.bytes_total,
        "decentralised_difference": over_the_nodes(descent, averaging),
    }


def _dssfn_metrics(result: Simulation) -> Metrics:
    by_layer = [result.traffic_by_layer[r.layer] for r in result.history]
    before = result.traffic.scalars_per_node - sum(t.scalars_per_node for t in by_layer)
    sums = np.cumsum([t.scalars_per_node for t in by_layer]) + before
    return {
        "dssfn_cost": [record.cost for record in result.history],
        "dssfn_cost_scalars": sums.tolist(),
        "dssfn_iterations": [record.iterations for record in result.history],
        "dssfn_scalars_per_node": result.traffic.scalars_per_node,
        "dssfn_rounds": result.traffic.rounds,
        "dssfn_bytes_total": result.traffic.bytes_total,
        "dssfn_consensus": result.consensus,
    }


def _descent_metrics(
    descent: Descent, n_iter: int, traffic: Traffic, averaging: Averaging
) -> Metrics:
    shown = np.unique(np.geomspace(1, n_iter + 1, POINTS).astype(int) - 1).tolist()
    per_iteration = averaging.n_rounds * (descent.shape.size + 1)
    n_searched = SEARCHED * len(STEPS[descent.case.steps][1])
    return {
        "descent_cost": [descent.costs[i] for i in shown],
        "descent_cost_iterations": shown,
        "descent_cost_scalars": [i * per_iteration for i in shown],
        "descent_iterations": n_iter,
        "descent_rate": descent.rate,
        "descent_weights": descent.shape.size,
        "descent_scalars_per_node": traffic.scalars_per_node,
        "descent_rounds": traffic.rounds,
        "descent_bytes_total": traffic.bytes_total,
        "descent_search_scalars_per_node": n_searched * per_iteration,  # not charged
    }


def paper_ratio(plan: Plan, result: Simulation, n_iter: int) -> float:
    """Return the paper's eta = n I / (Q K).

    Q K n numbers are what a hidden layer averages. With krylov, K is the mean number of
    averagings; gram's one message counts as many of size Q n as it is long.
    """
    Q, n = plan.n_outputs, plan.n_units
    hidden = [record.iterations for record in result.history[1:]]
    at_once = Gram().message_size(Q, n) / (Q * n)
    K = at_once if plan.solver == "gram" else float(np.mean(hidden))
    return n * n_iter / (Q * K)


def descent_traffic(
    shape: Shape, n_iter: int, averaging: Averaging, n_features: int
) -> Traffic:
    """Return what gradient descent sends: scaling, gradients with costs, last cost."""
    traffic = Traffic()
    scaling = [1 + n_features, 2 * n_features, 2 * n_features]
    for size in [*scaling, *[shape.size + 1] * n_iter, 1]:
        traffic.add(averaging, size)
    return traffic


@dataclass(slots=True, eq=False)
class Descent:
    """Centralised gradient descent, as far as it has been needed.

    Parameters
    ----------
    case : EtaCase
        The case that it is for.
    shape : Shape
        The sizes of the network.
    shards : list of (Y, T)
        The nodes' samples.
    start : array of shape (size,)
        The first weights.
    """

    case: EtaCase
    shape: Shape
    shards: list[Samples]
    start: Array
    rate: float = field(init=False)
    costs: list[float] = field(init=False)
    _more: Iterator[float] = field(init=False)

    def __post_init__(self) -> None:
        pooled = _pooled(self.shards)
        self.rate = self._best_rate(pooled)
        self._more = self._costs(pooled, self.rate, self.case.cap)
        self.costs = [next(self._more)]

    def reach(self, target: float) -> tuple[int, bool]:
        """Return the iterations to a cost, and whether it was reached with them."""
        for cost in self._more if min(self.costs) > target else ():
            if not math.isfinite(cost):
                break
            self.costs.append(cost)
            if cost <= target:
                break
        reached = [i for i, cost in enumerate(self.costs) if cost <= target]
        return (reached[0], True) if reached else (len(self.costs) - 1, False)

    def step(self) -> Step:
        """Return a step of the size that was found."""
        return STEPS[self.case.steps][0](self.rate)

    def _best_rate(self, pooled: Samples) -> float:
        part: Samples = pooled[0][:, ::SEARCHED_PART], pooled[1][:, ::SEARCHED_PART]
        last = {
            rate: _or_infinite([*self._costs(part, rate, SEARCHED)][-1])
            for rate in STEPS[self.case.steps][1]
        }
        return min(last, key=lambda rate: last[rate])

    def _costs(self, samples: Samples, rate: float, n_iter: int) -> Iterator[float]:
        step = STEPS[self.case.steps][0](rate)
        return centralised_costs(self.shape, self.start, step, samples, n_iter)


def _or_infinite(cost: float) -> float:
    return cost if math.isfinite(cost) else math.inf


def _pooled(shards: list[Samples]) -> Samples:
    Y, T = (np.hstack(parts) for parts in zip(*shards, strict=True))
    return Y, T


@lru_cache(maxsize=1)  # the schemes' targets lie on one way
def descent_of(case: EtaCase, seed: int, data_dir: Path | None) -> Descent:
    """Return gradient descent for a case; its way does not depend on the target."""
    run = training_of(case, "gram", seed, data_dir)
    plan = run.plan.replace(standardize=True, bias=1.0, precision=case.precision)
    _, averaging = settle(plan, run.topology)
    shift, scale = scaling_of(run.shards, averaging, Traffic())
    shards: list[Samples] = []
    for shard in run.shards:
        assert isinstance(shard, Shard)
        Y = DenseUnits(plan).first(standardise(shard.X, shift, scale))
        shards.append((Y, shard.T.astype(case.precision)))
    shape = Shape(len(Y), plan.n_units, plan.depth, plan.n_outputs)
    return Descent(case, shape, shards, shape.initial(seed, case.precision))


def over_the_nodes(
    descent: Descent, averaging: Averaging, n_iter: int = CHECKED
) -> float | None:
    """Return the largest relative distance of the nodes' weights to the centralised.

    It is measured in double precision, after a few iterations; None if the network is
    too large.
    """
    if descent.shape.size > LARGEST_CHECKED:
        return None
    shards = [(Y.astype(float), T.astype(float)) for Y, T in descent.shards]
    nodes = average_together(_programs(descent, shards, n_iter), averaging, Traffic())
    alone = build_topology("complete", 1)
    _, nobody = settle(Plan(n_features=1, classes=(0, 1)), alone)
    together = _programs(descent, [_pooled(shards)], n_iter)
    (central,) = average_together(together, nobody, Traffic())
    size = float(np.linalg.norm(central - descent.start)) or 1.0
    return max(float(np.linalg.norm(mine - central)) for mine in nodes) / size


def _programs(descent: Descent, shards: list[Samples], n_iter: int) -> list[Any]:
    mean_samples = sum(Y.shape[1] for Y, _ in shards) / len(shards)
    return [
        descend(
            descent.shape,
            descent.start.astype(float),
            descent.step(),
            samples,
            mean_samples=mean_samples,
            n_iter=n_iter,
        )
        for samples in shards
    ]
