"""Checks that every array from outside passes: features, labels, NPZ archives."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.errors import DataError
from dssfn.hints import listing, reason

_LARGEST_WHOLE = 2.0**53  # above it float64 no longer holds every whole number


@dataclass(frozen=True, slots=True)
class Source:
    """Where values came from, to say so in a message.

    Parameters
    ----------
    name : str
        The file, as a user knows it.
    unit : {"row", "line"}
        What a sample is called there.
    first : int
        Number of the first sample: 1, or that of the line below the header.

    Examples
    --------
    >>> Source("a.csv", unit="line", first=2).at(0)
    '`a.csv`, line 2'
    """

    name: str
    unit: str = "row"
    first: int = 1

    def at(self, index: int) -> str:
        """Name one sample, given its index from 0."""
        return f"`{self.name}`, {self.unit} {self.first + index}"


def read_npz(
    path: Path, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, NDArray[Any]]:
    """Arrays of an NPZ archive by name, never unpickling anything.

    Parameters
    ----------
    path : Path
        An existing file.
    required, optional : tuple of str
        The arrays to read; one of `required` that is not there is a `DataError`.
    """
    with _open_npz(path) as archive:
        _require(archive, required, path)
        wanted = [name for name in required + optional if name in archive.files]
        return {name: _member(archive, name, path) for name in wanted}


def npz_names(path: Path) -> tuple[str, ...]:
    """Names of the arrays in an NPZ archive."""
    with _open_npz(path) as archive:
        return tuple(archive.files)


@dataclass(frozen=True, slots=True)
class Header:
    """What an NPZ archive says of one array before its values."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_rows: bool  # one row after the other; Fortran's order is by columns


def npz_headers(path: Path, required: tuple[str, ...]) -> dict[str, Header]:
    """Shapes and types of arrays in an NPZ archive, without reading the values."""
    headers = {}
    with _open_npz(path) as archive:
        _require(archive, required, path)
        for name in required:
            with _member_errors(path, name), _open_member(archive, name) as stream:
                headers[name] = _header(stream)
    return headers


def npz_rows(path: Path, name: str, n_rows: int) -> Iterator[NDArray[Any]]:
    """One array of an NPZ archive, some rows at a time.

    Each member of the archive is one stream, compressed or not, so that no more than
    `n_rows` rows are ever held.
    """
    with (
        _open_npz(path) as archive,
        _member_errors(path, name),
        _open_member(archive, name) as stream,
    ):
        header = _header(stream)
        left, *row = header.shape
        row_bytes = math.prod(row) * header.dtype.itemsize
        while left > 0:
            count = min(n_rows, left)
            raw = stream.read(count * row_bytes)
            if len(raw) < count * row_bytes:
                raise EOFError(f"array `{name}` ends early")
            yield np.frombuffer(raw, dtype=header.dtype).reshape(count, *row)
            left -= count


def feature_matrix(values: NDArray[Any], source: Source, *, name: str = "X") -> Array:
    """Features of shape (J, P) as float64, all finite."""
    check_feature_kind(values.shape, values.dtype, source, name=name)
    X: Array = np.ascontiguousarray(values, dtype=np.float64)
    if values.dtype.kind == "f" and not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0]
        raise DataError(
            f"{source.at(int(row))}, column {column + 1} of `{name}`: features must "
            f"be finite, got {X[row, column]}. Fill in the value or remove the row."
        )
    return X


def check_feature_kind(
    shape: tuple[int, ...], dtype: np.dtype[Any], source: Source, *, name: str = "X"
) -> None:
    """Features must be a matrix of numbers, with samples and features in it."""
    if len(shape) != 2 or 0 in shape:
        raise DataError(
            f"`{source.name}`: `{name}` must be a matrix with one row per sample and "
            f"one column per feature, got shape {shape}."
        )
    if dtype.kind not in "biuf":
        raise DataError(
            f"`{source.name}`: `{name}` must hold numbers, got dtype {dtype}."
        )


def class_labels(values: NDArray[Any], source: Source, *, name: str) -> NDArray[Any]:
    """Labels of shape (J,) as text, bool or int64.

    Floats that are all whole become int64, because a missing value or a spreadsheet
    turns the classes 0, 1, 2 into 0.0, 1.0, 2.0.
    """
    check_label_shape(values.shape, source, name=name)
    kind = values.dtype.kind
    if kind in "bU":
        return values
    if kind in "iu":
        return _int64(values, source, name)
    if kind != "f":
        raise DataError(
            f"`{source.name}`: `{name}` must hold class labels (text, whole numbers "
            f"or true/false), got dtype {values.dtype}."
        )
    values = values.astype(np.float64)
    missing = np.flatnonzero(np.isnan(values))
    if missing.size:
        raise missing_label(source, name, int(missing[0]))
    fraction = np.flatnonzero(
        (np.trunc(values) != values) | (np.abs(values) > _LARGEST_WHOLE)
    )
    if fraction.size:
        row = int(fraction[0])
        raise DataError(
            f"{source.at(row)}: classification needs class labels, but `{name}` holds "
            f"{values[row]:g}. Name another target; regression is not offered yet."
        )
    return values.astype(np.int64)


def check_label_shape(shape: tuple[int, ...], source: Source, *, name: str) -> None:
    """Labels must be a plain list."""
    if len(shape) != 1:
        raise DataError(
            f"`{source.name}`: `{name}` must hold one label per sample, "
            f"got shape {shape}."
        )


def missing_label(source: Source, name: str, index: int) -> DataError:
    """Say that one sample has no label."""
    return DataError(
        f"{source.at(index)}: the target `{name}` is missing. "
        "Fill in the label or remove the row."
    )


def changed(name: str) -> DataError:
    """Say that a file is no longer what it was in an earlier pass over it."""
    return DataError(
        f"`{name}` has changed since it was first read. Leave it as it is until the "
        "work is done, then start again."
    )


def _int64(values: NDArray[Any], source: Source, name: str) -> NDArray[np.int64]:
    if values.size and int(values.max()) > np.iinfo(np.int64).max:
        raise DataError(
            f"`{source.name}`: whole-number labels must lie below 2**63, but `{name}` "
            f"holds {values.max()}. Store the labels as text."
        )
    return values.astype(np.int64)


@contextmanager
def _open_npz(path: Path) -> Iterator[NpzFile]:
    with ExitStack() as stack:
        try:
            # Opened here, because numpy leaves a damaged file open.
            file = stack.enter_context(path.open("rb"))
            archive: Any = np.load(file, allow_pickle=False)
        except ValueError as exc:  # numpy takes whatever it does not know for a pickle
            raise _damaged(path, "unknown format") from exc
        except (OSError, EOFError, zipfile.BadZipFile) as exc:
            raise _damaged(path, reason(exc)) from exc
        if not isinstance(archive, NpzFile):
            raise DataError(
                f"`{path.name}` holds one bare array, not a named set of arrays. "
                "Write it with `numpy.savez`."
            )
        yield archive


def _require(archive: NpzFile, required: tuple[str, ...], path: Path) -> None:
    for name in required:
        if name not in archive.files:
            raise DataError(
                f"`{path.name}` has no array `{name}`, only {listing(archive.files)}. "
                f"It must hold {listing(required)}."
            )


def _member(archive: NpzFile, name: str, path: Path) -> NDArray[Any]:
    with _member_errors(path, name):
        return np.asarray(archive[name])


@contextmanager
def _member_errors(path: Path, name: str) -> Iterator[None]:
    """Whatever goes wrong while an array is read, as a `DataError`."""
    try:
        yield
    except DataError:
        raise
    except (
        OSError,
        ValueError,
        EOFError,
        NotImplementedError,
        RuntimeError,  # an encrypted member
        zipfile.BadZipFile,
        zlib.error,
    ) as exc:
        if "allow_pickle" not in str(exc):
            raise _damaged(path, reason(exc)) from exc
        raise _holds_objects(path, name) from exc


def _open_member(archive: NpzFile, name: str) -> IO[bytes]:
    files = archive.zip
    assert files is not None  # it is as long as the archive is open
    return files.open(name if name in files.namelist() else f"{name}.npy")


def _header(stream: IO[bytes]) -> Header:
    """Read the start of an array; the stream is then at its first value."""
    version = np.lib.format.read_magic(stream)
    # Version 3 differs from 2 only in allowing field names beyond Latin-1.
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, fortran, dtype = read(stream)
    if dtype.hasobject:
        raise ValueError("allow_pickle is never given")
    if any(length < 0 for length in shape):
        raise ValueError(f"shape {shape}")
    in_one_line = sum(length > 1 for length in shape) < 2  # then both orders are one
    return Header(shape, dtype, by_rows=in_one_line or not fortran)


def _holds_objects(path: Path, name: str) -> DataError:
    return DataError(
        f"`{path.name}`: array `{name}` holds Python objects, which could run code "
        "when read. Write it with `numpy.savez` from arrays of numbers or text."
    )


def _damaged(path: Path, why: str) -> DataError:
    return DataError(
        f"`{path.name}` is damaged or no NPZ archive ({why}). "
        "Make it anew with `numpy.savez`."
    )
