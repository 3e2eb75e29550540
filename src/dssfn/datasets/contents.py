"""The content of a data file: all of its samples, or a description of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, Label
from dssfn.datasets.checks import changed
from dssfn.datasets.files import open_file, open_labelled, open_table
from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.datasets.sample_file import SampleFile
from dssfn.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of one file, as features and labels; rows are samples.

    Parameters
    ----------
    X : array of shape (J, P)
        Features, finite float64; true and false are 1 and 0.
    y : array of shape (J,), optional
        Labels as in the file: text, bool or int64. None when no target was asked for.
    feature_names : tuple of str, optional
        Names of the P columns; None for NPZ, which has none.
    target : str, optional
        The column or array that `y` came from.
    ids : tuple of str, optional
        What the file calls the samples, if the options name a column for that.
    dialect : str
        How the file is written, such as "semicolons, decimal commas, UTF-8"; empty for
        formats that have but one way.
    """

    X: Array
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    target: str | None
    ids: tuple[str, ...] | None = None
    dialect: str = ""


def read_table(
    path: str | Path,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
    options: ReadOptions = ALL,
) -> Columns:
    """Read the samples of a file.

    Parameters
    ----------
    path : str or Path
        A ``.csv``, ``.tsv``, ``.parquet``, ``.feather``, ``.arrow``, ``.xlsx`` or
        ``.npz`` file. CSV and TSV have column names in the first line and may be packed
        as ``.gz``; their separators, decimal marks and encoding are found, or said by
        the options. XLSX needs the extra ``excel``. NPZ holds the array `X` of shape
        (J, P).
    target : str, optional
        The column of labels, or for NPZ the array of labels. Left out, every column
        is a feature.
    features : sequence of str, optional
        What a model was trained on. These columns are taken by name, in this order,
        and others are ignored. NPZ has no names; there only their number is checked.
    n_features : int, optional
        How many features a model without names was trained on.
    options : ReadOptions
        Which columns to take, and how the file is written.

    Raises
    ------
    DataError
        The file is missing, damaged or empty, a column is missing, or a value is not
        a finite number. The message names the file, the column and the row: the line
        for CSV (the header is line 1), the row of the sheet for XLSX, otherwise the
        sample counted from 1.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_text("patient;weight;kind\\n007;71,5;a\\n008;64;b\\n")
    ...     table = read_table(path, target="kind", options=ReadOptions(id="patient"))
    >>> table.X.tolist(), table.ids
    ([[71.5], [64.0]], ('007', '008'))
    >>> table.dialect
    'semicolons, decimal commas, UTF-8'
    """
    return _collected(
        open_file(
            path,
            target,
            features=features,
            n_features=n_features,
            options=options,
            room=None,
        )
    )


def read_encoded(
    path: str | Path,
    schema: Schema,
    *,
    is_labelled: bool = False,
    options: ReadOptions = ALL,
) -> Columns:
    """Read a table as features, as a schema says; missing numbers are NaN."""
    return _collected(
        open_table(path, schema, is_labelled=is_labelled, options=options, room=None)
    )


def read_labelled(
    path: str | Path,
    target: str | None = None,
    *,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
    options: ReadOptions = ALL,
) -> Columns:
    """Read samples that must have labels; `target` defaults to `y` for NPZ.

    The other parameters are those of `read_table`. Files of named columns have no
    default: a wrong guess would train on the labels.
    """
    return _collected(
        open_labelled(
            path,
            target,
            features=features,
            n_features=n_features,
            options=options,
            room=None,
        )
    )


def _collected(file: SampleFile) -> Columns:
    """Return all samples of a file."""
    X: Array = np.empty((file.n_samples, file.n_features))
    labels = []
    ids: list[str] = []
    start = 0
    for block in file.blocks():
        end = start + block.X.shape[1]
        if end > len(X):
            raise changed(file.path.name)
        X[start:end] = block.X.T
        if block.labels is not None:
            labels.append(block.labels)
        ids.extend(block.ids or ())
        start = end
    if start < len(X):
        raise changed(file.path.name)
    y = np.concatenate(labels) if labels else None
    return Columns(
        X,
        y,
        file.feature_names,
        file.target,
        ids=tuple(ids) if ids else None,
        dialect=file.dialect,
    )


@dataclass(frozen=True, slots=True)
class Description:
    """The content of a labelled file, described without its features.

    Parameters
    ----------
    n_samples : int
        J, the number of samples.
    classes : tuple of labels
        The classes that occur, sorted as `numpy.unique` does.
    feature_names : tuple of str, optional
        The columns beside the target; None for NPZ, which has no names.
    n_features : int
        P, the number of features.
    dialect : str
        How the file is written, as in `Columns`.
    """

    n_samples: int
    classes: tuple[Label, ...]
    feature_names: tuple[str, ...] | None
    n_features: int
    dialect: str = ""


def describe(
    path: str | Path, target: str | None = None, *, options: ReadOptions = ALL
) -> Description:
    """Find out what is in a labelled file without holding it in memory.

    The labels are read and checked; the features are when they are used.

    Parameters
    ----------
    path : str or Path
        A data file, as in `read_table`.
    target : str, optional
        The column of labels, or the array of labels in an NPZ file, there by default
        `y`.
    options : ReadOptions
        As in `read_table`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_text("width,kind\\n1.5,b\\n2,a\\n")
    ...     describe(path, "kind").classes
    ('a', 'b')
    """
    return description_of(open_labelled(path, target, options=options))


def description_of(file: SampleFile) -> Description:
    """Return what is in an open file, from a pass over its labels."""
    classes: set[Label] = set()
    n_labels = 0
    for labels in file.labels():
        classes.update(labels.tolist())
        n_labels += len(labels)
    if n_labels != file.n_samples:
        raise changed(file.path.name)
    return Description(
        n_samples=file.n_samples,
        classes=tuple(sorted(classes)),
        feature_names=file.feature_names,
        n_features=file.n_features,
        dialect=file.dialect,
    )
