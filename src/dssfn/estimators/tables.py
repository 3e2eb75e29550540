"""Tables that estimators are given: numbers with gaps, categories, true and false.

How this works. What the columns mean becomes a schema when an estimator is fitted, and
every table that it predicts is read with that. Samples without gaps or categories need
none. Values that were never seen in a category count as missing, as in scikit-learn's
HistGradientBoosting.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from dssfn._typing import Array
from dssfn.errors import DataError, PlanError
from dssfn.hints import did_you_mean, listing
from dssfn.schema import Column, Encoding, Schema
from dssfn.schema.encoding import GAP, UNKNOWN
from dssfn.schema.values import level_text

FROM_DTYPE = "from_dtype"
_TIMES = ("datetime", "timedelta", "period", "date", "duration", "time")  # of types


def categories_of(X: Any, asked: Any) -> list[int]:
    """Return the columns of a table that are categories.

    Parameters
    ----------
    X : table or array
        The samples.
    asked : {"from_dtype"}, array or None
        Names, numbers, or a mask of columns; with "from_dtype" those columns of a
        table whose type says so.
    """
    if asked is None:
        return []
    if isinstance(asked, str):
        if asked != FROM_DTYPE:
            raise PlanError(
                f'`categorical_features` must be "{FROM_DTYPE}", None, or names, '
                f"numbers or a mask of columns, got {asked!r}."
            )
        return [k for k, dtype in enumerate(_types(X)) if _is_category(dtype)]
    chosen = np.asarray(asked)
    n_columns = np.shape(X)[1]
    if chosen.dtype == bool:
        if chosen.shape != (n_columns,):
            raise PlanError(
                "`categorical_features` must be a mask with one entry for each of the "
                f"{n_columns} columns, got shape {chosen.shape}."
            )
        return np.flatnonzero(chosen).tolist()
    return [_place(one, _names(X), n_columns) for one in chosen.tolist()]


def _place(one: Any, names: Sequence[str] | None, n_columns: int) -> int:
    if isinstance(one, str):
        if names is None:
            raise PlanError(
                "`categorical_features` must be numbers of columns where `X` has no "
                f"names, got {one!r}."
            )
        if one not in names:
            raise PlanError(
                "`categorical_features` must be columns of `X`, which are "
                f"{listing(names)}, got {one!r}.{did_you_mean(one, names)}"
            )
        return names.index(one)
    if not isinstance(one, int) or not 0 <= one < n_columns:
        raise PlanError(
            "`categorical_features` must be numbers of columns from 0 to "
            f"{n_columns - 1}, got {one!r}."
        )
    return one


@contextmanager
def named_columns(X: Any, categories: Sequence[int], way_out: str) -> Iterator[None]:
    """Let what cannot be converted to numbers be an error about a column of a table.

    Parameters
    ----------
    X : table or array
        The samples. Of an array, the error is what it was.
    categories : sequence of int
        The columns that need not be numbers.
    way_out : str
        What to do about text; `{name}` is the name of the column.
    """
    try:
        yield
    except (TypeError, ValueError) as exc:
        # scikit-learn's own texts, say about missing columns, are clear.
        if isinstance(exc, ValueError) and "could not convert" not in str(exc):
            raise
        for k, name in enumerate(_names(X) or ()):
            what = None if k in categories else _not_numbers(X, k)
            if what is not None:
                ending = way_out if what == "text" else "Convert it to numbers."
                raise DataError(
                    f"Column `{name}` of `X` holds {what}. {ending.format(name=name)}"
                ) from exc
        raise


def _not_numbers(X: Any, k: int) -> str | None:
    """Return what a column of a table holds that is not a number, if there is any."""
    if str(_types(X)[k]).lower().startswith(_TIMES):
        return "dates"
    for value in _objects(X, k):
        if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
            return "dates"
        if isinstance(value, str) and not _is_number(value):
            return "text"
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def to_categories(X: Any, asked: Any) -> str:
    """Return how a column of text becomes a category, for an error."""
    if not isinstance(asked, str):
        return "Name it in `categorical_features`."
    if _is_polars(X):
        way = 'X.with_columns(pl.col("{name}").cast(pl.Categorical))'
    else:
        way = 'X.astype({{"{name}": "category"}})'
    return f"Convert it with `{way}`."


def unnamed(n: int) -> tuple[str, ...]:
    """Return what n columns without names are called.

    >>> unnamed(2)
    ('x0', 'x1')
    """
    return tuple(f"x{k}" for k in range(n))


class Table:
    """Samples whose columns are numbers, but for some that are categories.

    Parameters
    ----------
    X : table or array
        The samples.
    categories : sequence of int
        The columns that are categories.
    """

    def __init__(self, X: Any, categories: Sequence[int]) -> None:
        self._n_columns = np.shape(X)[1]
        self._categories = {k: _objects(X, k) for k in categories}
        others = [k for k in range(self._n_columns) if k not in self._categories]
        self._numbers: dict[int, Array] = {}
        if others:
            checked = check_array(
                _some(X, others), dtype=np.float64, ensure_all_finite="allow-nan"
            )
            self._numbers = dict(zip(others, checked.T, strict=True))

    def schema(self, names: Sequence[str] | None) -> Schema:
        """Return what the columns mean."""
        names = names or unnamed(self._n_columns)
        columns = (self._column(k, name) for k, name in enumerate(names))
        return Schema(columns=tuple(columns))

    def _column(self, k: int, name: str) -> Column:
        if k in self._numbers:
            missing = bool(np.isnan(self._numbers[k]).any())
            return Column(name=name, kind="number", missing=missing)
        values = self._categories[k]
        is_gap = _gaps(values)
        levels = _levels(values[~is_gap], name)
        return Column(
            name=name,
            kind="category",
            levels=levels,
            missing=bool(is_gap.any()),
            other=not levels,
        )

    def features(self, schema: Schema) -> Array:
        """Return the features of the samples, (J, P)."""
        values = [
            _codes(column, self._categories[k])
            if k in self._categories
            else self._numbers[k]
            for k, column in enumerate(schema.used)
        ]
        return np.ascontiguousarray(Encoding(schema).features(values).T)


def _codes(column: Column, values: NDArray[Any]) -> NDArray[np.intp]:
    """Return the numbers of levels.

    Those that were never seen are others if the schema has others, else missing.
    """
    known, unseen = column.codes(), UNKNOWN if column.has_others else GAP
    codes = [
        GAP if is_gap else known.get(level_text(value), unseen)
        for value, is_gap in zip(values, _gaps(values), strict=True)
    ]
    return np.array(codes, dtype=np.intp)


def _gaps(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values of a category are missing: None and NaN."""
    return np.array([value is None or value != value for value in values], dtype=bool)


def _levels(values: NDArray[Any], name: str) -> tuple[str, ...]:
    odd = [v for v in values if not isinstance(v, str | int | float | bool)]
    if odd:
        raise DataError(
            f"Column `{name}`: categories must be text, numbers or true/false, got "
            f"{type(odd[0]).__name__}. Convert it."
        )
    return tuple(sorted({level_text(value) for value in values}))


def _objects(X: Any, k: int) -> NDArray[Any]:
    """Return one column as Python's own values, None where they are missing."""
    if _is_pandas(X):
        column = X.iloc[:, k]
        pairs = zip(column, column.isna(), strict=True)
        values = [None if is_gap else value for value, is_gap in pairs]
    elif _is_polars(X):
        values = X.to_series(k).to_list()
    else:
        values = np.asarray(X, dtype=object)[:, k].tolist()
    found: NDArray[Any] = np.empty(len(values), dtype=object)
    found[:] = [v.item() if isinstance(v, np.generic) else v for v in values]
    return found


def _some(X: Any, places: list[int]) -> Any:
    """Return some columns of a table or an array."""
    if _is_pandas(X):
        return X.iloc[:, places]
    return X[:, places] if _is_polars(X) else np.asarray(X)[:, places]


def _types(X: Any) -> list[Any]:
    return list(X.dtypes) if _is_pandas(X) or _is_polars(X) else []


def _names(X: Any) -> list[str] | None:
    return list(map(str, X.columns)) if _is_pandas(X) or _is_polars(X) else None


def _is_category(dtype: Any) -> bool:
    return str(dtype).startswith(("category", "Categorical", "Enum"))


def _is_pandas(X: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def _is_polars(X: Any) -> bool:
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(X, polars.DataFrame)
