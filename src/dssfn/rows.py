"""Rows of figures: what a sweep writes and what tables and figures read.

A row is one line of JSON: which experiment, the key that tells it from the others, its
figures, and on what it was made. A sweep that was interrupted goes on with the rows
that are missing.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

from dssfn._version import __version__
from dssfn.errors import DataError

Key: TypeAlias = dict[str, str | int | float | bool]
Figures: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """One row that is to be made.

    Parameters
    ----------
    experiment : str
        As in `dssfn reproduce`.
    key : dict
        Data set, settings, seed: all that tells this row from the others.
    run : callable
        Trains, and gives the figures, which must be ready for JSON.
    """

    experiment: str
    key: Key
    run: Callable[[], Figures]

    @property
    def name(self) -> str:
        """What its row is found by."""
        return _name(self.experiment, self.key)


@dataclass(frozen=True, slots=True)
class Row:
    """One row that was made."""

    experiment: str
    key: Key
    figures: Figures
    seconds: float
    made_by: dict[str, str]

    @property
    def name(self) -> str:
        """That of its task."""
        return _name(self.experiment, self.key)


def _name(experiment: str, key: Key) -> str:
    return f"{experiment} {json.dumps(key, sort_keys=True)}"


@dataclass(frozen=True, slots=True)
class RowFile:
    """A file of rows, one line of JSON each.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = RowFile(Path(folder) / "rows.jsonl")
    ...     task = Task("degree", {"d": 4}, lambda: {"rounds": 6})
    ...     file.add(task, task.run(), seconds=0.5)
    ...     [row.figures for row in file]
    [{'rounds': 6}]
    """

    path: Path

    def __iter__(self) -> Iterator[Row]:
        if not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue  # the last line of a sweep that was killed
            try:
                yield Row(**row)
            except TypeError as exc:
                raise DataError(
                    f"`{self.path}` must hold rows as this version of dssfn writes "
                    f"them, got {line[:60]!r}. Choose another folder."
                ) from exc

    def add(self, task: Task, figures: Figures, *, seconds: float) -> None:
        """Append a row, and make sure that it is on disk."""
        row = {
            "experiment": task.experiment,
            "key": task.key,
            "figures": figures,
            "seconds": seconds,
            "made_by": made_by(),
        }
        line = json.dumps(row, allow_nan=False) + "\n"
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


def made_by() -> dict[str, str]:
    """Versions and machine, to be kept with every row."""
    return {
        "dssfn": __version__,
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def run_sweep(
    tasks: Sequence[Task],
    file: RowFile,
    *,
    on_task: Callable[[int, Task], None] | None = None,
) -> None:
    """Make all rows that are missing.

    Parameters
    ----------
    tasks : sequence of Task
    file : RowFile
    on_task : callable, optional
        Told the number of a task and the task before it is run; not of those that are
        there already.
    """
    known = {row.name for row in file}
    for number, task in enumerate(tasks):
        if task.name in known:
            continue
        if on_task:
            on_task(number, task)
        start = time.perf_counter()
        figures = task.run()
        file.add(task, figures, seconds=time.perf_counter() - start)
