"""The samples of an NPZ archive: its arrays `X` and the target."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from dssfn.datasets.checks import (
    Source,
    changed,
    check_feature_kind,
    check_label_kind,
    class_labels,
    feature_matrix,
)
from dssfn.datasets.npz import Header, npz_headers, npz_rows, read_npz
from dssfn.datasets.sample_file import Block
from dssfn.datasets.watching import VALUES, tell
from dssfn.errors import DataError

_NPZ_BYTES = 2**22  # features of an NPZ file, as float64, and labels at a time


class NpzSamples:
    """The samples of an archive: the rows of `X`, and labels if a target is named.

    Parameters
    ----------
    path : Path
        The archive.
    target : str, optional
        The array of labels.
    room : int, optional
        Bytes that may be held at once where `X` cannot be read by rows.
    """

    dialect = ""  # there is but one
    has_gaps = False

    def __init__(self, path: Path, target: str | None, room: int | None) -> None:
        self.path = path
        self.feature_names: tuple[str, ...] | None = None
        self.target = target
        self._room = room
        self._headers = self._checked_headers()
        self.n_samples, self.n_features = self._headers["X"].shape

    def in_order(self, features: Sequence[str]) -> Self:
        """Return the archive as it is: its features have no names."""
        return self

    def not_numbers(self) -> tuple[str, ...]:
        """Return no feature: `X` is a matrix of numbers."""
        return ()

    def labels(self) -> Iterator[NDArray[Any]]:
        """Yield the array of labels, some at a time."""
        start = 0
        for values in self._label_rows(self._rows_at_once(0)):
            assert values is not None
            yield self._checked_labels(values, self._source(start))
            start += len(values)

    def blocks(self) -> Iterator[Block]:
        """Yield all samples, some rows at a time."""
        if self._checked_headers() != self._headers:
            raise changed(self.path.name)
        n_rows = self._rows_at_once(self.n_features)
        start = 0
        # Without a target there are `None`s without end.
        for values, some in zip(
            self._feature_rows(n_rows), self._label_rows(n_rows), strict=False
        ):
            source = self._source(start)
            y = None if some is None else self._checked_labels(some, source)
            start += len(values)
            tell(self.path, VALUES, start, start / self.n_samples)
            yield Block(feature_matrix(values, source).T, y, source)

    def _feature_rows(self, n_rows: int) -> Iterator[NDArray[Any]]:
        X = self._headers["X"]
        if X.by_rows:
            yield from npz_rows(self.path, "X", n_rows)
            return
        n_bytes = math.prod(X.shape) * X.dtype.itemsize
        if self._room is not None and n_bytes > self._room:
            raise DataError(
                f"`{self.path.name}`: `X` must be stored row by row to be read in "
                "parts, but it is in Fortran order. Save it again as "
                "`numpy.ascontiguousarray(X)`."
            )
        whole = read_npz(self.path, required=("X",))["X"]
        for start in range(0, len(whole), n_rows):
            yield whole[start : start + n_rows]

    def _label_rows(self, n_rows: int) -> Iterator[NDArray[Any] | None]:
        if self.target is None:
            return repeat(None)
        return npz_rows(self.path, self.target, n_rows)

    def _checked_labels(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        assert self.target is not None
        return class_labels(values, source, name=self.target)

    def _source(self, start: int) -> Source:
        return Source(self.path.name, first=start + 1)

    def _rows_at_once(self, n_features: int) -> int:
        label = 0
        if self.target is not None:
            label = self._headers[self.target].dtype.itemsize
        return max(1, _NPZ_BYTES // max(1, 8 * n_features + label))

    def _checked_headers(self) -> dict[str, Header]:
        """Return the headers of features and labels, which must fit each other."""
        source = self._source(0)
        names = ("X",) if self.target is None else ("X", self.target)
        headers = npz_headers(self.path, names)
        X = headers["X"]
        check_feature_kind(X.shape, X.dtype, source)
        if self.target is not None:
            y = headers[self.target]
            check_label_kind(y.shape, y.dtype, source, name=self.target)
            if X.shape[0] != y.shape[0]:
                raise DataError(
                    f"`{self.path.name}`: `X` and `{self.target}` must have the same "
                    f"number of rows, got {X.shape[0]} and {y.shape[0]}."
                )
        return headers
