"""Decentralised: an estimator whose samples are divided over the nodes of a graph."""

from __future__ import annotations

from typing import Any, Self

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from dssfn.config import Plan
from dssfn.datasets import Dataset
from dssfn.errors import PlanError, TopologyError
from dssfn.estimators.base import Estimator, plain
from dssfn.graph_kinds import KINDS, SYNONYMS
from dssfn.hints import listing, unknown
from dssfn.hosting import Simulation
from dssfn.runs import Run
from dssfn.shard import Samples, Shard
from dssfn.topology import Topology, build_topology, from_graph, from_matrix

DEFAULT_NODES = 10  # nodes of a graph that is given by its name, if samples suffice


class Decentralised(Estimator):
    """An estimator on the nodes of a graph, all of them in this process."""

    n_nodes: int | None
    topology: Any
    degree: int | None
    partition: Any

    node_spread_: float
    topology_: Topology
    held_: NDArray[np.intp]

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, partition: Any = None
    ) -> Self:
        """Divide the samples among the nodes and train the network.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The samples.
        y : array of shape (n_samples,)
            Their labels, or the numbers to predict, which may have several columns.
        sample_weight : array of shape (n_samples,), optional
            How much each sample counts. A weight of 2 counts the sample twice, a weight
            of 0 leaves it out.
        partition : array of shape (n_samples,), optional
            The name or number of the node of every sample, instead of the parameter
            `partition`. A cross-validation divides it together with the samples, if
            metadata routing is enabled and requested with `set_fit_request`.

        Returns
        -------
        self
        """
        how = self.partition if partition is None else partition
        return self._learn(X, y, sample_weight, how)

    def _graph(
        self, plan: Plan, partition: Any, n_samples: int
    ) -> tuple[Topology, Any]:
        n_nodes = plain(self.n_nodes)
        if isinstance(partition, str):
            if n_nodes is None and isinstance(self.topology, str):
                n_nodes = min(DEFAULT_NODES, n_samples)
            return self._topology(plan, n_nodes), partition
        names, nodes = _numbered(partition, self.topology)
        if n_nodes is None and isinstance(self.topology, str):
            n_nodes = len(names)
        topology = self._topology(plan, n_nodes)
        if topology.n_nodes != len(names):
            raise PlanError(_not_every_node(names, topology.n_nodes))
        return topology, nodes

    def _topology(self, plan: Plan, n_nodes: int | None) -> Topology:
        if isinstance(self.topology, str):
            assert n_nodes is not None
            if self.topology not in KINDS:
                raise TopologyError(unknown("topology", self.topology, KINDS, SYNONYMS))
            return build_topology(
                self.topology, n_nodes, degree=self.degree, seed=plan.seed
            )
        if self.degree is not None:
            raise TopologyError(
                "`degree` must be left out: the graph already has its edges."
            )
        topology = _given_graph(self.topology)
        if n_nodes not in (None, topology.n_nodes):
            raise TopologyError(
                f"`n_nodes` must be {topology.n_nodes}, as in `topology`, or left "
                f"out, got {n_nodes}."
            )
        return topology

    def _keep(self, run: Run, result: Simulation, data: Dataset) -> None:
        super()._keep(run, result, data)
        self.node_spread_ = result.node_spread
        self.topology_ = run.topology
        self.held_ = np.array([_held(shard, run.plan) for shard in run.shards])


def _held(shard: Samples, plan: Plan) -> int | list[int]:
    """Return how many samples a node holds; if they have classes, of each class."""
    if plan.is_regression:
        return shard.n_samples
    assert isinstance(shard, Shard)  # an estimator has its samples in memory
    by_class: list[int] = np.count_nonzero(shard.T, axis=1).tolist()
    return by_class


def _numbered(
    partition: NDArray[Any], graph: Any
) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the names of the nodes, and the number of every sample's node.

    Nodes have the order of a graph that knows their names, else that of their names.
    """
    if partition.dtype.kind not in "iuUOb":
        raise PlanError(
            "`partition` must hold names or whole numbers of nodes, got "
            f"{partition.dtype}."
        )
    try:
        found, nodes = np.unique(partition, return_inverse=True)
    except TypeError as exc:  # of several types
        raise PlanError(
            f"`partition` must hold names of one type: {exc}. Convert them with "
            "`astype(str)`."
        ) from exc
    names = found.tolist()
    if isinstance(graph, nx.Graph):
        _check_names(names, list(graph))
    if isinstance(graph, nx.Graph) and set(graph) == set(names):
        place = {name: number for number, name in enumerate(graph)}
        names, nodes = list(graph), np.array([place[name] for name in names])[nodes]
    return names, nodes


def _not_every_node(names: list[Any], n_nodes: int) -> str:
    """Return the message about nodes that are not as many as those of the graph."""
    wanted = f"as many nodes as the graph has, {n_nodes}"
    if all(isinstance(name, int) for name in names):
        wanted = f"every node from 0 to {n_nodes - 1}"
    only = "only " if len(names) < n_nodes else ""
    return f"`partition` must use {wanted}; got {only}{listing(list(map(str, names)))}."


def _check_names(names: list[Any], known: list[Any]) -> None:
    """Refuse the name of a node that a graph with names does not have."""
    if not all(isinstance(name, str) for name in (*names, *known)):
        return
    there = set(known)
    strange = next((name for name in names if name not in there), None)
    if strange is not None:
        raise PlanError(
            f"`partition` must name nodes of the graph, {listing(known)}; got "
            f"{strange!r}. Correct the name there, or use numbers."
        )


def _given_graph(given: Any) -> Topology:
    """Return the topology of a graph, a mixing matrix or a topology."""
    if isinstance(given, Topology):
        return given
    if isinstance(given, nx.Graph):
        return from_graph(given)
    if isinstance(given, np.ndarray):
        return from_matrix(given)
    raise TopologyError(
        "`topology` must be the name of a graph, a networkx graph, a mixing matrix or "
        f"a Topology, got {type(given).__name__}."
    )
