"""The classifiers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from dssfn._typing import Array, Label
from dssfn.config import Plan
from dssfn.datasets import Dataset
from dssfn.errors import DataError, OverfitWarning, PlanError
from dssfn.estimators.base import Centralised, Estimator, check_kind, plain, store
from dssfn.estimators.nodes import Decentralised
from dssfn.hosting import Simulation
from dssfn.records import warning_about
from dssfn.runs import Run

FEW = 100  # samples, of which fewer cannot tell a poor accuracy from bad luck


class Classifier(ClassifierMixin, Estimator):  # type: ignore[misc]
    """What both classifiers share."""

    classes_: NDArray[Any]

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

        If members were validated, probabilities are calibrated on the validation
        samples. Otherwise they are the outputs, which are least-squares estimates of
        the class probabilities, projected onto the nearest valid probabilities.
        """
        scores = self._scores(X)
        return self.network_.probabilities(scores.T).T

    def member_probabilities(self, X: Any) -> Array:
        """Return the class probabilities of each member alone, (K, J, Q).

        Where members disagree, `predict_proba`, which is computed from the mean of
        their scores, is less certain than it looks.
        """
        columns = self._columns(X)
        scores = self.network_.member_scores(columns)
        return np.stack([self.network_.probabilities(S).T for S in scores])

    def _scores(self, X: Any) -> Array:
        columns = self._columns(X)
        return self.network_.scores(columns).T

    def _checked_targets(self, y: Any) -> NDArray[Any]:
        check_classification_targets(y)
        labels: NDArray[Any] = column_or_1d(y, warn=True)
        return labels

    def _dataset(self, X: Array, y: NDArray[Any], weights: Array | None) -> Dataset:
        classes = np.unique(y)
        if len(classes) < 2:
            raise DataError(
                "`y` must hold at least two classes, got one class: "
                f"{plain(classes[0])!r}."
            )
        if not all(isinstance(label, Label) for label in classes.tolist()):
            raise DataError(
                "`y` must hold text, numbers or true/false as labels, got "
                f"{classes.dtype}. Convert it with `astype(str)`."
            )
        return Dataset("X", X, y, X[:0], y[:0], weights=weights)

    def _settings(self, data: Dataset) -> dict[str, Any]:
        settings = super()._settings(data)
        if isinstance(settings["class_weight"], Mapping):
            classes = np.unique(data.y_train).tolist()
            settings["class_weight"] = _in_order(settings["class_weight"], classes)
        return settings

    def _keep(self, run: Run, result: Simulation, data: Dataset) -> None:
        super()._keep(run, result, data)
        self.classes_ = np.unique(data.y_train)

    def _warn(self, n_samples: int) -> None:
        if n_samples >= FEW:
            text = warning_about(self.history_[self.n_layers_])
            if text:  # at the line of whoever called `fit`
                warnings.warn(text, OverfitWarning, stacklevel=4)

    def _adopt(self, plan: Plan) -> None:
        check_kind(plan, regression=False)
        self.classes_ = np.array(plan.classes)
        if isinstance(plan.class_weight, tuple):
            pairs = zip(plan.classes, plan.class_weight, strict=True)
            self.class_weight = dict(pairs)


def _in_order(given: Mapping[Any, float], classes: list[Any]) -> tuple[float, ...]:
    """Return the weights in the order of the classes; one for those left out."""
    for label in given:
        if label not in classes:
            raise PlanError(
                "`class_weight` must have only labels that occur in `y`, got "
                f"{label!r}."
            )
    weights = [plain(given.get(label, 1.0)) for label in classes]
    # What is no number is left to the plan, which says so.
    return tuple(float(one) if isinstance(one, int) else one for one in weights)


class SSFNClassifier(Centralised, Classifier):
    """A self-size-estimating feed-forward network, trained on one machine.

    Layers are added one by one, and each is fitted by solving a convex least-squares
    problem. There is no learning rate and no back-propagation. By default the model is
    an ensemble of a few such networks, its members. Each member leaves out some
    samples, and these validation samples decide how many layers and units there are.

    Parameters
    ----------
    n_layers : int or "auto", optional
        Number of hidden layers. Default: "auto", chosen by validation; 20 with the
        preset "paper".
    width : int or "auto", optional
        Random units per hidden layer, which has 2 * n_outputs + width units in all;
        each class is an output. Default: "auto", chosen by validation; 1000 with the
        preset "paper".
    members : int or "auto", optional
        Number of networks in the ensemble, whose scores are averaged. Each leaves some
        samples out and is validated on them. Default: "auto", which depends on the
        number of samples; if both `n_layers` and `width` are given, it is one network
        of exactly this size, without validation.
    ridge : float or "auto", default="auto"
        Regularisation strength: how strongly each layer is pulled towards the previous
        one. "auto" chooses it by validation.
    scale : {"auto", "columns", "common"}, default="auto"
        Whether each input is divided by its own standard deviation ("columns"), or all
        by a common one ("common"), as suits pixels. "auto" chooses by validation.
    size : {"auto", "ssfn"}, default="auto"
        How the size of the network is chosen: "auto" by validation. "ssfn" grows one
        network by its training error, as in the SSFN papers; it is slower and can
        overfit.
    class_weight : dict or "balanced", optional
        Weights of the classes, by label; classes that are left out have weight 1. With
        "balanced", rare classes count as much as common ones. Default: every sample
        counts the same.
    alpha : float, optional
        Bound on the norm of the output matrices of a network of fixed size, in units of
        sqrt(2 * n_outputs). If it is at least 1, the training cost never rises with
        depth. Default: 2.
    gain : float, optional
        Scale of the random units. Default: 3; 1 with the preset "paper".
    standardize : bool, optional
        Whether to shift and scale the inputs by their means and standard deviations.
        Default: True; False with the preset "paper".
    bias : float, optional
        Value of a constant input that is added; 0 for none. Default: 3; 0 with the
        preset "paper".
    units : {"auto", "integer", "dense"}, default="auto"
        Arithmetic of the hidden units. Sums of small integers are exact, so with
        "integer" the model is the same to the last bit, however the samples are
        divided. With "dense" units are real numbers. "auto" uses integers where solver,
        consensus and inputs allow it.
    image_shape : tuple of int, optional
        Height and width of the images, and their channels, if the features are pixels.
        The units of layer 1 then see small rectangles of the image.
    epsilon : float, optional
        The privacy budget of differential privacy: noise is added to the sums, and the
        network has one hidden layer. Needs the extra `privacy`, and the range of the
        inputs. Off by default.
    delta : float, default=1e-5
        The probability that more than epsilon is revealed.
    input_low, input_high : float or array of shape (n_features,), optional
        The range of the inputs, which `epsilon` needs: one number for all or one for
        each. It must be known beforehand and not be taken from the data.
    categorical_features : {"from_dtype"}, array or None, default="from_dtype"
        The columns that are categories, as names, numbers or a mask. "from_dtype" takes
        the columns of a pandas or polars table that have a categorical type. Missing
        values are allowed in all columns, as NaN in numbers.
    solver : {"auto", "gram", "krylov", "admm"}, default="auto"
        How a layer is solved. "gram" is exact; "krylov" is exact up to a proven bound,
        with much smaller messages; "admm" is the paper's iteration. A network that
        chooses its own size needs "gram".
    n_iter : int, default=100
        ADMM iterations per layer.
    mu_input, mu_hidden : float, optional
        ADMM parameter mu of layer 0 and of the other layers. Default: chosen for each
        layer.
    memory : int or str, optional
        Memory limit in bytes, or a size such as "2GB". What does not fit is kept in
        temporary files or computed again.
    preset : {"default", "paper"}, optional
        The settings to start from; parameters that are given override them.
    random_state : int, RandomState or None, default=None
        Seed of the random matrices. Pass an int to get the same model again.
    verbose : int, default=0
        0 shows nothing, 1 a progress bar if `fit` takes more than a second, 2 a line
        per layer. Progress goes to standard error.

    Attributes
    ----------
    network_ : Network or Ensemble
        The trained network; `dssfn.save_network` writes it to a file. Its `plan` holds
        all settings, including those that validation chose.
    n_layers_, width_, members_, scale_ :
        The values that were chosen, or given, for the parameters of these names.
    history_ : tuple of LayerRecord
        One record per layer, including layers that were tried but not kept: training
        error in dB and number of averagings. If members were validated, also the chosen
        width and ridge, the validation error, and everything that was tried.
    traffic_ : Traffic
        What was sent over the links: nothing, as one machine has none.
    classes_, n_features_in_, feature_names_in_ :
        As in all scikit-learn estimators.

    Warns
    -----
    OverfitWarning
        If the network predicts all training samples correctly, but validation samples
        poorly.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SSFNClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> fixed = SSFNClassifier(n_layers=3, width=50, random_state=0).fit(X, y)
    >>> fixed.n_layers_, fixed.width_, fixed.members_
    (3, 50, 1)
    """

    def __init__(
        self,
        *,
        n_layers: int | str | None = None,
        width: int | str | None = None,
        members: int | str | None = None,
        ridge: float | str = "auto",
        scale: str = "auto",
        size: str = "auto",
        class_weight: dict[Label, float] | str | None = None,
        alpha: float | None = None,
        gain: float | None = None,
        standardize: bool | None = None,
        bias: float | None = None,
        units: str = "auto",
        image_shape: tuple[int, ...] | None = None,
        epsilon: float | None = None,
        delta: float = 1e-5,
        input_low: Any = None,
        input_high: Any = None,
        categorical_features: Any = "from_dtype",
        solver: str = "auto",
        n_iter: int = 100,
        mu_input: float | None = None,
        mu_hidden: float | None = None,
        memory: int | str | None = None,
        preset: str | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())


class DSSFNClassifier(Decentralised, Classifier):
    """The same network, trained by nodes that only talk to their neighbours.

    The nodes are simulated in this process and share nothing but messages. Use it to
    study topologies, solvers and traffic, or to verify that the decentralised model is
    the one that a single machine would have learned.

    Parameters
    ----------
    n_nodes : int, optional
        Number of nodes. Default: as many as the graph or the partition has, else 10, or
        one per sample if there are fewer than 10.
    topology : str, networkx.Graph, array or Topology, default="circular"
        Who talks to whom: the name of a graph for `dssfn.build_topology`, a graph, or a
        mixing matrix of shape (n_nodes, n_nodes).
    degree : int, optional
        For a circular graph, the number of neighbours on each side; for others see
        `dssfn.build_topology`.
    partition : str or array of shape (n_samples,), default="iid"
        How the samples are divided among the nodes: "iid", "by-class", "dirichlet:A",
        or the node of every sample, by name or number. Names are those of the graph's
        nodes; if it has none, they are numbered in sorted order. `fit` also takes a
        partition.
    consensus : {"auto", "gossip", "chebyshev", "exact", "tree"}, default="auto"
        How nodes compute averages. "auto" takes the fastest scheme; with the preset
        "paper" it is gossip.
    tol : float, optional
        Accuracy of each average. Default: 1e-12; 1e-10 with the preset "paper".
    n_rounds : int, optional
        Gossip rounds per average, instead of `tol`.
    folds : {"rows", "nodes"}, default="rows"
        What each member leaves out for validation: samples, or whole nodes.
    colluders : int, default=1
        With `epsilon`: how many nodes may collude without weakening the guarantee;
        fewer than `n_nodes`.
    n_layers, width, members, ridge, scale, size, class_weight, alpha, gain, \
standardize, bias, units, image_shape, epsilon, delta, input_low, input_high, \
categorical_features, solver, n_iter, \
mu_input, mu_hidden, memory, \
preset, random_state, verbose :
        As in `SSFNClassifier`.

    Attributes
    ----------
    network_ : Network or Ensemble
        The network of node 0; those of other nodes are equal up to the accuracy of the
        averages.
    node_spread_ : float
        Largest relative difference between two nodes' output matrices.
    traffic_ : Traffic
        What was sent over the links: rounds, numbers and bytes.
    traffic_by_layer_, traffic_after_ : dict of Traffic, and Traffic
        The same by layer, as `Simulation` has it.
    topology_ : Topology
        The graph of the nodes.
    held_ : array of shape (n_nodes, n_classes)
        How many training samples of each class each node held.
    n_layers_, width_, members_, scale_, history_, classes_, n_features_in_ :
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

    Nodes may be given by name, also in a cross-validation:

    >>> import numpy as np, sklearn
    >>> from sklearn.model_selection import cross_val_score
    >>> hospitals = np.array(["Basel", "Lugano", "Zurich"])[np.arange(150) % 3]
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     model = DSSFNClassifier(random_state=0).set_fit_request(partition=True)
    ...     scores = cross_val_score(model, X, y, params={"partition": hospitals})
    >>> scores.mean() > 0.9
    np.True_
    """

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
        class_weight: dict[Label, float] | str | None = None,
        alpha: float | None = None,
        gain: float | None = None,
        standardize: bool | None = None,
        bias: float | None = None,
        units: str = "auto",
        image_shape: tuple[int, ...] | None = None,
        epsilon: float | None = None,
        delta: float = 1e-5,
        input_low: Any = None,
        input_high: Any = None,
        colluders: int = 1,
        categorical_features: Any = "from_dtype",
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
        verbose: int = 0,
    ) -> None:
        store(self, locals())
