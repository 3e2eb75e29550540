"""Tables of numbers and categories as the arrays that all models get.

A column that holds anything but numbers is a category: one column of zeros and ones for
each of its levels, the first one too. A missing number becomes the median of the
training rows, a missing category a level of its own. Medians and levels are those of
the training rows; a level that only test rows have is all zeros.

Of a large table a random subset is taken first, so that 30 % for testing leave at most
4,000 rows for training.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

TEST_SIZE = 0.3
LARGEST = 5714  # rows: 70 % of them are 4,000
MISSING = ("?", "<null>", "")


@dataclass(frozen=True, slots=True, eq=False)
class LabelledTable:
    """A table (J, columns) and its target (J,): class numbers from 0, or values."""

    columns: pd.DataFrame
    target: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Arrays to train and to test on; rows are samples."""

    X_train: NDArray[np.float64]
    y_train: NDArray[Any]
    X_test: NDArray[np.float64]
    y_test: NDArray[Any]


def read_frame(text: str, *, header: bool) -> pd.DataFrame:
    """Return the columns of comma-separated values: numbers where all are numbers."""
    return pd.read_csv(
        io.StringIO(text),
        header=0 if header else None,
        skipinitialspace=True,
        na_values=list(MISSING),
        keep_default_na=False,  # "NA" or "None" may be a level
    )


def read_keel(text: str) -> LabelledTable:
    """Return a set of the KEEL repository, whose last column is the class."""
    frame = read_frame(text, header=False)
    codes = pd.factorize(frame.iloc[:, -1], sort=True)[0]
    return LabelledTable(frame.iloc[:, :-1], codes)


def divide(table: LabelledTable, seed: int, *, stratified: bool) -> Split:
    """Return a random split, 70 % to train and 30 % to test, as arrays."""
    rows = np.arange(len(table.target))
    if len(rows) > LARGEST:
        rows = np.random.default_rng(seed).permutation(len(rows))[:LARGEST]
    train, test = train_test_split(
        rows,
        test_size=TEST_SIZE,
        random_state=seed,
        stratify=table.target[rows] if stratified else None,
    )
    encoder = _encoder().fit(table.columns.iloc[train])
    return Split(
        encoder.transform(table.columns.iloc[train]),
        table.target[train],
        encoder.transform(table.columns.iloc[test]),
        table.target[test],
    )


def _encoder() -> Any:
    numbers = make_column_selector(dtype_include="number")
    categories = make_column_selector(dtype_exclude="number")
    levels = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    return make_column_transformer(
        (SimpleImputer(strategy="median"), numbers), (levels, categories)
    )
