"""Data files of any format: found, checked and opened."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dssfn.datasets.column_samples import ColumnFile, ColumnSamples
from dssfn.datasets.columns import target_column
from dssfn.datasets.csv_text import SEPARATORS
from dssfn.datasets.npz_samples import NpzSamples
from dssfn.datasets.sample_file import SampleFile
from dssfn.datasets.table_samples import TableSamples
from dssfn.errors import DataError
from dssfn.hints import no_file
from dssfn.schema import Schema

SUFFIXES = (*SEPARATORS, ".parquet", ".npz")
"""How the name of a readable file may end."""

SMALL = 2**22
"""Bytes of samples that may be held by default: four megabytes."""


def open_file(
    path: str | Path,
    target: str | None = None,
    *,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
    room: int | None = SMALL,
) -> SampleFile:
    """Open a file of samples; without a target they have no labels.

    What its names, types and length tell is checked here, the values as they are read.

    Parameters
    ----------
    path, target, features, n_features
        As in `read_table`.
    room : int, optional
        Bytes of samples that may be held so that the file need not be read again; None
        sets no limit.
    """
    path = existing_file(path)
    file: SampleFile
    if path.suffix.lower() == ".npz":
        file = NpzSamples(path, target, room)
        n_features = len(features) if features is not None else n_features
    else:
        file = ColumnSamples(open_columns(path), target, features).survey(room)
    if n_features is not None and file.n_features != n_features:
        raise DataError(
            f"The model was trained on {n_features} features, "
            f"`{path.name}` has {file.n_features}."
        )
    return file


def open_labelled(
    path: str | Path,
    target: str | None = None,
    *,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
    room: int | None = SMALL,
) -> SampleFile:
    """Open a file whose samples must have labels; `target` defaults to `y` for NPZ.

    The other parameters are those of `open_file`. CSV and Parquet have no default: a
    wrong guess would train on the labels.
    """
    path = existing_file(path)
    if target is None and path.suffix.lower() == ".npz":
        target = "y"
    if target is None:
        target = target_column(path.name, open_columns(path).names, target)
    return open_file(path, target, features=features, n_features=n_features, room=room)


def open_table(
    path: str | Path, schema: Schema, *, is_labelled: bool, room: int | None = SMALL
) -> SampleFile:
    """Open a table whose columns a schema explains.

    Parameters
    ----------
    path : str or Path
        A file of named columns.
    schema : Schema
        What they mean.
    is_labelled : bool
        Whether the target is read, too.
    room : int, optional
        As in `open_file`.
    """
    path = existing_file(path)
    if path.suffix.lower() == ".npz":
        raise DataError(
            f"`{path.name}` has no named columns, which the plan's schema is about. "
            "Give a table, such as CSV or Parquet."
        )
    file = open_columns(path)
    return TableSamples(file, schema, is_labelled=is_labelled).survey(room)


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
    """Return a question about a data file of that name, to end a message, if any."""
    if not path.name:  # the current folder, or the root
        return ""
    for suffix in SUFFIXES:
        if path.with_name(path.name + suffix).is_file():
            return f" Did you mean `{path.name}{suffix}`?"
    return ""


def open_columns(path: Path) -> ColumnFile:
    """Return a file of named columns, of which only the names have been read."""
    # polars takes a while to import, and only such files need it.
    if path.suffix.lower() == ".parquet":
        from dssfn.datasets.parquet import ParquetFile

        return ParquetFile(path)
    from dssfn.datasets.csv_file import CsvFile

    return CsvFile(path)
