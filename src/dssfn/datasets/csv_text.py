"""The text side of a CSV file: its header, and what keeps it from being read."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from dssfn.datasets.hints import listing, reason
from dssfn.errors import DataError

SEPARATORS = {".csv": ",", ".tsv": "\t"}


def read_header(path: Path, separator: str) -> tuple[list[str], int]:
    """Column names of a CSV file and the number of the line that holds them."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, delimiter=separator)
            first = next((row for row in rows if row), None)
            line = rows.line_num
    except (UnicodeDecodeError, csv.Error, OSError) as exc:
        raise explain(path, separator, exc) from exc
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


def checked_names(names: list[str], path: Path) -> list[str]:
    """Column names without blanks around them; each must be there and differ."""
    names = [name.strip() for name in names]
    for position, name in enumerate(names, start=1):
        if not name:
            raise DataError(
                f"`{path.name}`: column {position} has no name. Name it, or remove it "
                "(from pandas, write with `index=False`)."
            )
    for name, count in Counter(names).items():
        if count > 1:
            raise DataError(
                f"`{path.name}`: column names must differ, but `{name}` occurs "
                f"{count} times. Rename or remove one."
            )
    return names


def explain(path: Path, separator: str, exc: Exception) -> DataError:
    """Find out why a CSV file could not be read; `exc` is what the reader said."""
    try:
        raw = path.read_bytes()
    except OSError as unread:
        return DataError(f"`{path.name}` cannot be read: {reason(unread)}.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as undecoded:
        line = raw.count(b"\n", 0, undecoded.start) + 1
        return DataError(
            f"`{path.name}`, line {line}: the file must be UTF-8. "
            "Save it again with that encoding."
        )
    return _ragged(path, text, separator) or DataError(
        f"`{path.name}` cannot be read as CSV: {reason(exc)}."
    )


def _ragged(path: Path, text: str, separator: str) -> DataError | None:
    rows = csv.reader(text.splitlines(keepends=True), delimiter=separator)
    try:
        width = len(next(row for row in rows if row))
        for row in rows:
            if len(row) > width:
                return DataError(
                    f"`{path.name}`, line {rows.line_num}: expected {width} fields as "
                    f"in the first line, got {len(row)}. Quote values that hold a "
                    "separator."
                )
    except (csv.Error, StopIteration):
        pass  # the reader's own reason is as good
    return None


def _are_data(names: list[str]) -> bool:
    """Whether a header is a line of data; 0, 1, 2, ... are names that pandas gives."""
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return False
    return numbers != list(range(len(names)))
