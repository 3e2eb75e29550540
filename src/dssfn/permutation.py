"""Permutation importance: a model's predictions when one column is shuffled.

How this works. All features of one column are permuted together among the samples, so
that the column keeps its values but says nothing of the sample it stands with; how much
worse predictions become is its importance (Breiman, 2001; Fisher, Rudin and Dominici,
2019). Every column is permuted in the same ways, so that two columns differ by what
they say and not by chance. A column that the model does not use has an importance of
exactly zero.

Beside the samples, every core holds one chunk of them, in which a column is permuted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.cores import n_cores
from dssfn.errors import DataError, InputError
from dssfn.importance import (
    OF_CHANGED_CLASSES,
    OF_CHANGED_NUMBERS,
    OF_CLASSES,
    OF_NUMBERS,
    OF_NUMBERS_ALIKE,
    ColumnImportance,
    Importance,
    Repeated,
)
from dssfn.lanes import Lanes
from dssfn.network import CHUNK
from dssfn.scores import Measure, Scores
from dssfn.scoring import measure_for, predictions
from dssfn.training import Model

N_REPEATS = 5
MOST_REPEATS = 1000
MOST_SAMPLES = 2000  # by default: their accuracy is known to a point, in a minute
MOST_MEASURED = 50  # columns: of more, those that move predictions most
MOST_COLUMNS = 10_000
SCREENED = 200  # samples by which they are found
MOST_TILES = 7  # along a side of a picture

OnColumn = Callable[[int, int], None]
"""Told after each column: how many are done, and of how many."""


class Group(NamedTuple):
    """Features that are permuted together: a column, or a part of a picture."""

    name: str
    features: NDArray[np.intp]


def groups_of(plan: Plan) -> list[Group]:
    """Return the columns of the data that a plan is about, each with its features.

    They are the columns of a schema, parts of at most 7 by 7 of a picture, or the
    features themselves; those without names have their numbers, from 1 on.

    >>> [one.name for one in groups_of(Plan(n_features=2, classes=("a", "b")))]
    ['feature 1', 'feature 2']
    """
    if plan.schema is not None:
        counts = [len(column.feature_names) for column in plan.schema.used]
        ends = np.cumsum(counts)
        return [
            Group(column.name, np.arange(end - count, end))
            for column, count, end in zip(plan.schema.used, counts, ends, strict=True)
        ]
    if plan.image_shape is not None:
        return list(_tiles(plan.image_shape))
    numbered = [f"feature {k + 1}" for k in range(plan.n_features)]
    names = plan.feature_names or numbered
    return [Group(name, np.array([k])) for k, name in enumerate(names)]


def _tiles(shape: Sequence[int]) -> Iterator[Group]:
    """Yield rectangles of a picture, all channels of a pixel together."""
    features = np.arange(np.prod(shape)).reshape(*shape[:2], -1)
    height, width = (-(-side // MOST_TILES) for side in shape[:2])
    for top in range(0, shape[0], height):
        for left in range(0, shape[1], width):
            tile = features[top : top + height, left : left + width]
            down, across = top + tile.shape[0], left + tile.shape[1]
            name = f"rows {top + 1}-{down}, columns {left + 1}-{across}"
            yield Group(name, tile.ravel())


_NOTHING = Group("", np.empty(0, dtype=np.intp))


class Yardstick(Protocol):
    """How predictions of permuted samples are compared with the true ones."""

    figures: tuple[str, ...]
    baseline: dict[str, float]

    def compare(self, predicted: Array) -> list[float]:
        """Return the figures of predictions (Q, J) of permuted samples."""


class Losses:
    """How much worse predictions fit the targets (Q, J) than before."""

    def __init__(self, measure: Measure, T: Array, predicted: Array) -> None:
        self._measure, self._T = measure, T
        scores = self._scores(predicted)
        self.figures: tuple[str, ...] = OF_CLASSES
        if scores.accuracy is None:
            self.figures = OF_NUMBERS_ALIKE if scores.r2 is None else OF_NUMBERS
        self._names = [one.rsplit("_", 1)[0] for one in self.figures]
        self.baseline = dict(zip(self._names, self._known(scores), strict=True))

    def compare(self, predicted: Array) -> list[float]:
        """Return what is lost of what should be large, and added to other figures."""
        before, after = self.baseline.values(), self._known(self._scores(predicted))
        return [
            old - new if name.endswith("_lost") else new - old
            for name, old, new in zip(self.figures, before, after, strict=True)
        ]

    def _scores(self, predicted: Array) -> Scores:
        return self._measure.scores(self._measure.sums(predicted, self._T, None))

    def _known(self, scores: Scores) -> list[float]:
        return [float(getattr(scores, name)) for name in self._names]


class ChangedClasses:
    """How much probabilities (Q, J) move, and how many samples get another class."""

    figures: tuple[str, ...] = OF_CHANGED_CLASSES

    def __init__(self, predicted: Array) -> None:
        self.baseline: dict[str, float] = {}
        self._before = predicted

    def compare(self, predicted: Array) -> list[float]:
        """Return both shares."""
        moved = np.abs(predicted - self._before).sum(axis=0) / 2
        changed = predicted.argmax(axis=0) != self._before.argmax(axis=0)
        return [float(moved.mean()), float(changed.mean())]


class ChangedNumbers:
    """How far predicted numbers (Q, J) move, in their standard deviations."""

    figures: tuple[str, ...] = OF_CHANGED_NUMBERS

    def __init__(self, predicted: Array) -> None:
        self.baseline: dict[str, float] = {}
        self._before = predicted
        spread = predicted.std(axis=1)
        self._spread = np.where(spread > 0, spread, 1.0)

    def compare(self, predicted: Array) -> list[float]:
        """Return the mean over samples and targets."""
        moved = np.abs(predicted - self._before).mean(axis=1) / self._spread
        return [float(moved.mean())]


def permutation_importance(
    network: Model,
    X: Array,
    T: Array | None = None,
    *,
    n_repeats: int = N_REPEATS,
    seed: int = 0,
    most_samples: int = MOST_SAMPLES,
    on_column: OnColumn | None = None,
) -> Importance:
    """Return how important every column is for a model's predictions of some samples.

    Parameters
    ----------
    network : Model
        The model.
    X : array of shape (P, J)
        The samples; columns are samples, and it stays as it is.
    T : array of shape (Q, J), optional
        Their targets, one-hot for classes. Left out, it is measured how much
        predictions move.
    n_repeats : int
        How often each column is permuted, at least twice.
    seed : int
        Key of the permutations and of the choice of samples: the same one gives the
        same figures.
    most_samples : int
        Of more samples, as many are chosen at random.
    on_column : callable, optional
        Told after each column.

    Raises
    ------
    DataError
        There are fewer than two samples, so that there is nothing to permute.

    Examples
    --------
    >>> from dssfn import SSFNClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SSFNClassifier(random_state=0).fit(X, y)
    >>> found = permutation_importance(model.network_, X.T, np.eye(3)[y].T)
    >>> found.columns[0].name in ("feature 3", "feature 4")
    True
    """
    J = X.shape[1]
    groups = groups_of(network.plan)
    _check(J, len(groups))
    _check_settings(n_repeats, seed, most_samples)
    rng = np.random.default_rng([seed, 0])
    chosen = np.sort(rng.permutation(J)[:most_samples])
    model = _OnCores(network, X if len(chosen) == J else X[:, chosen])
    n_screened = 0
    measured = groups
    if len(groups) > MOST_MEASURED:
        some = rng.permutation(len(chosen))[:SCREENED]
        n_screened = len(some)
        measured = _screened(_OnCores(network, model.samples[:, some]), groups)
    yardstick = _yardstick(model, None if T is None else T[:, chosen])
    rng = np.random.default_rng([seed, 1])
    orders = [rng.permutation(len(chosen)) for _ in range(n_repeats)]
    columns = []
    compared = model.compared(measured, orders, yardstick)
    for group, each in zip(measured, compared, strict=True):
        columns.append(_column(group, yardstick.figures, each))
        if on_column is not None:
            on_column(len(columns), len(measured))
    columns.sort(key=lambda one: [-figure.mean for figure in one.figures.values()])
    return Importance(
        figures=yardstick.figures,
        baseline=yardstick.baseline,
        n_samples=J,
        n_used=len(chosen),
        n_repeats=n_repeats,
        seed=seed,
        n_columns=len(groups),
        n_screened=n_screened,
        columns=tuple(columns),
    )


class _OnCores:
    """A model's predictions of samples (P, J) with permuted features, on all cores.

    A core takes one column at a time. All predictions are made in the same way, in the
    same chunks, so that they are equal to the last bit where their inputs are.
    """

    def __init__(self, network: Model, samples: Array) -> None:
        self.network, self.samples = network, samples

    def as_they_are(self) -> Array:
        """Return the predictions of samples that nothing was done to."""
        with threadpool_limits(1, user_api="blas"):
            return self._predicted(_NOTHING, np.arange(self.samples.shape[1]))

    def compared(
        self,
        groups: Sequence[Group],
        orders: Sequence[NDArray[np.intp]],
        yardstick: Yardstick,
    ) -> Iterator[Array]:
        """Yield the figures (n_orders, n_figures) of each group of features."""

        def measure(lane: int, group: Group) -> Array:
            each = (self._predicted(group, order) for order in orders)
            return np.array([yardstick.compare(predicted) for predicted in each])

        with threadpool_limits(1, user_api="blas"), closing(Lanes(n_cores())) as lanes:
            yield from lanes.map(measure, groups)

    def _predicted(self, group: Group, order: NDArray[np.intp]) -> Array:
        parts = []
        for start in range(0, len(order), CHUNK):  # a model takes one on this thread
            X = np.array(self.samples[:, start : start + CHUNK])
            taken = np.ix_(group.features, order[start : start + CHUNK])
            X[group.features] = self.samples[taken]
            parts.append(predictions(self.network, self.network.scores(X)))
        return np.concatenate(parts, axis=1)


def _yardstick(model: _OnCores, T: Array | None) -> Yardstick:
    predicted, network = model.as_they_are(), model.network
    if T is not None:
        return Losses(measure_for(network), T, predicted)
    if network.plan.is_regression:
        return ChangedNumbers(predicted)
    return ChangedClasses(predicted)


def _screened(model: _OnCores, groups: list[Group]) -> list[Group]:
    """Return the columns that move predictions of a few samples most, in their order.

    The samples are in a random order, so that one step along them permutes them. This
    permutation is none of those that are measured by, so that a column which was chosen
    by chance is not thought important by the same chance.
    """
    step = np.roll(np.arange(model.samples.shape[1]), 1)
    compared = model.compared(groups, [step], _yardstick(model, None))
    moved = np.array([figures[0, 0] for figures in compared])
    most = np.argsort(-moved, kind="stable")[:MOST_MEASURED]
    return [groups[k] for k in np.sort(most)]


def _column(group: Group, names: Sequence[str], each: Array) -> ColumnImportance:
    """Return the importance of a column from figures (n_repeats, n_figures)."""
    means, stds = each.mean(axis=0).tolist(), each.std(axis=0, ddof=1).tolist()
    return ColumnImportance(
        name=group.name,
        n_features=len(group.features),
        figures={
            name: Repeated(mean=mean, std=std)
            for name, mean, std in zip(names, means, stds, strict=True)
        },
    )


def _check(n_samples: int, n_columns: int) -> None:
    if n_samples < 2:
        raise DataError(
            "Columns are shuffled among samples, so there must be at least 2, got "
            f"{n_samples}. Give a file with more rows."
        )
    if n_columns > MOST_COLUMNS:
        raise InputError(
            f"Importance is measured column by column, of at most {MOST_COLUMNS}, got "
            f"{n_columns}. Explain a model of fewer columns."
        )


def _check_settings(n_repeats: int, seed: int, most_samples: int) -> None:
    if not 2 <= n_repeats <= MOST_REPEATS:
        raise InputError(
            f"`n_repeats` must lie in 2..{MOST_REPEATS}, so that a standard deviation "
            f"can be computed, got {n_repeats}."
        )
    if seed < 0:
        raise InputError(f"`seed` must be at least 0, got {seed}.")
    if most_samples < 2:
        raise InputError(f"`most_samples` must be at least 2, got {most_samples}.")
