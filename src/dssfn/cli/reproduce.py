"""`dssfn reproduce`: the paper's tables and figures from data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from dssfn.cli.console import notes, screen
from dssfn.cli.outcome import print_json
from dssfn.cli.outfolder import out_folder
from dssfn.cli.report import REPORT_FILE, ROWS_FILE, TABLES_FILE, write_evidence
from dssfn.errors import DataError, PlanError
from dssfn.experiments.registry import ALL, EXPERIMENTS
from dssfn.hints import unknown
from dssfn.report.evidence.page import tables_of
from dssfn.report.numbers import plural
from dssfn.rows import Row, RowFile
from dssfn.sweeps import Task, run_sweep

ONE_DAY = 86_400.0
_WRITTEN = {
    ROWS_FILE: "The rows are in",
    TABLES_FILE: "The tables are in",
    REPORT_FILE: "The report is in",
}

OnTask = Callable[[int, Task], None]


def reproduce(
    what: Annotated[str, typer.Argument(help=f"{', '.join(EXPERIMENTS)}, or all.")],
    out: Annotated[
        Path, typer.Option(help="Folder for the rows, tables and figures.")
    ] = Path("reproduction"),
    data: Annotated[
        list[str] | None, typer.Option(help="Only this data set; may be repeated.")
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder with NAME.npz files; by default that in DSSFN_DATA_DIR."
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(help="Number of random seeds, for table2 and satimage.")
    ] = 5,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Small networks and few samples, to finish within minutes."
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the rows as JSON and nothing else.")
    ] = False,
) -> None:
    """Repeat an experiment of the paper, with dssfn's solvers beside the paper's own.

    Rows that are already in the folder are not computed again, so if you stop the
    command and run it again, it continues where it left off.
    """
    if what not in EXPERIMENTS and what != ALL:
        raise PlanError(unknown("WHAT", what, [*EXPERIMENTS, ALL]))
    if seeds < 1:
        raise PlanError(f"`--seeds` must be at least 1, got {seeds}.")
    numbers = range(1 if quick else seeds)
    every = [
        task
        for name in (EXPERIMENTS if what == ALL else [what])
        for task in EXPERIMENTS[name].tasks(
            quick=quick, seeds=numbers, data_dir=data_dir
        )
    ]
    wanted = _only(data, every)
    file = RowFile(out / ROWS_FILE)
    known = {row.name for row in file}
    with out_folder(out):
        tasks = _at_hand(wanted, known, data_dir)
        try:
            with _progress(tasks, known) as on_task:
                run_sweep(tasks, file, on_task=on_task)
        finally:  # what was made before Ctrl-C can be looked at
            write_evidence(file, out)
    made = {task.name for task in tasks}
    _show([row for row in file if row.name in made], out, as_json=json)
    if len(tasks) < len(wanted):  # said at the start, which may be hours ago
        notes.print(_left_out(wanted, tasks), soft_wrap=True)


def _show(rows: list[Row], out: Path, *, as_json: bool) -> None:
    """Print the rows as JSON, or as tables with what was written."""
    if as_json:
        print_json([{"key": row.key, "figures": row.metrics} for row in rows])
        return
    tables = tables_of(rows, EXPERIMENTS.values())
    print("\n".join(table.markdown() for table in tables.values()))
    for path in (out / name for name in _WRITTEN):
        if path.exists():
            screen.print(f"{_WRITTEN[path.name]} {path}", soft_wrap=True)


def _at_hand(tasks: list[Task], known: set[str], data_dir: Path | None) -> list[Task]:
    """Return the tasks whose data or rows are at hand, and print what is left out."""
    from dssfn.datasets import load_dataset

    lacking: dict[str, DataError] = {}
    for name in _sets(task for task in tasks if task.name not in known):
        try:
            load_dataset(name, data_dir=data_dir)
        except DataError as exc:
            lacking[name] = exc
    left = [t for t in tasks if t.name in known or t.key.get("data") not in lacking]
    if lacking and not left:
        why = next(iter(lacking.values()))
        raise DataError(f"{_left_out(tasks, left)} {why}") from why
    for name, error in lacking.items():
        notes.print(f"Not available: {name}. {error}", soft_wrap=True)
    if lacking:
        notes.print(_left_out(tasks, left), soft_wrap=True)
    return left


def _left_out(tasks: Sequence[Task], left: Sequence[Task]) -> str:
    """Return which experiments cannot be made, in whole or in part, and what to do."""
    made, kept = {task.name for task in left}, {task.experiment for task in left}
    lacking: dict[str, list[str]] = {}
    for task in tasks:
        sets = lacking.setdefault(task.experiment, [])
        if task.name not in made and (name := str(task.key["data"])) not in sets:
            sets.append(name)
    parts = [
        f"{experiment} with {', '.join(sets)}" if experiment in kept else experiment
        for experiment, sets in lacking.items()
        if sets
    ]
    files = dict.fromkeys(f"{name}.npz" for sets in lacking.values() for name in sets)
    return (
        f"Left out, because data are missing: {'; '.join(parts)}. Put "
        f"{', '.join(files)} into a folder, give it as `--data-dir`, and run the same "
        "command again; finished rows are kept."
    )


def _only(sets: list[str] | None, tasks: list[Task]) -> list[Task]:
    """Return the tasks with some data sets."""
    known = _sets(tasks)
    for name in sets or ():
        if name not in known:
            raise PlanError(unknown("--data", name, known))
    return [task for task in tasks if not sets or task.key.get("data") in sets]


def _sets(tasks: Iterable[Task]) -> list[str]:
    """Return the data sets of the tasks that name one."""
    return list(
        dict.fromkeys(str(task.key["data"]) for task in tasks if "data" in task.key)
    )


@contextmanager
def _progress(tasks: Sequence[Task], known: set[str]) -> Iterator[OnTask]:
    """Show where a sweep is, and how long it will still take."""
    if not notes.is_terminal:
        yield lambda number, task: notes.print(
            f"{number + 1} of {len(tasks)}  {describe(task)}", soft_wrap=True
        )
        return
    bar = Progress(
        MofNCompleteColumn(),
        BarColumn(bar_width=12),
        TimeElapsedColumn(),
        TextColumn("so far,"),
        TimeRemainingColumn(),
        TextColumn("left  {task.description}"),
        console=notes,
        transient=True,
        speed_estimate_period=ONE_DAY,  # tasks take minutes
    )
    done = sum(1 for _ in takewhile(lambda task: task.name in known, tasks))
    line = bar.add_task("", total=len(tasks), completed=done)  # not to count as speed
    with bar:
        yield lambda number, task: bar.update(
            line, completed=number, description=describe(task)
        )


def describe(task: Task) -> str:
    """Return what a task is about, in words.

    >>> key = {"data": "vowel", "settings": "paper", "n_nodes": 1, "quick": True}
    >>> describe(Task("table2", key, dict))
    'table2: vowel, settings paper, 1 node'
    """
    said = [_in_words(*one) for one in task.key.items() if one[0] != "quick"]
    return f"{task.experiment}: {', '.join(said)}"


def _in_words(name: str, value: object) -> str:
    if name == "data":
        return str(value)
    if name in ("nodes", "n_nodes") and isinstance(value, int):
        return plural(value, "node")
    return f"{name.replace('_', ' ')} {value}"
