"""CSV files, some lines at a time, through polars.

How this works. A column has one type in the whole file, and a block of lines does not
tell it: a column of whole numbers may turn out to be text in the last line, and then
its first label is '1' and not 1. So a first pass, the survey, lets polars guess the
types of each block and joins the guesses as polars joins those of single values. Where
all blocks were guessed alike, as in most files, what the survey parsed is right as it
stands; it is held, if there is room, and the file is not read again. Otherwise the
passes that follow parse the file once more, with the types that the survey found.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dssfn.datasets.checks import Source, changed
from dssfn.datasets.column_blocks import (
    READ_ERRORS,
    ColumnBlock,
    filled_rows,
    tidy,
    without_blanks,
)
from dssfn.datasets.columns import places
from dssfn.datasets.csv_text import (
    SEPARATORS,
    cut_header,
    explain,
    no_line_feeds,
    read_header,
    record_blocks,
)
from dssfn.hints import reason

_CSV_BYTES = 2**21  # text parsed at a time: more is hardly faster, and costs memory


class CsvFile:
    """A CSV file, read by blocks of complete lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._separator = SEPARATORS[path.suffix.lower()]
        self.names, self._header_line = read_header(path, self._separator)
        self.index: frozenset[str] = frozenset()
        self.n_rows = 0
        self._header: bytes | None = None  # as it stood in the first pass
        self._types: list[_ColumnType] = []
        self._held: _Held | None = None  # what the survey parsed

    def survey(self, wanted: Sequence[str], room: int | None) -> None:
        """Find the length, without blank lines at the end, and the types."""
        types = [_ColumnType() for _ in self.names]
        held = _Held(places(self.names, wanted), room)
        seen = 0
        for block in self._blocks():
            rows, guesses = self._guessed(block)
            tidied = []
            for series, guess, column in zip(rows, guesses, types, strict=True):
                is_text = guess == pl.String
                tidied.append(without_blanks(series) if is_text else series)
                column.add(series, guess)
            filled = filled_rows(pl.DataFrame(tidied))
            if filled:
                self.n_rows = seen + filled
            seen += rows.height
            held.add(rows)
        self._types = types
        self._held = held if held.are_of(types) else None

    def columns(
        self, wanted: Sequence[str], *, is_last_use: bool = False
    ) -> Iterator[ColumnBlock]:
        """Yield the wanted columns, some rows at a time, of the survey's types."""
        chosen = places(self.names, wanted)
        types = [self._types[place] for place in chosen]
        first = self._header_line + 1
        left = self.n_rows
        for block in self._parsed(chosen, is_last_use):
            typed = [column.typed(s) for s, column in zip(block, types, strict=True)]
            rows = pl.DataFrame(typed)
            rows.columns = [self.names[place] for place in chosen]
            # Blank lines at the end go; anything else there is more than there was.
            rows = rows.head(max(left, filled_rows(rows)))
            if rows.height:
                source = Source(self.path.name, unit="line", first=first)
                yield ColumnBlock(rows, source)
            first += rows.height
            left = max(0, left - rows.height)

    def _parsed(self, chosen: list[int], is_last_use: bool) -> Iterator[pl.DataFrame]:
        """Return the chosen columns, parsed in the survey or now."""
        if self._held is not None:
            held = self._held
            if is_last_use:
                self._held = None
            yield from held.given(chosen) if is_last_use else held.shown(chosen)
            return
        options: dict[str, Any] = {
            "columns": _placeholders(chosen),
            "schema_overrides": {
                f"c{place}": self._types[place].dtype for place in chosen
            },
            "infer_schema_length": 0,
        }
        for block in self._blocks():
            yield self._parse(block, **options)

    def _blocks(self) -> Iterator[bytes]:
        """Yield complete lines, with a header of its own above each block.

        Blank lines below a header are rows, but at the start of a file they are not.
        """
        own = self._separator.join(_placeholders(range(len(self.names))))
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
            raise explain(self.path, self._separator, reason(exc)) from exc

    def _check_header(self, header: bytes) -> None:
        if self._header is None:
            if self._parse(header, n_rows=0).width != len(self.names):
                raise no_line_feeds(self.path)
            self._header = header
        elif header != self._header:
            raise changed(self.path.name)

    def _guessed(self, block: bytes) -> tuple[pl.DataFrame, list[pl.DataType]]:
        """Return a block and the guessed types of its columns; text if that fails."""
        try:
            rows = pl.read_csv(
                block, separator=self._separator, infer_schema_length=None
            )
        except READ_ERRORS:  # as of a number beyond 64 bits, which may be no number
            guesses = self._parse(block, infer_schema_length=None, n_rows=0).dtypes
            return self._parse(block, infer_schema_length=0), guesses
        return rows, rows.dtypes

    def _parse(self, block: bytes, **options: Any) -> pl.DataFrame:
        try:
            return pl.read_csv(block, separator=self._separator, **options)
        except READ_ERRORS as exc:
            why = _PLACEHOLDER.sub(lambda found: self._name(int(found[1])), reason(exc))
            raise explain(self.path, self._separator, why) from exc

    def _name(self, place: int) -> str:
        """Return the name of a column in quotes, for a message of polars."""
        return repr(self.names[place]) if place < len(self.names) else f"'c{place}'"


_PLACEHOLDER = re.compile(r"'c(\d+)'")


def _placeholders(chosen: Iterable[int]) -> list[str]:
    """Return names of columns for each block, whatever the file calls them."""
    return [f"c{place}" for place in chosen]


class _Held:
    """Columns that were parsed with guessed types, as long as there is room for them.

    Parameters
    ----------
    chosen : list of int
        The places of the columns.
    room : int, optional
        Bytes that they may take; None sets no limit.
    """

    def __init__(self, chosen: list[int], room: int | None) -> None:
        self._chosen = chosen
        self._blocks: deque[pl.DataFrame] = deque()
        self._room = math.inf if room is None else room

    def add(self, rows: pl.DataFrame) -> None:
        """Add one more block, or drop all if that is too much."""
        if self._room < 0:
            return
        rows = rows.select(_placeholders(self._chosen))
        self._room -= rows.estimated_size()
        self._blocks.append(rows)
        if self._room < 0:
            self._blocks.clear()

    def are_of(self, types: Sequence[_ColumnType]) -> bool:
        """Return whether all is held, with these types; missing values fit any type."""
        return self._room >= 0 and all(
            series.dtype == types[place].dtype or series.null_count() == len(series)
            for rows in self._blocks
            for place, series in zip(self._chosen, rows, strict=True)
        )

    def shown(self, chosen: list[int]) -> Iterator[pl.DataFrame]:
        """Yield some of the columns."""
        for rows in self._blocks:
            yield rows.select(_placeholders(chosen))

    def given(self, chosen: list[int]) -> Iterator[pl.DataFrame]:
        """Yield some of the columns, none of which is held any longer."""
        while self._blocks:
            yield self._blocks.popleft().select(_placeholders(chosen))


class _ColumnType:
    """The type of one column, from what was guessed of its blocks."""

    def __init__(self) -> None:
        self._guesses: set[pl.DataType] = set()
        self._is_numeric = True

    def add(self, values: pl.Series, guess: pl.DataType) -> None:
        """Take one more block into account."""
        if values.null_count() == len(values):
            return  # a guess without values says nothing
        self._guesses.add(guess)
        if guess == pl.String and self._is_numeric:
            guess = tidy(values).dtype
        self._is_numeric &= guess.is_numeric()

    @property
    def dtype(self) -> Any:
        """The type that polars would guess for the whole column."""
        if len(self._guesses) == 1:
            return next(iter(self._guesses))
        if not all(guess.is_numeric() for guess in self._guesses) or not self._guesses:
            return pl.String
        if pl.Float64 in self._guesses:
            return pl.Float64
        return next(guess for guess in self._guesses if guess != pl.Int64)

    def typed(self, series: pl.Series) -> pl.Series:
        """Return some values as `dtype`, as `tidy` would leave the whole column."""
        if series.dtype != pl.String:
            return series
        series = without_blanks(series)
        return series.cast(pl.Float64) if self._is_numeric else series
