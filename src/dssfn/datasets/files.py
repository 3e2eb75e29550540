"""Data files of any format: found, checked and opened."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from dssfn.datasets.column_samples import ColumnFile, ColumnSamples
from dssfn.datasets.columns import target_column
from dssfn.datasets.npz_samples import NpzSamples
from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.datasets.sample_file import SampleFile
from dssfn.datasets.table_samples import TableSamples
from dssfn.datasets.text_file import PACKED
from dssfn.errors import DataError
from dssfn.hints import listing, no_file
from dssfn.schema import Schema

# The module that reads the columns of a format. Each takes a while to import, as polars
# does, and only its files need it.
_READERS = {
    ".csv": "csv_file",
    ".tsv": "csv_file",
    ".csv.gz": "csv_file",
    ".tsv.gz": "csv_file",
    ".gz": "csv_file",
    ".parquet": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".xlsx": "xlsx_file",
    ".npz": "npz_columns",  # for a schema; without one, an NPZ file is a matrix
}

# The only reader that a setting says something to.
_OF_FORMAT = dict.fromkeys(("sep", "decimal", "encoding"), "csv_file")
_OF_FORMAT["sheet"] = "xlsx_file"

SUFFIXES = tuple(_READERS)
"""How the name of a readable file may end."""

_NO_DATA = {
    ".safetensors": "a model",
    ".onnx": "a model",
    ".toml": "a schema or a plan",
}

SMALL = 2**22
"""Bytes of samples that may be held by default: four megabytes."""


def open_file(
    path: str | Path,
    target: str | None = None,
    *,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
    options: ReadOptions = ALL,
    room: int | None = SMALL,
) -> SampleFile:
    """Open a file of samples; without a target they have no labels.

    What its names, types and length tell is checked here, the values as they are read.

    Parameters
    ----------
    path, target, features, n_features, options
        As in `read_table`.
    room : int, optional
        Bytes of samples that may be held so that the file need not be read again; None
        sets no limit.
    """
    path = existing_file(path)
    file: SampleFile
    if path.suffix.lower() == ".npz":
        _refuse_choice(path, options)
        file = NpzSamples(path, target, room)
        n_features = len(features) if features is not None else n_features
    else:
        columns = open_columns(path, options)
        file = ColumnSamples(columns, target, features, options).survey(room)
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
    options: ReadOptions = ALL,
    room: int | None = SMALL,
) -> SampleFile:
    """Open a file whose samples must have labels; `target` defaults to `y` for NPZ.

    The other parameters are those of `open_file`. Files of named columns have no
    default: a wrong guess would train on the labels.
    """
    path = existing_file(path)
    if target is None and path.suffix.lower() == ".npz":
        target = "y"
    if target is None:
        target = target_column(path.name, open_columns(path, options).names, target)
    return open_file(
        path,
        target,
        features=features,
        n_features=n_features,
        options=options,
        room=room,
    )


def open_table(
    path: str | Path,
    schema: Schema,
    *,
    is_labelled: bool,
    options: ReadOptions = ALL,
    room: int | None = SMALL,
) -> SampleFile:
    """Open a table whose columns a schema explains.

    Parameters
    ----------
    path : str or Path
        A file of named columns; in an NPZ file every array is one.
    schema : Schema
        What they mean.
    is_labelled : bool
        Whether the target is read, too.
    options, room
        As in `open_file`; which columns are features is said by the schema.
    """
    path = existing_file(path)
    if options.columns is not None or options.drop:
        raise DataError(
            f"`{path.name}`: `columns` and `drop` must be left out, since the schema "
            "says which columns are features. Change their kind to ignore there."
        )
    file = open_columns(path, options)
    samples = TableSamples(file, schema, is_labelled=is_labelled, id=options.id)
    return samples.survey(room)


def existing_file(path: str | Path, *, meant: str = "") -> Path:
    """Return the path of a data file, or say what is wrong with it.

    `meant` ends the message about a file that is not there and not nearly there.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(no_file(path, SUFFIXES, forgotten_suffix(path) or meant))
    if path.suffix.lower() in _NO_DATA:
        raise DataError(
            f"`{path.name}` is {_NO_DATA[path.suffix.lower()]}, not data. Give a CSV, "
            "TSV, Parquet, Feather, XLSX or NPZ file."
        )
    if path.suffix.lower() not in SUFFIXES:
        raise DataError(
            f"`{path.name}` must end in one of {', '.join(SUFFIXES)}. "
            "Convert or rename it."
        )
    inner = Path(path.stem).suffix.lower()
    is_packed = path.suffix.lower() == PACKED and inner in SUFFIXES
    if is_packed and inner + PACKED not in SUFFIXES:
        raise DataError(
            f"`{path.name}` must be decompressed first: only text files may be "
            "compressed."
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


def open_columns(path: Path, options: ReadOptions = ALL) -> ColumnFile:
    """Return an existing file of named columns, of which only these have been read."""
    reader = import_module(f"dssfn.datasets.{_READERS[path.suffix.lower()]}")
    file: ColumnFile = reader.open_columns(path, options)
    return file


def check_formats(options: ReadOptions, paths: Sequence[str | Path]) -> None:
    """Refuse what is said of a format that none of the files has.

    >>> check_formats(ReadOptions(sheet="2024"), ["north.csv", "south.xlsx"])
    >>> check_formats(ReadOptions(sheet="2024"), ["north.csv"])
    Traceback (most recent call last):
    dssfn.errors.DataError: `sheet` must be left out: it is for .xlsx, got `north.csv`.
    """
    readers = {_READERS.get(Path(path).suffix.lower()) for path in paths}
    for option in options.given:
        reader = _OF_FORMAT.get(option)
        if reader is not None and reader not in readers:
            suffixes = ", ".join(one for one in SUFFIXES if _READERS[one] == reader)
            names = listing([Path(path).name for path in paths])
            raise DataError(
                f"`{option}` must be left out: it is for {suffixes}, got {names}."
            )


def _refuse_choice(path: Path, options: ReadOptions) -> None:
    if options.chooses:
        raise DataError(
            f"`{path.name}`: the features of an NPZ file have no names, so that "
            "`columns`, `drop` and `id` must be left out."
        )
