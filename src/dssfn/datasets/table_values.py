"""Values of a table's columns as a schema has them: numbers, and codes of levels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.datasets._polars import pl
from dssfn.datasets.column_blocks import ColumnBlock, as_numbers, with_nulls
from dssfn.datasets.number_text import misread_number
from dssfn.errors import DataError
from dssfn.hints import listing, shortened
from dssfn.schema import Column, Target
from dssfn.schema.encoding import GAP, UNKNOWN, Codes, Values
from dssfn.schema.values import TRUTHS, level_text, says_missing

# Who wants numbers, and what can be done other than to correct a value.
_BY_SCHEMA = (
    "the schema wants a number",
    "change the column's kind to category or ignore",
)

_BY_OPTION = ("--number wants numbers", "leave out --number if it is a class")


def column_values(block: ColumnBlock, column: Column) -> Values:
    """Return the values of a column: numbers, NaN where they are missing, or codes."""
    series = with_nulls(block.rows[column.name])
    if not column.missing:
        _refuse_gaps(block, series, column)
    if column.kind == "category":
        return _codes(block, series, column)
    if column.kind == "boolean":
        return _truths(block, series)
    return _numbers(block, series)


def class_labels(block: ColumnBlock, target: Target) -> NDArray[Any]:
    """Return the classes of samples, as the schema names them."""
    series = _target(block, target)
    known = target.codes()
    codes = _looked_up(series, known)
    unknown = np.flatnonzero(codes == UNKNOWN)
    if unknown.size:
        row = int(unknown[0])
        raise DataError(
            f"{_at(block, series, row)}: '{shortened(series[row])}' does not belong "
            f"to a class; the schema's values are {listing(list(known))}. Correct it, "
            "or remove the row."
        )
    return np.array(target.classes)[codes]


def target_numbers(block: ColumnBlock, target: Target) -> Array:
    """Return the numbers to be predicted."""
    return _numbers(block, _target(block, target))


def check_target_numbers(block: ColumnBlock, name: str) -> None:
    """Refuse what is no number in a column that shall be a target; it may have gaps."""
    _numbers(block, with_nulls(block.rows[name]), _BY_OPTION)


def _target(block: ColumnBlock, target: Target) -> pl.Series:
    series = with_nulls(block.rows[target.column])
    if series.null_count():
        raise DataError(
            f"{_at(block, series, _first_gap(series))}: the target is missing. Fill it "
            "in, or remove the row."
        )
    return series


def _refuse_gaps(block: ColumnBlock, series: pl.Series, column: Column) -> None:
    if series.null_count():
        raise DataError(
            f"{_at(block, series, _first_gap(series))}: the value is missing. Fill it "
            f"in, remove the row, or allow it in the schema: `missing = true` for "
            f"column `{column.name}`."
        )


def _first_gap(series: pl.Series) -> int:
    return int(series.is_null().arg_true()[0])


def _numbers(
    block: ColumnBlock, series: pl.Series, why: tuple[str, str] = _BY_SCHEMA
) -> Array:
    """Return numbers, NaN where they are missing."""
    dtype = series.dtype
    if not (dtype.is_numeric() or dtype in (pl.String, pl.Boolean, pl.Null)):
        raise _no_number(block, series, 0, why)
    cast = as_numbers(series, block.decimal)
    numbers: Array = cast.to_numpy().copy()  # NaN where it is null
    if cast.null_count() > series.null_count() or np.isinf(numbers).any():
        is_lost = cast.is_null().to_numpy() & series.is_not_null().to_numpy()
        row = int(np.flatnonzero(is_lost | np.isinf(numbers))[0])
        raise _no_number(block, series, row, why)
    return numbers


def _no_number(
    block: ColumnBlock, series: pl.Series, row: int, why: tuple[str, str]
) -> DataError:
    wants, way_out = why
    return DataError(
        f"{_at(block, series, row)}: {wants}, got '{shortened(series[row])}'. Correct "
        f"the value, or {way_out}.{_hint(series[row], block.decimal)}"
    )


def _hint(value: Any, decimal: str) -> str:
    """Return what may be meant by a value that is no number, to end a message."""
    return misread_number(value.strip(), decimal) if isinstance(value, str) else ""


def _truths(block: ColumnBlock, series: pl.Series) -> Array:
    codes = _looked_up(series, TRUTHS, fold=True)
    unknown = np.flatnonzero(codes == UNKNOWN)
    if unknown.size:
        row = int(unknown[0])
        raise DataError(
            f"{_at(block, series, row)}: the schema wants true or false, got "
            f"'{shortened(series[row])}'. Correct the value, or change the column's "
            f"kind to category or number.{_gap_hint(series[row])}"
        )
    return np.where(codes == GAP, np.nan, codes.astype(np.float64))


def _codes(block: ColumnBlock, series: pl.Series, column: Column) -> Codes:
    codes = _looked_up(series, column.codes())
    unknown = np.flatnonzero(codes == UNKNOWN)
    if unknown.size and not column.other:
        row = int(unknown[0])
        raise DataError(
            f"{_at(block, series, row)}: '{shortened(series[row])}' is not one of the "
            f"levels {listing(column.level_texts)}. Correct it, or add it to the "
            f"schema: to `levels`, or with `other = true`.{_gap_hint(series[row])}"
        )
    return codes


def _gap_hint(value: Any) -> str:
    if not isinstance(value, str) or not says_missing(value):
        return ""
    return " If it stands for a missing value, leave the field empty."


def _looked_up(
    series: pl.Series, known: dict[str, int], *, fold: bool = False
) -> Codes:
    """Return the codes of values, each of which is looked up once."""
    distinct = series.unique(maintain_order=True)
    found: dict[Any, int] = {}
    for value in distinct.to_list():
        if value is None:
            found[value] = GAP
            continue
        text = level_text(value)
        found[value] = known.get(text.casefold() if fold else text, UNKNOWN)
    codes = [found[value] for value in series.to_list()]
    return np.array(codes, dtype=np.intp)


def _at(block: ColumnBlock, series: pl.Series, row: int) -> str:
    return f"{block.source.at(row)}, column `{series.name}`"
