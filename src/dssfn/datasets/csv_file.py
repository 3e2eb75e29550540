"""CSV files, some lines at a time, through polars."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dssfn.datasets._polars import pl
from dssfn.datasets.checks import Source, changed
from dssfn.datasets.column_blocks import READ_ERRORS
from dssfn.datasets.column_samples import ColumnFile
from dssfn.datasets.csv_text import (
    cut_header,
    explain,
    header_names,
    no_line_feeds,
    read_start,
    record_blocks,
    record_ends,
)
from dssfn.datasets.find_dialect import find_dialect
from dssfn.datasets.read_options import ReadOptions
from dssfn.datasets.surveyed_file import SurveyedFile, placeholders
from dssfn.datasets.text_file import find_text
from dssfn.errors import DataError
from dssfn.hints import reason

_CSV_BYTES = 2**21  # text parsed at a time: more is hardly faster, and costs memory


def open_columns(path: Path, options: ReadOptions) -> ColumnFile:
    """Open a CSV file of any dialect; its names have been read, nothing else."""
    return SurveyedFile(CsvReader(path, options))


@dataclass(frozen=True, slots=True)
class Lines:
    """Complete records, with a header of placeholders above them."""

    text: bytes
    first: int
    """The number of the line below the header."""
    end: int
    """Bytes of the file up to here, as UTF-8."""


class CsvReader:
    """A CSV file, read by blocks of complete records.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        What is known of its dialect; the rest is found. The column that names the
        samples is text.
    """

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path = path
        try:
            self._text = find_text(path, options.encoding)
            start, records = read_start(self._text)
        except OSError as exc:
            raise DataError(f"`{path.name}` cannot be read: {reason(exc)}.") from exc
        self._dialect = find_dialect(self._text, start, records, options)
        self.dialect = str(self._dialect)
        self.decimal = self._dialect.decimal
        self.names = header_names(self._text, start, self._dialect)
        self.text_places = frozenset(
            place for place, name in enumerate(self.names) if name == options.id
        )
        self._header: bytes | None = None  # as it stood in the first pass

    def blocks(self) -> Iterator[Lines]:
        """Yield complete lines, with a header of its own above each block.

        Blank lines below a header are rows, but at the start of a file they are not.
        """
        own = self._dialect.separator.join(placeholders(range(len(self.names))))
        prefix = own.encode() + b"\n"
        header = b""
        line, end = 1, 0
        try:
            for block in record_blocks(self._text, _CSV_BYTES):
                end += len(block)
                if not header:  # nor was there one if all lines so far are blank
                    start, block = cut_header(block)
                    line += start.count(b"\n")
                    header = start.lstrip(b"\r\n")
                    if header:
                        self._check_header(header)
                yield Lines(prefix + block, line, end)
                line += block.count(b"\n")
        except OSError as exc:
            raise self._explained(reason(exc)) from exc

    def guessed(self, block: Lines) -> tuple[pl.DataFrame, list[pl.DataType]]:
        """Return a block and the types that polars guesses; text if that fails."""
        text = {f"c{place}": pl.String for place in self.text_places}
        try:
            rows = self._read(
                block.text, schema_overrides=text, infer_schema_length=None
            )
        except READ_ERRORS:  # as of a number beyond 64 bits, which may be no number
            guesses = self._parse(
                block.text, infer_schema_length=None, n_rows=0, schema_overrides=text
            ).dtypes
            rows = self._parse(block.text, infer_schema_length=0)
            return rows, [
                pl.String() if guess.is_numeric() and _is_beyond_ascii(one) else guess
                for one, guess in zip(rows, guesses, strict=True)
            ]
        return rows, rows.dtypes

    def typed(self, block: Lines, types: dict[str, Any]) -> pl.DataFrame:
        """Return some columns of a block, of the types that they must have."""
        return self._parse(
            block.text,
            columns=list(types),
            schema_overrides=types,
            infer_schema_length=0,
        )

    def source(self, block: Lines, n_rows: int) -> Source:
        """Return the lines that rows begin in."""
        lines = None
        if block.text.count(b"\n") > n_rows + 1:  # some are inside of quotes
            feeds = np.flatnonzero(np.frombuffer(block.text, np.uint8) == ord("\n"))
            # A row begins behind the end of the one above, first of all the header.
            above = np.searchsorted(feeds, record_ends(block.text)[:n_rows])
            lines = block.first + above if len(above) == n_rows else None
        return Source(self.path.name, unit="line", first=block.first, lines=lines)

    def share(self, block: Lines) -> float | None:
        """Return how much of the file has been read with a block, if it is known."""
        return self._text.share(block.end)

    def _check_header(self, header: bytes) -> None:
        if self._header is None:
            if self._parse(header, n_rows=0).width != len(self.names):
                raise no_line_feeds(self.path)
            self._header = header
        elif header != self._header:
            raise changed(self.path.name)

    def _read(self, text: bytes, **options: Any) -> pl.DataFrame:
        return pl.read_csv(
            text,
            separator=self._dialect.separator,
            decimal_comma=self.decimal == ",",
            **options,
        )

    def _parse(self, text: bytes, **options: Any) -> pl.DataFrame:
        try:
            return self._read(text, **options)
        except READ_ERRORS as exc:
            why = _PLACEHOLDER.sub(lambda found: self._name(int(found[1])), reason(exc))
            raise self._explained(why) from exc

    def _explained(self, why: str) -> DataError:
        return explain(self._text, self._dialect.separator, why)

    def _name(self, place: int) -> str:
        """Return the name of a column in quotes, for a message of polars."""
        return repr(self.names[place]) if place < len(self.names) else f"'c{place}'"


def _is_beyond_ascii(series: pl.Series) -> bool:
    """Return whether a column has digits that polars guesses, and does not parse."""
    return bool(series.str.contains(r"[^\x00-\x7f]").any())


_PLACEHOLDER = re.compile(r"'c(\d+)'")
