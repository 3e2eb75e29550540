"""Curves of test accuracy against bytes, one for every method.

Every byte of every method is charged, also those of the agreed scaling.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dssfn.consensus import Averaging, Gossip, Tree
from dssfn.datasets import load_dataset
from dssfn.errors import NumericalError
from dssfn.experiments.averages import scaling_of
from dssfn.experiments.comparison import ComparisonCase
from dssfn.experiments.comparison.learners import (
    Learners,
    Local,
    Method,
    federated_round,
    mixed_step,
)
from dssfn.hosting import Traffic
from dssfn.network import standardise
from dssfn.presets import resolve
from dssfn.rows import Metrics
from dssfn.runs import (
    Run,
    divided,
    execute,
    make_plan,
)
from dssfn.shard import Samples, Shard
from dssfn.topology import build_topology

POINTS = 25  # of a curve
MOMENTUM = 0.9  # for decentralised SGD, which is slow without


def training_of(
    case: ComparisonCase, split: str, seed: int, data_dir: Path | None, **settings: Any
) -> Run:
    """Return the shards, and the plan of dSSFN's default settings."""
    data = load_dataset(case.data, data_dir=data_dir, seed=seed)
    plan = make_plan(data, seed=seed, **resolve("default", settings))
    graph = build_topology("circular", case.n_nodes, degree=case.degree)
    return divided(data, plan, graph, split)


def dssfn_curve(
    case: ComparisonCase,
    split: str,
    seed: int,
    data_dir: Path | None,
    **settings: Any,
) -> Metrics:
    """Return the accuracy of every depth, and all bytes that were sent up to it."""
    run = training_of(case, split, seed, data_dir, **settings)
    outcome = execute(run, check_equivalence=True, on_layer=None)
    result = outcome.result
    total, equal = result.communication, result.equivalence
    assert total is not None  # a simulation knows both
    assert equal is not None
    accuracies = [one.test_accuracy or 0.0 for one in result.layers]
    layers = [one.bytes_total or 0 for one in result.layers]
    layers[-1] += total.after_layers.bytes_total
    sent = np.cumsum([total.before_layers.bytes_total, *layers])[1:]
    return {
        **_curve(sent.tolist(), accuracies),
        "rounds": total.rounds,
        "scalars_per_node": total.scalars_per_node,
        "prediction_agreement": equal.prediction_agreement,
        "central_difference": equal.central_difference,
        "predictions_sha256": _digest(outcome.tested.predicted),
        "solver": result.settings.solver,
        "consensus": total.consensus,
    }


def fedavg_curve(
    case: ComparisonCase,
    split: str,
    seed: int,
    data_dir: Path | None,
    *,
    rate: float,
    epochs: int,
) -> Metrics:
    """Return the curve of federated averaging, with each average along a tree."""
    run = training_of(case, split, seed, data_dir)
    local = Local(case.hidden, rate, epochs=epochs)
    tree = Tree(run.topology)
    return _trained(
        run, local, federated_round, tree, seed=seed, n_rounds=case.n_averages
    )


def dpsgd_curve(
    case: ComparisonCase,
    split: str,
    seed: int,
    data_dir: Path | None,
    *,
    rate: float,
    steps: int,
) -> Metrics:
    """Return the curve of decentralised SGD, with each mixing over all links.

    Its model is the mean of all nodes' weights, which one average along a tree finds at
    the end; that is charged at every point, as if it were the last.
    """
    run = training_of(case, split, seed, data_dir)
    local = Local(case.hidden, rate, MOMENTUM, steps=steps)
    once = Gossip(run.topology, 1)
    return _trained(run, local, mixed_step, once, seed=seed, n_rounds=case.n_mixings)


CURVES: dict[str, Callable[..., Metrics]] = {
    "dssfn": dssfn_curve,
    "fedavg": fedavg_curve,
    "dpsgd": dpsgd_curve,
}


def _trained(
    run: Run,
    local: Local,
    method: Method,
    averaging: Averaging,
    *,
    seed: int,
    n_rounds: int,
) -> Metrics:
    traffic, tree = Traffic(), Tree(run.topology)
    samples, (X, y) = _standardised(run, traffic)
    nodes = Learners(samples, run.plan.n_outputs, local, seed=seed)
    shown = set(np.geomspace(1, n_rounds, POINTS).astype(int).tolist())
    sent: list[int] = []
    right: list[float] = []  # with the mean of all weights
    worst: list[float] = []  # of the nodes, each with its own weights
    with (
        threadpool_limits(1, user_api="blas"),
        np.errstate(all="ignore"),
        suppress(NumericalError),  # too large a step ends the curve
    ):
        for step in range(n_rounds):
            method(nodes, averaging, traffic, step)
            if step + 1 in shown:
                ended = replace(traffic)
                if not nodes.are_equal():
                    ended.add(tree, nodes.weights().shape[1])
                right.append(nodes.accuracy_of_mean(X, y))
                worst.append(min(nodes.accuracies(X, y)))
                sent.append(ended.bytes_total)
    return {
        **_curve(sent, right),
        "worst_node_accuracy": worst,
        "rounds": traffic.rounds,
        "scalars_per_node": traffic.scalars_per_node,
    }


def _standardised(run: Run, traffic: Traffic) -> tuple[list[Any], Any]:
    """Return the nodes' samples in rows, and the test samples; scaling is charged."""
    tree = Tree(run.topology)
    shift, scale = scaling_of(run.shards, tree, traffic)

    def rows(shard: Samples | None) -> tuple[Any, NDArray[np.intp]]:
        assert isinstance(shard, Shard)
        return standardise(shard.X, shift, scale).T.copy(), _labels(shard)

    return [rows(shard) for shard in run.shards], rows(run.test)


def _labels(samples: Samples) -> NDArray[np.intp]:
    assert isinstance(samples, Shard)
    codes: NDArray[np.intp] = samples.T.argmax(axis=0)
    return codes


def _curve(sent: list[int], accuracies: list[float]) -> Metrics:
    """Return a curve, its end and its best point; empty if the first round diverged."""
    best = int(np.argmax(accuracies)) if accuracies else None
    return {
        "bytes_total": sent,
        "test_accuracy": accuracies,
        "last_accuracy": accuracies[-1] if accuracies else None,
        "best_accuracy": None if best is None else accuracies[best],
        "best_bytes": None if best is None else sent[best],
    }


def _digest(predicted: NDArray[np.intp]) -> str:
    return hashlib.sha256(predicted.astype("<i8").tobytes()).hexdigest()
