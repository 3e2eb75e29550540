"""Rows: what trainings of a sweep gave, one line of JSON each.

A row holds which experiment it belongs to, the key that tells it from the others, its
metrics, and on what it was made. Tables and figures are made from rows alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from dssfn.errors import DataError

Value: TypeAlias = str | int | float | bool
Key: TypeAlias = dict[str, Value]
Metrics: TypeAlias = dict[str, Any]


class Row(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename={"metrics": "figures"},
):
    """One row that was made.

    Parameters
    ----------
    experiment : str
        The experiment that it belongs to.
    key : dict
        Data set, settings, seed: all that tells this row from the others.
    metrics : dict
        What was measured, ready for JSON; its name in files is "figures".
    seconds : float
        How long it took.
    made_by : dict
        Versions and machine.
    """

    experiment: str
    key: Key
    metrics: Metrics
    seconds: float
    made_by: dict[str, str]

    @property
    def name(self) -> str:
        """The name that the row is found by: its experiment and its key."""
        return row_name(self.experiment, self.key)

    def to_json(self) -> str:
        """Return the row as one line; a number that JSON does not have is an error."""
        fields = {
            "experiment": self.experiment,
            "key": self.key,
            "figures": self.metrics,
            "seconds": self.seconds,
            "made_by": self.made_by,
        }
        return json.dumps(fields, allow_nan=False)


def row_name(experiment: str, key: Key) -> str:
    """Return the name of the row with a key, whatever the order of the key's parts.

    >>> row_name("degree", {"seed": 0, "data": "letter"})
    'degree {"data": "letter", "seed": 0}'
    """
    return f"{experiment} {json.dumps(key, sort_keys=True)}"


@dataclass(frozen=True, slots=True)
class RowFile:
    """A file of rows, one line of JSON each.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = RowFile(Path(folder) / "rows.jsonl")
    ...     file.add(Row("degree", {"degree": 4}, {"rounds": 65}, 0.5, {}))
    ...     [row.metrics for row in file]
    [{'rounds': 65}]
    """

    path: Path

    def __iter__(self) -> Iterator[Row]:
        if not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                yield msgspec.json.decode(line, type=Row)
            except msgspec.ValidationError as exc:
                raise DataError(
                    f"`{self.path}` must hold rows that this version of dssfn wrote, "
                    f"got {line[:60]!r}. Choose another folder."
                ) from exc
            except msgspec.DecodeError:
                continue  # the last line of a sweep that was killed

    def add(self, row: Row) -> None:
        """Append a row, and make sure that it is on disk."""
        line = row.to_json() + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            if file.tell() and not _ends_with_newline(file):
                line = "\n" + line
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())


def _ends_with_newline(file: Any) -> bool:
    file.seek(-1, os.SEEK_END)
    ends: bool = file.read(1) == b"\n"
    return ends
