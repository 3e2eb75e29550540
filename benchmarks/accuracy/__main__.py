"""Compare the estimators, with their defaults, with the usual models.

    python -m benchmarks.accuracy --quick

A few small sets, a minute or two; without `--quick` all of them, which takes hours.
Rows that are in the folder already are not made again, so a run that was stopped goes
on where it was; after a change of the models take another folder.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as Grid

from benchmarks.accuracy.models import LABELS
from benchmarks.accuracy.page import claims_table, make_page, with_rows, with_tables
from benchmarks.accuracy.part import Choice
from benchmarks.accuracy.parts import PARTS
from dssfn._atomic import write_atomically
from dssfn.cli.console import notes, screen
from dssfn.datasets.places import cache_dir
from dssfn.errors import DataError, DssfnError, PlanError
from dssfn.hints import unknown
from dssfn.report.table import Table
from dssfn.rows import Row, RowFile
from dssfn.sweeps import Task, run_sweep

ROWS_FILE, REPORT_FILE = "rows.jsonl", "report.html"


def compare(
    parts: Annotated[
        list[str] | None,
        typer.Argument(help=f"{', '.join(PARTS)}; all of them if none is named."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the rows and the page.")] = Path(
        "accuracy"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="A few small sets, one seed.")
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="How many seeds, for more or fewer than usual."),
    ] = None,
    models: Annotated[
        str, typer.Option(help=f"Some models only: {','.join(LABELS)}.")
    ] = "",
    cache: Annotated[
        Path | None, typer.Option(help="Folder of archives that were downloaded.")
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Folder of NAME.npz and heart/ (or DSSFN_DATA_DIR)."),
    ] = None,
    document: Annotated[
        Path | None,
        typer.Option(help="A Markdown file that is given the tables, between marks."),
    ] = None,
) -> None:
    """Compare the estimators of dssfn, with their defaults, with the usual models.

    Example: python -m benchmarks.accuracy sets hospitals --quick

    Rows that are in the folder already are not made again; after a change of the
    models take another folder.
    """
    wanted = _checked("PARTS", parts or list(PARTS), list(PARTS))
    chosen = _checked("--models", models.split(",") if models else [], list(LABELS))
    choice = Choice(quick, cache or cache_dir() / "archives", data_dir, seeds)
    file = RowFile(out / ROWS_FILE)
    try:
        run_parts(wanted, chosen, choice, file)
    finally:  # what was made before Ctrl-C can be looked at
        rows = list(file)
        if rows:
            _write(rows, out / REPORT_FILE, document)
    _show([row for row in rows if row.experiment in wanted])


def run_parts(
    parts: Sequence[str], models: Sequence[str], choice: Choice, file: RowFile
) -> None:
    """Make the rows that are missing; a part whose data are not at hand is left out.

    Parameters
    ----------
    parts, models : sequence of str
        Their names; no models means all of them.
    choice : Choice
        Which sets, and where they are.
    file : RowFile
        The rows that exist, and where new ones are added.
    """
    for name in parts:
        tasks = [
            task
            for task in PARTS[name].tasks(choice)
            if not models or task.key["model"] in models
        ]

        def tell(number: int, task: Task, total: int = len(tasks)) -> None:
            what = " ".join(map(str, task.key.values()))
            notes.print(f"{task.experiment} {number + 1}/{total}  {what}")

        try:
            run_sweep(tasks, file, on_task=tell)
        except DataError as exc:
            notes.print(f"{name}: left out. {exc}", soft_wrap=True)


def _checked(argument: str, given: Sequence[str], known: list[str]) -> list[str]:
    for name in given:
        if name not in known:
            raise PlanError(unknown(argument, name, known))
    return list(given)


def _write(rows: Sequence[Row], page: Path, document: Path | None) -> None:
    write_atomically(page, make_page(rows).encode())
    notes.print(f"The report is in {page}", soft_wrap=True)
    if document is not None:
        text = with_tables(document.read_text(encoding="utf-8"), rows)
        write_atomically(document, text.encode())


def _show(rows: Sequence[Row]) -> None:
    """Print the summary of every part, and what is wanted beside what was measured."""
    for part, some in with_rows(rows):
        for table in (part.tables(some)[0], claims_table(part.claims(some))):
            if table:
                screen.print(_for_terminal(table))


def _for_terminal(table: Table) -> Grid:
    grid = Grid(title=table.caption, title_justify="left", caption=table.note)
    for column, name in enumerate(table.head):
        is_number = column >= table.numeric_from
        grid.add_column(name, justify="right" if is_number else "left")
    for row in table.rows:
        grid.add_row(*row)
    return grid


if __name__ == "__main__":
    try:
        typer.run(compare)
    except DssfnError as exc:
        sys.exit(str(exc))
