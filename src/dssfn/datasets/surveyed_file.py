"""Files of columns whose types only the whole file tells, some rows at a time.

How this works. A column has one type in the whole file, and a block of rows does not
tell it: a column of whole numbers may turn out to be text in the last row, and then
its first label is '1' and not 1. So a first pass, the survey, guesses the types of
each block and joins the guesses as polars joins those of single values. Where all
blocks were guessed alike, as in most files, what the survey parsed is right as it
stands; it is held, if there is room, and the file is not read again. Otherwise the
passes that follow parse the file once more, with the types that the survey found.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from dssfn.datasets._polars import pl
from dssfn.datasets.checks import Source
from dssfn.datasets.column_blocks import (
    ColumnBlock,
    as_numbers,
    filled_rows,
    tidy,
    without_blanks,
)
from dssfn.datasets.columns import places
from dssfn.datasets.watching import TYPES, VALUES, tell

Raw = TypeVar("Raw")
"""Some rows of a file, not yet parsed."""


class BlockReader(Protocol[Raw]):
    """A format that is read by blocks of rows; in each, columns are c0, c1, ..."""

    path: Path
    names: list[str]
    dialect: str
    decimal: str
    """The decimal mark of numbers that are text."""
    text_places: frozenset[int]
    """The places of columns that are text, whatever they look like."""

    def blocks(self) -> Iterator[Raw]:
        """Yield the file, some rows at a time."""

    def guessed(self, block: Raw) -> tuple[pl.DataFrame, list[pl.DataType]]:
        """Return a block, and the types that were guessed of its columns.

        Where parsing fails with these types, all columns are text.
        """

    def typed(self, block: Raw, types: dict[str, Any]) -> pl.DataFrame:
        """Return the columns of a block that are named here, of these types."""

    def source(self, block: Raw, n_rows: int) -> Source:
        """Return how to name the rows of a block."""

    def share(self, block: Raw) -> float | None:
        """Return how much of the file ends with a block; None if it is not known."""


class SurveyedFile(Generic[Raw]):
    """A file of named columns that is read by blocks, once its types are known.

    Parameters
    ----------
    reader : BlockReader
        The format of the file.
    """

    def __init__(self, reader: BlockReader[Raw]) -> None:
        self._reader = reader
        self.path = reader.path
        self.names = reader.names
        self.dialect = reader.dialect
        self.index: frozenset[str] = frozenset()
        self.n_rows = 0
        self._types: list[_ColumnType] = []
        self._held: _Held | None = None  # what the survey parsed

    def survey(self, wanted: Sequence[str], room: int | None) -> None:
        """Find the length, without blank rows at the end, and the types."""
        reader = self._reader
        types = [
            _ColumnType(reader.decimal, is_text=place in reader.text_places)
            for place in range(len(self.names))
        ]
        held = _Held(places(self.names, wanted), room)
        seen = 0
        for block in reader.blocks():
            rows, guesses = reader.guessed(block)
            tidied = []
            for series, guess, column in zip(rows, guesses, types, strict=True):
                is_text = series.dtype == pl.String
                tidied.append(without_blanks(series) if is_text else series)
                column.add(series, guess)
            filled = filled_rows(pl.DataFrame(tidied))
            if filled:
                self.n_rows = seen + filled
            seen += rows.height
            tell(self.path, TYPES, seen, reader.share(block))
            held.add(rows, reader.source(block, rows.height))
        self._types = types
        self._held = held if held.are_of(types) else None

    def columns(
        self, wanted: Sequence[str], *, is_last_use: bool = False
    ) -> Iterator[ColumnBlock]:
        """Yield the wanted columns, some rows at a time, of the survey's types."""
        chosen = places(self.names, wanted)
        types = [self._types[place] for place in chosen]
        left = self.n_rows
        for block, source in self._parsed(chosen, is_last_use):
            typed = [column.typed(s) for s, column in zip(block, types, strict=True)]
            rows = pl.DataFrame(typed)
            rows.columns = [self.names[place] for place in chosen]
            # Blank rows at the end go; anything else there is more than there was.
            rows = rows.head(max(left, filled_rows(rows)))
            if rows.height:
                yield ColumnBlock(rows, source, self._reader.decimal)
            left = max(0, left - rows.height)

    def _parsed(
        self, chosen: list[int], is_last_use: bool
    ) -> Iterator[tuple[pl.DataFrame, Source]]:
        """Return the chosen columns, parsed in the survey or now."""
        if self._held is not None:
            held = self._held
            if is_last_use:
                self._held = None
            yield from held.given(chosen) if is_last_use else held.shown(chosen)
            return
        types = {f"c{place}": self._types[place].dtype for place in chosen}
        seen = 0
        for block in self._reader.blocks():
            rows = self._reader.typed(block, types)
            seen += rows.height
            tell(self.path, VALUES, seen, self._reader.share(block))
            yield rows, self._reader.source(block, rows.height)


def placeholders(chosen: Iterable[int]) -> list[str]:
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
        self._blocks: deque[tuple[pl.DataFrame, Source]] = deque()
        self._room = math.inf if room is None else room

    def add(self, rows: pl.DataFrame, source: Source) -> None:
        """Add one more block, or drop all if that is too much."""
        if self._room < 0:
            return
        rows = rows.select(placeholders(self._chosen))
        self._room -= rows.estimated_size()
        self._blocks.append((rows, source))
        if self._room < 0:
            self._blocks.clear()

    def are_of(self, types: Sequence[_ColumnType]) -> bool:
        """Return whether all is held, with these types; missing values fit any type."""
        return self._room >= 0 and all(
            series.dtype == types[place].dtype or series.null_count() == len(series)
            for rows, _ in self._blocks
            for place, series in zip(self._chosen, rows, strict=True)
        )

    def shown(self, chosen: list[int]) -> Iterator[tuple[pl.DataFrame, Source]]:
        """Yield some of the columns."""
        for rows, source in self._blocks:
            yield rows.select(placeholders(chosen)), source

    def given(self, chosen: list[int]) -> Iterator[tuple[pl.DataFrame, Source]]:
        """Yield some of the columns, none of which is held any longer."""
        while self._blocks:
            rows, source = self._blocks.popleft()
            yield rows.select(placeholders(chosen)), source


class _ColumnType:
    """The type of one column, from what was guessed of its blocks.

    Parameters
    ----------
    decimal : str
        The decimal mark of numbers that are text.
    is_text : bool
        Whether the column is text, whatever it looks like.
    """

    def __init__(self, decimal: str, *, is_text: bool = False) -> None:
        self._decimal = decimal
        self._guesses: set[pl.DataType] = {pl.String()} if is_text else set()
        self._is_numeric = not is_text

    def add(self, values: pl.Series, guess: pl.DataType) -> None:
        """Take one more block into account."""
        if values.null_count() == len(values):
            return  # a guess without values says nothing
        self._guesses.add(guess)
        if guess == pl.String and self._is_numeric:
            guess = tidy(values, self._decimal).dtype
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
        return as_numbers(series, self._decimal) if self._is_numeric else series
