"""Shard: one node's data, its shapes checked once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dssfn._typing import Array, Label
from dssfn.errors import DataError


class Rows(NamedTuple):
    """Some of a node's samples; each is a column, as everywhere in the core.

    Parameters
    ----------
    X : array of shape (P, c)
        Their features.
    T : array of shape (Q, c)
        Their targets.
    weights : array of shape (c,), optional
        How much each of them counts; left out, each counts once.
    """

    X: Array
    T: Array
    weights: Array | None = None


class Samples(Protocol):
    """One node's data, which may be larger than memory."""

    @property
    def n_features(self) -> int:
        """The number of features, P."""

    @property
    def n_outputs(self) -> int:
        """The number of target rows, Q."""

    @property
    def n_samples(self) -> int:
        """The number of samples, J."""

    @property
    def weight(self) -> float:
        """The sum of the samples' weights; without weights the number of samples."""

    @property
    def has_gaps(self) -> bool:
        """Whether features may be missing, as NaN."""

    def chunks(self, size: int) -> Iterator[Rows]:
        """Yield at most `size` samples at a time; every call is a new pass."""


@dataclass(frozen=True, slots=True)
class Shard:
    """The samples and targets of one node, with one column per sample.

    Parameters
    ----------
    X : array of shape (P, J)
        Features; kept as float64.
    T : array of shape (Q, J)
        Targets: real numbers, or one-hot columns for classification. A class that this
        node has never seen has a row of zeros: the rows follow the agreed class list.
    weights : array of shape (J,), optional
        How much each sample counts. A weight of 2 counts the sample twice, a weight of
        0 leaves it out. By default each counts once.
    has_gaps : bool
        Whether features may be missing, as NaN.

    Raises
    ------
    DataError
        If the shapes do not match, there are no samples, or numbers are not finite.

    Examples
    --------
    Three samples with two features, in two classes:

    >>> T = one_hot(np.array([0, 1, 0]), 2)
    >>> Shard(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), T).n_samples
    3
    """

    X: Array
    T: Array
    weights: Array | None = None
    has_gaps: bool = False

    def __post_init__(self) -> None:
        for name, values in self._arrays():
            object.__setattr__(self, name, _as_float64(name, values))
        if self.X.ndim != 2 or self.T.ndim != 2:
            raise DataError(
                "`X` and `T` must be matrices with one column per sample, got shapes "
                f"{self.X.shape} and {self.T.shape}."
            )
        if self.X.shape[1] != self.T.shape[1]:
            raise DataError(
                "`X` and `T` must have the same number of columns, got "
                f"{self.X.shape[1]} and {self.T.shape[1]}."
            )
        if self.n_samples == 0:
            raise DataError("A shard must hold at least one sample, got none.")
        for name, values in self._arrays():
            if self.has_gaps and name == "X":
                fits, came = ~np.isinf(values), "infinity"
            else:
                fits, came = np.isfinite(values), "NaN or infinity"
            if not fits.all():
                raise DataError(f"`{name}` must be finite, got {came}.")
        if self.weights is not None:
            _check_weights(self.weights, self.n_samples)

    def _arrays(self) -> list[tuple[str, Array]]:
        """Return the arrays that were given, with the names of their arguments."""
        arrays = [("X", self.X), ("T", self.T)]
        return arrays if self.weights is None else [*arrays, ("weights", self.weights)]

    @property
    def n_features(self) -> int:
        """The number of features, P."""
        return len(self.X)

    @property
    def n_outputs(self) -> int:
        """The number of target rows, Q."""
        return len(self.T)

    @property
    def n_samples(self) -> int:
        """The number of samples, J."""
        return int(self.X.shape[1])

    @property
    def weight(self) -> float:
        """The sum of the samples' weights; without weights the number of samples."""
        weights = self.weights
        return float(self.n_samples if weights is None else weights.sum())

    def chunks(self, size: int) -> Iterator[Rows]:
        """Yield the samples, at most `size` columns at a time, about as many each."""
        weights = self.weights
        n_chunks = -(-self.n_samples // size)
        ends = [k * self.n_samples // n_chunks for k in range(n_chunks + 1)]
        for start, end in itertools.pairwise(ends):
            columns = slice(start, end)
            yield Rows(
                self.X[:, columns],
                self.T[:, columns],
                None if weights is None else weights[columns],
            )


@dataclass(frozen=True, slots=True)
class Pooled:
    """All shards as one, one after the other: the centralised data.

    >>> one = Shard(np.eye(2), np.eye(2))
    >>> Pooled([one, one, one]).n_samples
    6
    """

    shards: Sequence[Samples]

    @property
    def n_features(self) -> int:
        """The number of features, P."""
        return self.shards[0].n_features

    @property
    def n_outputs(self) -> int:
        """The number of target rows, Q."""
        return self.shards[0].n_outputs

    @property
    def n_samples(self) -> int:
        """The number of samples of all shards together, J."""
        return sum(shard.n_samples for shard in self.shards)

    @property
    def weight(self) -> float:
        """The sum of the weights of all shards."""
        return sum(shard.weight for shard in self.shards)

    @property
    def has_gaps(self) -> bool:
        """Whether features of any shard may be missing."""
        return any(shard.has_gaps for shard in self.shards)

    def chunks(self, size: int) -> Iterator[Rows]:
        """Yield the chunks of every shard."""
        for shard in self.shards:
            yield from shard.chunks(size)


@dataclass(frozen=True, slots=True)
class Joined(Pooled):
    """All shards as one, in chunks of useful lengths, however few samples a shard has.

    >>> one = Shard(np.eye(2), np.eye(2))
    >>> [rows.X.shape[1] for rows in Joined([one, one, one]).chunks(8)]
    [4, 2]
    """

    def chunks(self, size: int) -> Iterator[Rows]:
        """Yield at most `size` samples at a time, in the order of the shards.

        What is shorter waits for others, unless it has half of the length.
        """
        waiting: list[Rows] = []
        n_waiting = 0
        for shard in self.shards:
            for rows in shard.chunks(size):
                n = rows.X.shape[1]
                if waiting and n_waiting + n > size:
                    yield _joined(waiting)
                    waiting, n_waiting = [], 0
                waiting.append(rows)
                n_waiting += n
                if 2 * n_waiting >= size:
                    yield _joined(waiting)
                    waiting, n_waiting = [], 0
        if waiting:
            yield _joined(waiting)


def _joined(parts: list[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    weights = None
    if any(rows.weights is not None for rows in parts):
        weights = np.concatenate(
            [
                np.ones(rows.X.shape[1]) if rows.weights is None else rows.weights
                for rows in parts
            ]
        )
    X, T = (
        np.hstack(arrays) for arrays in zip(*((X, T) for X, T, _ in parts), strict=True)
    )
    return Rows(X, T, weights)


def _as_float64(name: str, values: ArrayLike) -> Array:
    """Return contiguous rows of float64; bytes would wrap around in products."""
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise DataError(f"`{name}` must hold numbers: {exc}.") from exc


def _check_weights(weights: Array, n_samples: int) -> None:
    """Check that there is one weight for each sample and none is negative."""
    if weights.shape != (n_samples,):
        raise DataError(
            f"`weights` must hold one number for each of the {n_samples} samples, got "
            f"shape {weights.shape}."
        )
    if weights.min() < 0:
        sample = int(weights.argmin())
        raise DataError(
            f"`weights` must not be negative, got {weights[sample]:g} for sample "
            f"{sample + 1}. A sample that must not count has weight 0."
        )


def divide(
    X: Array,
    T: Array,
    parts: Sequence[NDArray[np.intp]],
    weights: Array | None = None,
    *,
    has_gaps: bool = False,
) -> list[Shard]:
    """Return shards of samples in rows: node m gets ``parts[m]`` of X (J, P).

    Parameters
    ----------
    X : array of shape (J, P)
        Features; here rows are samples.
    T : array of shape (Q, J)
        Targets.
    parts : sequence of int arrays
        The samples of every node.
    weights : array of shape (J,), optional
        How much each sample counts.
    has_gaps : bool
        Whether features may be missing, as NaN.

    Examples
    --------
    >>> parts = [np.array([0]), np.array([1, 2])]
    >>> [s.n_samples for s in divide(np.eye(3), np.ones((1, 3)), parts)]
    [1, 2]
    """
    return [
        Shard(
            X[rows].T, T[:, rows], None if weights is None else weights[rows], has_gaps
        )
        for rows in parts
    ]


def class_codes(
    labels: NDArray[Any], classes: Sequence[Label], at: Callable[[int], str]
) -> NDArray[np.intp]:
    """Return the index of every label in the classes; an unknown label is an error.

    Parameters
    ----------
    labels : array of shape (J,)
        The label of every sample.
    classes : sequence of labels
        The agreed classes, in their order.
    at : callable
        Names the sample with a given number, from 0, in an error.

    Examples
    --------
    >>> class_codes(np.array(["b", "a"]), ["a", "b"], at=str)
    array([1, 0])
    """
    number = {label: code for code, label in enumerate(classes)}
    values = labels.tolist()
    try:
        return np.array([number[label] for label in values], dtype=np.intp)
    except KeyError as exc:
        label = exc.args[0]
        known = ", ".join(map(repr, classes[:8]))
        raise DataError(
            f"{at(values.index(label))}: label {label!r} is not one of the known "
            f"classes {known}. Correct it, or remove the sample."
        ) from None


def one_hot(codes: NDArray[np.intp], n_classes: int) -> Array:
    """Return targets of shape (Q, J) from class codes 0..Q-1.

    >>> one_hot(np.array([0, 2]), 3)
    array([[1., 0.],
           [0., 0.],
           [0., 1.]])
    """
    T: Array = np.zeros((n_classes, len(codes)))
    T[codes, np.arange(len(codes))] = 1.0
    return T
