"""`dssfn report`: a page to look at, from what a folder holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dssfn._atomic import write_atomically
from dssfn.cli.outcome import notes, screen, to_json
from dssfn.cli.outfolder import LAYERS_FILE, RESULT_FILE
from dssfn.errors import DataError, InputError
from dssfn.report.evidence.tables import tables_of
from dssfn.rows import Row, RowFile

if TYPE_CHECKING:
    from dssfn.report.canvas import Drawing

# What needs matplotlib is imported when it is used: the other commands do without.

REPORT_FILE, FIGURES_FOLDER = "report.html", "figures"
ROWS_FILE, TABLES_FILE = "rows.jsonl", "tables.md"

# What figures of another kind, or lists in lists in lists, lead to.
_NOT_OURS = (LookupError, TypeError, ValueError, AttributeError, RecursionError)


def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="What `simulate` or `reproduce` wrote with --out DIR."
        ),
    ],
) -> None:
    """Make a report anew, from the figures in its folder, without training."""
    has_rows = (folder / ROWS_FILE).is_file()
    try:
        if has_rows:
            write_evidence(RowFile(folder / ROWS_FILE), folder)
        else:
            write_report(read_result(folder), folder)
    except _NOT_OURS as exc:
        if isinstance(exc, InputError):
            raise
        path = folder / (ROWS_FILE if has_rows else RESULT_FILE)
        raise DataError(
            f"`{path}` must be what this version of dssfn writes; it cannot be read as "
            f"that ({type(exc).__name__}: {exc}). Make it anew in another folder."
        ) from exc
    _tell(folder)


def _tell(folder: Path) -> None:
    if (folder / REPORT_FILE).exists():
        screen.print(f"The report is in {folder / REPORT_FILE}", soft_wrap=True)


def read_result(folder: Path) -> dict[str, Any]:
    """The figures in a folder; layers come from their own file where it is there."""
    path = folder / RESULT_FILE
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if "layers" not in result:
            lines = (folder / LAYERS_FILE).read_text(encoding="utf-8").splitlines()
            result["layers"] = [json.loads(line) for line in lines]
    except OSError as exc:
        raise DataError(
            f"`DIR` must be a folder with a {RESULT_FILE}, as `dssfn simulate --out "
            f"DIR` leaves it, got `{folder}`: {exc.strerror}."
        ) from exc
    return result


def write_report(result: Mapping[str, Any], folder: Path) -> None:
    """The page, and every figure as SVG and PNG; an older report goes."""
    from dssfn.report.training.figures import NAMES, draw_all
    from dssfn.report.training.page import make_page

    drawings = draw_all(result)
    _write_page(folder, make_page(result, drawings), drawings)
    for name in set(NAMES) - set(drawings):
        for kind in ("svg", "png"):
            (folder / FIGURES_FOLDER / f"{name}.{kind}").unlink(missing_ok=True)


def write_evidence(rows: Iterable[Row], folder: Path) -> None:
    """The tables of the paper's experiments and, with matplotlib, their page.

    Full rows, if there are any; else those of reduced sizes. Of rows that were made
    twice, the last.
    """
    every = list({row.name: row for row in rows}.values())
    full = [row for row in every if not row.key.get("quick")]
    shown = full or every
    if not shown:
        return
    text = "\n".join(table.markdown() for table in tables_of(shown).values())
    write_atomically(folder / TABLES_FILE, text.encode())
    if not _can_draw(folder):
        return
    from dssfn.report.evidence.curves import draw_evidence
    from dssfn.report.evidence.page import make_evidence_page

    drawings = draw_evidence(shown)
    _write_page(folder, make_evidence_page(shown, drawings), drawings)


def _write_page(folder: Path, page: str, drawings: Mapping[str, Drawing]) -> None:
    figures = folder / FIGURES_FOLDER
    figures.mkdir(exist_ok=True)
    for name, drawing in drawings.items():
        write_atomically(figures / f"{name}.svg", drawing.svg.encode())
        write_atomically(figures / f"{name}.png", drawing.png)
    write_atomically(folder / REPORT_FILE, page.encode())


def _can_draw(folder: Path) -> bool:
    """Whether there is matplotlib; if not, a line about it and no old page."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        (folder / REPORT_FILE).unlink(missing_ok=True)
        notes.print(
            "No report was made: it needs matplotlib (pip install 'dssfn[report]').",
            soft_wrap=True,
        )
        return False
    return True


def try_to_report(
    result: Mapping[str, Any], folder: Path, *, quiet: bool = False
) -> None:
    """The report of a training that has just ended; without the extra, a line."""
    (folder / REPORT_FILE).unlink(missing_ok=True)  # it is about another training
    if not _can_draw(folder):
        return
    write_report(json.loads(to_json(result)), folder)
    if not quiet:
        _tell(folder)
