"""The rows that are attacked: digits, heart patients, pixels of fields, letters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from benchmarks.accuracy.hospitals import read_patients
from dssfn._typing import Array
from dssfn.datasets import load

MOST_ROWS = 2000  # of a set: all are candidates, for many trainings


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """Rows of whole numbers or of numbers with few digits, and their classes.

    Parameters
    ----------
    name : str
        What they are called.
    X : array of shape (J, P)
        The rows.
    y : int array of shape (J,)
        The class of every row, 0..Q-1.
    site : int array of shape (J,), optional
        The organisation that has the row, if that is known.
    """

    name: str
    X: Array
    y: NDArray[np.intp]
    site: NDArray[np.intp] | None = None

    @property
    def n_classes(self) -> int:
        """The number of classes, Q."""
        return int(self.y.max()) + 1

    def some(self, rows: NDArray[np.intp]) -> LabelledRows:
        """Return some of the rows."""
        site = None if self.site is None else self.site[rows]
        return LabelledRows(self.name, self.X[rows], self.y[rows], site)

    def resolution(self) -> Array:
        """Return the smallest step between two values of every column, (P,)."""
        steps = [np.diff(np.unique(column)) for column in self.X.T]
        return np.array([step.min() if len(step) else 1.0 for step in steps])


def digits(data_dir: Path | None) -> LabelledRows:
    """Return pictures of digits, 64 pixels of 0 to 16 each."""
    X, y = load_digits(return_X_y=True)
    return LabelledRows("digits", X, y.astype(np.intp))


def hospitals(data_dir: Path | None) -> LabelledRows:
    """Return the patients of four hospitals, as `benchmarks.accuracy` prepares them."""
    patients = read_patients(data_dir)
    split = patients.split
    return LabelledRows(
        "four hospitals",
        np.vstack([split.X_train, split.X_test]),
        np.concatenate([split.y_train, split.y_test]).astype(np.intp),
        np.concatenate([patients.train_hospital, patients.test_hospital]),
    )


def satimage(data_dir: Path | None) -> LabelledRows:
    """Return pixels of fields in four colours with their neighbours, some of them."""
    rows = _named("satimage", data_dir)
    some = np.random.default_rng(0).permutation(len(rows.y))[:MOST_ROWS]
    return rows.some(some)


def letter(data_dir: Path | None) -> LabelledRows:
    """Return sixteen measures of pictures of letters."""
    return _named("letter", data_dir)


def _named(name: str, data_dir: Path | None) -> LabelledRows:
    data = load(name, data_dir=data_dir)
    X = np.vstack([data.X_train, data.X_test])
    _, y = np.unique(np.concatenate([data.y_train, data.y_test]), return_inverse=True)
    return LabelledRows(name, X, y.astype(np.intp))
