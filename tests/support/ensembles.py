"""Small problems for networks that find their own size, and what was found."""

from __future__ import annotations

import numpy as np

from dssfn.config import Plan
from dssfn.driver import drive
from dssfn.planning import settle
from dssfn.shard import Shard, one_hot
from dssfn.training import train_node
from dssfn.transports import memory_network


def draw(rng, *, P=4, Q=3, J=60, kind="continuous", weighted=False):
    """Samples (P, J), targets of Q classes or, for Q = 0, two numbers, and weights."""
    X = {
        "continuous": rng.normal(size=(P, J)) * rng.uniform(0.1, 10, (P, 1)),
        "whole": rng.integers(0, 5, (P, J)).astype(float),
        "binary": rng.integers(0, 2, (P, J)).astype(float),
    }[kind]
    S = rng.normal(size=(Q or 2, P)) @ np.sin(X) + 0.3 * rng.normal(size=(Q or 2, J))
    T = one_hot(S.argmax(axis=0), Q) if Q else S
    return X, T, rng.integers(1, 4, J).astype(float) if weighted else None


def plan_of(X, T, **settings):
    """A plan for one-hot targets, or a regression for others."""
    is_one_hot = ((T == 0) | (T == 1)).all() and (T.sum(axis=0) == 1).all()
    names = tuple(f"t{q}" for q in range(len(T)))
    kind = {"classes": names} if is_one_hot else {"targets": names}
    return Plan(n_features=len(X), **kind, **settings)


def split(X, T, weights, owner):
    """One shard for each node that owns a sample."""
    parts = [np.flatnonzero(owner == node) for node in range(owner.max() + 1)]
    return [
        Shard(X[:, rows], T[:, rows], None if weights is None else weights[rows])
        for rows in parts
        if len(rows)
    ]


def choices(simulation):
    """All that was chosen: ridges and widths by layer, depth, scale and members."""
    history, plan = simulation.history, simulation.networks[0].plan
    ridges = [(record.afresh, record.ridge) for record in history]
    widths = [record.width for record in history]
    return ridges, widths, plan.n_layers, plan.scale, plan.members


def errors(simulation):
    return np.array([record.validation_error_db for record in simulation.history])


def stages_of(shards, plan, topology, start=None, **settings):
    """Train over a transport; return models, progress by stage, and records."""
    seen, records = [], []
    plan, averaging = settle(plan, topology)
    nodes = range(topology.n_nodes)
    links = [(i, j) for i in nodes for j in topology.neighbours(i)]
    (transport,) = memory_network([nodes], links)
    programs = {
        node: train_node(
            shards[node],
            plan,
            n_nodes=len(nodes),
            node=node,
            start=start,
            on_progress=None if node else seen.append,
            on_layer=None if node else records.append,
            **settings,
        )
        for node in nodes
    }
    step = start.n_averagings if start else 0
    models = drive(programs, averaging, transport, step=step)
    return models, seen, records


def tensors(model):
    """All arrays of an ensemble."""
    moments = [*model.means, *model.deviations]
    inputs = [model.shift, model.scale, model.factors]
    targets = [model.target_shift, model.target_scale]
    slope = np.array([model.slope])
    return [*model.outputs, model.centres, *moments, *inputs, *targets, slope]


def same_bits(one, other):
    pairs = zip(tensors(one), tensors(other), strict=True)
    return one.plan == other.plan and all(a.tobytes() == b.tobytes() for a, b in pairs)
