"""One trial of the paper: its data, its size, its graph, and a training with them.

It imports what trains, so experiments import it when a task is run.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dssfn.datasets import Dataset, load_dataset
from dssfn.experiments.paper import DEGREE, N_NODES, STAND_INS
from dssfn.presets import paper_mu, resolve
from dssfn.rows import Metrics
from dssfn.runs import Run, divided, execute, make_plan
from dssfn.topology import Topology, build_topology

QUICK_SAMPLES = 1500


class Size(NamedTuple):
    """The size of a network."""

    n_layers: int
    width: int


PAPER_SIZE, QUICK_SIZE = Size(20, 1000), Size(5, 100)


def size_of(*, quick: bool) -> Size:
    """Return the size of the paper's network, or of one that is trained in seconds."""
    return QUICK_SIZE if quick else PAPER_SIZE


def data_of(name: str, seed: int, *, quick: bool, data_dir: Path | None) -> Dataset:
    """Return a data set as one trial of the paper has it.

    The authors split Letter again in every trial; the others have a fixed split.
    """
    data = load_dataset(name, data_dir=data_dir, seed=seed)
    if name == "letter":
        data = _divided_again(data, seed)
    return _thinned(data, seed) if quick else data


def _divided_again(data: Dataset, seed: int) -> Dataset:
    X = np.concatenate([data.X_train, data.X_test])
    y = np.concatenate([data.y_train, data.y_test])
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [len(data.y_train)])
    return replace(
        data, X_train=X[train], y_train=y[train], X_test=X[test], y_test=y[test]
    )


def _thinned(data: Dataset, seed: int) -> Dataset:
    """Return a few samples, every class among them as in the whole."""
    rng = np.random.default_rng(seed)
    parts: dict[str, Any] = {}
    for part in ("train", "test"):
        X, y = getattr(data, f"X_{part}"), getattr(data, f"y_{part}")
        kept = np.sort(rng.permutation(len(y))[:QUICK_SAMPLES])
        parts |= {f"X_{part}": X[kept], f"y_{part}": y[kept]}
    return replace(data, **parts)


def in_range(data: Dataset) -> Dataset:
    """Return data with each feature scaled so that training samples fill [-1, 1].

    What is constant in training becomes zero there.
    """
    low, high = data.X_train.min(axis=0), data.X_train.max(axis=0)
    centre, half = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
    X_train, X_test = ((X - centre) / half for X in (data.X_train, data.X_test))
    return replace(data, X_train=X_train, X_test=X_test)


def ring(n_nodes: int = N_NODES, degree: int = DEGREE) -> Topology:
    """Return the paper's circular graph; a single node, centralised, has no link."""
    if n_nodes == 1:
        return build_topology("complete", 1)
    return build_topology("circular", n_nodes, degree=degree)


def settings_of(preset: str, name: str, n_nodes: int, *, quick: bool) -> dict[str, Any]:
    """Return a preset at the size of a trial; the paper's with its mu for the data."""
    settings = resolve(preset, {}) | size_of(quick=quick)._asdict()
    mu = paper_mu(STAND_INS.get(name, name), n_nodes)
    if preset == "paper" and mu:
        settings |= {"mu_input": mu[0], "mu_hidden": mu[1]}
    return settings


def train(data: Dataset, graph: Topology, *, seed: int, **settings: Any) -> Metrics:
    """Return the metrics of one training with samples divided at random."""
    plan = make_plan(data, seed=seed, **settings)
    return metrics_of(divided(data, plan, graph, "iid"))


def metrics_of(run: Run) -> Metrics:
    """Return the metrics of a training that tables show."""
    result = execute(run, check_equivalence=False, on_layer=None).result
    sent, equal = result.communication, result.equivalence
    assert sent is not None  # a simulation knows both
    assert equal is not None
    return {
        "train_accuracy": result.train_accuracy,
        "train_error_db": result.train_error_db,
        "test_accuracy": result.test_accuracy,
        "rounds": sent.rounds,
        "scalars_per_node": sent.scalars_per_node,
        "bytes_total": sent.bytes_total,
        "node_spread": equal.node_spread,
        "seconds": result.seconds.training,
    }
