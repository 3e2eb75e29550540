"""Sweeps of trainings that go on where they stopped: every task makes one row."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dssfn.provenance import made_by
from dssfn.rows import Key, Metrics, Row, RowFile, row_name


@dataclass(frozen=True, slots=True)
class Task:
    """One row that is to be made.

    Parameters
    ----------
    experiment : str
        The experiment's name, as in `dssfn reproduce`.
    key : dict
        Data set, settings, seed: all that tells this row from the others.
    run : callable
        Trains, and returns the metrics, which must be ready for JSON.
    """

    experiment: str
    key: Key
    run: Callable[[], Metrics]

    @property
    def name(self) -> str:
        """The name that its row is found by."""
        return row_name(self.experiment, self.key)


def run_sweep(
    tasks: Sequence[Task],
    file: RowFile,
    *,
    on_task: Callable[[int, Task], None] | None = None,
) -> None:
    """Run all tasks whose rows are missing, and add their rows to the file.

    Parameters
    ----------
    tasks : sequence of Task
        The tasks, in the order in which they are run.
    file : RowFile
        The rows that exist, and where new ones are added.
    on_task : callable, optional
        Called with the number of a task and the task before it is run; not for tasks
        whose rows are there already.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> task = Task("degree", {"degree": 4}, lambda: {"rounds": 65})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = RowFile(Path(folder) / "rows.jsonl")
    ...     run_sweep([task], file)
    ...     [row.metrics for row in file]
    [{'rounds': 65}]
    """
    known = {row.name for row in file}
    for number, task in enumerate(tasks):
        if task.name in known:
            continue
        if on_task:
            on_task(number, task)
        start = time.perf_counter()
        metrics = task.run()
        seconds = time.perf_counter() - start
        file.add(Row(task.experiment, task.key, metrics, seconds, made_by()))
