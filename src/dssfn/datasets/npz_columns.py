"""NPZ archives whose arrays are the columns of a table, for files with a schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn.datasets._polars import pl
from dssfn.datasets.checks import CHARACTER, Source, changed, check_text_length
from dssfn.datasets.column_blocks import ColumnBlock
from dssfn.datasets.columns import checked_names
from dssfn.datasets.npz import Header, npz_headers, npz_names, npz_rows
from dssfn.datasets.read_options import ReadOptions
from dssfn.datasets.watching import VALUES, tell
from dssfn.errors import DataError

_BYTES = 2**22  # values at a time


def open_columns(path: Path, options: ReadOptions) -> NpzColumns:
    """Open an archive of columns; their lengths and types have been read."""
    return NpzColumns(path)


class NpzColumns:
    """An archive of arrays of shape (J,), each a column with the name of the array.

    Numbers that are NaN, and empty text, are missing.

    Parameters
    ----------
    path : Path
        The archive.
    """

    dialect = ""  # there is but one
    index: frozenset[str] = frozenset()

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names = checked_names(list(npz_names(path)), path)
        self._headers = self._checked_headers()
        self.n_rows = 0

    def survey(self, wanted: Sequence[str], room: int | None) -> None:
        """Take the length, which the file tells; nothing is held."""
        (self.n_rows,) = self._headers[self.names[0]].shape

    def columns(
        self, wanted: Sequence[str], *, is_last_use: bool = False
    ) -> Iterator[ColumnBlock]:
        """Yield the wanted columns, some rows at a time."""
        if self._checked_headers() != self._headers:
            raise changed(self.path.name)
        width = sum(self._headers[name].dtype.itemsize for name in wanted)
        at_once = max(1, _BYTES // max(1, width))
        start = 0
        streams = [npz_rows(self.path, name, at_once) for name in wanted]
        for arrays in zip(*streams, strict=True):
            values = zip(wanted, map(_series, arrays), strict=True)
            rows = pl.DataFrame(dict(values))
            yield ColumnBlock(rows, Source(self.path.name, first=start + 1))
            start += rows.height
            tell(self.path, VALUES, start, start / self.n_rows)

    def _checked_headers(self) -> dict[str, Header]:
        """Return the headers of all arrays, which must be columns of one length."""
        name, headers = self.path.name, npz_headers(self.path, tuple(self.names))
        for column, header in headers.items():
            if len(header.shape) != 1:
                raise DataError(
                    f"`{name}`: a schema describes columns, so every array must be a "
                    f"column of shape (J,); got `{column}` of shape {header.shape}. "
                    "Save columns by their names, as in `numpy.savez(path, age=age, "
                    "outcome=outcome)`, or give a table such as CSV or Parquet."
                )
            if header.dtype.kind not in "biufU":
                raise DataError(
                    f"`{name}`: the array `{column}` must hold numbers, text or true "
                    f"and false, got dtype {header.dtype}."
                )
            if header.dtype.kind == "U":
                letters = header.dtype.itemsize // CHARACTER
                check_text_length(letters, Source(name), name=column)
        lengths = {header.shape[0]: column for column, header in headers.items()}
        if len(lengths) > 1:
            (one, a), (other, b) = list(lengths.items())[:2]
            raise DataError(
                f"`{name}`: all arrays must have the same number of rows, got {one} "
                f"in `{a}` and {other} in `{b}`."
            )
        return headers


def _series(values: NDArray[Any]) -> pl.Series:
    if values.dtype.kind == "U":
        return pl.Series(values.tolist(), dtype=pl.String)
    if values.dtype.kind == "f":
        return pl.Series(values.astype(np.float64))
    return pl.Series(values.astype(values.dtype.newbyteorder("=")))
