"""Tables, divided into features and a target as a schema says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray

from dssfn.datasets.column_samples import ColumnFile, surveyed_rows
from dssfn.datasets.columns import (
    check_schema_columns,
    offered_columns,
    target_column,
)
from dssfn.datasets.read_options import ReadOptions
from dssfn.datasets.sample_file import Block
from dssfn.errors import DataError
from dssfn.schema import Encoding, Schema

if TYPE_CHECKING:
    from dssfn.datasets.column_blocks import ColumnBlock


class TableSamples:
    """The samples of a file of named columns, encoded as a schema says.

    Parameters
    ----------
    file : ColumnFile
        The file, surveyed later by `survey`.
    schema : Schema
        What its columns mean.
    is_labelled : bool
        Whether the target is read, too.
    id : str, optional
        A column that names the samples.
    """

    def __init__(
        self,
        file: ColumnFile,
        schema: Schema,
        *,
        is_labelled: bool,
        id: str | None = None,
    ) -> None:
        check_schema_columns(file.path.name, file.names, schema)
        offered_columns(file.path.name, file.names, ReadOptions(id=id), None)
        if any(column.name == id for column in schema.used):
            raise DataError(
                f"`{file.path.name}`: `id` must be a column that is not used as a "
                f"feature, got `{id}`. Choose another, or ignore it in the schema."
            )
        self.path, self.dialect, self._id = file.path, file.dialect, id
        self._file, self._schema = file, schema
        self._encoding = Encoding(schema)
        self.target: str | None = None
        if is_labelled:
            if schema.target is None:
                raise DataError(
                    f"`{file.path.name}`: the schema must have a target, got none. "
                    "Add a table [target] to it."
                )
            target = schema.target.column
            self.target = target_column(file.path.name, file.names, target)
        self.has_gaps = schema.has_gaps
        self.feature_names: tuple[str, ...] | None = schema.feature_names
        self.n_features = len(schema.feature_names)
        self.n_samples = file.n_rows

    def survey(self, room: int | None) -> Self:
        """Find the length and the types; `room` is as in the file's survey."""
        self.n_samples = surveyed_rows(self._file, self._wanted(), room)
        return self

    def in_order(self, features: Sequence[str]) -> Self:
        """Return this file, whose features have the schema's order."""
        assert tuple(features) == self.feature_names
        return self

    def labels(self) -> Iterator[NDArray[Any]]:
        """Yield the classes, or the numbers to be predicted, some rows at a time."""
        assert self.target is not None
        for block in self._file.columns([self.target]):
            yield self._labels(block)

    def blocks(self) -> Iterator[Block]:
        """Yield all samples, some rows at a time."""
        from dssfn.datasets.table_values import column_values

        for block in self._file.columns(self._wanted(), is_last_use=True):
            labels = None if self.target is None else self._labels(block)
            values = [column_values(block, one) for one in self._schema.used]
            ids = None if self._id is None else block.texts(self._id)
            yield Block(self._encoding.features(values), labels, block.source, ids)

    def not_numbers(self) -> tuple[str, ...]:
        """Return none: the schema says what all columns are."""
        return ()

    def _wanted(self) -> list[str]:
        names = [column.name for column in self._schema.used]
        return [*names, *(one for one in (self.target, self._id) if one is not None)]

    def _labels(self, block: ColumnBlock) -> NDArray[Any]:
        from dssfn.datasets.table_values import class_labels, target_numbers

        assert self._schema.target is not None
        read = target_numbers if self._schema.target.kind == "number" else class_labels
        return read(block, self._schema.target)
