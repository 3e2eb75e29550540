"""CSV and Parquet through polars: a file's columns, as checked numpy arrays.

CSV types are inferred from the whole file, not from its first rows, so that a column
is text only if it holds text somewhere; the offending cell is then looked up and named.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.datasets.checks import (
    Source,
    check_text_length,
    class_labels,
    missing_label,
)
from dssfn.datasets.csv_text import (
    SEPARATORS,
    checked_names,
    explain,
    no_line_feeds,
    read_header,
)
from dssfn.errors import DataError
from dssfn.hints import reason, shortened

# Damage deep inside makes the reader panic, which is no ordinary Exception.
READ_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
# There is none, it is damaged, or this polars is too old to show it.
_NO_NOTE = (KeyError, TypeError, ValueError, RecursionError, AttributeError)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of one file.

    Parameters
    ----------
    frame : polars.DataFrame
        At least one row; names without blanks around them, all different.
    source : Source
        How to name a row of it in a message.
    index : frozenset of str
        Columns that only number the rows.
    """

    frame: pl.DataFrame
    source: Source
    index: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        """Column names in the order of the file."""
        return self.frame.columns

    @property
    def n_rows(self) -> int:
        """J, the number of samples."""
        return self.frame.height

    def numbers(self, name: str) -> Array:
        """One feature column of shape (J,), all finite."""
        series = self.frame[name]
        kind = series.dtype
        if not (kind.is_numeric() or kind in (pl.String, pl.Boolean, pl.Null)):
            raise self._bad_feature(series, 0)  # polars would cast dates to numbers
        values: Array = series.cast(pl.Float64, strict=False).to_numpy()
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise self._bad_feature(series, int(bad[0]))
        return values

    def are_numbers(self, name: str) -> bool:
        """Whether a column holds numbers, true and false, or nothing yet."""
        series = self.frame[name]
        if series.dtype == pl.String:
            series = tidy(series)
        return series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null)

    def labels(self, name: str) -> NDArray[Any]:
        """One target column of shape (J,) as text, bool or int64."""
        series = self.frame[name]
        if isinstance(series.dtype, pl.Categorical | pl.Enum):
            series = series.cast(pl.String)
        missing = series.is_null().arg_true()
        if len(missing) == len(series):
            raise DataError(
                f"`{self.source.name}`: the target column `{name}` has no values. "
                "Name another target."
            )
        if len(missing):
            raise missing_label(self.source, name, int(missing[0]))
        if series.dtype == pl.String:
            longest = int(series.str.len_chars().max() or 0)  # type: ignore[arg-type]
            check_text_length(longest, self.source, name=name)
            return np.array(series.to_list(), dtype=np.str_)
        if isinstance(series.dtype, pl.Decimal):
            series = series.cast(pl.Float64)
        try:
            values: NDArray[Any] = series.to_numpy()
        except pl.exceptions.PolarsError:  # whole numbers of 128 bits
            values = np.array(series.to_list(), dtype=object)
        return class_labels(values, self.source, name=name)

    def _bad_feature(self, series: pl.Series, row: int) -> DataError:
        where = f"{self.source.at(row)}, column `{series.name}`"
        value = series[row]
        if value is None:
            return DataError(
                f"{where}: the value is missing. Fill it in, or remove the row."
            )
        if isinstance(value, float):
            return DataError(
                f"{where}: features must be finite, got {value}. Correct the value, "
                "or remove the row."
            )
        return DataError(
            f"{where}: features must be numbers, got '{shortened(value)}'. Correct "
            "the value, encode the column as numbers, or remove it."
        )


def read_columns(path: Path) -> Columns:
    """Read a CSV, TSV or Parquet file that exists."""
    separator = SEPARATORS.get(path.suffix.lower())
    columns = _read_csv(path, separator) if separator else _read_parquet(path)
    if columns.n_rows == 0:
        raise DataError(f"`{path.name}` has column names but no rows.")
    return columns


def damaged_parquet(path: Path, exc: BaseException) -> DataError:
    """Say that a Parquet file cannot be read."""
    return DataError(
        f"`{path.name}` is damaged or no Parquet file ({reason(exc)}). Make it anew."
    )


def _read_parquet(path: Path) -> Columns:
    names = parquet_names(path)
    try:
        frame = scan_parquet(path).collect()
    except READ_ERRORS as exc:
        raise damaged_parquet(path, exc) from exc
    frame.columns = names
    return Columns(frame, Source(path.name), parquet_index(path, names))


def scan_parquet(path: Path) -> pl.LazyFrame:
    """A Parquet file of which nothing has been read."""
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def parquet_names(path: Path) -> list[str]:
    """The checked column names of a Parquet file."""
    try:
        names = scan_parquet(path).collect_schema().names()
    except READ_ERRORS as exc:
        raise damaged_parquet(path, exc) from exc
    return checked_names(names, path)


def parquet_index(path: Path, names: list[str]) -> frozenset[str]:
    """The columns that are the index of a table of pandas, which numbers its rows.

    Pandas says so in a note; an index without a name can be told by what it is called.
    """
    try:
        note = json.loads(pl.read_parquet_metadata(path)["pandas"])
        noted = {str(one) for one in note["index_columns"]}
    except (*READ_ERRORS, *_NO_NOTE):
        noted = set()
    return frozenset(
        name
        for name in names
        if name in noted or re.fullmatch(r"__index_level_\d+__", name)
    )


def _read_csv(path: Path, separator: str) -> Columns:
    names, line = read_header(path, separator)
    try:
        frame = pl.read_csv(
            path, separator=separator, infer_schema_length=None, glob=False
        )
    except READ_ERRORS as exc:
        raise explain(path, separator, exc) from exc
    if frame.width != len(names):
        raise no_line_feeds(path)
    frame.columns = names
    text = [series for series in frame if series.dtype == pl.String]
    frame = frame.with_columns([tidy(series) for series in text])
    frame = frame.head(filled_rows(frame))
    return Columns(frame, Source(path.name, unit="line", first=line + 1))


def without_blanks(series: pl.Series) -> pl.Series:
    """Text without blanks around it; what is nothing but blanks is missing."""
    series = series.str.strip_chars()
    return series.set(series == "", None)


def tidy(series: pl.Series) -> pl.Series:
    """Text without blanks around it; as numbers if all of it is numbers then."""
    series = without_blanks(series)
    numbers = series.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == series.null_count() else series


def filled_rows(frame: pl.DataFrame) -> int:
    """How many rows there are without the blank lines at the end.

    A blank line between samples is one of them, as a missing value.
    """
    filled = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
    rows = filled.arg_true()
    return int(rows[-1]) + 1 if len(rows) else 0
