"""Files that know their own types and lengths, some rows at a time, through polars."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dssfn.datasets._polars import pl
from dssfn.datasets.checks import Source, changed
from dssfn.datasets.column_blocks import READ_ERRORS, ColumnBlock
from dssfn.datasets.columns import checked_names, places
from dssfn.datasets.watching import VALUES, tell
from dssfn.errors import DataError
from dssfn.hints import reason

_SLICE_BYTES = 2**24  # numbers decoded at a time: each block opens the file again
_MOST_ROWS = 2**16  # of a narrow file, whose labels may be text
# There is none, it is damaged, or this polars is too old to show it.
_NO_NOTE = (KeyError, TypeError, ValueError, RecursionError, AttributeError)


@dataclass(frozen=True, slots=True)
class SlicedFormat:
    """A format of which polars can skip what lies outside of a slice.

    Parameters
    ----------
    name : str
        What users call it.
    scan : callable
        Returns the table in a file, of which nothing has been read.
    pandas_note : callable
        Returns what pandas wrote of its table into the file. It may raise what
        reading and parsing raise where there is no such note.
    """

    name: str
    scan: Callable[[Path], pl.LazyFrame]
    pandas_note: Callable[[Path], Any]


class SlicedFile:
    """A file of columns, read by slices.

    Parameters
    ----------
    path : Path
        The file.
    format : SlicedFormat
        How it is read.
    """

    dialect = ""  # there is but one

    def __init__(self, path: Path, format: SlicedFormat) -> None:
        self.path = path
        self._format = format
        self.names = self._read_names()
        self.index = self._index_columns()
        self.n_rows = 0

    def survey(self, wanted: Sequence[str], room: int | None) -> None:
        """Read the length, which the file tells; nothing is held."""
        self.n_rows = self._length()

    def columns(
        self,
        wanted: Sequence[str],
        *,
        is_last_use: bool = False,
    ) -> Iterator[ColumnBlock]:
        """Yield the wanted columns, some rows at a time."""
        if self._read_names() != self.names:
            raise changed(self.path.name)
        chosen = places(self.names, wanted)
        n_rows = max(1, min(_MOST_ROWS, _SLICE_BYTES // (8 * len(chosen))))
        length = self._length()
        for start in range(0, length, n_rows):
            rows = self._collect(self._scan().select(pl.nth(*chosen)), start, n_rows)
            rows.columns = [self.names[place] for place in chosen]
            seen = start + rows.height
            tell(self.path, VALUES, seen, seen / length)
            yield ColumnBlock(rows, Source(self.path.name, first=start + 1))

    def _scan(self) -> pl.LazyFrame:
        return self._format.scan(self.path)

    def _collect(
        self, rows: pl.LazyFrame, start: int = 0, length: int | None = None
    ) -> pl.DataFrame:
        try:
            return rows.slice(start, length).collect()
        except READ_ERRORS as exc:
            raise self._damaged(exc) from exc

    def _length(self) -> int:
        return int(self._collect(self._scan().select(pl.len())).item())

    def _read_names(self) -> list[str]:
        try:
            names = self._scan().collect_schema().names()
        except READ_ERRORS as exc:
            raise self._damaged(exc) from exc
        return checked_names(names, self.path)

    def _damaged(self, exc: BaseException) -> DataError:
        return DataError(
            f"`{self.path.name}` is damaged or not a {self._format.name} file "
            f"({reason(exc)}). Write it again."
        )

    def _index_columns(self) -> frozenset[str]:
        """Return the columns that are the index of a pandas table: row numbers.

        Pandas says so in a note; an index without a name can be told by what it is
        called.
        """
        try:
            note = self._format.pandas_note(self.path)
            noted = {str(one) for one in note["index_columns"]}
        except (*READ_ERRORS, *_NO_NOTE):
            noted = set()
        return frozenset(
            name
            for name in self.names
            if name in noted or re.fullmatch(r"__index_level_\d+__", name)
        )
