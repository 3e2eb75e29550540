"""Checks that every array from outside passes: features and labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.config import LONGEST_NAME, MOST_FEATURES
from dssfn.errors import DataError

_LARGEST_WHOLE = 2.0**53  # above it float64 no longer holds every whole number
CHARACTER = np.dtype("U1").itemsize  # bytes


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of values, for error messages.

    Parameters
    ----------
    name : str
        The file, as a user knows it.
    unit : {"row", "line"}
        What a sample is called there.
    first : int
        Number of the first sample: 1, or that of the line below the header.
    lines : array of int, optional
        The numbers of all samples, where they do not follow each other because some
        take several lines.

    Examples
    --------
    >>> Source("a.csv", unit="line", first=2).at(0)
    '`a.csv`, line 2'
    """

    name: str
    unit: str = "row"
    first: int = 1
    lines: NDArray[np.intp] | None = field(default=None, compare=False)

    def at(self, index: int) -> str:
        """Name one sample, given its index from 0."""
        number = self.first + index if self.lines is None else self.lines[index]
        return f"`{self.name}`, {self.unit} {number}"


def feature_matrix(values: NDArray[Any], source: Source, *, name: str = "X") -> Array:
    """Return features of shape (J, P) as float64, all finite."""
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
    """Check that features are a matrix of numbers with samples and features in it."""
    if len(shape) != 2 or 0 in shape:
        raise DataError(
            f"`{source.name}`: `{name}` must be a matrix with one row per sample and "
            f"one column per feature, got shape {shape}."
        )
    if shape[1] > MOST_FEATURES:
        raise DataError(
            f"`{source.name}`: `{name}` must have at most {MOST_FEATURES} features, "
            f"got {shape[1]}."
        )
    if dtype.kind not in "biuf":
        raise DataError(
            f"`{source.name}`: `{name}` must hold numbers, got dtype {dtype}."
        )


def class_labels(values: NDArray[Any], source: Source, *, name: str) -> NDArray[Any]:
    """Return labels of shape (J,) as text, bool or int64.

    Floats that are all whole become int64, because a missing value or a spreadsheet
    turns the classes 0, 1, 2 into 0.0, 1.0, 2.0.
    """
    check_label_kind(values.shape, values.dtype, source, name=name)
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
            f"{values[row]:g}. Name another target; or, to predict numbers, write a "
            "schema with `dssfn schema FILE --target COLUMN --number` and train with "
            "that."
        )
    return values.astype(np.int64)


def check_label_kind(
    shape: tuple[int, ...], dtype: np.dtype[Any], source: Source, *, name: str
) -> None:
    """Check that labels are a list, and none of them longer than a name may be."""
    if len(shape) != 1:
        raise DataError(
            f"`{source.name}`: `{name}` must hold one label per sample, "
            f"got shape {shape}."
        )
    if dtype.kind == "U":
        check_text_length(dtype.itemsize // CHARACTER, source, name=name)


def check_text_length(longest: int, source: Source, *, name: str) -> None:
    """Refuse long labels: numpy gives every one as much memory as the longest."""
    if longest > LONGEST_NAME:
        raise DataError(
            f"`{source.name}`: a label must have at most {LONGEST_NAME} characters, "
            f"but `{name}` has one with {longest}. Name another target."
        )


def missing_label(source: Source, name: str, index: int) -> DataError:
    """Return the error about a sample without a label."""
    return DataError(
        f"{source.at(index)}: the target `{name}` is missing. "
        "Fill in the label or remove the row."
    )


def changed(name: str) -> DataError:
    """Return the error about a file that has changed since an earlier pass over it."""
    return DataError(
        f"`{name}` has changed since it was first read. Start again, and leave the "
        "file alone until the work is done."
    )


def _int64(values: NDArray[Any], source: Source, name: str) -> NDArray[np.int64]:
    if values.size and int(values.max()) > np.iinfo(np.int64).max:
        raise DataError(
            f"`{source.name}`: whole-number labels must lie below 2**63, but `{name}` "
            f"holds {values.max()}. Store the labels as text."
        )
    return values.astype(np.int64)
