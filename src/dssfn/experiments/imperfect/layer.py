"""One hidden layer over a network that is not perfect, by every contender.

The layer before it is solved over perfect links, and is the same for all. Then nodes
solve the layer together in simulated time, while somebody looks at what each holds.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from dssfn._typing import Array
from dssfn.ball import solve_ball, squared_norm
from dssfn.datasets import load_dataset
from dssfn.events import Conditions, run_programs
from dssfn.experiments.imperfect.cases import Case, conditions_of
from dssfn.experiments.imperfect.watching import (
    Watch,
    WatchedParty,
    WatchedScheme,
    thinned,
)
from dssfn.features import Features
from dssfn.parties import Joint, Party
from dssfn.problem import LayerSums, unpack
from dssfn.programs import Program
from dssfn.registry import PARTIES
from dssfn.rows import Metrics
from dssfn.runs import divided, make_plan
from dssfn.simulator import simulate
from dssfn.solvers.gram import Gram
from dssfn.solvers.relaxed import Relaxed
from dssfn.topology import Topology, build_topology


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A layer's least squares, divided over nodes.

    Parameters
    ----------
    shares : tuple of LayerSums
        One per node.
    n_samples : tuple of int
        How many samples each has.
    cost_of_zero : float
        ||T||^2 over all samples.
    radius : float
        The largest norm of the output matrix.
    topology : Topology
        Who talks to whom.
    """

    shares: tuple[LayerSums, ...]
    n_samples: tuple[int, ...]
    cost_of_zero: float
    radius: float
    topology: Topology

    def together(self) -> tuple[Array, Array]:
        """Return G and C over all samples."""
        packed = sum(share.packed_gram() for share in self.shares)
        C: Array = sum((share.cross() for share in self.shares), np.zeros(1))
        return unpack(np.asarray(packed), C.shape[1]), C

    def gap(self) -> Gap:
        """Return how to tell how far a matrix is from the optimum."""
        G, C = self.together()
        best = solve_ball(G, C, self.radius)
        return Gap(G, C, self.cost_of_zero, self.radius, best)


@dataclass(frozen=True, slots=True, eq=False)
class Gap:
    """Relative cost gaps of matrices, and of sums that a matrix follows from."""

    G: Array
    C: Array
    cost_of_zero: float
    radius: float
    best: Array

    def of(self, O: Array) -> float:
        """Return (cost - optimum) / optimum, without cancellation near the optimum."""
        D = O - self.best
        slope = self.best @ self.G - self.C  # half the gradient at the optimum
        excess = 2 * float(np.vdot(slope, D)) + float(np.vdot(D @ self.G, D))
        cost = self.cost_of_zero - 2 * float(np.vdot(self.best, self.C))
        cost += float(np.vdot(self.best @ self.G, self.best))
        return max(excess, 0.0) / cost

    def of_sums(self, values: Array | None) -> float:
        """Return the gap of the solution from C and G as a message has them."""
        if values is None:
            return self.of(np.zeros_like(self.C))
        Q, n = self.C.shape
        G, C = unpack(values[Q * n :], n), values[: Q * n].reshape(Q, n)
        with np.errstate(all="ignore"):
            try:
                return self.of(solve_ball(G, C, self.radius))
            except (np.linalg.LinAlgError, ArithmeticError, ValueError):
                return self.of(np.zeros_like(self.C))  # no sums of samples yet

    def of_matrix(self, O: Array | None) -> float:
        """Return the gap of a matrix; that of zero if there is none yet."""
        return self.of(np.zeros_like(self.C) if O is None else O)


@lru_cache(maxsize=2)  # contenders and conditions share the layer
def layer_of(case: Case, partition: str, seed: int, data_dir: Path | None) -> Layer:
    """Return the first hidden layer of a case, its samples divided in some way."""
    data = load_dataset(case.data, data_dir=data_dir, seed=seed)
    topology = build_topology("circular", case.n_nodes, degree=case.degree)
    sizes = {"n_layers": 1, "width": case.width, "seed": seed}
    plan = make_plan(data, **sizes, units="dense", solver="gram", standardize=True)
    run = divided(data, plan, topology, partition)
    network = simulate(run.shards, plan, topology).networks[0]
    shares, cost_of_zero = [], 0.0
    for shard in run.shards:
        with closing(Features(shard, network.plan)) as features:
            features.scale(network.shift, network.scale)
            features.share()
            cost_of_zero += float(features.advance(network.outputs[0])[1])
            share = features.share()
            G = unpack(share.packed_gram(), share.shape[1])
            shares.append(LayerSums(np.asfortranarray(G), share.cross()))
    n_samples = tuple(shard.n_samples for shard in run.shards)
    return Layer(tuple(shares), n_samples, cost_of_zero, plan.radius, topology)


def measured(
    case: Case,
    contender: str,
    trouble: str,
    partition: str,
    seed: int,
    data_dir: Path | None,
) -> Metrics:
    """Return time, bytes and gaps of a contender on one layer."""
    layer = layer_of(case, partition, seed, data_dir)
    with threadpool_limits(1, user_api="blas"):  # matrices are small
        return _watched_layer(case, contender, trouble, layer, seed)


def _watched_layer(
    case: Case, contender: str, trouble: str, layer: Layer, seed: int
) -> Metrics:
    gap = layer.gap()
    perfect = contender == "perfect"
    conditions = conditions_of(case, "loss 0" if perfect else trouble, seed)
    if contender == "relaxed":
        return _relaxed(case, layer, gap, conditions)
    watch = Watch(gap.of_sums, case.n_nodes)
    name = "push-sum" if contender == "push-sum" else "tree"
    scheme = WatchedScheme(PARTIES[name](layer.topology, 0.0), watch)
    programs = [Gram().program(share, layer.radius) for share in layer.shares]
    results = _run(programs, scheme, layer, conditions, watch)
    return _metrics(watch, gap, results)


def _relaxed(case: Case, layer: Layer, gap: Gap, conditions: Conditions) -> Metrics:
    """Run relaxed ADMM; its penalty is known beforehand, and not charged."""
    watch = Watch(gap.of_matrix, case.n_nodes)
    trace = np.array([np.mean([share.trace() for share in layer.shares])])

    def program(share: LayerSums) -> Program[Array]:
        requests = Relaxed(case.n_iter).program(share, layer.radius)
        next(requests)  # the trace
        request = requests.send(trace)
        assert isinstance(request, Joint)
        x: Array = yield Joint(partial(_watched, request, watch), layer=0)
        return x

    scheme = PARTIES["tree"](layer.topology, 0.0)  # averages nothing
    programs = [program(share) for share in layer.shares]
    results = _run(programs, scheme, layer, conditions, watch)
    return _metrics(watch, gap, results)


def _watched(request: Joint, watch: Watch, node: int, *rest: Any) -> WatchedParty:
    party: Party = request.make(node, *rest)
    watch.add(node, party)
    return WatchedParty(party, watch)


def _run(
    programs: list[Program[Array]],
    scheme: Any,
    layer: Layer,
    conditions: Conditions,
    watch: Watch,
) -> list[Array]:
    results, engine = run_programs(
        programs,
        scheme,
        conditions,
        topology=layer.topology,
        n_samples=layer.n_samples,
    )
    watch.look(engine.now)
    return results


def _metrics(watch: Watch, gap: Gap, results: list[Array]) -> Metrics:
    kept = thinned(watch.times)
    size = np.sqrt(squared_norm(gap.best))
    distance = float(max(np.linalg.norm(O - gap.best) for O in results) / size)
    return {
        "times": [watch.times[k] for k in kept],
        "bytes": [watch.bytes_sent[k] for k in kept],
        "gaps": [watch.gaps[k] for k in kept],
        "seconds": watch.times[-1],
        "bytes_total": watch.n_bytes,
        "gap": max(gap.of(O) for O in results),
        "distance": distance,
    }
