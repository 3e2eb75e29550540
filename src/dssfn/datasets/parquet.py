"""Parquet files, through polars."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dssfn.datasets._polars import pl
from dssfn.datasets.column_samples import ColumnFile
from dssfn.datasets.read_options import ReadOptions
from dssfn.datasets.sliced_file import SlicedFile, SlicedFormat


def open_columns(path: Path, options: ReadOptions) -> ColumnFile:
    """Open a Parquet file; its names have been read, nothing else."""
    return SlicedFile(path, _PARQUET)


def _scan(path: Path) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def _pandas_note(path: Path) -> Any:
    return json.loads(pl.read_parquet_metadata(path)["pandas"])


_PARQUET = SlicedFormat("Parquet", _scan, _pandas_note)
