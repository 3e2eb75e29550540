"""What a plot needs of a model, read from an estimator, a simulation or a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dssfn.errors import InputError
from dssfn.estimators.base import Centralised, Estimator
from dssfn.hosting import Simulation, Traffic
from dssfn.records import LayerRecord
from dssfn.topology import Topology, from_graph

_ATTRIBUTES = {
    "bytes": "bytes_total",
    "numbers": "scalars_per_node",
    "rounds": "rounds",
}


class Layers(NamedTuple):
    """The layers of a training, those that were tried and not kept included.

    Parameters
    ----------
    records : tuple of LayerRecord
        What is known of every layer.
    depth : int
        The number of the last layer that was kept.
    """

    records: tuple[LayerRecord, ...]
    depth: int

    @property
    def is_chosen(self) -> bool:
        """Whether the depth was found by the network."""
        return (
            self.records[-1].layer > self.depth
            or self.records[0].validation_error_db is not None
        )


class DrawnGraph(NamedTuple):
    """A graph, and what is to be said of its nodes.

    Parameters
    ----------
    topology : Topology
        The graph.
    names : tuple of str
        The names of its nodes; empty if they have numbers only.
    counts : array of shape (M, Q), optional
        The samples of every node, by class if that is to be shown.
    classes : tuple of str
        The names of the classes; empty if only numbers of samples are to be shown.
    """

    topology: Topology
    names: tuple[str, ...]
    counts: NDArray[np.intp] | None = None
    classes: tuple[str, ...] = ()


def layers_of(model: Any) -> Layers:
    """Return the layers of a model."""
    if isinstance(model, Simulation):
        return Layers(model.history, model.networks[0].plan.depth)
    estimator = _fitted(model, "history_")
    return Layers(estimator.history_, estimator.n_layers_)


def traffic_of(model: Any, unit: str) -> dict[str, int]:
    """Return what was sent by layer, and before and after all layers."""
    if isinstance(model, Simulation):
        by_layer, after = model.traffic_by_layer, model.traffic_after
    else:
        estimator = _fitted(model, "traffic_by_layer_")
        by_layer, after = estimator.traffic_by_layer_, estimator.traffic_after_
    attribute = _ATTRIBUTES[unit]

    def amount(sent: Traffic) -> int:
        number: int = getattr(sent, attribute)
        return number

    sent = {str(layer): amount(by_layer[layer]) for layer in sorted(by_layer)}
    if not any(sent.values()):
        raise InputError(
            "`model` must be of several nodes: it was trained on one machine, and "
            "nothing went over links. Fit a `DSSFNClassifier` or a `DSSFNRegressor`."
        )
    sent[str(max(by_layer))] -= amount(after)  # they are counted with the last layer
    ends = {"before": sent.pop("-1", 0)}, {"after": amount(after)}
    first, last = ({k: v for k, v in end.items() if v} for end in ends)
    return {**first, **sent, **last}


def graph_of(
    graph: Any, held: str | None, labels: Sequence[object] | None
) -> DrawnGraph:
    """Return a graph to draw: one that is given, or that of a model."""
    given = graph
    counts: NDArray[np.intp] | None = None
    classes: tuple[str, ...] = ()
    if isinstance(graph, Estimator):
        topology, given = _topology_of(graph), getattr(graph, "topology", None)
        counts, classes = _held(graph, held)
    elif held is not None:
        raise InputError(
            "`held` needs a fitted model: a graph does not know what its nodes hold. "
            "Leave it out, or give a fitted `DSSFNClassifier` or `DSSFNRegressor`."
        )
    elif isinstance(graph, Topology):
        topology = graph
    elif isinstance(graph, nx.Graph):
        topology = from_graph(graph)
    else:
        raise InputError(
            "`graph` must be a Topology, a networkx graph or a fitted model, got "
            f"{type(graph).__name__}. `dssfn.build_topology` makes one of any kind, "
            "and `dssfn.topology.from_matrix` one of your mixing matrix."
        )
    names = tuple(map(str, given if isinstance(given, nx.Graph) else ()))
    if labels is not None:
        names = tuple(map(str, labels))
        if len(names) != topology.n_nodes:
            raise InputError(
                f"`labels` must have a name for each of the {topology.n_nodes} nodes, "
                f"got {len(names)}."
            )
    if names == tuple(map(str, range(topology.n_nodes))):
        names = ()
    return DrawnGraph(topology, names, counts, classes)


def _topology_of(model: Estimator) -> Topology:
    if isinstance(model, Centralised):
        raise InputError(
            "`graph` must be of several nodes, got a "
            f"{type(model).__name__}, which is trained on one machine. Fit a "
            "`DSSFNClassifier` or a `DSSFNRegressor`."
        )
    topology: Topology = _fitted(model, "topology_").topology_
    return topology


def _held(
    model: Estimator, held: str | None
) -> tuple[NDArray[np.intp] | None, tuple[str, ...]]:
    """Return the samples of each node, and the classes that they are divided by."""
    if held is None:
        return None, ()
    counts: NDArray[np.intp] = model.held_
    if held == "samples":
        return counts.reshape(len(counts), -1).sum(axis=1, keepdims=True), ()
    if counts.ndim == 1:
        raise InputError(
            "`held` must not be 'classes' for a regressor, whose samples have none. "
            "Use 'samples'."
        )
    return counts, tuple(map(str, model.classes_))


def _fitted(model: Any, attribute: str) -> Any:
    """Return an estimator that has been fitted here; refuse everything else."""
    if not isinstance(model, Estimator):
        raise InputError(
            "`model` must be a fitted estimator of dssfn, or what `dssfn.simulate` "
            f"returns, got {type(model).__name__}. Of a pipeline, give the last step: "
            "`pipeline[-1]`."
        )
    check_is_fitted(model, "network_")
    if not hasattr(model, attribute):
        raise InputError(
            "`model` must have been fitted in this process or pickled: a model file "
            "holds what predicts, and not how it was trained. For a training of the "
            "command line, `dssfn report DIR` draws this."
        )
    return model
