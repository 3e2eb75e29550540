"""Table: the samples of a user's file, read from CSV, TSV, Parquet or NPZ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.datasets.checks import Source, class_labels, feature_matrix
from dssfn.datasets.columns import feature_columns, target_column
from dssfn.datasets.csv_text import SEPARATORS
from dssfn.datasets.npz import read_npz
from dssfn.errors import DataError
from dssfn.hints import no_file

if TYPE_CHECKING:
    from dssfn.datasets.column_blocks import Columns

SUFFIXES = (*SEPARATORS, ".parquet", ".npz")
"""How the name of a readable file may end."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The samples of one file; rows are samples.

    Parameters
    ----------
    X : array of shape (J, P)
        Features, finite float64; true and false are 1 and 0.
    y : array of shape (J,), optional
        Labels as in the file: text, bool or int64. None when no target was asked for.
    feature_names : tuple of str, optional
        Names of the P columns; None for NPZ, which has none.
    target : str, optional
        Where `y` came from.
    """

    X: Array
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    target: str | None


def read_table(
    path: str | Path,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
) -> Table:
    """Read the samples of a file.

    Parameters
    ----------
    path : str or Path
        A ``.csv``, ``.tsv``, ``.parquet`` or ``.npz`` file. CSV and TSV are UTF-8 with
        column names in the first line; NPZ holds the array `X` of shape (J, P).
    target : str, optional
        The column of labels, or for NPZ the array of labels. Left out, every column
        is a feature.
    features : sequence of str, optional
        What a model was trained on. These columns are taken by name, in this order,
        and others are ignored. NPZ has no names; there only their number is checked.
    n_features : int, optional
        How many features a model without names was trained on.

    Raises
    ------
    DataError
        The file is missing, damaged or empty, a column is missing, or a value is not
        a finite number. The message names the file, the column and the row: the line
        for CSV (the header is line 1), otherwise the sample counted from 1.
    """
    path = existing_file(path)
    if path.suffix.lower() == ".npz":
        table = _from_npz(path, target)
        n_features = len(features) if features is not None else n_features
    else:
        table = _from_columns(_columns(path), target, features)
    if n_features is not None and table.X.shape[1] != n_features:
        raise DataError(
            f"The model was trained on {n_features} features, "
            f"`{path.name}` has {table.X.shape[1]}."
        )
    return table


def read_labelled(
    path: str | Path,
    target: str | None = None,
    *,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
) -> Table:
    """Read samples that must have labels; `target` defaults to `y` for NPZ.

    The other parameters are those of `read_table`. CSV and Parquet have no default:
    a wrong guess would train on the labels.
    """
    path = existing_file(path)
    if target is None and path.suffix.lower() == ".npz":
        target = "y"
    if target is None:
        target_column(path.name, _columns(path).names, target)
    return read_table(path, target=target, features=features, n_features=n_features)


def existing_file(path: str | Path) -> Path:
    """Return the path of a data file, or say what is wrong with it."""
    path = Path(path)
    if not path.is_file():
        raise DataError(no_file(path, forgotten_suffix(path)))
    if path.suffix.lower() not in SUFFIXES:
        raise DataError(
            f"`{path.name}` must end in one of {', '.join(SUFFIXES)}. "
            "Convert or rename it."
        )
    if path.stat().st_size == 0:
        raise DataError(f"`{path.name}` is empty.")
    return path


def forgotten_suffix(path: Path) -> str:
    """A question with a data file of that name, to end a message; empty if none is."""
    for suffix in SUFFIXES:
        if path.with_name(path.name + suffix).is_file():
            return f" Did you mean `{path.name}{suffix}`?"
    return ""


def _columns(path: Path) -> Columns:
    # polars takes a while to import, and only such files need it.
    from dssfn.datasets.column_blocks import read_columns

    return read_columns(path)


def _from_npz(path: Path, target: str | None) -> Table:
    arrays = read_npz(path, required=("X",) if target is None else ("X", target))
    source = Source(path.name)
    X = feature_matrix(arrays["X"], source)
    if target is None:
        return Table(X=X, y=None, feature_names=None, target=None)
    y = class_labels(arrays[target], source, name=target)
    if len(y) != len(X):
        raise DataError(
            f"`{path.name}`: `X` and `{target}` must have as many rows, "
            f"got {len(X)} and {len(y)}."
        )
    return Table(X=X, y=y, feature_names=None, target=target)


def _from_columns(
    columns: Columns, target: str | None, features: Sequence[str] | None
) -> Table:
    file, names = columns.source.name, columns.names
    y = None
    if target is not None:
        y = columns.labels(target_column(file, names, target))
    features = feature_columns(file, names, target, features, index=columns.index)
    X: Array = np.empty((columns.n_rows, len(features)))
    for position, name in enumerate(features):
        X[:, position] = columns.numbers(name)
    return Table(X=X, y=y, feature_names=features, target=target)
