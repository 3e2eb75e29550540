"""Attack the agreed totals and the trained model, and show how well that goes.

    python -m benchmarks.privacy totals
    python -m benchmarks.privacy membership
    python -m benchmarks.privacy budget
    python -m benchmarks.privacy loss

The first takes minutes, the others up to an hour; `--quick` takes less of all. The
four hospitals, satimage and letter are looked for in `DSSFN_DATA_DIR`; what is not at
hand is left out, with a note.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.document import with_text
from benchmarks.privacy.budgets import (
    accuracy_table,
    flamby_table,
    membership_by_budget,
)
from benchmarks.privacy.inference import membership_table, rows_table
from benchmarks.privacy.sets import LabelledRows, digits, hospitals, letter, satimage
from benchmarks.privacy.totals import (
    few_rows_table,
    rare_class_table,
    subtraction_table,
)
from benchmarks.privacy.watched import watched_table
from dssfn._atomic import write_atomically
from dssfn.cli.console import notes
from dssfn.errors import DataError, DssfnError
from dssfn.report.table import Table

TOTALS, MEMBERSHIP = "totals", "membership"
BUDGET, LOSS = "budget", "loss"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
Folder = Annotated[
    Path | None,
    typer.Option(help="Folder of NAME.npz and heart/ (or DSSFN_DATA_DIR)."),
]
Document = Annotated[
    Path | None,
    typer.Option(help="A Markdown file that is given the tables, between marks."),
]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer draws and models.")]


@app.command()
def totals(
    data_dir: Folder = None, quick: Quick = False, document: Document = None
) -> None:
    """Show what a curious member learns from the totals."""
    sets = list(_at_hand((digits, hospitals), data_dir))
    n_repeats = 2 if quick else 10
    makers = (subtraction_table, few_rows_table, rare_class_table)
    _show([make(sets, n_repeats) for make in makers], TOTALS, document)


@app.command()
def membership(
    data_dir: Folder = None, quick: Quick = False, document: Document = None
) -> None:
    """Show how well rows that were trained on are told from others."""
    sets = _at_hand((hospitals, digits, satimage), data_dir)
    n_models = 8 if quick else 32
    tell = partial(notes.print, soft_wrap=True)
    tables = [membership_table(sets, n_models, tell)]
    for rows in _at_hand((letter,), data_dir):
        tables.append(rows_table(rows, tell))
    _show(tables, MEMBERSHIP, document)


@app.command()
def budget(
    data_dir: Folder = None, quick: Quick = False, document: Document = None
) -> None:
    """Show what differential privacy costs, and what a model then tells."""
    tell = partial(notes.print, soft_wrap=True)
    n_seeds, n_models = (2, 8) if quick else (5, 32)
    tables = [
        accuracy_table(data_dir, n_seeds, tell),
        flamby_table(data_dir, n_seeds, tell),
        membership_by_budget(_at_hand((digits, hospitals), data_dir), n_models, tell),
    ]
    _show(tables, BUDGET, document)


@app.command()
def loss(quick: Quick = False, document: Document = None) -> None:
    """Show the privacy loss of private trainings, as the strongest attack finds it."""
    tell = partial(notes.print, soft_wrap=True)
    n = 200 if quick else 2000
    _show([watched_table(digits(None), n, tell)], LOSS, document)


def _at_hand(
    makers: Sequence[Callable[[Path | None], LabelledRows]], data_dir: Path | None
) -> Iterator[LabelledRows]:
    for make in makers:
        try:
            yield make(data_dir)
        except DataError as exc:
            notes.print(f"{make.__name__}: left out. {exc}", soft_wrap=True)


def _show(tables: Sequence[Table], name: str, document: Path | None) -> None:
    """Print tables, and write them between the marks of a document if there is one."""
    text = "\n".join(table.markdown() for table in tables)
    print(text)
    if document is not None:
        changed = with_text(document.read_text(encoding="utf-8"), name, text)
        write_atomically(document, changed.encode())


if __name__ == "__main__":
    try:
        app()
    except DssfnError as exc:
        sys.exit(str(exc))
