"""The text side of a CSV file: header, complete records, what keeps it from being read.

A file may be larger than memory, so nothing here holds all of it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from dssfn.datasets.columns import MOST_COLUMNS, check_width, checked_names
from dssfn.errors import DataError
from dssfn.hints import listing, reason, shortened

SEPARATORS = {".csv": ",", ".tsv": "\t"}

_LONGEST_RECORD = 2**26  # bytes; longer than any sample, shorter than memory
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_header(path: Path, separator: str) -> tuple[list[str], int]:
    """Return the column names of a CSV file and the number of the line they are in."""
    try:
        check_width(_count_columns(path, separator), path)
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, delimiter=separator)
            first = next((row for row in rows if row), None)
            line = rows.line_num
    except (UnicodeDecodeError, csv.Error, OSError) as exc:
        raise explain(path, separator, reason(exc)) from exc
    if first is None:
        raise DataError(f"`{path.name}` is empty.")
    if _are_data(first):
        raise DataError(
            f"`{path.name}`, line {line}: the first line must hold the column names, "
            f"got numbers ({listing(first)}). Add a line of names."
        )
    if len(first) == 1 and ";" in first[0]:
        wanted = "a tab" if separator == "\t" else "a comma"
        raise DataError(
            f"`{path.name}`: columns must be separated by {wanted}, got semicolons."
        )
    return checked_names(first, path), line


def _count_columns(path: Path, separator: str) -> int:
    """Return how many columns the header has, without taking it apart."""
    header, n_quotes = bytearray(), 0
    with path.open("rb") as file:
        while line := file.readline(_LONGEST_RECORD):
            header += line.strip(b"\r\n") if not header else line
            n_quotes += line.count(b'"')
            if len(header) >= _LONGEST_RECORD:
                raise _endless_record(path, bytes(header))
            if header and n_quotes % 2 == 0:
                break
    characters = np.frombuffer(header, np.uint8)
    # As many quotation marks as they may be: whether they are odd is still known.
    is_quoted = np.cumsum(characters == ord('"'), dtype=np.uint8) % 2 == 1
    return 1 + int(np.count_nonzero((characters == ord(separator)) & ~is_quoted))


def record_blocks(path: Path, size: int) -> Iterator[bytes]:
    """Yield a CSV file in blocks of about `size` bytes, each of complete records.

    A line feed ends a record unless it is quoted, that is, unless the number of
    quotation marks before it is odd: one inside a quoted value is written twice.
    """
    rest = b""
    with path.open("rb") as file:
        while read := file.read(size):
            block = rest + read
            end = _end_of_records(block)
            if end:
                yield block[:end]
            rest = block[end:]
            if len(rest) > _LONGEST_RECORD:
                raise _endless_record(path, rest)
    if rest:
        yield rest


def cut_header(block: bytes) -> tuple[bytes, bytes]:
    """Return the first block of a file as its record of column names and the rest."""
    text = block.removeprefix(_BYTE_ORDER_MARK).lstrip(b"\r\n")
    end = n_quotes = 0
    while found := text.find(b"\n", end) + 1:
        n_quotes += text.count(b'"', end, found)
        end = found
        if n_quotes % 2 == 0:
            return text[:end], text[end:]
    return text, b""


def no_line_feeds(path: Path) -> DataError:
    """Return the error about lines that end in carriage returns alone."""
    return DataError(
        f"`{path.name}`: every line must end in a line feed, not in a carriage "
        "return alone. Save it again."
    )


def explain(path: Path, separator: str, why: str) -> DataError:
    """Return the error about a CSV file that could not be read; polars says why."""
    try:
        undecoded = _undecoded_line(path)
        if undecoded:
            return DataError(
                f"`{path.name}`, line {undecoded}: the file must be UTF-8. "
                "Save it again with that encoding."
            )
        with path.open(encoding="utf-8-sig", newline="") as file:
            ragged = _ragged(path, file, separator)
    except OSError as unread:
        return DataError(f"`{path.name}` cannot be read: {reason(unread)}.")
    return ragged or DataError(f"`{path.name}` cannot be read as CSV: {why}.")


def _undecoded_line(path: Path) -> int | None:
    """Return the number of the first line that is not UTF-8."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return None


def _ragged(path: Path, lines: Iterable[str], separator: str) -> DataError | None:
    rows = csv.reader(_of_bearable_width(path, lines, separator), delimiter=separator)
    try:
        width = len(next(row for row in rows if row))
        for row in rows:
            if len(row) > width:
                return DataError(
                    f"`{path.name}`, line {rows.line_num}: expected {width} fields as "
                    f"in the first line, got {len(row)}. Quote values that hold a "
                    "separator."
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
        f"one that begins '{start}' does not. Look for a quotation mark without its "
        "partner."
    )


def _are_data(names: list[str]) -> bool:
    """Return whether a header is a line of data; pandas names columns 0, 1, 2, ..."""
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return False
    return numbers != list(range(len(names)))
