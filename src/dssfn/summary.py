"""A finished training in numbers: how well it predicts, its graph, who held what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import Any

import msgspec
import numpy as np

from dssfn.config import AUTO, Plan
from dssfn.consensus import every_averaging
from dssfn.events import EventSimulation
from dssfn.hosting import Simulation, Traffic
from dssfn.privacy import RELEASES, NoiseSource, budget_of
from dssfn.records import LayerRecord
from dssfn.results import (
    AverageCost,
    Communication,
    Graph,
    Layer,
    Posted,
    Privacy,
    Sent,
    Settings,
    SimulatedNetwork,
    Tried,
)
from dssfn.scoring import Tested
from dssfn.shard import Samples, Shard
from dssfn.topology import Topology

LARGEST_LISTED = 20_000  # edges: more are no help to anybody in a file
LARGEST_COMPARED = 200  # nodes: spectrum and schemes take seconds beyond
LARGEST_HELD = 2_500  # nodes x classes
SIZES = ("n_layers", "width")


def layers_of(simulation: Simulation, tested: Tested) -> tuple[Layer, ...]:
    """Return the metrics after every layer, with the traffic of the layer."""
    n_test = len(tested.labels)  # none of a regression
    traffic, after = simulation.traffic_by_layer, simulation.traffic_after
    last = simulation.history[-1].layer
    return tuple(
        layer_of(
            record,
            # Layers beyond the depth that was found are not in the network.
            test_accuracy=(
                int(correct) / n_test if n_test and correct is not None else None
            ),
            rounds=traffic[record.layer].rounds - after.rounds * (record.layer == last),
            bytes_total=traffic[record.layer].bytes_total
            - after.bytes_total * (record.layer == last),
        )
        for record, correct in zip_longest(simulation.history, tested.correct)
    )


def privacy_of(plan: Plan, noise: NoiseSource | None = None) -> Privacy | None:
    """Return the budget of a finished training, if it has one.

    A node that was restarted may have spent it otherwise than by the plan.
    """
    if not plan.is_private:
        return None
    budget = budget_of(plan)
    spent = budget.spent(map(budget.factor_of, RELEASES))
    return Privacy(
        epsilon=budget.epsilon,
        delta=budget.delta,
        spent=min(noise.spent if noise else spent, budget.epsilon),
        colluders=plan.colluders,
    )


def layer_of(record: LayerRecord, **known: Any) -> Layer:
    """Return the metrics of a layer: its record, and what else is known of it."""
    tried = tuple(Tried(**asdict(one)) for one in record.tried)
    return Layer(**{**asdict(record), "tried": tried, **known})


def communication_of(simulation: Simulation) -> Communication:
    """Return the traffic of a training, and the parts of it that are of no layer."""
    before = simulation.traffic_by_layer.get(-1, Traffic())
    after = simulation.traffic_after
    return Communication(
        consensus=simulation.consensus,
        **asdict(simulation.traffic),
        before_layers=Sent(rounds=before.rounds, bytes_total=before.bytes_total),
        after_layers=Sent(rounds=after.rounds, bytes_total=after.bytes_total),
    )


def simulated_network_of(events: EventSimulation) -> SimulatedNetwork:
    """Return what was sent in simulated time, in all and by layer."""
    return SimulatedNetwork(
        seconds=events.seconds,
        scheme=events.scheme,
        lockstep_letters=events.lockstep_letters,
        total=Posted(**asdict(events.posts)),
        layers=tuple(
            Posted(**asdict(posts), layer=layer)
            for layer, posts in sorted(events.posts_by_layer.items())
        ),
    )


def settings_of(
    settled: Plan,
    topology: Topology,
    partition: str,
    *,
    asked: Plan,
    n_ranks: int | None = None,
) -> Settings:
    """Return all settings, with what was chosen where the plan said auto.

    Parameters
    ----------
    settled : Plan
        The plan of the trained network.
    topology, partition, n_ranks
        As in `Settings`.
    asked : Plan
        The plan before the training.
    """
    may_be_found = SIZES if asked.size != AUTO else (*SIZES, "members", "scale")
    found = [name for name in may_be_found if getattr(asked, name) == AUTO]
    return Settings(
        **msgspec.structs.asdict(settled),
        n_nodes=topology.n_nodes,
        topology=topology.name,
        partition=partition,
        n_ranks=msgspec.UNSET if n_ranks is None else n_ranks,
        found=tuple(found) if asked.finds_size else (),
    )


def graph_of(topology: Topology, tol: float) -> Graph:
    """Return a graph's metrics, and what one average to `tol` takes on it.

    What would take long for a large graph is None.

    Examples
    --------
    >>> from dssfn.topology import build_topology
    >>> graph = graph_of(build_topology("path", 3), tol=1e-10)
    >>> graph.edges, graph.averaging["tree"].rounds
    (((0, 1), (1, 2)), 2)
    """
    n_edges = topology.n_links // 2
    small = topology.n_nodes <= LARGEST_COMPARED
    return Graph(
        n_edges=n_edges,
        edges=tuple(topology.edges()) if n_edges <= LARGEST_LISTED else None,
        diameter=topology.diameter if small else None,
        contraction=topology.contraction if small else None,
        tol=tol,
        averaging=_averaging(topology, tol) if small else None,
    )


def _averaging(topology: Topology, tol: float) -> dict[str, AverageCost]:
    return {
        name: AverageCost(rounds=one.n_rounds, messages=one.n_letters)
        for name, one in every_averaging(topology, tol).items()
    }


def held_by(
    shards: Sequence[Samples], n_nodes: int
) -> tuple[tuple[int, ...], ...] | None:
    """Return how many samples of each class each node holds, (M, Q).

    Return None if they are many, on other machines, or in files, which would have to
    be read once more.
    """
    in_memory = [shard for shard in shards if isinstance(shard, Shard)]
    if len(in_memory) != n_nodes or n_nodes * shards[0].n_outputs > LARGEST_HELD:
        return None
    counts = [shard.T.sum(axis=1).astype(int).tolist() for shard in in_memory]
    return tuple(map(tuple, counts))


def confusion_of(tested: Tested) -> tuple[tuple[int, int, int], ...] | None:
    """Return true class, predicted class and number of test samples, if any.

    >>> labels, predicted = np.array([0, 1, 1]), np.array([0, 0, 0])
    >>> confusion_of(Tested(predicted, labels, np.array([1]), None))
    ((0, 0, 1), (1, 0, 2))
    """
    if not len(tested.labels):
        return None
    pairs = np.column_stack([tested.labels, tested.predicted])
    found, counts = np.unique(pairs, axis=0, return_counts=True)
    return tuple(map(tuple, np.column_stack([found, counts]).tolist()))
