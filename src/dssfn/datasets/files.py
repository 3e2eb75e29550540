"""Labelled files read some samples at a time, by the rules of `read_labelled`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.datasets.checks import (
    Source,
    changed,
    check_feature_kind,
    check_label_kind,
    class_labels,
    feature_matrix,
    missing_label,
)
from dssfn.datasets.columns import feature_columns, target_column
from dssfn.datasets.contents import existing_file
from dssfn.datasets.npz import Header, npz_headers, npz_rows
from dssfn.errors import DataError

if TYPE_CHECKING:
    from dssfn.datasets.column_blocks import Columns
    from dssfn.datasets.csv_file import FrameFile

_NPZ_BYTES = 2**22  # features of an NPZ file, as float64, and labels at a time


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some samples that follow each other in a file."""

    X: Array  # (P, c), in any order in memory
    labels: NDArray[Any]  # (c,) as text, bool or int64
    source: Source  # names the c samples


class LabelledFile(Protocol):
    """A file that can be read again and again, some samples at a time."""

    path: Path
    n_samples: int
    n_features: int
    feature_names: tuple[str, ...] | None

    def labels(self) -> Iterator[NDArray[Any]]:
        """All labels, some at a time."""

    def blocks(self) -> Iterator[Block]:
        """All samples, some at a time."""

    def not_numbers(self) -> tuple[str, ...]:
        """The features that hold text or anything else that is no number."""


def open_labelled(
    path: str | Path,
    target: str | None = None,
    *,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
) -> LabelledFile:
    """Open a file whose samples must have labels; parameters as in `read_labelled`.

    What its names, types and length tell is checked here, the values as they are read.
    """
    path = existing_file(path)
    file: LabelledFile
    if path.suffix.lower() == ".npz":
        file = _LabelledNpz(path, "y" if target is None else target)
        n_features = len(features) if features is not None else n_features
    else:
        # polars takes a while to import, and only such files need it.
        from dssfn.datasets.csv_file import open_frames

        file = _LabelledFrames(open_frames(path), target, features)
    if n_features is not None and file.n_features != n_features:
        raise DataError(
            f"The model was trained on {n_features} features, "
            f"`{path.name}` has {file.n_features}."
        )
    return file


class _LabelledNpz:
    """The arrays `X` and the target of an NPZ archive."""

    def __init__(self, path: Path, target: str) -> None:
        self.path = path
        self.feature_names: tuple[str, ...] | None = None
        self._target = target
        self._headers = self._checked_headers()
        self.n_samples, self.n_features = self._headers[0].shape

    def labels(self) -> Iterator[NDArray[Any]]:
        start = 0
        n_rows = self._rows_at_once(0)
        for values in npz_rows(self.path, self._target, n_rows):
            yield class_labels(values, self._source(start), name=self._target)
            start += len(values)

    def blocks(self) -> Iterator[Block]:
        if self._checked_headers() != self._headers:
            raise changed(self.path.name)
        n_rows = self._rows_at_once(self.n_features)
        rows = npz_rows(self.path, "X", n_rows)
        labels = npz_rows(self.path, self._target, n_rows)
        start = 0
        for values, some_labels in zip(rows, labels, strict=True):
            source = self._source(start)
            y = class_labels(some_labels, source, name=self._target)
            yield Block(feature_matrix(values, source).T, y, source)
            start += len(values)

    def not_numbers(self) -> tuple[str, ...]:
        return ()

    def _source(self, start: int) -> Source:
        return Source(self.path.name, first=start + 1)

    def _rows_at_once(self, n_features: int) -> int:
        label = self._headers[1].dtype.itemsize
        return max(1, _NPZ_BYTES // (8 * n_features + label))

    def _checked_headers(self) -> tuple[Header, Header]:
        """Features and labels, once they have been found to fit each other."""
        headers = npz_headers(self.path, ("X", self._target))
        X, y = headers["X"], headers[self._target]
        source = self._source(0)
        check_feature_kind(X.shape, X.dtype, source)
        check_label_kind(y.shape, y.dtype, source, name=self._target)
        if X.shape[0] != y.shape[0]:
            raise DataError(
                f"`{self.path.name}`: `X` and `{self._target}` must have as many rows, "
                f"got {X.shape[0]} and {y.shape[0]}."
            )
        if not X.by_rows:
            raise DataError(
                f"`{self.path.name}`: `X` must be stored row by row to be read in "
                "parts, but it is in Fortran order. Save it again as "
                "`numpy.ascontiguousarray(X)`."
            )
        return X, y


class _LabelledFrames:
    """The columns of a CSV or Parquet file, divided into features and the target."""

    def __init__(
        self, file: FrameFile, target: str | None, features: Sequence[str] | None
    ) -> None:
        self.path = file.path
        self._file = file
        name, names = file.path.name, file.names
        self._target = target_column(name, names, target)
        self._features = feature_columns(
            name, names, target, features, index=file.index
        )
        self.feature_names: tuple[str, ...] | None = self._features
        file.survey()
        if file.n_rows == 0:
            raise DataError(f"`{self.path.name}` has column names but no rows.")
        self.n_samples = file.n_rows
        self.n_features = len(self._features)

    def labels(self) -> Iterator[NDArray[Any]]:
        for columns in self._file.columns([self._target]):
            yield self._labels(columns)

    def blocks(self) -> Iterator[Block]:
        for columns in self._file.columns([*self._features, self._target]):
            labels = self._labels(columns)
            X: Array = np.empty((self.n_features, columns.n_rows))
            for place, name in enumerate(self._features):
                X[place] = columns.numbers(name)
            yield Block(X, labels, columns.source)

    def not_numbers(self) -> tuple[str, ...]:
        found: set[str] = set()
        for columns in self._file.columns(self._features):
            left = [name for name in self._features if name not in found]
            found.update(name for name in left if not columns.are_numbers(name))
        return tuple(name for name in self._features if name in found)

    def _labels(self, columns: Columns) -> NDArray[Any]:
        missing = columns.frame[self._target].is_null().arg_true()
        if len(missing) and self._has_labels():
            raise missing_label(columns.source, self._target, int(missing[0]))
        return columns.labels(self._target)

    def _has_labels(self) -> bool:
        """Whether there is any label in the whole file."""
        return any(
            columns.frame[self._target].null_count() < columns.n_rows
            for columns in self._file.columns([self._target])
        )
