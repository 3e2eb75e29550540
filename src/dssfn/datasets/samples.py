"""A labelled file larger than memory: what is in it, and its samples chunk by chunk.

The rules and the results are those of `read_labelled`, to the last bit. Only some
megabytes of the file are held at a time, whatever its length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from dssfn._typing import Array, Label
from dssfn.config import Plan
from dssfn.datasets.checks import changed
from dssfn.datasets.files import open_labelled
from dssfn.errors import PlanError
from dssfn.shard import class_codes, one_hot


@dataclass(frozen=True, slots=True)
class Description:
    """What is in a labelled file.

    Parameters
    ----------
    n_samples : int
        J, the number of samples.
    classes : tuple of labels
        The classes that occur, sorted as `numpy.unique` does.
    feature_names : tuple of str, optional
        The columns beside the target; None for NPZ, which has no names.
    n_features : int
        P, the number of features.
    """

    n_samples: int
    classes: tuple[Label, ...]
    feature_names: tuple[str, ...] | None
    n_features: int


def describe(path: str | Path, target: str | None = None) -> Description:
    """Find out what is in a labelled file without holding it.

    The labels are read and checked; the features are when they are used.

    Parameters
    ----------
    path : str or Path
        A ``.csv``, ``.tsv``, ``.parquet`` or ``.npz`` file, as in `read_table`.
    target : str, optional
        The column of labels, or the array of labels in an NPZ file, there by default
        `y`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_text("width,kind\\n1.5,b\\n2,a\\n")
    ...     describe(path, "kind").classes
    ('a', 'b')
    """
    file = open_labelled(path, target)
    classes: set[Label] = set()
    n_labels = 0
    for labels in file.labels():
        classes.update(labels.tolist())
        n_labels += len(labels)
    if n_labels != file.n_samples:
        raise changed(file.path.name)
    return Description(
        n_samples=file.n_samples,
        classes=tuple(sorted(classes)),
        feature_names=file.feature_names,
        n_features=file.n_features,
    )


class FileSamples:
    """The samples of one file, read chunk by chunk and never held whole.

    Parameters
    ----------
    path : str or Path
        A ``.csv``, ``.tsv``, ``.parquet`` or ``.npz`` file, as in `read_table`. It must
        not change as long as this object is used.
    target : str, optional
        The column of labels, or the array of labels in an NPZ file, there by default
        `y`.
    classes : sequence of labels
        The agreed classes; row q of the targets is for class q. The file may lack some
        of them, but must hold no others.
    features : sequence of str, optional
        These columns are taken by name, in this order; by default all but the target,
        in the order of the file. NPZ has no names; there only their number is checked.
    n_features : int, optional
        How many features there must be.

    Raises
    ------
    DataError
        As in `read_labelled`, and if the file has changed since it was first read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_text("width,kind\\n1.5,b\\n2,a\\n4,b\\n")
    ...     samples = FileSamples(path, target="kind", classes=["a", "b"])
    ...     [X.tolist() for X, T in samples.chunks(2)]
    [[[1.5, 2.0]], [[4.0]]]
    """

    def __init__(
        self,
        path: str | Path,
        *,
        target: str | None = None,
        classes: Sequence[Label],
        features: Sequence[str] | None = None,
        n_features: int | None = None,
    ) -> None:
        self._classes = tuple(classes)
        if not self._classes or len(set(self._classes)) < len(self._classes):
            raise PlanError(
                f"`classes` must be given and differ, got {self._classes[:8]}."
            )
        self._file = open_labelled(
            path, target, features=features, n_features=n_features
        )

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The columns that are taken, in this order; None for NPZ."""
        return self._file.feature_names

    @classmethod
    def of_plan(cls, path: str | Path, target: str | None, plan: Plan) -> Self:
        """Samples with the features and classes that all nodes agreed on."""
        return cls(
            path,
            target=target,
            classes=plan.classes,
            features=plan.feature_names,
            n_features=plan.n_features,
        )

    @property
    def n_features(self) -> int:
        """P, the number of features."""
        return self._file.n_features

    @property
    def n_outputs(self) -> int:
        """Q, the number of classes."""
        return len(self._classes)

    @property
    def n_samples(self) -> int:
        """J, the number of samples."""
        return self._file.n_samples

    def chunks(self, size: int) -> Iterator[tuple[Array, Array]]:
        """Samples and one-hot targets in file order; each call is a fresh pass.

        Parameters
        ----------
        size : int
            Number of samples in every chunk but the last, which holds the rest.

        Yields
        ------
        X : array of shape (P, c)
            Features, float64 and C-contiguous; the caller may keep and change it.
        T : array of shape (Q, c)
            One-hot targets.
        """
        if size < 1:
            raise PlanError(f"`size` must be at least 1, got {size}.")
        return self._chunks(size)

    def _chunks(self, size: int) -> Iterator[tuple[Array, Array]]:
        """Fill chunks of equal width from blocks of any width."""
        left = self.n_samples  # not yet in a chunk that was begun
        X, codes, filled = self._empty(0), np.empty(0, np.intp), 0
        for block in self._file.blocks():
            if len(block.X) != self.n_features:
                raise changed(block.source.name)
            block_codes = class_codes(block.labels, self._classes, block.source.at)
            start = 0
            while start < len(block_codes):
                if filled == len(codes):  # begin the next chunk
                    if left == 0:
                        raise changed(block.source.name)
                    X, filled = self._empty(min(size, left)), 0
                    codes = np.empty(X.shape[1], np.intp)
                    left -= len(codes)
                end = min(len(block_codes), start + len(codes) - filled)
                into = slice(filled, filled + end - start)
                X[:, into] = block.X[:, start:end]
                codes[into] = block_codes[start:end]
                start, filled = end, into.stop
                if filled == len(codes):
                    yield X, one_hot(codes, self.n_outputs)
        if left or filled < len(codes):
            raise changed(self._file.path.name)

    def _empty(self, width: int) -> Array:
        return np.empty((self.n_features, width))
