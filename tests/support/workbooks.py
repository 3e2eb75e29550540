"""XLSX files for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def write_workbook(
    path: Path,
    sheets: Mapping[str, Iterable[Iterable[Any]]],
    merged: str | None = None,
) -> Path:
    """Write a workbook whose sheets have these rows of cells, some made one."""
    from openpyxl import Workbook, load_workbook

    book = Workbook(write_only=True)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    book.close()
    if merged is not None:
        book = load_workbook(path)
        book.active.merge_cells(merged)
        book.save(path)
    return path
