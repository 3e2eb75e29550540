"""One training from data to figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Label, NodeId
from dssfn.ball import TINY
from dssfn.config import Plan
from dssfn.datasets import Dataset, ShardFiles, partition
from dssfn.datasets.arrays import Source
from dssfn.errors import DataError
from dssfn.network import CHUNK, Network
from dssfn.rows import made_by
from dssfn.run_details import confusion_of, graph_of, held_by
from dssfn.shard import Pooled, Samples, Shard, class_codes, divide, one_hot
from dssfn.simulator import Simulation, Traffic, simulate
from dssfn.topology import Topology, build_topology
from dssfn.training import LayerRecord

OnLayer = Callable[[LayerRecord, Traffic], None]


@dataclass(frozen=True, slots=True)
class Experiment:
    """Everything that decides the outcome of a training.

    Parameters
    ----------
    name : str
        Of the data.
    shards : sequence of Samples
        One per node of this process, which in the simulator hosts all.
    test : Samples, optional
        To test on.
    plan : Plan
    topology : Topology
    partition : str
        How the samples were divided.
    memory : int, optional
        Bytes that the nodes of this process may use together.
    """

    name: str
    shards: Sequence[Samples]
    test: Samples | None
    plan: Plan
    topology: Topology
    partition: str
    memory: int | None = None


def make_plan(data: Dataset | ShardFiles, **settings: Any) -> Plan:
    """The plan of a training on some data: their classes and features, and settings."""
    if isinstance(data, ShardFiles):
        classes, n_features = data.classes, data.n_features
    else:
        classes, n_features = _classes_of(data), data.X_train.shape[1]
    return Plan(
        n_features=n_features,
        classes=classes,
        feature_names=data.feature_names,
        **settings,
    )


def _classes_of(data: Dataset) -> tuple[Label, ...]:
    """The labels of the training samples, among which those to test on must be."""
    classes = np.unique(data.y_train).tolist()
    unseen = set(data.y_test.tolist()) - set(classes)
    if unseen:
        raise DataError(
            f"`{data.name}`: the test samples have a label that no training sample "
            f"has: {sorted(unseen)[0]!r}. Remove them, or choose another split."
        )
    return tuple(classes)


def divided(
    data: Dataset,
    plan: Plan,
    topology: Topology,
    how: str | NDArray[np.intp],
    *,
    memory: int | None = None,
    nodes: Sequence[NodeId] | None = None,
) -> Experiment:
    """An experiment on a data set, its training samples divided over the nodes.

    `how` is as in `partition`. With `nodes`, only the shards of these are made.
    """
    at = Source(data.name, unit="sample").at
    codes = class_codes(data.y_train, plan.classes, at)
    rng = np.random.default_rng(plan.seed)
    parts = partition(codes, topology.n_nodes, how, rng=rng)
    if nodes is not None:
        parts = [parts[node] for node in nodes]
    test_codes = class_codes(data.y_test, plan.classes, at)
    test_targets = one_hot(test_codes, plan.n_outputs)
    return Experiment(
        name=data.name,
        shards=divide(data.X_train, codes, plan.n_outputs, parts),
        test=Shard(data.X_test.T, test_targets) if len(test_codes) else None,
        plan=plan,
        topology=topology,
        partition=how if isinstance(how, str) else "given",
        memory=memory,
    )


def from_files(
    files: ShardFiles,
    graph: Topology,
    settings: dict[str, Any],
    *,
    memory: int | None,
) -> Experiment:
    """An experiment on one file per node."""
    return Experiment(
        name=f"{graph.n_nodes} files",
        shards=files.shards,
        test=files.test,
        plan=make_plan(files, **settings),
        topology=graph,
        partition="one file each",
        memory=memory,
    )


def train(experiment: Experiment, on_layer: OnLayer | None = None) -> Simulation:
    """Train over the graph of an experiment, all nodes in this process."""
    return simulate(
        experiment.shards,
        experiment.plan,
        experiment.topology,
        memory=experiment.memory,
        on_layer=on_layer,
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """The trained network, how it did on the test samples, and figures for JSON."""

    network: Network
    tested: Tested
    figures: dict[str, Any]


def run_experiment(
    experiment: Experiment, *, check_equivalence: bool, on_layer: OnLayer | None
) -> Outcome:
    """Train over the graph, test, and compare with one place if asked to."""
    start = time.perf_counter()
    result = train(experiment, on_layer)
    tested = predict_test(result.networks[0], experiment.test)
    equivalence: dict[str, float | None] = {"node_spread": result.node_spread}
    if check_equivalence:
        equivalence |= _against_one_place(experiment, result, tested.predicted)
    n_train = sum(shard.n_samples for shard in experiment.shards)
    figures = figures_of(
        experiment, result, tested, n_train, equivalence=equivalence, start=start
    )
    return Outcome(result.networks[0], tested, figures)


def figures_of(
    experiment: Experiment,
    result: Simulation,
    tested: Tested,
    n_train: int,
    *,
    equivalence: dict[str, float | None],
    start: float,
) -> dict[str, Any]:
    """What a command reports of a training, ready for JSON.

    Parameters
    ----------
    experiment : Experiment
    result : Simulation
        How the training went.
    tested : Tested
        The classes of the test samples.
    n_train : int
        Samples of all nodes.
    equivalence : dict
        Distances between nodes, and to one place.
    start : float
        When all began, by `time.perf_counter`.
    """
    last, settled = result.history[-1], result.networks[0].plan
    shards, topology = experiment.shards, experiment.topology
    return {
        "data": experiment.name,
        "n_train": n_train,
        "n_test": len(tested.labels),
        "train_accuracy": last.train_accuracy,
        "test_accuracy": _share_of_equal(tested.predicted, tested.labels),
        "train_error_db": last.train_error_db,
        "layers": _layers(result, tested),
        "communication": {
            "consensus": result.consensus,
            **asdict(result.traffic),
            "before_layers": _sent(result.traffic_by_layer.get(-1, Traffic())),
        },
        "equivalence": equivalence,
        "graph": graph_of(topology, settled.tol),
        "held": held_by(shards, topology.n_nodes),
        "confusion": confusion_of(tested.labels, tested.predicted),
        "seconds": {
            "total": time.perf_counter() - start,
            "training": result.seconds,
        },
        "settings": settings_of(experiment, settled),
        "made_by": made_by(),
    }


class Tested(NamedTuple):
    """Class numbers of the test samples.

    Parameters
    ----------
    predicted, labels : arrays of shape (J,)
        What the network says, and what is true.
    correct : array of shape (L + 1,)
        How many would be right after each layer.
    """

    predicted: NDArray[np.intp]
    labels: NDArray[np.intp]
    correct: NDArray[np.intp]


def predict_test(network: Network, test: Samples | None) -> Tested:
    """Let a network predict the classes of the test samples, if there are any."""
    predicted, labels = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    correct = np.zeros(len(network.outputs), dtype=np.intp)
    for X, T in test.chunks(CHUNK) if test else ():
        network.check_samples(X)
        truth = T.argmax(axis=0)
        for layer, scores in enumerate(network.staged_scores(X)):
            says = scores.argmax(axis=0)
            correct[layer] += np.count_nonzero(says == truth)
        predicted.append(says)
        labels.append(truth)
    return Tested(np.concatenate(predicted), np.concatenate(labels), correct)


def _share_of_equal(a: NDArray[np.intp], b: NDArray[np.intp]) -> float | None:
    return float(np.mean(a == b)) if len(a) else None


def settings_of(experiment: Experiment, settled: Plan) -> dict[str, Any]:
    """All settings as plain values, with what was chosen where they said auto."""
    topology = experiment.topology
    plan: dict[str, Any] = msgspec.to_builtins(settled)
    return {
        "n_nodes": topology.n_nodes,
        "topology": topology.name,
        "partition": experiment.partition,
        **plan,
    }


def _against_one_place(
    experiment: Experiment, result: Simulation, predicted: NDArray[np.intp]
) -> dict[str, float | None]:
    """Distance to the exact model of the pooled data, all other settings the same."""
    network = result.networks[0]
    centralised = replace(
        experiment,
        shards=[Pooled(experiment.shards)],
        plan=network.plan.replace(solver="gram"),
        topology=build_topology("complete", 1),
    )
    best = train(centralised)
    central = best.networks[0]
    distance = float(np.linalg.norm(network.output - central.output))
    size = float(np.linalg.norm(central.output)) or 1.0  # nothing can be learned
    there = predict_test(central, experiment.test).predicted
    return {
        "central_difference": distance / size,
        "prediction_agreement": _share_of_equal(there, predicted),
        "layer_cost_gap": max(
            abs(mine.cost - theirs.cost) / max(theirs.cost, TINY)
            for mine, theirs in zip(result.history, best.history, strict=True)
        ),
    }


def _layers(result: Simulation, tested: Tested) -> list[dict[str, Any]]:
    n_test = len(tested.labels)
    return [
        {
            **asdict(record),
            "test_accuracy": int(correct) / n_test if n_test else None,
            **_sent(result.traffic_by_layer[record.layer]),
        }
        for record, correct in zip(result.history, tested.correct, strict=True)
    ]


def _sent(traffic: Traffic) -> dict[str, int]:
    return {"rounds": traffic.rounds, "bytes_total": traffic.bytes_total}
