"""`dssfn report`: a page to look at, from what a folder holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dssfn._atomic import write_atomically
from dssfn.cli.console import notes, screen
from dssfn.errors import DataError, InputError
from dssfn.experiments.registry import EXPERIMENTS
from dssfn.report.evidence.page import (
    draw_evidence,
    make_evidence_page,
    tables_of,
)
from dssfn.results import Result, read_result
from dssfn.rows import Row, RowFile

if TYPE_CHECKING:
    from dssfn.report.canvas import Drawing

# What needs matplotlib is imported when it is used: the other commands do without.

REPORT_FILE, FIGURES_FOLDER = "report.html", "figures"
ROWS_FILE, TABLES_FILE = "rows.jsonl", "tables.md"

# What rows of another kind, or lists in lists in lists, lead to.
_NOT_ROWS = (LookupError, TypeError, ValueError, AttributeError, RecursionError)


def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Folder that `simulate` or `reproduce` wrote (--out), or a node's "
            "`out` folder.",
        ),
    ],
) -> None:
    """Rebuild a report from the saved metrics, without training again."""
    if (folder / ROWS_FILE).is_file():
        _report_rows(folder)
    else:
        write_report(read_result(folder), folder)
    _tell(folder)


def _report_rows(folder: Path) -> None:
    path = folder / ROWS_FILE
    try:
        write_evidence(RowFile(path), folder)
    except InputError:
        raise
    except _NOT_ROWS as exc:
        raise DataError(
            f"`{path}` must be a file that this version of dssfn wrote, but it cannot "
            f"be read ({type(exc).__name__}: {exc}). Run the command again with "
            "another folder."
        ) from exc


def _tell(folder: Path) -> None:
    if (folder / REPORT_FILE).exists():
        screen.print(f"The report is in {folder / REPORT_FILE}", soft_wrap=True)


def write_report(result: Result, folder: Path) -> None:
    """Write the page, and every figure as SVG and PNG, in place of an older report.

    What is made from a node's result is as private as that is.
    """
    from dssfn.report.training.figures import NAMES, draw_all
    from dssfn.report.training.page import make_page

    drawings = draw_all(result)
    page, private = make_page(result, drawings), result.node is not None
    _write_page(folder, page, drawings, private=private)
    for name in set(NAMES) - set(drawings):
        for kind in ("svg", "png"):
            (folder / FIGURES_FOLDER / f"{name}.{kind}").unlink(missing_ok=True)


def write_evidence(rows: Iterable[Row], folder: Path) -> None:
    """Write the tables of the paper's experiments and, with matplotlib, their page.

    Full rows are used if there are any, else those of reduced sizes. Of rows that were
    made twice, the last counts.
    """
    every = list({row.name: row for row in rows}.values())
    full = [row for row in every if not row.key.get("quick")]
    shown = full or every
    if not shown:
        return
    strange = {row.experiment for row in shown} - set(EXPERIMENTS)
    if strange:
        raise DataError(
            f"`{folder / ROWS_FILE}` has rows of an unknown experiment, "
            f"{', '.join(sorted(strange))}. Register it first with `register`, as in "
            "docs/extending.md."
        )
    experiments = EXPERIMENTS.values()
    tables = tables_of(shown, experiments)
    text = "\n".join(table.markdown() for table in tables.values())
    write_atomically(folder / TABLES_FILE, text.encode())
    if not _can_draw(folder):
        return
    drawn = draw_evidence(shown, experiments)
    drawings = {
        one.drawing.name: one.drawing for some in drawn.values() for one in some
    }
    _write_page(folder, make_evidence_page(shown, drawn, experiments), drawings)


def _write_page(
    folder: Path, page: str, drawings: Mapping[str, Drawing], *, private: bool = False
) -> None:
    figures = folder / FIGURES_FOLDER
    figures.mkdir(exist_ok=True, mode=0o700 if private else 0o777)
    contents: dict[Path, bytes] = {folder / REPORT_FILE: page.encode()}
    for name, drawing in drawings.items():
        contents[figures / f"{name}.svg"] = drawing.svg.encode()
        contents[figures / f"{name}.png"] = drawing.png
    for path, content in contents.items():
        write_atomically(path, content, private=private)


def _can_draw(folder: Path) -> bool:
    """Return whether there is matplotlib; if not, print so and remove an old page."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        (folder / REPORT_FILE).unlink(missing_ok=True)
        notes.print(
            "No report was written: that needs matplotlib (pip install "
            "'dssfn[report]').",
            soft_wrap=True,
        )
        return False
    return True


def try_to_report(result: Result, folder: Path, *, quiet: bool = False) -> None:
    """Write the report of a training that has just ended, if matplotlib is there."""
    (folder / REPORT_FILE).unlink(missing_ok=True)  # it is about another training
    if not _can_draw(folder):
        return
    write_report(result, folder)
    if not quiet:
        _tell(folder)
