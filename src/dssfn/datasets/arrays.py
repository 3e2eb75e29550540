"""Checks that every array from outside passes: features, labels, NPZ archives."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.datasets.hints import listing, reason
from dssfn.errors import DataError

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
        present = tuple(archive.files)
        for name in required:
            if name not in present:
                raise DataError(
                    f"`{path.name}` has no array `{name}`, only {listing(present)}. "
                    f"It must hold {listing(required)}."
                )
        wanted = [name for name in required + optional if name in present]
        return {name: _member(archive, name, path) for name in wanted}


def npz_names(path: Path) -> tuple[str, ...]:
    """Names of the arrays in an NPZ archive."""
    with _open_npz(path) as archive:
        return tuple(archive.files)


def feature_matrix(values: NDArray[Any], source: Source, *, name: str = "X") -> Array:
    """Features of shape (J, P) as float64, all finite."""
    if values.ndim != 2 or 0 in values.shape:
        raise DataError(
            f"`{source.name}`: `{name}` must be a matrix with one row per sample and "
            f"one column per feature, got shape {values.shape}."
        )
    if values.dtype.kind not in "biuf":
        raise DataError(
            f"`{source.name}`: `{name}` must hold numbers, got dtype {values.dtype}."
        )
    X: Array = np.ascontiguousarray(values, dtype=np.float64)
    if values.dtype.kind == "f" and not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0]
        raise DataError(
            f"{source.at(int(row))}, column {column + 1} of `{name}`: features must "
            f"be finite, got {X[row, column]}. Fill in the value or remove the row."
        )
    return X


def class_labels(values: NDArray[Any], source: Source, *, name: str) -> NDArray[Any]:
    """Labels of shape (J,) as text, bool or int64.

    Floats that are all whole become int64, because a missing value or a spreadsheet
    turns the classes 0, 1, 2 into 0.0, 1.0, 2.0.
    """
    if values.ndim != 1:
        raise DataError(
            f"`{source.name}`: `{name}` must hold one label per sample, "
            f"got shape {values.shape}."
        )
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


def missing_label(source: Source, name: str, index: int) -> DataError:
    """Say that one sample has no label."""
    return DataError(
        f"{source.at(index)}: the target `{name}` is missing. "
        "Fill in the label or remove the row."
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


def _member(archive: NpzFile, name: str, path: Path) -> NDArray[Any]:
    try:
        return np.asarray(archive[name])
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
        raise DataError(
            f"`{path.name}`: array `{name}` holds Python objects, which could run code "
            "when read. Write it with `numpy.savez` from arrays of numbers or text."
        ) from exc


def _damaged(path: Path, why: str) -> DataError:
    return DataError(
        f"`{path.name}` is damaged or no NPZ archive ({why}). "
        "Make it anew with `numpy.savez`."
    )
