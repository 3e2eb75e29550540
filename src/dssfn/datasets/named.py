"""Data sets by name, or from a file where a path is given."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.datasets.contents import Columns, read_encoded, read_labelled
from dssfn.datasets.dataset import Dataset, check_split, split
from dssfn.datasets.files import SUFFIXES, existing_file, forgotten_suffix
from dssfn.datasets.hospitals import NAME as HOSPITALS
from dssfn.datasets.npz import npz_names
from dssfn.datasets.openml import check_name, fetch_openml_dataset
from dssfn.datasets.places import cache_dir, data_folder, folders
from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.datasets.recipes import RECIPES
from dssfn.datasets.stored import keep, read_kept, read_stored
from dssfn.errors import DataError, PlanError
from dssfn.hints import did_you_mean, no_file
from dssfn.schema import Schema

BUILTIN_NAMES = ("digits", "wine", "breast_cancer", "iris")
"""Sets that come with scikit-learn and need no download."""

KNOWN_NAMES = (*BUILTIN_NAMES, *RECIPES)
"""Sets that can be loaded by name alone, for help texts."""


def load(
    source: str,
    *,
    target: str | None = None,
    data_dir: Path | None = None,
    test_size: float = 0.25,
    seed: int = 0,
    test_file: str | Path | None = None,
    options: ReadOptions = ALL,
    schema: Schema | None = None,
) -> Dataset:
    """Load a named data set or a file.

    Parameters
    ----------
    source : str
        A path if it ends like a data file, has a folder in it or exists; else a name.
    target : str, optional
        The column of labels of a file; `y` for NPZ.
    data_dir, test_size, seed
        As in `load_dataset`. An NPZ file that holds `X_train`, `y_train`, `X_test` and
        `y_test` keeps its own split.
    test_file : str or Path, optional
        A second file to test on, instead of a share of the first.
    options : ReadOptions
        Which columns of a file to take, and how it is written, as in `read_table`.
    schema : Schema, optional
        What the columns of a file mean, and what is to be predicted.

    Examples
    --------
    >>> load("iris", test_size=0.2).X_test.shape
    (30, 4)
    """
    check_split(test_size, seed)
    if not _is_path(source):
        _ask_for_suffix(source, data_dir)
        _refuse(source, "a named set", target=target, test_file=test_file)
        _refuse(source, "a named set", schema=schema, **options.given)
        return load_dataset(source, data_dir=data_dir, test_size=test_size, seed=seed)
    path = existing_file(source, meant=_without_suffix(source))
    if path.suffix.lower() == ".npz" and "X_train" in npz_names(path):
        _refuse(path.name, "already split", target=target, test_file=test_file)
        _refuse(path.name, "already split", schema=schema, **options.given)
        return read_stored(path.stem, path)
    _check_target(schema, target)
    read = partial(_read_file, target=target, options=options, schema=schema)
    table = read(path)
    targets = () if schema is None else schema.targets
    if test_file is not None:
        test = read(test_file, table)
        if not targets:
            _check_labels(path.name, table, Path(test_file).name, test)
        return _beside(path.name, table, test, targets=targets, schema=schema)
    assert table.y is not None
    data = split(
        path.name,
        table.X,
        table.y,
        test_size=test_size,
        seed=seed,
        feature_names=table.feature_names,
        targets=targets,
    )
    return replace(data, dialect=table.dialect, schema=schema)


def _read_file(
    file: str | Path,
    like: Columns | None = None,
    *,
    target: str | None,
    options: ReadOptions,
    schema: Schema | None,
) -> Columns:
    """Return the samples of a file, with the features of another one if given."""
    if schema is not None:
        return read_encoded(file, schema, is_labelled=True, options=options)
    wanted: dict[str, Any] = {}
    if like is not None:
        wanted = {"features": like.feature_names, "n_features": like.X.shape[1]}
    return read_labelled(file, target, options=options, **wanted)


def _check_labels(name: str, table: Columns, test_name: str, test: Columns) -> None:
    """Refuse files whose labels are written in two ways."""
    assert table.y is not None
    assert test.y is not None
    if not np.isin(np.unique(test.y), table.y).any():
        raise DataError(
            f"No label of `{test_name}` occurs in `{name}`: {test.y[0].item()!r} "
            f"against {table.y[0].item()!r}. Use the same labels in both."
        )


def _beside(name: str, table: Columns, test: Columns, **known: Any) -> Dataset:
    """Return the samples of two files, of which the second is to test on."""
    assert table.y is not None
    assert test.y is not None
    return Dataset(
        name,
        table.X,
        table.y,
        test.X,
        test.y,
        table.feature_names,
        dialect=table.dialect,
        **known,
    )


def _check_target(schema: Schema | None, target: str | None) -> None:
    """Refuse a schema of another target."""
    if schema is None or schema.target is None:
        return
    if target not in (None, schema.target.column):
        raise PlanError(
            f"`target` must be the schema's target, {schema.target.column!r}, or left "
            f"out; got {target!r}."
        )


def load_dataset(
    name: str,
    *,
    data_dir: Path | None = None,
    test_size: float = 0.25,
    seed: int = 0,
) -> Dataset:
    """Load a data set by name.

    Looked up in this order: scikit-learn's own sets (`BUILTIN_NAMES`); ``NAME.npz`` in
    `data_dir`; ``NAME.npz`` in the cache folder; OpenML, which fills the cache.

    Parameters
    ----------
    name : str
        Letters, digits, ``.``, ``_`` and ``-``.
    data_dir : Path, optional
        Folder of NPZ files with `X_train`, `y_train`, `X_test`, `y_test`. Left out, the
        environment variable ``DSSFN_DATA_DIR`` names it. The cache folder is
        ``DSSFN_CACHE_DIR``, else ``dssfn`` in ``XDG_CACHE_HOME`` or ``~/.cache``.
    test_size, seed : float, int
        How to split scikit-learn's sets; the others come with a fixed split.

    Examples
    --------
    >>> data = load_dataset("digits")
    >>> data.X_train.shape, data.X_test.shape
    ((1347, 64), (450, 64))
    """
    check_name(name)
    check_split(test_size, seed)
    folder = data_folder(data_dir)
    if name in BUILTIN_NAMES:
        return _builtin(name, test_size, seed)
    stored = _stored(name, data_dir)
    if stored is not None:
        return read_kept(name, stored)
    if name == HOSPITALS:
        raise DataError(
            f"`{name}` is four tables with categories and missing values, so it "
            f"cannot be loaded by name. Write the tables with `dssfn data {name}` and "
            "train on the files."
        )
    try:
        fetched = fetch_openml_dataset(name)
    except DataError as exc:
        raise DataError(_not_found(name, folder, exc)) from exc
    return keep(fetched, cache_dir() / f"{name}.npz")


def _stored(name: str, data_dir: Path | None) -> Path | None:
    """Return the path of a set that need not be downloaded."""
    paths = [one / f"{name}.npz" for one in folders(data_dir)]
    return next((path for path in paths if path.is_file()), None)


def _ask_for_suffix(source: str, data_dir: Path | None) -> None:
    """Refuse to download what has the name of a folder or of a file without suffix."""
    if source in KNOWN_NAMES or _stored(source, data_dir):
        return
    path = Path(source)
    if path.is_dir():
        raise DataError(no_file(path, SUFFIXES))
    if meant := forgotten_suffix(path):
        raise DataError(f"No data set `{source}` was found.{meant}")


def _without_suffix(source: str) -> str:
    """Return the end of a message about a file that is not there, if it is a set."""
    name = Path(source).stem
    if name not in BUILTIN_NAMES or source != Path(source).name:
        return ""
    return f" `{name}` is a built-in data set: give its name, without a suffix."


def _is_path(source: str) -> bool:
    path = Path(source)
    has_folder = "/" in source or os.sep in source
    return has_folder or path.suffix.lower() in SUFFIXES or path.is_file()


def _refuse(source: str, what: str, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise PlanError(f"`{name}` must be left out: `{source}` is {what}.")


def _builtin(name: str, test_size: float, seed: int) -> Dataset:
    from sklearn import datasets  # slow to import, not always needed

    bunch: Any = getattr(datasets, f"load_{name}")()
    X: Array = np.asarray(bunch.data, dtype=np.float64)
    y: NDArray[Any] = np.asarray(bunch.target, dtype=np.int64)
    names = tuple(str(feature) for feature in bunch.feature_names)
    return split(name, X, y, test_size=test_size, seed=seed, feature_names=names)


def _not_found(name: str, folder: Path | None, exc: DataError) -> str:
    where = f"`{folder}`" if folder else "a data folder (none is set)"
    near = [path.stem for path in folder.glob("*.npz")] if folder else []
    near += [path.name for path in Path().glob("*") if path.suffix in SUFFIXES]
    return (
        f"No data set `{name}` was found."
        f"{did_you_mean(name, (*KNOWN_NAMES, HOSPITALS, *near))} Built in: "
        f"{', '.join(BUILTIN_NAMES)}. Looked for `{name}.npz` in {where} and in the "
        f"cache `{cache_dir()}`, then asked OpenML: {exc} To use a file, give its path."
    )
