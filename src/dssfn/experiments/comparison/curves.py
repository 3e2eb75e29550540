"""dSSFN against what people would use instead: test accuracy against bytes sent.

Federated averaging and decentralised SGD train perceptrons of scikit-learn's usual size
on the same shards over the same graph, with several step sizes each. All of them begin
with inputs standardised by agreed means, and every byte of every method is charged.
A row is one curve; that of dSSFN must be the same for every split of the data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dssfn.consensus import Averaging, Gossip, Tree
from dssfn.datasets import load_dataset
from dssfn.errors import NumericalError
from dssfn.experiments.averages import scaling_of
from dssfn.experiments.comparison.learners import (
    Learners,
    Local,
    Round,
    federated_round,
    mixed_step,
)
from dssfn.network import standardise
from dssfn.presets import resolve
from dssfn.rows import Key, Metrics
from dssfn.runs import (
    Experiment,
    divided,
    make_plan,
    run_experiment,
)
from dssfn.shard import Samples, Shard
from dssfn.simulator import Traffic
from dssfn.sweeps import Task
from dssfn.topology import build_topology

EXPERIMENT = "comparison"
SPLITS = ("iid", "by-class", "dirichlet:0.1")
POINTS = 25  # of a curve
MOMENTUM = 0.9  # of decentralised SGD, which is slow without

Choices = tuple[tuple[float, int], ...]
"""Step sizes, each with local epochs or local steps."""

FEDAVG: Choices = ((0.3, 1), (1.0, 1), (0.1, 5), (0.3, 5))
DPSGD: Choices = ((0.03, 1), (0.1, 1), (0.3, 1), (0.1, 4))


@dataclass(frozen=True, slots=True)
class Setting:
    """The sizes of a comparison.

    Parameters
    ----------
    data : str
    networks : tuple of (name, L, width, consensus)
        Of dSSFN; "auto" takes the fastest averaging, "tree" that of fewest bytes.
    hidden : int
        Units of the baselines' perceptron.
    n_averages, n_mixings : int
        Of federated averaging; of decentralised SGD.
    fedavg, dpsgd : tuple of (rate, epochs) and (rate, steps)
        What the baselines try.
    n_nodes, degree : int
        Of the circular graph.
    """

    data: str
    networks: tuple[tuple[str, int, int, str], ...]
    hidden: int
    n_averages: int
    n_mixings: int
    fedavg: Choices = FEDAVG
    dpsgd: Choices = DPSGD
    n_nodes: int = 20
    degree: int = 4

    def key(self, split: str, seed: int, *, quick: bool) -> Key:
        """What the rows of all methods share."""
        return {
            "data": self.data,
            "split": split,
            "nodes": self.n_nodes,
            "degree": self.degree,
            "seed": seed,
            "quick": quick,
        }

    def experiment(
        self, split: str, seed: int, data_dir: Path | None, **settings: Any
    ) -> Experiment:
        """The shards, and the plan of dSSFN's default settings."""
        data = load_dataset(self.data, data_dir=data_dir, seed=seed)
        plan = make_plan(data, seed=seed, **resolve("default", settings))
        graph = build_topology("circular", self.n_nodes, degree=self.degree)
        return divided(data, plan, graph, split)


SIZES = (("default", 20, 1000, "auto"), ("small", 5, 300, "tree"))
FULL = (
    Setting("satimage", SIZES, hidden=100, n_averages=200, n_mixings=400),
    Setting("letter", SIZES, hidden=100, n_averages=100, n_mixings=400),
)
QUICK = (
    Setting(
        "digits",
        (("small", 5, 100, "tree"),),
        hidden=50,
        n_averages=15,
        n_mixings=40,
        fedavg=((0.3, 1), (0.3, 5)),
        dpsgd=((0.1, 1), (0.3, 1)),
        n_nodes=10,
        degree=2,
    ),
)


def tasks(
    *, quick: bool, seeds: Sequence[int], data_dir: Path | None = None
) -> list[Task]:
    """The rows of this experiment.

    Parameters
    ----------
    quick : bool
        Digits and few settings.
    seeds : sequence of int
    data_dir : Path, optional
        As in `load_dataset`.

    Examples
    --------
    >>> sorted({str(task.key["method"]) for task in tasks(quick=True, seeds=[0])})
    ['dpsgd', 'dssfn', 'fedavg']
    """
    return [
        Task(
            EXPERIMENT,
            {**setting.key(split, seed, quick=quick), **more},
            partial(run, setting, split, seed, data_dir),
        )
        for seed in seeds[:1]  # hours otherwise; what a split costs is seen with one
        for setting in (QUICK if quick else FULL)
        for split in SPLITS
        for more, run in _runs(setting)
    ]


def _runs(setting: Setting) -> Iterator[tuple[Key, partial[Metrics]]]:
    """Every method with every choice, and what tells it from the others."""
    for name, n_layers, width, consensus in setting.networks:
        key: Key = {"method": "dssfn", "setting": name}
        key |= {"layers": n_layers, "width": width}
        run = partial(dssfn_curve, n_layers=n_layers, width=width, consensus=consensus)
        yield key, run
    for rate, epochs in setting.fedavg:
        key = {"method": "fedavg", "setting": f"rate {rate:g}, epochs {epochs}"}
        key |= {"hidden": setting.hidden, "averages": setting.n_averages}
        yield key, partial(fedavg_curve, rate=rate, epochs=epochs)
    for rate, steps in setting.dpsgd:
        key = {"method": "dpsgd", "setting": f"rate {rate:g}, steps {steps}"}
        key |= {"hidden": setting.hidden, "mixings": setting.n_mixings}
        yield key, partial(dpsgd_curve, rate=rate, steps=steps)


def dssfn_curve(
    setting: Setting,
    split: str,
    seed: int,
    data_dir: Path | None,
    **settings: Any,
) -> Metrics:
    """The accuracy of every depth, and all bytes that were sent up to it."""
    experiment = setting.experiment(split, seed, data_dir, **settings)
    outcome = run_experiment(experiment, check_equivalence=True, on_layer=None)
    found, total = outcome.figures, outcome.figures["communication"]
    steps = [total["before_layers"], *found["layers"]]
    sent = np.cumsum([step["bytes_total"] for step in steps])[1:]
    return {
        **_curve(sent.tolist(), [layer["test_accuracy"] for layer in found["layers"]]),
        "rounds": total["rounds"],
        "scalars_per_node": total["scalars_per_node"],
        "prediction_agreement": found["equivalence"]["prediction_agreement"],
        "central_difference": found["equivalence"]["central_difference"],
        "predictions_sha256": _digest(outcome.tested.predicted),
        "solver": found["settings"]["solver"],
        "consensus": total["consensus"],
    }


def fedavg_curve(
    setting: Setting,
    split: str,
    seed: int,
    data_dir: Path | None,
    *,
    rate: float,
    epochs: int,
) -> Metrics:
    """Federated averaging, each average along a tree."""
    experiment = setting.experiment(split, seed, data_dir)
    local = Local(setting.hidden, rate, epochs=epochs)
    tree = Tree(experiment.topology)
    return _trained(
        experiment, local, federated_round, tree, seed=seed, n_rounds=setting.n_averages
    )


def dpsgd_curve(
    setting: Setting,
    split: str,
    seed: int,
    data_dir: Path | None,
    *,
    rate: float,
    steps: int,
) -> Metrics:
    """Decentralised SGD, each mixing over all links.

    Its model is the mean of all nodes' weights, which one average along a tree finds at
    the end; that is charged at every point, as if it were the last.
    """
    experiment = setting.experiment(split, seed, data_dir)
    local = Local(setting.hidden, rate, MOMENTUM, steps=steps)
    once = Gossip(experiment.topology, 1)
    return _trained(
        experiment, local, mixed_step, once, seed=seed, n_rounds=setting.n_mixings
    )


def _trained(
    experiment: Experiment,
    local: Local,
    do_round: Round,
    averaging: Averaging,
    *,
    seed: int,
    n_rounds: int,
) -> Metrics:
    traffic, tree = Traffic(), Tree(experiment.topology)
    samples, (X, y) = _standardised(experiment, traffic)
    nodes = Learners(samples, experiment.plan.n_outputs, local, seed=seed)
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
            do_round(nodes, averaging, traffic, step)
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


def _standardised(experiment: Experiment, traffic: Traffic) -> tuple[list[Any], Any]:
    """The nodes' samples in rows, and the test samples; the scaling is charged."""
    tree = Tree(experiment.topology)
    shift, scale = scaling_of(experiment.shards, tree, traffic)

    def rows(shard: Samples | None) -> tuple[Any, NDArray[np.intp]]:
        assert isinstance(shard, Shard)
        return standardise(shard.X, shift, scale).T.copy(), _labels(shard)

    return [rows(shard) for shard in experiment.shards], rows(experiment.test)


def _labels(samples: Samples) -> NDArray[np.intp]:
    assert isinstance(samples, Shard)
    codes: NDArray[np.intp] = samples.T.argmax(axis=0)
    return codes


def _curve(sent: list[int], accuracies: list[float]) -> Metrics:
    """A curve, its end and its best point; empty if the first round diverged."""
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
