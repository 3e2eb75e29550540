"""The paper's data sets, as OpenML must give them.

They are known by their rows. A download may list them in another order and call the
classes by other names, so neither counts: see `content_digest`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.datasets.dataset import Dataset
from dssfn.errors import DataError


@dataclass(frozen=True, slots=True)
class Recipe:
    """A set as OpenML must give it.

    Parameters
    ----------
    data_id : int
        OpenML's number of the set in one version, which does not change.
    n_train : int
        How many of its samples are for training.
    shape : tuple of int
        Samples and features.
    n_classes : int
        The number of classes.
    content : str, optional
        The `content_digest` of all samples, where they are known to be those of the
        set's first home.
    """

    data_id: int
    n_train: int
    shape: tuple[int, int]
    n_classes: int
    content: str | None = None


RECIPES = {
    "vowel": Recipe(
        307,
        n_train=528,
        shape=(990, 10),
        n_classes=11,
        content="e2c85fa80f88fce63d2ae041be23f3d6ca7efe2cb6b78508ac6717f49c1f3e2a",
    ),
    # OpenML's copy lacks five rows; which ones is not known, nor their digest.
    "satimage": Recipe(182, n_train=4435, shape=(6430, 36), n_classes=6),
    "letter": Recipe(
        6,
        n_train=13333,
        shape=(20000, 16),
        n_classes=26,
        content="1529d4784bf072606f0c2be31e7e6326ed04c167a3ee427c43715b43c2fa1fc0",
    ),
    "mnist": Recipe(
        554,
        n_train=60000,
        shape=(70000, 784),
        n_classes=10,
        content="935b4626be20385fb11a4a9baa1dcfdff19609d3aed9e7dc26945cbef211b6a4",
    ),
}


def check_known(data: Dataset, recipe: Recipe) -> None:
    """Refuse a set that is not the known one of its name."""
    X = np.concatenate([data.X_train, data.X_test])
    y = np.concatenate([data.y_train, data.y_test])
    n_classes = len(np.unique(y))
    way_out = (
        "Nothing was saved. Try again later, or put the data set into a folder and "
        "give it as `data_dir`."
    )
    if (X.shape, n_classes) != (recipe.shape, recipe.n_classes):
        raise DataError(
            f"`{data.name}` must have {recipe.shape[0]} samples, {recipe.shape[1]} "
            f"features and {recipe.n_classes} classes, but OpenML gave {X.shape[0]}, "
            f"{X.shape[1]} and {n_classes}. {way_out}"
        )
    found = content_digest(X, y)
    if recipe.content not in (None, found):
        raise DataError(
            f"`{data.name}` must have samples with sha256 {recipe.content}, but OpenML "
            f"gave others, with {found}. {way_out}"
        )


def content_digest(X: Array, y: NDArray[Any]) -> str:
    """Return a digest of the samples, whatever their order and the class names.

    Values count to a thousandth, which is how the sources write them.

    Parameters
    ----------
    X : array of shape (J, P)
        The features; rows are samples.
    y : array of shape (J,)
        The labels.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [3.0]])
    >>> one = content_digest(X, np.array([0, 1, 1]))
    >>> one == content_digest(X[::-1], np.array(["b", "b", "a"]))
    True
    """
    classes = []
    for label in np.unique(y):
        rows = np.rint(1000 * X[y == label]).astype("<i8")
        digests = sorted(hashlib.sha256(row.tobytes()).digest() for row in rows)
        classes.append(hashlib.sha256(b"".join(digests)).digest())
    return hashlib.sha256(b"".join(sorted(classes))).hexdigest()
