"""The text side of a CSV file: header, complete records, what keeps it from being read.

A file may be larger than memory, so nothing here holds all of it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn.datasets.columns import (
    MOST_COLUMNS,
    check_header,
    check_width,
    checked_names,
)
from dssfn.datasets.dialect import Dialect
from dssfn.datasets.text_file import TextFile
from dssfn.errors import DataError
from dssfn.hints import reason, shortened

_LONGEST_RECORD = 2**26  # bytes; longer than any sample, shorter than memory
_LARGEST_READ = 2**23  # bytes: of a long record more and more are read at once
_SAMPLE_BYTES = 2**18
_LONGEST_SAMPLE = 2**22  # a record that is longer is no example for the others


def read_start(text: TextFile) -> tuple[bytes, bytes]:
    """Return the record of column names and some of the records that follow.

    Blank lines above the names come with them.
    """
    header = b""
    for block in record_blocks(text, _SAMPLE_BYTES):
        if not header.strip():
            more, block = cut_header(block)
            header += more
        if block:
            return header, block if len(block) <= _LONGEST_SAMPLE else b""
    return header, b""


def header_names(text: TextFile, header: bytes, dialect: Dialect) -> list[str]:
    """Return the column names in the first record of a CSV file."""
    path, separator = text.path, dialect.separator
    check_width(count_fields(header, separator), path)
    rows = csv_rows(header, separator)
    try:
        first = next((row for row in rows if row), None)
    except csv.Error as exc:
        raise explain(text, separator, reason(exc)) from exc
    if first is None:
        raise DataError(f"`{path.name}` is empty.")
    where = f"`{path.name}`, line {rows.line_num}"
    if re.fullmatch(rb"sep=.", header.strip()):
        raise DataError(
            f"{where}: the first line must hold the column names, got a `sep=` line "
            "for spreadsheets. Remove it."
        )
    check_header(first, where, "line", dialect.decimal)
    return checked_names(first, path)


def csv_rows(records: bytes, separator: str) -> Any:
    """Return a reader of records; what is not UTF-8 in them becomes a sign for it."""
    lines = io.StringIO(records.decode(errors="replace"), newline="")
    return csv.reader(lines, delimiter=separator)


def count_fields(record: bytes, separator: str) -> int:
    """Return how many fields a record has, without taking it apart.

    >>> count_fields(b'"a,b",c', ",")
    2
    """
    characters = np.frombuffer(record, np.uint8)
    is_separator = characters == ord(separator)
    return 1 + int(np.count_nonzero(is_separator & ~_is_quoted(characters)))


def field_counts(block: bytes, separator: str) -> set[int]:
    """Return the numbers of fields that records have; blank ones do not count.

    >>> field_counts(b'a,b\\n\\n"c\\n,",d\\ne\\n', ",") == {1, 2}
    True
    """
    characters = np.frombuffer(block, np.uint8)
    is_separator = (characters == ord(separator)) & ~_is_quoted(characters)
    ends = [*record_ends(block).tolist(), len(block)]
    before = np.searchsorted(np.flatnonzero(is_separator), ends).tolist()
    starts = [0, *(end + 1 for end in ends)]
    return {
        1 + until - since
        for start, end, since, until in zip(
            starts, ends, [0, *before], before, strict=False
        )
        if block[start:end].strip(b"\r")
    }


def record_ends(block: bytes) -> NDArray[np.intp]:
    """Return the places of the line feeds that end a record.

    >>> record_ends(b'a\\n"b\\nc"\\n').tolist()
    [1, 7]
    """
    characters = np.frombuffer(block, np.uint8)
    return np.flatnonzero((characters == ord("\n")) & ~_is_quoted(characters))


def _is_quoted(characters: NDArray[np.uint8]) -> NDArray[np.bool_]:
    # As many quotation marks as they may be: whether they are odd is still known.
    is_odd: NDArray[np.bool_] = (
        np.cumsum(characters == ord('"'), dtype=np.uint8) % 2 == 1
    )
    return is_odd


def record_blocks(text: TextFile, size: int) -> Iterator[bytes]:
    """Yield a CSV file in blocks of about `size` bytes, each of complete records.

    A line feed ends a record unless it is quoted, that is, unless the number of
    quotation marks before it is odd: one inside a quoted value is written twice.
    """
    rest = b""
    with text.open() as file:
        while read := file.read(max(size, min(len(rest), _LARGEST_READ))):
            block = rest + read
            end = _end_of_records(block)
            if end:
                yield block[:end]
            rest = block[end:]
            if len(rest) > _LONGEST_RECORD:
                raise _endless_record(text.path, rest)
    if rest:
        yield rest


def cut_header(block: bytes) -> tuple[bytes, bytes]:
    """Return the first block of a file as its record of column names and the rest.

    Blank lines above the names are part of the record.
    """
    start = len(block) - len(block.lstrip(b"\r\n"))
    end, n_quotes = start, 0
    while found := block.find(b"\n", end) + 1:
        n_quotes += block.count(b'"', end, found)
        end = found
        if n_quotes % 2 == 0:
            return block[:end], block[end:]
    return block, b""


def no_line_feeds(path: Path) -> DataError:
    """Return the error about lines that end in carriage returns alone."""
    return DataError(
        f"`{path.name}`: every line must end in a line feed, not in a carriage "
        "return alone. Save it again."
    )


def explain(text: TextFile, separator: str, why: str) -> DataError:
    """Return the error about a CSV file that could not be read; polars says why."""
    path = text.path
    try:
        with _lines(text, newline="\n") as lines:
            fault = _open_quote(path, lines)
        if fault is None:
            with _lines(text, newline="") as lines:
                fault = _ragged(path, lines, separator)
    except OSError as unread:
        return DataError(f"`{path.name}` cannot be read: {reason(unread)}.")
    except DataError as unread:  # not even its text
        return unread
    return fault or DataError(f"`{path.name}` cannot be read as CSV: {why}.")


def _lines(text: TextFile, newline: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(text.open(), "utf-8", errors="replace", newline=newline)


def _open_quote(path: Path, lines: Iterable[str]) -> DataError | None:
    """Return the error about a quotation mark without partner, if there is one.

    Where one line alone has an odd number of them, it is there.
    """
    numbers = (k for k, line in enumerate(lines, start=1) if line.count('"') % 2)
    first = next(numbers, None)
    n_others = sum(1 for _ in numbers)
    if first is None or n_others % 2:
        return None
    where = f", line {first}" if n_others == 0 else ""
    return DataError(
        f"`{path.name}`{where}: a quotation mark is opened and never closed. Close or "
        "remove it; inside a quoted value, write it twice."
    )


def _ragged(path: Path, lines: Iterable[str], separator: str) -> DataError | None:
    rows = csv.reader(_of_bearable_width(path, lines, separator), delimiter=separator)
    try:
        width = len(next(row for row in rows if row))
        for row in rows:
            if len(row) > width:
                is_blank = not any(field.strip() for field in row[width:])
                way_out = "Remove separators at the end of lines." * is_blank
                return DataError(
                    f"`{path.name}`, line {rows.line_num}: expected {width} fields as "
                    f"in the first line, got {len(row)}. "
                    f"{way_out or 'Quote values that hold a separator.'}"
                )
    except DataError as exc:
        return exc
    except (csv.Error, StopIteration):
        pass  # the reader's own reason is as good
    return None


def _of_bearable_width(
    path: Path, lines: Iterable[str], separator: str
) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if line.count(separator) >= MOST_COLUMNS:
            raise DataError(
                f"`{path.name}`, line {number}: expected at most {MOST_COLUMNS} "
                f"fields, got {line.count(separator) + 1}."
            )
        yield line


def _end_of_records(block: bytes) -> int:
    """Return where the last complete record of a block ends; 0 if none does."""
    end = block.rfind(b"\n") + 1
    quotes = block.count(b'"', 0, end)
    while end and quotes % 2:
        before = block.rfind(b"\n", 0, end - 1) + 1
        quotes -= block.count(b'"', before, end)
        end = before
    return end


def _endless_record(path: Path, record: bytes) -> DataError:
    if b"\n" not in record:
        return no_line_feeds(path)
    start = shortened(record[:80].decode(errors="replace"))
    return DataError(
        f"`{path.name}`: a record must end within {_LONGEST_RECORD >> 20} MB, but the "
        f"one that begins with '{start}' does not. Look for a quotation mark that is "
        "never closed."
    )
