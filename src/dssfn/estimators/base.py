"""Estimator: what classifiers and regressors share, from samples to a trained network.

Whether samples are classes or numbers is said by `Classifier` and `Regressor`, and
where they are by `Centralised` and `Decentralised`; each estimator is one of both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from dssfn._typing import Array
from dssfn.config import Plan, bytes_of, check_seed
from dssfn.datasets import Dataset
from dssfn.errors import DataError, InputError, PlanError
from dssfn.estimators.tables import (
    Table,
    categories_of,
    named_columns,
    to_categories,
    unnamed,
)
from dssfn.estimators.verbosity import layer_reports
from dssfn.hosting import Simulation, Traffic
from dssfn.modelfile import network_of
from dssfn.presets import resolve
from dssfn.records import LayerRecord
from dssfn.runs import Run, divided, make_plan, train
from dssfn.schema import Schema
from dssfn.topology import Topology, build_topology
from dssfn.training import Model

PLAN_FIELDS = frozenset(Plan.__struct_fields__)


class Estimator(BaseEstimator):  # type: ignore[misc]
    """What all estimators share."""

    # Parameters of all of them.
    categorical_features: Any
    memory: int | str | None
    preset: str | None
    random_state: int | np.random.RandomState | None
    verbose: int

    # Learned in `fit`.
    n_features_in_: int
    network_: Model
    history_: tuple[LayerRecord, ...]
    traffic_: Traffic
    traffic_by_layer_: dict[int, Traffic]
    traffic_after_: Traffic

    def _learn(self, X: Any, y: Any, sample_weight: Any, partition: Any) -> Self:
        """Train on samples whose weights, and perhaps nodes, are given."""
        X, y, schema = self._validated(X, y)
        counts, weights = _weights_of(sample_weight, X)
        if not isinstance(partition, str):
            partition = _one_each(partition, len(X))[counts]
        data = replace(
            self._dataset(X[counts], y[counts], weights),
            feature_names=schema.feature_names if schema else self._column_names(),
            schema=schema,
        )
        plan = make_plan(data, **self._settings(data))
        memory = None if self.memory is None else bytes_of(plain(self.memory))
        graph, how = self._graph(plan, partition, len(data.X_train))
        run = divided(data, plan, graph, how, memory=memory)
        with layer_reports(plain(self.verbose), plan) as on_layer:
            result = train(run, on_layer)
        # All at once, so that a fit that fails changes nothing.
        self._keep(run, result, data)
        self._warn(len(data.X_train))
        return self

    def _validated(self, X: Any, y: Any) -> tuple[Array, NDArray[Any], Schema | None]:
        """Return features, what is to be predicted, and what the columns mean.

        That is None if all columns are numbers and none is missing.
        """
        asked = self.categorical_features
        chosen = categories_of(X, asked)
        with named_columns(X, chosen, to_categories(X, asked)):
            if chosen:
                y = validate_data(self, y=y, **self._Y_RULES)
                check_consistent_length(X, y)
                _check_feature_names(self, X, reset=True)
                _check_n_features(self, X, reset=True)
            else:
                X, y = validate_data(
                    self,
                    X,
                    y,
                    dtype=np.float64,
                    ensure_all_finite="allow-nan",
                    **self._Y_RULES,
                )
                if not np.isnan(X).any():
                    return X, self._checked_targets(y), None
            table = Table(X, chosen)
        schema = table.schema(self._column_names())
        return table.features(schema), self._checked_targets(y), schema

    _Y_RULES: ClassVar[dict[str, Any]] = {}  # of scikit-learn's checks

    def _checked_targets(self, y: Any) -> NDArray[Any]:
        """Return what is to be predicted, checked."""
        raise NotImplementedError

    def _dataset(self, X: Array, y: NDArray[Any], weights: Array | None) -> Dataset:
        """Return the samples as a set, without names of their features."""
        raise NotImplementedError

    def _graph(
        self, plan: Plan, partition: Any, n_samples: int
    ) -> tuple[Topology, Any]:
        """Return the graph of the nodes, and how the samples are divided over them."""
        raise NotImplementedError

    def _keep(self, run: Run, result: Simulation, data: Dataset) -> None:
        """Take a training as that of this estimator."""
        self.network_ = result.networks[0]
        self.history_ = result.history
        self.traffic_ = result.traffic
        self.traffic_by_layer_ = result.traffic_by_layer
        self.traffic_after_ = result.traffic_after

    def _warn(self, n_samples: int) -> None:
        """Warn of a training that went well but gave less than it seems."""

    @property
    def n_layers_(self) -> int:
        """The number of hidden layers."""
        return self.network_.plan.depth

    @property
    def width_(self) -> int:
        """The number of random units of a hidden layer; zero if there is none."""
        return self.network_.plan.most_width if self.n_layers_ else 0

    @property
    def members_(self) -> int:
        """The number of networks whose scores are averaged."""
        return self.network_.n_members

    @property
    def scale_(self) -> str:
        """How the inputs are scaled: "columns" or "common"."""
        scale = self.network_.plan.scale
        return "columns" if scale == "auto" else scale  # as one network has it

    @classmethod
    def from_network(cls, network: Model) -> Self:
        """Return a fitted estimator that predicts with a network, e.g. from a file."""
        network = network_of(network)
        plan = network.plan
        shared = [name for name in cls().get_params() if name in PLAN_FIELDS]
        settings = {name: getattr(plan, name) for name in shared}
        estimator = cls(**settings, random_state=plan.seed)
        estimator._adopt(plan)
        names = plan.feature_names
        estimator.n_features_in_ = plan.n_features
        if plan.schema is not None:
            names = tuple(column.name for column in plan.schema.used)
            estimator.n_features_in_ = len(names)
        if names is not None and names != unnamed(len(names)):
            estimator.feature_names_in_ = np.array(names, dtype=object)
        estimator.network_ = network
        return estimator

    def _adopt(self, plan: Plan) -> None:
        """Take over what a plan says of classes or targets, if it is of this kind."""
        raise NotImplementedError

    def _columns(self, X: Any) -> Array:
        """Return samples to predict, checked, in columns."""
        check_is_fitted(self, "network_")
        schema = self.network_.plan.schema
        columns = () if schema is None else schema.used
        chosen = [k for k, one in enumerate(columns) if one.kind == "category"]
        with named_columns(X, chosen, "The model was trained on numbers there."):
            if schema is None:
                rows: Array = validate_data(self, X, dtype=np.float64, reset=False)
                return rows.T
            if not chosen:
                X = validate_data(
                    self,
                    X,
                    dtype=np.float64,
                    ensure_all_finite="allow-nan",
                    reset=False,
                )
            else:
                _check_feature_names(self, X, reset=False)
                _check_n_features(self, X, reset=False)
            table = Table(X, chosen)
        return table.features(schema).T

    def _settings(self, data: Dataset) -> dict[str, Any]:
        """Return the settings of the plan, those left open as the preset has them."""
        given = {name: plain(value) for name, value in self.get_params().items()}
        seed, preset = given["random_state"], given["preset"]
        if not isinstance(seed, int):
            seed = int(check_random_state(seed).randint(np.iinfo(np.int32).max))
        check_seed("random_state", seed)
        settings = {name: given[name] for name in given if name in PLAN_FIELDS}
        for name in ("image_shape", "input_low", "input_high"):
            if np.ndim(settings.get(name, 0)) == 1:
                settings[name] = tuple(map(plain, settings[name]))
        preset = "default" if preset is None else preset
        return {"seed": seed, **resolve(preset, settings)}

    def _column_names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class Centralised(Estimator):
    """An estimator on one machine."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the network.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The samples.
        y : array of shape (n_samples,)
            Their labels, or the numbers to predict, which may have several columns.
        sample_weight : array of shape (n_samples,), optional
            How much each sample counts. A weight of 2 counts the sample twice, a weight
            of 0 leaves it out.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight, "iid")

    def _graph(
        self, plan: Plan, partition: Any, n_samples: int
    ) -> tuple[Topology, Any]:
        return build_topology("complete", 1), partition  # one node has all samples


def store(estimator: BaseEstimator, given: dict[str, Any]) -> None:
    """Set the parameters of an estimator untouched, as scikit-learn asks for."""
    for name, value in given.items():
        if name != "self":
            setattr(estimator, name, value)


def plain(value: Any) -> Any:
    """Return numpy's scalars, which grid searches pass, as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def check_kind(plan: Plan, *, regression: bool) -> None:
    """Refuse a network that predicts numbers where classes are wanted, and so on."""
    if plan.is_regression != regression:
        kinds = ("classes", "Classifier"), ("numbers", "Regressor")
        what, ending = kinds[plan.is_regression]
        raise InputError(f"`network` predicts {what}. Use `SSFN{ending}.from_network`.")


def _weights_of(
    sample_weight: Any, X: Array
) -> tuple[slice | NDArray[np.intp], Array | None]:
    """Return which samples count, and their weights; a weight of zero is no sample."""
    if sample_weight is None:
        return slice(None), None
    weights: Array = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if weights.min() < 0:
        sample = int(weights.argmin())
        raise DataError(
            f"`sample_weight` must not be negative, got {weights[sample]:g} for sample "
            f"{sample + 1}. A sample that must not count has weight 0."
        )
    counts = np.flatnonzero(weights)
    if not len(counts):
        raise DataError(
            "`sample_weight` must be positive for some samples; all weights are zero."
        )
    return counts, weights[counts]


def _one_each(partition: Any, n_samples: int) -> NDArray[Any]:
    """Return the node of every sample, of whatever kind they are."""
    try:
        nodes: NDArray[Any] = np.asarray(partition)
    except ValueError as exc:  # ragged
        raise PlanError(
            f"`partition` must give the node of every sample: {exc}."
        ) from exc
    if nodes.shape != (n_samples,):
        raise PlanError(
            f"`partition` must give the node of each of the {n_samples} samples, got "
            f"shape {nodes.shape}."
        )
    return nodes
