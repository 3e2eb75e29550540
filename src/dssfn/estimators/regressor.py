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
            It says how much the prediction depends on which samples were there to
            learn from; what cannot be predicted from the features comes on top of it.

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

    def _keep(self, result: Simulation, data: Dataset) -> None:
        super()._keep(result, data)
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

    It is `SSFNClassifier`'s network. The targets are scaled by their means and
    deviations, so their unit does not matter; there may be several.

    Parameters
    ----------
    n_layers : int or "auto", optional
        Hidden layers. Default: "auto", found by validation; 20 for the paper's preset.
    width : int or "auto", optional
        Random units per layer; a layer has 2 * n_outputs + width units, where each
        target is an output. Default: "auto"; 1000 for the paper's preset.
    members : int or "auto", optional
        Networks whose scores are averaged. Each leaves some samples out, on which it is
        validated. Default: "auto", by the number of samples; if both sizes are given,
        one network of exactly this size, without validation.
    ridge : float or "auto", default="auto"
        Pull of every layer towards the one before. "auto" is found by validation.
    scale : {"auto", "columns", "common"}, default="auto"
        Whether every input is divided by its own deviation, or all by a common one, as
        suits pixels. "auto" takes what validates better.
    size : {"auto", "ssfn"}, default="auto"
        "ssfn" grows one network by its training error, as SSFN does.
    gain : float, optional
        Size of the random part of the features. Default: 3; 1 for the paper's preset.
    standardize : bool, optional
        Shift and scale the inputs by their means and deviations. Default: True; False
        for the paper's preset.
    bias : float, optional
        Value of a constant input feature; 0 for none. Default: 3; 0 for the paper's
        preset.
    units : {"auto", "integer", "dense"}, default="auto"
        Arithmetic of the features. Sums of small integers are exact, so that the model
        is the same to the last bit, however samples are divided; dense ones are real
        numbers. "auto" takes integers where solver, consensus and inputs allow it.
    image_shape : tuple of int, optional
        Height and width of pictures, and their channels, if the features are pixels:
        the units of layer 1 then see small rectangles of them.
    categorical_features : {"from_dtype"}, array or None, default="from_dtype"
        The columns that are categories: names, numbers or a mask. "from_dtype" takes
        the columns of a pandas or polars table that have a categorical type. Numbers
        may be missing, as NaN, in any column, and categories too.
    solver : {"auto", "gram", "krylov", "admm"}, default="auto"
        "gram" solves each layer exactly; "krylov" does so to a proved bound with much
        smaller messages; "admm" is the paper's iteration. A network that finds its own
        size takes "gram".
    n_iter : int, default=100
        ADMM iterations per layer.
    mu_input, mu_hidden : float, optional
        ADMM parameters of layer 0 and the others. Default: agreed per layer.
    memory : int or str, optional
        Bytes for features, or a size such as "2GB"; what does not fit is kept in
        temporary files or computed again.
    preset : {"default", "paper"}, optional
        Where to take the settings from that are left to their defaults.
    random_state : int, RandomState or None, default=None
        Seed of the random matrices.
    verbose : int, default=0
        0 shows nothing, 1 a progress bar if a fit takes more than a second, 2 a line
        per layer; both on standard error.

    Attributes
    ----------
    network_ : Network or Ensemble
        The trained network; `dssfn.save_network` writes it to a file. Its `plan` has
        all settings, those that were found included.
    n_layers_, width_, members_, scale_ :
        What was found, or given, for the parameters of these names.
    history_ : tuple of LayerRecord
        One record per layer, with those that were tried but not kept: training error
        in dB and averagings; where members were validated also the width and ridge that
        were chosen, the validation error, and all that was tried.
    traffic_ : Traffic
        What went over the links; nothing, as there are none.
    n_features_in_, feature_names_in_ :
        As everywhere in scikit-learn.

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
        Nodes of the network. Default: as many as the graph or the partition has, else
        10, or one for every sample of fewer.
    topology : str, networkx.Graph, array or Topology, default="circular"
        Who talks to whom: a name that `dssfn.topology.build_topology` knows, a graph,
        or a mixing matrix of shape (n_nodes, n_nodes).
    degree : int, optional
        For a circular graph the neighbours on each side; see `build_topology`.
    partition : str or array of shape (n_samples,), default="iid"
        How the samples are divided: "iid", or the node of every sample, by name or
        number. Names are those of the graph's nodes, or sorted; `fit` takes them too.
    consensus : {"auto", "gossip", "chebyshev", "exact", "tree"}, default="auto"
        How averages are found; "auto" takes the fastest, for the paper's preset gossip.
    tol : float, optional
        Accuracy of every average. Default: 1e-12; 1e-10 for the paper's preset.
    n_rounds : int, optional
        Gossip rounds per average, instead of `tol`.
    folds : {"rows", "nodes"}, default="rows"
        What a member leaves out: samples, or whole nodes.
    n_layers, width, members, ridge, scale, size, gain, standardize, bias, units, \
image_shape, categorical_features, solver, n_iter, mu_input, mu_hidden, memory, \
preset, random_state, \
verbose :
        As in `SSFNRegressor`.

    Attributes
    ----------
    network_ : Network or Ensemble
        Node 0's network; the other nodes' differ by the accuracy of the averages.
    node_spread_ : float
        Largest relative distance between two nodes' output matrices.
    traffic_ : Traffic
        What went over the links: rounds, numbers and bytes.
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
