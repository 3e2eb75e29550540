"""The regressors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.datasets import Dataset
from dssfn.errors import DataError, InputError
from dssfn.estimators.base import Centralised, Estimator, check_kind, store
from dssfn.estimators.nodes import Decentralised
from dssfn.hosting import Simulation
from dssfn.network import LARGEST
from dssfn.runs import Run


class Regressor(RegressorMixin, Estimator):  # type: ignore[misc]
    """What both regressors share."""

    _is_vector: bool  # whether predictions have one number a sample, as `y` had

    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return the predicted numbers, in the unit of the targets.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The samples.
        return_std : bool
            Whether to return the standard deviation of the members' predictions, too.
            It shows how much a prediction depends on the choice of training samples.
            Noise that no model can predict from the features is not included.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets)
            The predictions, shaped as `y` was in `fit`.
        array of the same shape, if asked for
            Their standard deviations.
        """
        columns = self._columns(X)
        if not return_std:
            return self._shaped(self.network_.scores(columns))
        if self.network_.n_members < 2:
            raise InputError(
                "`return_std` needs `members` of at least 2: a single network cannot "
                "tell how uncertain it is. Leave out `n_layers` or `width`, or give "
                "`members`."
            )
        scores = self.network_.member_scores(columns)
        return self._shaped(scores.mean(axis=0)), self._shaped(scores.std(axis=0))

    def _shaped(self, scores: Array) -> Array:
        return scores[0] if self._is_vector else scores.T

    _Y_RULES: ClassVar[dict[str, Any]] = {"multi_output": True, "y_numeric": True}

    def _checked_targets(self, y: Any) -> NDArray[Any]:
        numbers: Array = np.asarray(y, dtype=np.float64)
        largest = float(np.abs(numbers).max())
        if largest > LARGEST:
            raise DataError(
                f"`y` must be at most {LARGEST:g} in absolute value, got {largest:g}. "
                "Use another unit."
            )
        return numbers

    def _dataset(self, X: Array, y: NDArray[Any], weights: Array | None) -> Dataset:
        targets = ("y",) if y.ndim == 1 else tuple(f"y{k}" for k in range(y.shape[1]))
        return Dataset("X", X, y, X[:0], y[:0], weights=weights, targets=targets)

    def _keep(self, run: Run, result: Simulation, data: Dataset) -> None:
        super()._keep(run, result, data)
        self._is_vector = data.y_train.ndim == 1

    def _adopt(self, plan: Plan) -> None:
        check_kind(plan, regression=True)
        self._is_vector = plan.n_outputs == 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class SSFNRegressor(Centralised, Regressor):
    """A self-size-estimating feed-forward network that predicts numbers.

    It is the network of `SSFNClassifier`. Targets are scaled by their means and
    standard deviations, so their unit does not matter. There may be several targets.

    Parameters
    ----------
    n_layers : int or "auto", optional
        Number of hidden layers. Default: "auto", chosen by validation; 20 with the
        preset "paper".
    width : int or "auto", optional
        Random units per hidden layer, which has 2 * n_outputs + width units in all;
        each target is an output. Default: "auto", chosen by validation; 1000 with the
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
    n_features_in_, feature_names_in_ :
        As in all scikit-learn estimators.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SSFNRegressor(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.5
    True
    >>> mean, deviation = model.predict(X[:3], return_std=True)
    >>> mean.shape, deviation.shape
    ((3,), (3,))
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
        gain: float | None = None,
        standardize: bool | None = None,
        bias: float | None = None,
        units: str = "auto",
        image_shape: tuple[int, ...] | None = None,
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


class DSSFNRegressor(Decentralised, Regressor):
    """The same network, trained by nodes that only talk to their neighbours.

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
        How the samples are divided among the nodes: "iid", or the node of every sample,
        by name or number. Names are those of the graph's nodes; if it has none, they
        are numbered in sorted order. `fit` also takes a partition.
    consensus : {"auto", "gossip", "chebyshev", "exact", "tree"}, default="auto"
        How nodes compute averages. "auto" takes the fastest scheme; with the preset
        "paper" it is gossip.
    tol : float, optional
        Accuracy of each average. Default: 1e-12; 1e-10 with the preset "paper".
    n_rounds : int, optional
        Gossip rounds per average, instead of `tol`.
    folds : {"rows", "nodes"}, default="rows"
        What each member leaves out for validation: samples, or whole nodes.
    n_layers, width, members, ridge, scale, size, gain, standardize, bias, units, \
image_shape, categorical_features, solver, n_iter, mu_input, mu_hidden, memory, \
preset, random_state, \
verbose :
        As in `SSFNRegressor`.

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
    held_ : array of shape (n_nodes,)
        How many training samples each node held.
    n_layers_, width_, members_, scale_, history_, n_features_in_ :
        As in `SSFNRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DSSFNRegressor(n_nodes=4, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.5
    True
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
        gain: float | None = None,
        standardize: bool | None = None,
        bias: float | None = None,
        units: str = "auto",
        image_shape: tuple[int, ...] | None = None,
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
