"""XLSX files, some rows of one sheet at a time, through openpyxl.

Cells hold values of their own types: a date is no number, and a formula is what it gave
when the file was saved. Each pass opens the workbook anew.
"""

from __future__ import annotations

import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any
from xml.etree.ElementTree import ParseError

from dssfn.datasets._polars import pl
from dssfn.datasets.checks import Source, changed
from dssfn.datasets.column_samples import ColumnFile
from dssfn.datasets.columns import check_header, checked_names
from dssfn.datasets.read_options import ReadOptions
from dssfn.datasets.surveyed_file import SurveyedFile, placeholders
from dssfn.errors import DataError
from dssfn.hints import did_you_mean, listing, reason

_CELLS = 2**17  # read at a time
_MOST_ROWS = 2**20  # that a sheet can have
_SHARED_BYTES = 2**27  # of all parts but the sheets, which openpyxl holds in memory
_WHOLE = 2**63
# What openpyxl and what it builds on raise about files that are damaged.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    ParseError,
    OSError,
    EOFError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    NotImplementedError,
    RuntimeError,
)


def open_columns(path: Path, options: ReadOptions) -> ColumnFile:
    """Open a sheet of an XLSX file; its names have been read, nothing else."""
    return SurveyedFile(XlsxReader(path, options))


@dataclass(frozen=True, slots=True)
class SheetRows:
    """Some rows of a sheet."""

    rows: list[Sequence[Any]]
    first: int
    """The number of the first of them in the sheet."""


class XlsxReader:
    """One sheet of an XLSX file, read by blocks of rows.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        Which sheet to read, which must be named if several have content. The column
        that names the samples is text.
    """

    decimal = "."

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path = path
        with self._workbook() as book:
            self._sheet = self._chosen_sheet(book, options.sheet)
        self.dialect = f"sheet `{self._sheet}`"
        self.names, self._header_row = self._read_header()
        self.text_places = frozenset(
            place for place, name in enumerate(self.names) if name == options.id
        )

    def share(self, block: SheetRows) -> None:
        """Return None: a sheet does not tell its length."""

    def blocks(self) -> Iterator[SheetRows]:
        """Yield the rows below the names."""
        width = len(self.names)
        most = max(1, _CELLS // width)
        block: list[Sequence[Any]] = []
        first = self._header_row + 1
        for number, row in self._rows():
            if number == self._header_row and _named(row) != self.names:
                raise changed(self.path.name)
            if number <= self._header_row:
                continue
            if len(row) > width and _width(row) > width:
                raise DataError(
                    f"`{self.path.name}`, row {number}: expected {width} cells as in "
                    f"the row of names, got {_width(row)}. Name every column, or empty "
                    "the cell."
                )
            block.append(row[:width])
            if len(block) == most:
                yield SheetRows(block, first)
                block, first = [], number + 1
        yield SheetRows(block, first)

    def guessed(self, block: SheetRows) -> tuple[pl.DataFrame, list[pl.DataType]]:
        """Return a block with the types that its cells have."""
        columns = [
            _column(
                name,
                values,
                pl.String if place in self.text_places else _type_of(values),
            )
            for place, (name, values) in enumerate(self._columns(block).items())
        ]
        return pl.DataFrame(columns), [column.dtype for column in columns]

    def typed(self, block: SheetRows, types: dict[str, Any]) -> pl.DataFrame:
        """Return some columns of a block, of the types that they must have."""
        columns = self._columns(block)
        try:
            return pl.DataFrame(
                [_column(name, columns[name], dtype) for name, dtype in types.items()]
            )
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as exc:
            raise changed(self.path.name) from exc

    def source(self, block: SheetRows, n_rows: int) -> Source:
        """Return the rows of the sheet."""
        return Source(self.path.name, first=block.first)

    def _columns(self, block: SheetRows) -> dict[str, list[Any]]:
        """Return the cells by column; a row may end before the others."""
        names = placeholders(range(len(self.names)))
        return {
            name: [row[place] if place < len(row) else None for row in block.rows]
            for place, name in enumerate(names)
        }

    def _read_header(self) -> tuple[list[str], int]:
        """Return the names in the first row that is not blank, and its number."""
        for number, row in self._rows():
            if _width(row):
                where = f"`{self.path.name}`, row {number}"
                check_header(_named(row), where, "row", self.decimal)
                return checked_names(_named(row), self.path), number
        raise DataError(f"`{self.path.name}` is empty.")

    def _rows(self) -> Iterator[tuple[int, Sequence[Any]]]:
        """Yield the rows of the sheet and their numbers."""
        with self._workbook() as book:
            if self._sheet not in book.sheetnames:
                raise changed(self.path.name)
            for number, row in enumerate(_cells(book[self._sheet]), start=1):
                if number > _MOST_ROWS:
                    raise DataError(
                        f"`{self.path.name}`: a sheet must have at most {_MOST_ROWS} "
                        "rows. Write the table as CSV or Parquet."
                    )
                yield number, row

    @contextmanager
    def _workbook(self) -> Iterator[Any]:
        """Open the workbook; what is raised inside about damage names the file."""
        try:
            with self.path.open("rb") as file:
                self._check_size(file)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # about styles and the like
                    book = _load_workbook()(file, read_only=True, data_only=True)
                with closing(book):
                    yield book
        except DataError:
            raise
        except _DAMAGE as exc:
            raise DataError(
                f"`{self.path.name}` is damaged or not an XLSX file ({reason(exc)}). "
                "Save it again as XLSX, without a password."
            ) from exc

    def _check_size(self, file: IO[bytes]) -> None:
        """Refuse a small file that would take much memory once unpacked."""
        with zipfile.ZipFile(file) as archive:
            held = sum(
                part.file_size
                for part in archive.infolist()
                if not part.filename.startswith("xl/worksheets/")
            )
        if held > _SHARED_BYTES:
            raise DataError(
                f"`{self.path.name}`: all text of a workbook must take at most "
                f"{_SHARED_BYTES >> 20} MB, got {held >> 20}. Write the table as CSV "
                "or Parquet."
            )

    def _chosen_sheet(self, book: Any, wanted: str | None) -> str:
        titles: list[str] = [sheet.title for sheet in book.worksheets]
        if wanted is not None:
            if wanted not in titles:
                raise DataError(
                    f"`{self.path.name}` has no sheet `{wanted}`, only "
                    f"{listing(titles)}.{did_you_mean(wanted, titles)}"
                )
            return wanted
        filled: list[str] = [
            sheet.title
            for sheet in book.worksheets
            if any(_width(row) for row in _cells(sheet))
        ]
        if not filled:
            raise DataError(f"`{self.path.name}` is empty.")
        if len(filled) > 1:
            raise DataError(
                f"`{self.path.name}` has {len(filled)} sheets with content, "
                f"{listing(filled)}. Choose one with `--sheet`."
            )
        return filled[0]


def _load_workbook() -> Any:
    try:
        from openpyxl import load_workbook
    except ImportError as exc:
        raise DataError(
            "XLSX files need the package openpyxl. Install it with "
            '`pip install "dssfn[excel]"`, or save the file as CSV.'
        ) from exc
    return load_workbook


def _cells(sheet: Any) -> Iterable[Sequence[Any]]:
    sheet.reset_dimensions()  # what a file says of them may be wrong
    rows: Iterable[Sequence[Any]] = sheet.iter_rows(values_only=True)
    return rows


def _width(row: Sequence[Any]) -> int:
    """Return how many cells a row has without the blank ones at its end."""
    filled = (k for k in range(len(row), 0, -1) if _is_filled(row[k - 1]))
    return next(filled, 0)


def _is_filled(cell: Any) -> bool:
    return cell is not None and not (isinstance(cell, str) and not cell.strip())


def _named(row: Sequence[Any]) -> list[str]:
    """Return the names in the row of names."""
    return ["" if cell is None else str(cell).strip() for cell in row[: _width(row)]]


def _type_of(values: Iterable[Any]) -> Any:
    """Return the type of cells as polars names it; text if they differ."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pl.Boolean
    if kinds == {int}:
        fits = all(value is None or -_WHOLE <= value < _WHOLE for value in values)
        return pl.Int64 if fits else pl.Float64
    if kinds and kinds <= {int, float}:
        return pl.Float64
    return pl.Datetime("us") if kinds == {datetime} else pl.String


def _column(name: str, values: list[Any], dtype: Any) -> pl.Series:
    if dtype == pl.String:
        values = [None if value is None else _text(value) for value in values]
    elif dtype == pl.Float64:
        values = [None if value is None else float(value) for value in values]
    return pl.Series(name, values, dtype=dtype)


def _text(value: Any) -> str:
    """Return a cell as a CSV file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
