"""One simulated training from data to figures: what `simulate` and `demo` share."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from dssfn.config import Plan
from dssfn.datasets import Dataset, partition
from dssfn.errors import DataError
from dssfn.network import Network
from dssfn.shard import divide
from dssfn.simulator import Simulation, Traffic, simulate
from dssfn.topology import Topology, build_topology
from dssfn.training import LayerRecord

OnLayer = Callable[[LayerRecord, Traffic], None]


@dataclass(frozen=True, slots=True)
class Experiment:
    """Everything that decides the outcome of a simulated training."""

    data: Dataset
    plan: Plan
    topology: Topology
    partition: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The trained network and the figures about it, ready for JSON."""

    network: Network
    figures: dict[str, Any]


def run_experiment(
    experiment: Experiment, *, check_equivalence: bool, on_layer: OnLayer | None
) -> Outcome:
    """Train over the graph, test, and compare with one place if asked to."""
    start = time.perf_counter()
    data, plan, topology = experiment.data, experiment.plan, experiment.topology
    codes = class_codes(data.y_train, plan, data.name)
    rng = np.random.default_rng(plan.seed)
    parts = partition(codes, topology.n_nodes, experiment.partition, rng=rng)
    shards = divide(data.X_train, codes, plan.n_outputs, parts)
    result = simulate(shards, plan, topology, on_layer=on_layer)
    del shards
    network = result.networks[0]
    predicted = network.scores(data.X_test.T).argmax(axis=0)
    equivalence = {"node_spread": result.node_spread}
    if check_equivalence:
        equivalence |= _against_one_place(data, codes, network, predicted)
    last = result.history[-1]
    figures = {
        "data": data.name,
        "n_train": len(data.y_train),
        "n_test": len(data.y_test),
        "train_accuracy": last.train_accuracy,
        "test_accuracy": float(
            np.mean(np.array(plan.classes)[predicted] == data.y_test)
        ),
        "train_error_db": last.train_error_db,
        "layers": _layers(result),
        "communication": {"consensus": result.consensus, **asdict(result.traffic)},
        "equivalence": equivalence,
        "seconds": {
            "total": time.perf_counter() - start,
            "training": result.seconds,
        },
        "settings": settings_of(experiment, network.plan),
    }
    return Outcome(network, figures)


def class_codes(y: NDArray[Any], plan: Plan, source: str) -> NDArray[np.intp]:
    """The plan's class numbers of labels; an unknown label is an error."""
    number = {label: code for code, label in enumerate(plan.classes)}
    labels = y.tolist()
    for row, label in enumerate(labels, start=1):
        if label not in number:
            raise DataError(
                f"`{source}`, sample {row}: label {label!r} is not one of the classes "
                f"{', '.join(map(repr, plan.classes[:8]))} that the model knows. "
                "Correct it, or remove the sample."
            )
    return np.array([number[label] for label in labels], dtype=np.intp)


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
    data: Dataset,
    codes: NDArray[np.intp],
    network: Network,
    predicted: NDArray[np.intp],
) -> dict[str, float]:
    """Distance to the exact model of the pooled data, all other settings the same."""
    plan = network.plan.replace(solver="gram")
    everything = divide(data.X_train, codes, plan.n_outputs, [np.arange(len(codes))])
    central = simulate(everything, plan, build_topology("complete", 1)).networks[0]
    distance = float(np.linalg.norm(network.output - central.output))
    size = float(np.linalg.norm(central.output)) or 1.0  # nothing can be learned
    agreeing = central.scores(data.X_test.T).argmax(axis=0) == predicted
    return {
        "central_difference": distance / size,
        "prediction_agreement": float(np.mean(agreeing)),
    }


def _layers(result: Simulation) -> list[dict[str, Any]]:
    return [
        {**asdict(record), "rounds": result.traffic_by_layer[record.layer].rounds}
        for record in result.history
    ]
