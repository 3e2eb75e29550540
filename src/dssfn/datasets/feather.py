"""Feather and Arrow files, that is, files of the Arrow IPC format, through polars."""

from __future__ import annotations

import glob
import json
import os
from pathlib import Path
from typing import Any

from dssfn.datasets._polars import pl
from dssfn.datasets.column_samples import ColumnFile
from dssfn.datasets.read_options import ReadOptions
from dssfn.datasets.sliced_file import SlicedFile, SlicedFormat

_MAGIC = b"ARROW1"
_LONGEST_FOOTER = 2**26  # bytes
_NOTE = b'{"index_columns"'


def open_columns(path: Path, options: ReadOptions) -> ColumnFile:
    """Open a Feather file; its names have been read, nothing else."""
    return SlicedFile(path, _FEATHER)


def _scan(path: Path) -> pl.LazyFrame:
    # Not every polars can be told that a path is no pattern.
    return pl.scan_ipc(glob.escape(str(path)), hive_partitioning=False)


def _pandas_note(path: Path) -> Any:
    """Return the note of pandas, which stands in the footer as it is.

    Polars does not show it. The last bytes of a file are the length of the footer, four
    of them, and the name of the format.
    """
    with path.open("rb") as file:
        file.seek(-len(_MAGIC) - 4, os.SEEK_END)
        length = int.from_bytes(file.read(4), "little")
        if length > _LONGEST_FOOTER:
            raise ValueError("no footer")
        file.seek(-len(_MAGIC) - 4 - length, os.SEEK_END)
        footer = file.read(length)
    start = footer.index(_NOTE)
    note, _ = json.JSONDecoder().raw_decode(footer[start:].decode(errors="replace"))
    return note


_FEATHER = SlicedFormat("Feather (Arrow IPC)", _scan, _pandas_note)
