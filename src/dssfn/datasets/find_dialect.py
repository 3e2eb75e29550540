"""The dialect of a CSV file, found from its header and its first records.

Where two readings are possible the file is refused: a wrong one gives wrong numbers.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from dssfn.datasets.columns import MOST_COLUMNS
from dssfn.datasets.csv_text import count_fields, csv_rows, field_counts
from dssfn.datasets.dialect import DECIMALS, SEPARATORS, Dialect
from dssfn.datasets.number_text import has_fraction, has_groups
from dssfn.datasets.read_options import ReadOptions
from dssfn.datasets.text_file import PACKED, TextFile
from dssfn.errors import DataError
from dssfn.hints import shortened

USUAL = {".csv": ",", ".tsv": "\t"}
"""The separator that a suffix promises, taken where the text does not tell."""

_SAMPLE_RECORDS = 200  # whose cells are looked at


def find_dialect(
    text: TextFile, header: bytes, records: bytes, options: ReadOptions
) -> Dialect:
    """Return how a CSV file is written; what the options say is not looked for.

    Parameters
    ----------
    text : TextFile
        The file.
    header, records : bytes
        Its first record, and some of the others, from `read_start`.
    options : ReadOptions
        What the user says.

    Raises
    ------
    DataError
        Two separators or two decimal marks make sense.
    """
    start = _Start(text.path.name, header, records)
    separator = options.sep or _separator(start, options.decimal)
    decimal = options.decimal
    if decimal is None:
        decimal = "." if separator == "," else _decimal(start, separator)
    return Dialect(separator, decimal, text.encoding, text.is_packed)


@dataclass(frozen=True, slots=True)
class _Start:
    """The first records of a file."""

    name: str
    header: bytes
    records: bytes

    @property
    def usual_separator(self) -> str:
        """The separator that the name of the file promises."""
        name = self.name.lower().removesuffix(PACKED)
        return next((USUAL[end] for end in USUAL if name.endswith(end)), ",")

    def cells(self, separator: str) -> Iterator[_Cell]:
        """Yield values below the header."""
        rows = csv_rows(self.header + self.records, separator)
        try:
            names: list[str] = next((row for row in rows if row), [])
            for row in islice(rows, _SAMPLE_RECORDS):
                for name, value in zip(names, row, strict=False):
                    yield _Cell(rows.line_num, name.strip(), value.strip())
        except csv.Error:
            return  # what cannot be parsed is explained where it is read


@dataclass(frozen=True, slots=True)
class _Cell:
    """A value and its place."""

    line: int
    column: str
    value: str

    def __str__(self) -> str:
        return f"line {self.line}, column `{self.column}`: '{shortened(self.value)}'"


def _separator(start: _Start, decimal: str | None) -> str:
    usual = start.usual_separator
    if usual == decimal:
        usual = ";"
    widths = {
        one: count_fields(start.header, one) for one in SEPARATORS if one != decimal
    }
    widest = max(widths, key=widths.__getitem__)
    if widths[widest] > MOST_COLUMNS:
        return widest  # it is refused for that
    found = [one for one, width in widths.items() if width > 1]
    alike = [one for one in found if field_counts(start.records, one) == {widths[one]}]
    found = alike or ([usual] if usual in found else found)
    if len(found) > 1:
        ways = [f"{widths[one]} fields between {SEPARATORS[one]}" for one in found]
        raise DataError(
            f"`{start.name}`: the first line can be read in two ways, as {ways[0]} or "
            f"as {ways[1]}. Give the separator with `--sep`."
        )
    return found[0] if found else usual


def _decimal(start: _Start, separator: str) -> str:
    """Return the decimal mark; a point if there are no fractions."""
    clear: dict[str, _Cell] = {}  # can only be a fraction
    either: dict[str, _Cell] = {}  # or the mark is between thousands
    for cell in start.cells(separator):
        for mark in DECIMALS:
            if mark not in cell.value:
                continue
            if has_groups(cell.value, mark):
                either.setdefault(mark, cell)
            elif has_fraction(cell.value, mark):
                clear.setdefault(mark, cell)
    if len(clear) > 1:
        raise DataError(
            f"`{start.name}`: numbers have both points and commas, as in {clear['.']} "
            f"and in {clear[',']}. Give the decimal mark with `--decimal`."
        )
    if clear:
        return next(iter(clear))
    # Who writes semicolons may write points between thousands; others hardly do.
    doubtful = [mark for mark in either if mark == "," or separator == ";"]
    if doubtful:
        mark = doubtful[0]
        raise DataError(
            f"`{start.name}`, {either[mark]} may have a fraction or a thousands "
            f"separator. Give `--decimal {mark}` for a fraction; otherwise remove the "
            "separators."
        )
    return "."
