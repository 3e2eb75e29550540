"""Whole trainings over networks that are not perfect, against the one in lockstep."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.linalg import norm

from dssfn.datasets import load_dataset
from dssfn.events import simulate_events
from dssfn.experiments.imperfect.cases import Case, conditions_of
from dssfn.rows import Metrics
from dssfn.runs import divided, make_plan
from dssfn.simulator import simulate
from dssfn.topology import build_topology

N_LAYERS = 2


def trained(
    case: Case, contender: str, trouble: str, seed: int, data_dir: Path | None
) -> Metrics:
    """Return how far a training by class is from that of perfect links.

    Its units are integers, unless relaxed ADMM solves the layers.
    """
    data = load_dataset(case.data, data_dir=data_dir, seed=seed)
    topology = build_topology("circular", case.n_nodes, degree=case.degree)
    plan = make_plan(data, n_layers=N_LAYERS, width=case.width, seed=seed)
    if contender == "relaxed":
        plan = plan.replace(units="dense", solver="relaxed", n_iter=case.n_iter)
    run = divided(data, plan, topology, "by-class")
    units = "dense" if contender == "relaxed" else "integer"
    best = plan.replace(solver="gram", units=units)
    lockstep = simulate(run.shards, best, topology)
    conditions = conditions_of(case, trouble, seed)
    result = simulate_events(
        run.shards,
        plan,
        topology,
        links=conditions.links,
        nodes=conditions.nodes,
        seed=seed,
        scheme="tree" if contender == "tree" else "push-sum",
    )
    pairs = [
        pair
        for network in result.training.networks
        for pair in zip(network.outputs, lockstep.networks[0].outputs, strict=True)
    ]
    costs = result.training.history[-1].cost, lockstep.history[-1].cost
    return {
        "distance": max(float(norm(O - Z) / norm(Z)) for O, Z in pairs),
        "same_bits": all(np.array_equal(O, Z) for O, Z in pairs),
        "gap": costs[0] / costs[1] - 1,
        "node_spread": result.training.node_spread,
        "seconds": result.seconds,
        "bytes_total": result.posts.bytes_total,
        "letters": result.posts.letters,
        "lost": result.posts.lost,
    }
