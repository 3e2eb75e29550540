"""One training, from data to metrics: what it is made of, and how it is run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, Label, NodeId
from dssfn.ball import TINY
from dssfn.config import Plan
from dssfn.datasets import Dataset, ShardFiles, load, partition
from dssfn.datasets.checks import Source
from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.errors import DataError, PlanError
from dssfn.events import Conditions, EventSimulation, Trace, simulate_events
from dssfn.hosting import Simulation, Traffic
from dssfn.provenance import made_by
from dssfn.records import LayerRecord
from dssfn.results import ONE_FILE_EACH, Equivalence, Result, Seconds
from dssfn.schema import Schema
from dssfn.scoring import (
    Tested,
    predict_test,
    scores_by_node,
    share_of_equal,
    validation_scores,
)
from dssfn.shard import Pooled, Samples, Shard, class_codes, divide, one_hot
from dssfn.simulator import simulate
from dssfn.summary import (
    communication_of,
    confusion_of,
    graph_of,
    held_by,
    layers_of,
    privacy_of,
    settings_of,
    simulated_network_of,
)
from dssfn.topology import Topology, build_topology
from dssfn.training import Model

BY_CLASS = ("by-class", "dirichlet")  # how these partitions begin
OnLayer = Callable[[LayerRecord, Traffic], None]


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that decides the outcome of a training.

    Parameters
    ----------
    name : str
        The name of the data.
    shards : sequence of Samples
        One per node of this process, which in the simulator hosts all.
    test : Samples, optional
        The samples to test on.
    plan : Plan
        The settings of the training.
    topology : Topology
        The graph of the nodes.
    partition : str
        How the samples were divided.
    memory : int, optional
        Bytes that the nodes of this process may use together.
    node_names : sequence of str, optional
        The names of all nodes; by default their numbers.
    secure : bool
        Whether messages are masked.
    mask_degree : int, optional
        How many nodes a node shares masks with, as in `mask_partners`.
    conditions : Conditions, optional
        Links and nodes that are not perfect; then time is simulated.
    scheme : str, optional
        How averages are found over them; by default as the plan says.
    """

    name: str
    shards: Sequence[Samples]
    test: Samples | None
    plan: Plan
    topology: Topology
    partition: str
    memory: int | None = None
    node_names: Sequence[str] | None = None
    secure: bool = False
    mask_degree: int | None = None
    conditions: Conditions | None = None
    scheme: str | None = None

    @property
    def names(self) -> Sequence[str]:
        """The names of all nodes, or their numbers."""
        return self.node_names or [str(node) for node in range(self.topology.n_nodes)]


@dataclass(frozen=True, slots=True)
class DataOptions:
    """The options that describe the data.

    Parameters
    ----------
    source : str
        A name or a file; in an MPI job also a pattern for the nodes' own files.
    target : str, optional
        The column of labels in a file.
    partition : str, optional
        How the samples are divided; by default at random.
    test : Path, optional
        A file to test on.
    test_size : float
        Share of samples to test on where none are set apart.
    data_dir : Path, optional
        Folder of named sets.
    read : ReadOptions
        Which columns of a file to take, and how it is written.
    """

    source: str
    target: str | None = None
    partition: str | None = None
    test: Path | None = None
    test_size: float = 0.25
    data_dir: Path | None = None
    read: ReadOptions = ALL

    def load(self, seed: int, schema: Schema | None = None) -> Dataset:
        """Return training and test samples; the seed decides how they are split.

        A schema says what the columns of a file mean.
        """
        return load(
            self.source,
            target=self.target,
            data_dir=self.data_dir,
            test_size=self.test_size,
            seed=seed,
            test_file=self.test,
            options=self.read,
            schema=schema,
        )


def make_plan(data: Dataset | ShardFiles, **settings: Any) -> Plan:
    """Return the plan of a training: classes and features of the data, and settings."""
    if isinstance(data, ShardFiles):
        classes, n_features = data.classes, data.n_features
    else:
        classes, n_features = _classes_of(data), data.X_train.shape[1]
    return Plan(
        n_features=n_features,
        feature_names=data.feature_names,
        schema=data.schema,
        classes=classes,
        targets=data.targets,
        **settings,
    )


def _classes_of(data: Dataset) -> tuple[Label, ...]:
    """Return the labels of the training samples; test samples may have no others.

    Those of a regression are none, and a schema may say which there are.
    """
    if data.targets:
        return ()
    if data.schema is not None and data.schema.target is not None:
        return data.schema.target.classes
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
) -> Run:
    """Return a run on a data set, its training samples divided over the nodes.

    `how` is as in `partition`. With `nodes`, only the shards of these are made.
    """
    at = Source(data.name, unit="sample").at
    T, T_test = (_targets(y, plan, at) for y in (data.y_train, data.y_test))
    rng = np.random.default_rng(plan.seed)
    parts = partition(_kinds(T, plan, how), topology.n_nodes, how, rng=rng)
    if nodes is not None:
        parts = [parts[node] for node in nodes]
    return Run(
        name=data.name,
        shards=divide(data.X_train, T, parts, data.weights, has_gaps=plan.has_gaps),
        test=Shard(data.X_test.T, T_test, has_gaps=plan.has_gaps)
        if T_test.size
        else None,
        plan=plan,
        topology=topology,
        partition=how if isinstance(how, str) else "given",
        memory=memory,
    )


def _targets(y: NDArray[Any], plan: Plan, at: Callable[[int], str]) -> Array:
    """Return the targets (Q, J) of samples with these labels or numbers."""
    if plan.is_regression:
        numbers: Array = y.reshape(len(y), plan.n_outputs).T
        return numbers
    return one_hot(class_codes(y, plan.classes, at), plan.n_outputs)


def _kinds(T: Array, plan: Plan, how: str | NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the classes of samples, by which they may be divided; else all alike."""
    if not plan.is_regression:
        codes: NDArray[np.intp] = T.argmax(axis=0)
        return codes
    if isinstance(how, str) and how.startswith(BY_CLASS):
        raise PlanError(
            f"`partition`: {how} divides samples by class, but a regression has no "
            "classes. Use iid, or give the node of every sample."
        )
    return np.zeros(T.shape[1], dtype=np.intp)


def from_files(
    files: ShardFiles,
    graph: Topology,
    settings: dict[str, Any],
    *,
    memory: int | None,
) -> Run:
    """Return a run on one file per node."""
    return Run(
        name="1 file" if graph.n_nodes == 1 else f"{graph.n_nodes} files",
        shards=files.shards,
        test=files.test,
        plan=make_plan(files, **settings),
        topology=graph,
        partition=ONE_FILE_EACH,
        memory=memory,
    )


def train(
    run: Run, on_layer: OnLayer | None = None, *, apart: bool = False
) -> Simulation:
    """Train over the graph of a run, with all nodes in this process."""
    return simulate(
        run.shards,
        run.plan,
        run.topology,
        memory=run.memory,
        apart=apart,
        secure=run.secure,
        on_layer=on_layer,
    )


def train_in_time(
    run: Run, on_layer: OnLayer | None = None, trace: Trace | None = None
) -> EventSimulation:
    """Train over the graph of a run in simulated time, under its conditions.

    A trace keeps what happens.
    """
    conditions = run.conditions or Conditions()
    if run.secure:
        raise PlanError(
            "`secure` must be left out with imperfect links or nodes: masks do not "
            "change what is lost or delayed, and are not simulated there."
        )
    return simulate_events(
        run.shards,
        run.plan,
        run.topology,
        links=conditions.links,
        nodes=conditions.nodes,
        scheme=run.scheme,
        seed=conditions.seed,
        deadline=conditions.deadline,
        seconds_per_number=conditions.seconds_per_number,
        memory=run.memory,
        trace=trace,
        on_layer=on_layer,
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """The trained network, how it did on the test samples, and all metrics."""

    network: Model
    tested: Tested
    result: Result


def execute(
    run: Run,
    *,
    check_equivalence: bool,
    on_layer: OnLayer | None,
    trace: Trace | None = None,
) -> Outcome:
    """Train over the graph, test, and compare with the centralised model if asked.

    A trace keeps what happens, if time is simulated.
    """
    start = time.perf_counter()
    if check_equivalence and run.plan.folds == "nodes":
        raise PlanError(
            '`folds`: "nodes" leaves whole nodes out, which one machine cannot do, so '
            "there is nothing to compare with. Do not ask for the comparison, or use "
            '"rows".'
        )
    if check_equivalence and run.plan.is_private:
        raise PlanError(
            "`epsilon`: with noise every training gives another model, so there is "
            "nothing to compare with. Do not ask for the comparison, or leave "
            "`epsilon` out."
        )
    events = None
    if run.conditions is None:
        # To compare anything, every node must have been run by itself.
        simulation = train(run, on_layer, apart=check_equivalence)
    else:
        events = train_in_time(run, on_layer, trace)
        simulation = events.training
    simulation = _with_every_row(run, simulation)
    tested = predict_test(simulation.networks[0], run.test)
    equivalence = Equivalence(node_spread=simulation.node_spread)
    if check_equivalence:
        equivalence = _against_centralised(run, simulation, tested.predicted)
    n_train = sum(shard.n_samples for shard in run.shards)
    return outcome_of(
        run,
        simulation,
        tested,
        n_train,
        equivalence=equivalence,
        start=start,
        events=events,
    )


def _with_every_row(run: Run, simulation: Simulation) -> Simulation:
    """Add the scores of every node: one process that hosts all of them may know."""
    scores = simulation.scores
    if scores is None or scores.by_node:
        return simulation
    rows = scores_by_node(simulation.networks[0], run.shards)
    return replace(simulation, scores=replace(scores, by_node=rows))


def outcome_of(
    run: Run,
    simulation: Simulation,
    tested: Tested,
    n_train: int,
    *,
    equivalence: Equivalence,
    start: float,
    n_ranks: int | None = None,
    events: EventSimulation | None = None,
) -> Outcome:
    """Return the outcome of a training: all that commands and experiments report.

    Parameters
    ----------
    run : Run
        The training that has ended.
    simulation : Simulation
        How the training went.
    tested : Tested
        What the model says of the test samples.
    n_train : int
        The number of training samples of all nodes.
    equivalence : Equivalence
        Distances between nodes, and to the centralised model.
    start : float
        When the command began, by `time.perf_counter`.
    n_ranks : int, optional
        Processes of an MPI job.
    events : EventSimulation, optional
        What was sent in simulated time, if it was simulated.
    """
    network, topology = simulation.networks[0], run.topology
    settled = network.plan
    kept = simulation.history[settled.depth]
    result = Result(
        data=run.name,
        n_train=n_train,
        n_test=0 if run.test is None else run.test.n_samples,
        train_accuracy=kept.train_accuracy,
        test_accuracy=share_of_equal(tested.predicted, tested.labels),
        train_error_db=kept.train_error_db,
        test_scores=tested.scores,
        scores=validation_scores(simulation.scores, run.names),
        layers=layers_of(simulation, tested),
        communication=communication_of(simulation),
        simulated_network=None if events is None else simulated_network_of(events),
        equivalence=equivalence,
        secure=run.secure,
        privacy=privacy_of(settled),
        graph=graph_of(topology, settled.tol),
        held=None if settled.is_regression else held_by(run.shards, topology.n_nodes),
        confusion=confusion_of(tested),
        seconds=Seconds(total=time.perf_counter() - start, training=simulation.seconds),
        settings=settings_of(
            settled, topology, run.partition, asked=run.plan, n_ranks=n_ranks
        ),
        made_by=made_by(),
    )
    return Outcome(network, tested, result)


def _against_centralised(
    run: Run, simulation: Simulation, predicted: NDArray[np.intp]
) -> Equivalence:
    """Return the distance to the exact model of the pooled data, same settings."""
    network = simulation.networks[0]
    centralised = replace(
        run,
        shards=[Pooled(run.shards)],
        # The same choices must be made again, so they are left open as they were.
        plan=run.plan if run.plan.finds_size else network.plan.replace(solver="gram"),
        topology=build_topology("complete", 1),
    )
    best = train(centralised)
    central = best.networks[0]
    distance = None
    if same := _sizes(network) == _sizes(central):
        size = float(np.linalg.norm(central.output)) or 1.0  # nothing can be learned
        distance = float(np.linalg.norm(network.output - central.output)) / size
    there = predict_test(central, run.test).predicted
    return Equivalence(
        node_spread=simulation.node_spread,
        same_choices=same if run.plan.finds_size else None,
        central_difference=distance,
        prediction_agreement=share_of_equal(there, predicted),
        layer_cost_gap=max(
            abs(mine.cost - theirs.cost) / max(theirs.cost, TINY)
            for mine, theirs in zip(simulation.history, best.history, strict=False)
        ),
    )


def _sizes(network: Model) -> tuple[str, list[tuple[int, ...]]]:
    """Return what a network may have found by itself."""
    return network.plan.scale, [O.shape for O in network.outputs]
