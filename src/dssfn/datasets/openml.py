"""Data sets from OpenML: the download, then its conversion, which needs no network."""

from __future__ import annotations

import re
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.datasets.checks import Source, class_labels, feature_matrix, missing_label
from dssfn.datasets.dataset import Dataset, split
from dssfn.datasets.recipes import RECIPES, check_known
from dssfn.errors import DataError
from dssfn.hints import reason

_TIMEOUT = 30.0  # seconds without an answer
_OTHERS_TEST_SIZE = 0.3
_VOWEL_TRAIN_SPEAKERS = 8
_VOWEL_NOT_FEATURES = ("trainortest", "speaker", "sex")


def fetch_openml_dataset(name: str) -> Dataset:
    """Download a data set from OpenML; features are raw, nothing is scaled.

    `vowel`, `satimage`, `letter` and `mnist` come in their canonical split, with class
    ids from 0. OpenML's copy of `satimage` has 6430 rows instead of 6435 and another
    order, so that its canonical split is only approximated, by the first 4435 rows; of
    `letter` too the first rows are for training, in OpenML's order.
    Any other name is split 70/30 by class with seed 0 and keeps its labels; of several
    versions OpenML's oldest active one is taken.

    A file must have the checksum that OpenML states, and one of the four sets the
    samples that it is known by.

    Raises
    ------
    DataError
        OpenML cannot be reached or does not have the set, what it gives is not the set,
        or the set has features that are not numbers, or missing values.
    """
    check_name(name)
    recipe = RECIPES.get(name)
    frame, target = download(name, recipe.data_id if recipe else None)
    data = convert(name, frame, target)
    if recipe is not None:
        check_known(data, recipe)
    return data


def check_name(name: str) -> None:
    """Refuse a name that could be a path, because it becomes a file name."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise DataError(
            "The name of a data set must consist of letters, digits, `.`, `_` and "
            f"`-`, got {name!r}."
        )


def download(name: str, data_id: int | None = None) -> tuple[Any, Any]:
    """Return the feature frame and the target of one set, as pandas objects.

    Without OpenML's number of the set, it is found by its name.
    """
    from sklearn.datasets import fetch_openml  # slow to import, seldom needed

    which = {"name": name} if data_id is None else {"data_id": data_id}
    try:
        with _deadline(_TIMEOUT), warnings.catch_warnings():
            for chatter in ("A network error occurred", "Downloaded file could have"):
                warnings.filterwarnings("ignore", message=chatter)
            bunch: Any = fetch_openml(**which, as_frame=True, cache=False, n_retries=1)
    except ImportError as exc:
        raise DataError(
            "Downloads from OpenML need pandas: `pip install 'dssfn[openml]'`."
        ) from exc
    except (OSError, ValueError, LookupError, HTTPException) as exc:
        if "md5" in str(exc):
            raise DataError(
                f"`{name}` was damaged during the download: "
                f"{' '.join(str(exc).split())} Nothing was saved."
            ) from exc
        raise DataError(
            f"OpenML did not give `{name}` ({reason(exc)}). Check the name and the "
            "network, or put the data set into a folder and give it as `data_dir`."
        ) from exc
    return bunch.data, bunch.target


def convert(name: str, frame: Any, target: Any) -> Dataset:
    """Return training and test samples from a pandas frame and its target.

    For `vowel` the columns that tell the split, the speaker and the sex are dropped;
    speakers 0 to 7 are for training. Where OpenML names speakers and vowels instead of
    numbering them, their order in the file is that of the numbers.
    """
    source = Source(f"{name} of OpenML")
    y = _labels(target, source)
    recipe = RECIPES.get(name)
    if recipe is None:
        X, names = _features(frame, source)
        size = _OTHERS_TEST_SIZE
        return split(name, X, y, test_size=size, seed=0, feature_names=names)
    if name == "vowel":
        frame, is_train = _by_speaker(frame, source)
        y = _in_order_of_appearance(y)
    else:
        is_train = np.arange(len(y)) < recipe.n_train
        y = np.unique(y, return_inverse=True)[1].astype(np.int64)
    if is_train.sum() != recipe.n_train or is_train.all():
        raise DataError(
            f"`{source.name}` is not the known set: expected {recipe.n_train} "
            f"training samples and some for testing, got {is_train.sum()} of "
            f"{len(y)}."
        )
    X, names = _features(frame, source)
    return Dataset(name, X[is_train], y[is_train], X[~is_train], y[~is_train], names)


def _features(frame: Any, source: Source) -> tuple[Array, tuple[str, ...]]:
    for column in frame.select_dtypes(exclude=["number", "bool"]).columns:
        raise DataError(
            f"`{source.name}`: features must be numbers, but column `{column}` is of "
            f"type {frame[column].dtype}. Encode it and give the set as a file."
        )
    values: Array = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return feature_matrix(values, source), tuple(str(name) for name in frame.columns)


def _labels(target: Any, source: Source) -> NDArray[Any]:
    if getattr(target, "ndim", 0) != 1:
        raise DataError(
            f"`{source.name}` must have one target. Choose another data set."
        )
    missing = np.flatnonzero(target.isna())
    if missing.size:
        raise missing_label(source, str(target.name), int(missing[0]))
    text = np.array([str(value) for value in target], dtype=np.str_)
    # OpenML gives numbers as text or not, depending on the version of the parser.
    numbers = _numbers(text)
    labels = text if numbers is None else numbers
    return class_labels(labels, source, name=str(target.name))


def _numbers(text: NDArray[np.str_]) -> Array | None:
    try:
        return text.astype(np.float64)
    except ValueError:
        return None


def _by_speaker(frame: Any, source: Source) -> tuple[Any, NDArray[np.bool_]]:
    """Return vowel's features, and which samples are of the training speakers."""
    keys = {column: re.sub(r"\W|_", "", str(column)).lower() for column in frame}
    speakers = [column for column, key in keys.items() if key.startswith("speaker")]
    if not speakers:
        raise DataError(
            f"`{source.name}` has no column of speakers, which its split needs. "
            "Give the set as a file."
        )
    text = np.array([str(value) for value in frame[speakers[0]]], dtype=np.str_)
    numbers = _numbers(text)
    order = _in_order_of_appearance(text) if numbers is None else numbers
    extra = [
        column for column, key in keys.items() if key.startswith(_VOWEL_NOT_FEATURES)
    ]
    return frame.drop(columns=extra), order < _VOWEL_TRAIN_SPEAKERS


def _in_order_of_appearance(labels: NDArray[Any]) -> NDArray[np.int64]:
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank: NDArray[np.int64] = np.argsort(np.argsort(first)).astype(np.int64)
    return rank[inverse]


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Set a time limit for new sockets: scikit-learn would wait without end."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
