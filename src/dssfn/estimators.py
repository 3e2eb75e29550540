"""scikit-learn estimators: rows are samples here, columns inside.

`SSFNClassifier` is the centralised model; `DSSFNClassifier` divides the data over the
nodes of an in-process network and trains by messages between neighbours. Both run the
same program, the first on a graph of one node.
"""

from __future__ import annotations

from typing import Any, Self

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dssfn._typing import Array, Label
from dssfn.config import Plan, bytes_of
from dssfn.datasets import Dataset
from dssfn.errors import DataError, TopologyError
from dssfn.hosting import Simulation, Traffic
from dssfn.presets import resolve
from dssfn.records import LayerRecord
from dssfn.runs import divided, make_plan, train
from dssfn.topology import Topology, build_topology, from_graph, from_matrix
from dssfn.training import Model

DEFAULT_NODES = 10  # nodes of a graph that is given by its name
PLAN_FIELDS = frozenset(Plan.__struct_fields__)


class _SSFN(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The part that both classifiers share; a subclass gives the graph and shards."""

    # Learned in `fit`.
    classes_: NDArray[Any]
    n_features_in_: int
    network_: Model
    history_: tuple[LayerRecord, ...]
    traffic_: Traffic

    def fit(self, X: Any, y: Any) -> Self:
        """Grow the network on samples X (J, P) with class labels y (J,)."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise DataError(
                f"`y` must hold at least two classes, got one class: {classes[0]!r}."
            )
        if not all(isinstance(label, Label) for label in classes.tolist()):
            raise DataError(
                "`y` must hold text, numbers or true/false as labels, got "
                f"{classes.dtype}. Convert it with `astype(str)`."
            )
        data = Dataset("X", X, y, X[:0], y[:0], self._feature_names())
        plan = make_plan(data, **self._settings())
        memory = None if self.memory is None else bytes_of(_plain(self.memory))
        graph, how = self._topology(plan), self._partition()
        result = train(divided(data, plan, graph, how, memory=memory))
        # Together with the network, so that a fit that fails changes neither.
        self.classes_ = classes
        self._keep(result)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the linear outputs (J, Q); for two classes, their difference (J,)."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest output for every sample."""
        codes = self._scores(X).argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[codes]
        return predicted

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities (J, Q).

        Those of a network that found its size are calibrated on validation samples.
        Otherwise the outputs are least-squares estimates of the class probabilities,
        which are moved to the nearest ones that are probabilities at all.
        """
        scores = self._scores(X)
        return self.network_.probabilities(scores.T).T

    @classmethod
    def from_network(cls, network: Model) -> Self:
        """Return a fitted estimator that predicts with a network, e.g. from a file."""
        plan = network.plan
        shared = [name for name in cls().get_params() if name in PLAN_FIELDS]
        settings = {name: getattr(plan, name) for name in shared}
        estimator = cls(**settings, random_state=plan.seed)
        estimator.classes_ = np.array(plan.classes)
        estimator.n_features_in_ = plan.n_features
        if plan.feature_names is not None:
            estimator.feature_names_in_ = np.array(plan.feature_names, dtype=object)
        estimator.network_ = network
        return estimator

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self, "network_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.network_.scores(X.T).T

    def _settings(self) -> dict[str, Any]:
        """Return the settings of the plan, those left open as the preset has them."""
        given = {name: _plain(value) for name, value in self.get_params().items()}
        seed, preset = given["random_state"], given["preset"]
        if not isinstance(seed, int):
            seed = int(check_random_state(seed).randint(np.iinfo(np.int32).max))
        settings = {name: given[name] for name in given if name in PLAN_FIELDS}
        preset = "default" if preset is None else preset
        return {"seed": seed, **resolve(preset, settings)}

    def _feature_names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    def _topology(self, plan: Plan) -> Topology:
        return build_topology("complete", 1)

    def _partition(self) -> Any:
        return "iid"  # one node has all samples, in their order

    def _keep(self, result: Simulation) -> None:
        self.network_ = result.networks[0]
        self.history_ = result.history
        self.traffic_ = result.traffic


class SSFNClassifier(_SSFN):
    """A self-size-estimating feed-forward network, trained on one machine.

    Layers grow one by one; each solves a convex least-squares problem exactly. There
    is no learning rate and no back-propagation.

    Parameters
    ----------
    n_layers : int or "auto", optional
        Hidden layers. Default: "auto", found by validation; 20 for the paper's preset.
    width : int or "auto", optional
        Random units per layer; a layer has 2 * n_classes + width units. Default:
        "auto"; 1000 for the paper's preset.
    members : int or "auto", optional
        Networks whose scores are averaged. Each leaves some samples out, on which it is
        validated. Default: "auto", by the number of samples; if both sizes are given,
        one network of exactly this size, without validation.
    ridge : float or "auto", default="auto"
        Pull of every layer towards the one before. "auto" is found by validation.
    scale : {"auto", "columns", "common"}, default="auto"
        Whether every input is divided by its own deviation, or all by a common one, as
        suits pixels. "auto" takes what validates better.
    folds : {"rows", "nodes"}, default="rows"
        What a member leaves out: samples, or whole nodes.
    size : {"auto", "ssfn"}, default="auto"
        "ssfn" grows one network by its training error, as SSFN does.
    alpha : float, optional
        Radius of the ball that holds the output matrix, in units of
        sqrt(2 * n_classes). From 1 on, the training cost never rises with depth.
        Default: the preset's.
    gain : float, optional
        Norm of the random part of the features. Default: the preset's.
    standardize : bool, optional
        Shift and scale every input. Where all inputs have one unit, as pixels do,
        it may be better not to. Default: the preset's.
    bias : float, optional
        Value of a constant input feature; 0 for none. Default: the preset's.
    solver : {"auto", "gram", "krylov", "admm"}, default="auto"
        "gram" solves each layer exactly; "krylov" does so to a proved bound with much
        smaller messages; "admm" is the paper's iteration.
    n_iter : int, default=100
        ADMM iterations per layer.
    mu_input, mu_hidden : float, optional
        ADMM parameters of layer 0 and the others. Default: agreed per layer.
    memory : int or str, optional
        Bytes for features, or a size such as "2GB"; what does not fit is kept in
        temporary files.
    preset : {"paper"}, optional
        Where to take the settings from that are left to their defaults.
    random_state : int, RandomState or None, default=None
        Seed of the random matrices.

    Attributes
    ----------
    network_ : Network
        The trained network; `dssfn.save_network` writes it to a file.
    history_ : tuple of LayerRecord
        Cost, error in dB, accuracy and averagings, one record per layer.
    traffic_ : Traffic
        What went over the links; nothing, as there are none.
    classes_, n_features_in_ :
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SSFNClassifier(n_layers=3, width=50, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        *,
        n_layers: int | str | None = None,
        width: int | str | None = None,
        members: int | str | None = None,
        ridge: float | str = "auto",
        scale: str = "auto",
        folds: str = "rows",
        size: str = "auto",
        alpha: float | None = None,
        gain: float | None = None,
        standardize: bool | None = None,
        bias: float | None = None,
        solver: str = "auto",
        n_iter: int = 100,
        mu_input: float | None = None,
        mu_hidden: float | None = None,
        memory: int | str | None = None,
        preset: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_layers = n_layers
        self.width = width
        self.members = members
        self.ridge = ridge
        self.scale = scale
        self.folds = folds
        self.size = size
        self.alpha = alpha
        self.gain = gain
        self.standardize = standardize
        self.bias = bias
        self.solver = solver
        self.n_iter = n_iter
        self.mu_input = mu_input
        self.mu_hidden = mu_hidden
        self.memory = memory
        self.preset = preset
        self.random_state = random_state


class DSSFNClassifier(_SSFN):
    """The same network, trained by nodes that only talk to their neighbours.

    The nodes live in this process and share nothing but messages, so this is how to
    study topologies, solvers and traffic, or to see that a decentralised model is the
    one that a single machine would have learned.

    Parameters
    ----------
    n_nodes : int, optional
        Nodes of the network. Default: 10, or as many as the given graph has.
    topology : str, networkx.Graph, array or Topology, default="circular"
        Who talks to whom: a name that `dssfn.topology.build_topology` knows, a graph,
        or a mixing matrix of shape (n_nodes, n_nodes).
    degree : int, optional
        For a circular graph the neighbours on each side; see `build_topology`.
    partition : str or array of shape (n_samples,), default="iid"
        How the samples are divided: "iid", "by-class", "dirichlet:A", or the node of
        every sample.
    consensus : {"auto", "gossip", "chebyshev", "exact", "tree"}, default="auto"
        How averages are found; "auto" takes the fastest, for the paper's preset gossip.
    tol : float, optional
        Accuracy of every average. Default: the preset's.
    n_rounds : int, optional
        Gossip rounds per average, instead of `tol`.
    n_layers, width, members, ridge, scale, folds, size, alpha, gain, standardize, \
bias, solver, n_iter, mu_input, mu_hidden, memory, preset, random_state :
        As in `SSFNClassifier`.

    Attributes
    ----------
    network_ : Network
        Node 0's network; the other nodes' differ by the accuracy of the averages.
    node_spread_ : float
        Largest relative distance between two nodes' output matrices.
    history_, traffic_, classes_, n_features_in_ :
        As in `SSFNClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DSSFNClassifier(
    ...     n_nodes=5, partition="by-class", n_layers=3, width=50, random_state=0
    ... ).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    node_spread_: float

    def __init__(
        self,
        n_nodes: int | None = None,
        *,
        topology: Any = "circular",
        degree: int | None = None,
        partition: Any = "iid",
        n_layers: int | str | None = None,
        width: int | str | None = None,
        members: int | str | None = None,
        ridge: float | str = "auto",
        scale: str = "auto",
        folds: str = "rows",
        size: str = "auto",
        alpha: float | None = None,
        gain: float | None = None,
        standardize: bool | None = None,
        bias: float | None = None,
        solver: str = "auto",
        n_iter: int = 100,
        mu_input: float | None = None,
        mu_hidden: float | None = None,
        consensus: str = "auto",
        tol: float | None = None,
        n_rounds: int | None = None,
        memory: int | str | None = None,
        preset: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_nodes = n_nodes
        self.topology = topology
        self.degree = degree
        self.partition = partition
        self.n_layers = n_layers
        self.width = width
        self.members = members
        self.ridge = ridge
        self.scale = scale
        self.folds = folds
        self.size = size
        self.alpha = alpha
        self.gain = gain
        self.standardize = standardize
        self.bias = bias
        self.solver = solver
        self.n_iter = n_iter
        self.mu_input = mu_input
        self.mu_hidden = mu_hidden
        self.consensus = consensus
        self.tol = tol
        self.n_rounds = n_rounds
        self.memory = memory
        self.preset = preset
        self.random_state = random_state

    def _topology(self, plan: Plan) -> Topology:
        n_nodes = _plain(self.n_nodes)
        if isinstance(self.topology, str):
            n_nodes = DEFAULT_NODES if n_nodes is None else n_nodes
            return build_topology(
                self.topology, n_nodes, degree=self.degree, seed=plan.seed
            )
        if self.degree is not None:
            raise TopologyError(
                "`degree` must be left out: the graph has all the edges."
            )
        topology = _given_graph(self.topology)
        if n_nodes not in (None, topology.n_nodes):
            raise TopologyError(
                f"`n_nodes` must be left out, or be the {topology.n_nodes} nodes that "
                f"`topology` has, got {n_nodes}."
            )
        return topology

    def _partition(self) -> Any:
        return self.partition

    def _keep(self, result: Simulation) -> None:
        super()._keep(result)
        self.node_spread_ = result.node_spread


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


def _plain(value: Any) -> Any:
    """Return numpy's scalars, which grid searches pass, as Python's."""
    return value.item() if isinstance(value, np.generic) else value
