"""CSV and Parquet files larger than memory, as `Columns` of some rows at a time.

How this works. Every block must have the column types that `read_columns` finds in the
whole file: a column of whole numbers may turn out to be text in the last line, and then
its first label is '1' and not 1. Parquet says what its types are. For CSV a first pass
lets polars guess the types of each block of lines and joins the guesses as polars joins
those of single values; the passes that follow are told the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from dssfn.datasets.checks import Source, changed
from dssfn.datasets.column_blocks import (
    READ_ERRORS,
    Columns,
    damaged_parquet,
    filled_rows,
    parquet_index,
    parquet_names,
    scan_parquet,
    tidy,
    without_blanks,
)
from dssfn.datasets.csv_text import (
    SEPARATORS,
    cut_header,
    explain,
    no_line_feeds,
    read_header,
    record_blocks,
)

_CSV_BYTES = 2**21  # text parsed at a time: more is hardly faster, and costs memory
_PARQUET_BYTES = 2**24  # numbers decoded at a time: each block opens the file anew
_MOST_ROWS = 2**16  # of a narrow Parquet file, whose labels may be text


class FrameFile(Protocol):
    """A file of named columns, read again and again."""

    path: Path
    names: list[str]
    index: frozenset[str]
    """Columns that only number the rows."""
    n_rows: int
    """J, once `survey` has been called."""

    def survey(self) -> None:
        """Find out what only the whole file tells: its length and types."""

    def columns(self, wanted: Sequence[str]) -> Iterator[Columns]:
        """Some rows at a time of at least the wanted columns, in file order."""


def open_frames(path: Path) -> FrameFile:
    """Open a CSV, TSV or Parquet file that exists; its names are known at once."""
    separator = SEPARATORS.get(path.suffix.lower())
    return CsvFile(path, separator) if separator else ParquetFile(path)


def _places(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where the wanted columns stand, in file order."""
    place = {name: k for k, name in enumerate(names)}
    return sorted({place[name] for name in wanted})


class ParquetFile:
    """A Parquet file, read by slices: polars skips what lies outside of a slice."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names = parquet_names(self.path)
        self.index = parquet_index(path, self.names)
        self.n_rows = 0

    def survey(self) -> None:
        """Read the length, which stands at the end of the file."""
        self.n_rows = self._length()

    def columns(self, wanted: Sequence[str]) -> Iterator[Columns]:
        """Some rows at a time of the wanted columns."""
        if parquet_names(self.path) != self.names:
            raise changed(self.path.name)
        places = _places(self.names, wanted)
        n_rows = max(1, min(_MOST_ROWS, _PARQUET_BYTES // (8 * len(places))))
        for start in range(0, self._length(), n_rows):
            frame = self._collect(
                scan_parquet(self.path).select(pl.nth(*places)), start, n_rows
            )
            frame.columns = [self.names[place] for place in places]
            yield Columns(frame, Source(self.path.name, first=start + 1))

    def _collect(
        self, rows: pl.LazyFrame, start: int = 0, length: int | None = None
    ) -> pl.DataFrame:
        try:
            return rows.slice(start, length).collect()
        except READ_ERRORS as exc:
            raise damaged_parquet(self.path, exc) from exc

    def _length(self) -> int:
        return int(self._collect(scan_parquet(self.path).select(pl.len())).item())


class CsvFile:
    """A CSV file, read by blocks of complete lines."""

    def __init__(self, path: Path, separator: str) -> None:
        self.path = path
        self.names, self._header_line = read_header(path, separator)
        self.index: frozenset[str] = frozenset()
        self.n_rows = 0
        self._separator = separator
        self._header: bytes | None = None  # as it stood in the first pass
        self._types: list[_ColumnType] = []

    def survey(self) -> None:
        """Find the length, without blank lines at the end, and the types."""
        types = [_ColumnType() for _ in self.names]
        seen = 0
        for block in self._blocks():
            guesses = self._parse(block, infer_schema_length=None, n_rows=0).dtypes
            frame = self._parse(block, infer_schema_length=0)  # everything as text
            kept = []
            for series, guess, column in zip(frame, guesses, types, strict=True):
                kept.append(without_blanks(series) if guess == pl.String else series)
                column.add(series, guess)
            filled = filled_rows(pl.DataFrame(kept))
            if filled:
                self.n_rows = seen + filled
            seen += frame.height
        self._types = types

    def columns(self, wanted: Sequence[str]) -> Iterator[Columns]:
        """Some rows at a time of the wanted columns, with the types of the survey."""
        places = _places(self.names, wanted)
        types = [self._types[place] for place in places]
        options: dict[str, Any] = {
            "columns": [f"c{place}" for place in places],
            "schema_overrides": {
                f"c{place}": column.dtype
                for place, column in zip(places, types, strict=True)
            },
            "infer_schema_length": 0,
        }
        first = self._header_line + 1
        left = self.n_rows
        for block in self._blocks():
            frame = self._parse(block, **options)
            typed = [column.typed(s) for s, column in zip(frame, types, strict=True)]
            frame = pl.DataFrame(typed)
            frame.columns = [self.names[place] for place in places]
            # Blank lines at the end go; anything else there is more than there was.
            frame = frame.head(max(left, filled_rows(frame)))
            if frame.height:
                yield Columns(frame, Source(self.path.name, unit="line", first=first))
            first += frame.height
            left = max(0, left - frame.height)

    def _blocks(self) -> Iterator[bytes]:
        """Complete lines, with a header of its own above each block.

        Blank lines below a header are rows, but at the start of a file they are not.
        """
        own = self._separator.join(f"c{place}" for place in range(len(self.names)))
        prefix = own.encode() + b"\n"
        header = b""
        try:
            for block in record_blocks(self.path, _CSV_BYTES):
                if not header:  # nor was there one if all lines so far are blank
                    header, block = cut_header(block)
                    if header:
                        self._check_header(header)
                yield prefix + block
        except OSError as exc:
            raise explain(self.path, self._separator, exc) from exc

    def _check_header(self, header: bytes) -> None:
        if self._header is None:
            if self._parse(header, n_rows=0).width != len(self.names):
                raise no_line_feeds(self.path)
            self._header = header
        elif header != self._header:
            raise changed(self.path.name)

    def _parse(self, block: bytes, **options: Any) -> pl.DataFrame:
        try:
            return pl.read_csv(block, separator=self._separator, **options)
        except READ_ERRORS as exc:
            raise explain(self.path, self._separator, exc) from exc


class _ColumnType:
    """The type of one column, from what was guessed of its blocks."""

    def __init__(self) -> None:
        self._guesses: set[pl.DataType] = set()
        self._is_numeric = True

    def add(self, text: pl.Series, guess: pl.DataType) -> None:
        """Take in one more block."""
        if text.null_count() == len(text):
            return  # a guess without values says nothing
        self._guesses.add(guess)
        if guess == pl.String and self._is_numeric:
            guess = tidy(text).dtype
        self._is_numeric &= guess.is_numeric()

    @property
    def dtype(self) -> Any:
        """What polars would guess of the whole column."""
        if len(self._guesses) == 1:
            return next(iter(self._guesses))
        if not all(guess.is_numeric() for guess in self._guesses) or not self._guesses:
            return pl.String
        if pl.Float64 in self._guesses:
            return pl.Float64
        return next(guess for guess in self._guesses if guess != pl.Int64)

    def typed(self, series: pl.Series) -> pl.Series:
        """Some values read as `dtype`, as `tidy` would leave the whole column."""
        if series.dtype != pl.String:
            return series
        series = without_blanks(series)
        return series.cast(pl.Float64) if self._is_numeric else series
