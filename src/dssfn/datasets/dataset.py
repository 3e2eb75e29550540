"""Dataset: training and test samples, and how to split samples into them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.errors import DataError, PlanError
from dssfn.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Training and test samples of one source; rows are samples.

    Parameters
    ----------
    name : str
        The name of the set, or the file that it came from.
    X_train, X_test : arrays of shape (J, P)
        Features, float64.
    y_train, y_test : arrays of shape (J,)
        Labels; the training part holds at least two classes. For a regression numbers,
        also of shape (J, Q).
    feature_names : tuple of str, optional
        Names of the P features where the source has them.
    weights : array of shape (J,), optional
        How much each training sample counts; left out, each counts once.
    targets : tuple of str
        Names of the Q numbers to predict in a regression.
    schema : Schema, optional
        What the columns mean that the features were made of.
    dialect : str
        How the file that it came from is written, as in `Columns`.
    """

    name: str
    X_train: Array
    y_train: NDArray[Any]
    X_test: Array
    y_test: NDArray[Any]
    feature_names: tuple[str, ...] | None = None
    weights: Array | None = None
    targets: tuple[str, ...] = ()
    schema: Schema | None = None
    dialect: str = ""

    def __post_init__(self) -> None:
        parts = (
            ("train", self.X_train, self.y_train),
            ("test", self.X_test, self.y_test),
        )
        for part, X, y in parts:
            if len(X) != len(y):
                raise DataError(
                    f"`{self.name}`: `X_{part}` and `y_{part}` must have the same "
                    f"number of rows, got {len(X)} and {len(y)}."
                )
        if self.X_train.shape[1] != self.X_test.shape[1]:
            raise DataError(
                f"`{self.name}`: `X_train` and `X_test` must have the same number of "
                f"columns, got {self.X_train.shape[1]} and {self.X_test.shape[1]}."
            )
        names = self.feature_names
        if names is not None and len(names) != self.X_train.shape[1]:
            raise DataError(
                f"`{self.name}`: `feature_names` must name all "
                f"{self.X_train.shape[1]} features, got {len(names)} names."
            )
        if self.targets:
            return
        classes = np.unique(self.y_train)
        if len(classes) < 2:
            raise DataError(
                f"`{self.name}`: the training samples must belong to at least two "
                f"classes, got {classes.tolist()}."
            )


def split(
    name: str,
    X: Array,
    y: NDArray[Any],
    *,
    test_size: float,
    seed: int,
    feature_names: tuple[str, ...] | None = None,
    targets: tuple[str, ...] = (),
) -> Dataset:
    """Split samples at random into a training and a test part.

    Every class keeps its share in both parts. Where a class is too rare for that,
    the split is random over all samples.

    Parameters
    ----------
    name : str
        Name of the result.
    X : array of shape (J, P)
        Features.
    y : array of shape (J,)
        Labels.
    test_size : float
        Share of the samples to test on, between 0 and 1.
    seed : int
        Key of the split: scikit-learn's `train_test_split` with this `random_state`.
    feature_names : tuple of str, optional
        Names of the features, for the result.
    targets : tuple of str
        Names of the numbers to predict, which `y` holds instead of labels.

    Examples
    --------
    >>> y = np.array([0, 0, 1, 1])
    >>> sorted(split("toy", np.eye(4), y, test_size=0.5, seed=0).y_test.tolist())
    [0, 1]
    """
    # Takes a second to import, which commands that split nothing need not wait for.
    from sklearn.model_selection import train_test_split

    check_split(test_size, seed)
    n_test = math.ceil(test_size * len(y))
    n_train = len(y) - n_test
    if n_train < 1:
        raise DataError(
            f"`{name}`: `test_size` = {test_size:g} leaves none of {len(y)} samples "
            "for training. Lower it, or give more samples."
        )
    counts = np.unique(y, return_counts=True)[1]
    can_stratify = (
        not targets and counts.min() >= 2 and min(n_train, n_test) >= len(counts)
    )
    train, test = train_test_split(
        np.arange(len(y)),
        test_size=n_test,
        random_state=seed % 2**32,  # scikit-learn takes no larger one
        stratify=y if can_stratify else None,
    )
    parts = (X[train], y[train], X[test], y[test])
    return Dataset(name, *parts, feature_names, targets=targets)


def check_split(test_size: float, seed: int) -> None:
    """Refuse a share outside (0, 1) and a negative seed."""
    if not isinstance(test_size, int | float) or not 0 < test_size < 1:
        raise PlanError(f"`test_size` must be above 0 and below 1, got {test_size!r}.")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise PlanError(f"`seed` must be a whole number of at least 0, got {seed!r}.")
