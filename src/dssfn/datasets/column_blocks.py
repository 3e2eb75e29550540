"""Some rows of a file's columns, read by polars, as checked numpy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.datasets._polars import pl
from dssfn.datasets.checks import (
    Source,
    check_text_length,
    class_labels,
    missing_label,
)
from dssfn.datasets.number_text import misread_number
from dssfn.errors import DataError
from dssfn.hints import shortened

# Damage deep inside makes the reader panic, which is no ordinary Exception.
READ_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBlock:
    """Columns of one file, in rows that follow each other.

    Parameters
    ----------
    rows : polars.DataFrame
        At least one row, with the types that the columns have in the whole file.
    source : Source
        How to name a row of it in a message.
    decimal : str
        The decimal mark of numbers that are text.
    """

    rows: pl.DataFrame
    source: Source
    decimal: str = "."

    @property
    def n_rows(self) -> int:
        """The number of samples, c."""
        return self.rows.height

    def numbers(self, name: str) -> Array:
        """Return one feature column of shape (c,), all finite."""
        series = self.rows[name]
        kind = series.dtype
        if not (kind.is_numeric() or kind in (pl.String, pl.Boolean, pl.Null)):
            raise self._bad_feature(series, 0)  # polars would cast dates to numbers
        values: Array = as_numbers(series, self.decimal).to_numpy()
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise self._bad_feature(series, int(bad[0]))
        return values

    def are_numbers(self, name: str) -> bool:
        """Return whether a column holds numbers, true and false, or nothing yet."""
        series = self.rows[name]
        if series.dtype == pl.String:
            series = tidy(series, self.decimal)
        return series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null)

    def has_values(self, name: str) -> bool:
        """Return whether any row has a value in a column."""
        return self.rows[name].null_count() < self.n_rows

    def first_missing(self, name: str) -> int | None:
        """Return the first row without a value in a column; None if all have one."""
        missing = self.rows[name].is_null().arg_true()
        return int(missing[0]) if len(missing) else None

    def labels(self, name: str) -> NDArray[Any]:
        """Return one target column of shape (c,) as text, bool or int64."""
        series = self.rows[name]
        if isinstance(series.dtype, pl.Categorical | pl.Enum):
            series = series.cast(pl.String)
        if not self.has_values(name):
            raise DataError(
                f"`{self.source.name}`: the target column `{name}` has no values. "
                "Name another target."
            )
        missing = self.first_missing(name)
        if missing is not None:
            raise missing_label(self.source, name, missing)
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

    def texts(self, name: str) -> list[str]:
        """Return one column as text, of shape (c,); a missing value is empty."""
        series = self.rows[name]
        if series.dtype.is_nested() or series.dtype in (pl.Binary, pl.Object):
            raise DataError(
                f"{self.source.at(0)}, column `{name}`: rows must be identified by "
                f"text, numbers or dates, got {series.dtype}. Choose another column."
            )
        return series.cast(pl.String).fill_null("").to_list()

    def _bad_feature(self, series: pl.Series, row: int) -> DataError:
        where = f"{self.source.at(row)}, column `{series.name}`"
        value = series[row]
        if value is None:
            return DataError(
                f"{where}: the value is missing. Fill it in, remove the row, or allow "
                "missing values in a schema (`dssfn schema` proposes one)."
            )
        if isinstance(value, float):
            return DataError(
                f"{where}: features must be finite, got {value}. Correct the value, "
                "or remove the row."
            )
        is_text = isinstance(value, str)
        return DataError(
            f"{where}: features must be numbers, got '{shortened(value)}'. Correct "
            "the value, encode the column as numbers, remove it, or describe it in a "
            "schema (`dssfn schema` proposes "
            f"one).{misread_number(value.strip(), self.decimal) if is_text else ''}"
        )


def with_nulls(series: pl.Series) -> pl.Series:
    """Return values of which a missing one is null: no blank text, and no NaN.

    >>> with_nulls(pl.Series(["a ", " "])).to_list()
    ['a', None]
    """
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        return without_blanks(series)
    return series.fill_nan(None) if series.dtype.is_float() else series


def without_blanks(series: pl.Series) -> pl.Series:
    """Return text without blanks around it; nothing but blanks is missing."""
    series = series.str.strip_chars()
    return series.set(series == "", None)


def as_numbers(series: pl.Series, decimal: str) -> pl.Series:
    """Return values as float64, text with this decimal mark; none if it is no number.

    >>> as_numbers(pl.Series(["1,5", "2", "1.5", "1,2,3"]), ",").to_list()
    [1.5, 2.0, None, None]
    """
    if series.dtype == pl.String and decimal != ".":
        is_other = series.str.contains(".", literal=True)
        series = series.set(is_other, None).str.replace_all(decimal, ".", literal=True)
    return series.cast(pl.Float64, strict=False)


def tidy(series: pl.Series, decimal: str) -> pl.Series:
    """Return text without blanks around it, as numbers if all of it is numbers then."""
    series = without_blanks(series)
    numbers = as_numbers(series, decimal)
    return numbers if numbers.null_count() == series.null_count() else series


def filled_rows(rows: pl.DataFrame) -> int:
    """Return how many rows there are without the blank lines at the end.

    A blank line between samples is one of them, as a missing value.
    """
    is_filled = rows.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
    filled = is_filled.arg_true()
    return int(filled[-1]) + 1 if len(filled) else 0
