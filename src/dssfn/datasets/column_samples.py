"""Files of named columns, divided into features and a target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.datasets.checks import missing_label
from dssfn.datasets.columns import feature_columns, target_column
from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.datasets.sample_file import Block
from dssfn.errors import DataError

if TYPE_CHECKING:
    from dssfn.datasets.column_blocks import ColumnBlock


class ColumnFile(Protocol):
    """A file of named columns, read again and again."""

    path: Path
    names: list[str]
    index: frozenset[str]
    """Columns that only number the rows."""
    dialect: str
    """How it is written, where a format has several ways; a line for people."""
    n_rows: int
    """The number of samples, J, once `survey` has been called."""

    def survey(self, wanted: Sequence[str], room: int | None) -> None:
        """Find out what only the whole file tells: its length and types.

        A format whose values must be parsed for that may hold the wanted columns, as
        long as they take no more than `room` bytes, for the first pass over them.
        """

    def columns(
        self, wanted: Sequence[str], *, is_last_use: bool = False
    ) -> Iterator[ColumnBlock]:
        """Yield at least the wanted columns, some rows at a time, in file order.

        After the last use of what the survey holds, the file is read again.
        """


def surveyed_rows(file: ColumnFile, wanted: Sequence[str], room: int | None) -> int:
    """Survey a file, which must have rows, and return how many they are."""
    file.survey(wanted, room)
    if file.n_rows == 0:
        raise DataError(f"`{file.path.name}` has column names but no rows.")
    return file.n_rows


class ColumnSamples:
    """The samples of a file of named columns.

    Parameters
    ----------
    file : ColumnFile
        The file, surveyed already or later by `survey`, before values are asked for.
    target : str, optional
        The column of labels.
    features : sequence of str, optional
        The columns to take, in this order; by default all but the target and those
        that number the rows.
    options : ReadOptions
        Which columns are offered, and which of them names the samples.
    """

    has_gaps = False  # only a schema allows them

    def __init__(
        self,
        file: ColumnFile,
        target: str | None,
        features: Sequence[str] | None,
        options: ReadOptions = ALL,
    ) -> None:
        name, names = file.path.name, file.names
        self.path = file.path
        self._file = file
        self.target = None if target is None else target_column(name, names, target)
        self._features = feature_columns(
            name, names, target, features, options=options, index=file.index
        )
        self._options = options
        self.dialect = file.dialect
        self.feature_names: tuple[str, ...] | None = self._features
        self.n_features = len(self._features)
        self.n_samples = file.n_rows

    def survey(self, room: int | None) -> Self:
        """Find the length and the types; `room` is as in the file's survey."""
        self.n_samples = surveyed_rows(self._file, self._wanted(), room)
        return self

    def in_order(self, features: Sequence[str]) -> Self:
        """Return the same open file, with its features in this order."""
        return type(self)(self._file, self.target, features, self._options)

    def labels(self) -> Iterator[NDArray[Any]]:
        """Yield the column of labels, some rows at a time."""
        assert self.target is not None
        for columns in self._file.columns([self.target]):
            yield self._labels(columns, self.target)

    def blocks(self) -> Iterator[Block]:
        """Yield all samples, some rows at a time."""
        target, name_of = self.target, self._options.id
        for columns in self._file.columns(self._wanted(), is_last_use=True):
            labels = None if target is None else self._labels(columns, target)
            X: Array = np.empty((self.n_features, columns.n_rows))
            for place, name in enumerate(self._features):
                X[place] = columns.numbers(name)
            ids = None if name_of is None else columns.texts(name_of)
            yield Block(X, labels, columns.source, ids)

    def not_numbers(self) -> tuple[str, ...]:
        """Return the features that hold text or anything else that is no number."""
        found: set[str] = set()
        for columns in self._file.columns(self._features):
            left = [name for name in self._features if name not in found]
            found.update(name for name in left if not columns.are_numbers(name))
        return tuple(name for name in self._features if name in found)

    def _wanted(self) -> list[str]:
        others = (self.target, self._options.id)
        return [*self._features, *(name for name in others if name is not None)]

    def _labels(self, columns: ColumnBlock, target: str) -> NDArray[Any]:
        missing = columns.first_missing(target)
        if missing is not None and self._has_labels(target):
            raise missing_label(columns.source, target, missing)
        return columns.labels(target)

    def _has_labels(self, target: str) -> bool:
        """Return whether there is any label in the whole file."""
        return any(
            columns.has_values(target) for columns in self._file.columns([target])
        )
