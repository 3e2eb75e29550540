"""`dssfn report`: a training as a page to look at, from what its folder holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dssfn._atomic import write_atomically
from dssfn.cli.outcome import notes, screen, to_json
from dssfn.cli.outfolder import LAYERS_FILE, RESULT_FILE
from dssfn.errors import DataError, InputError

# What needs matplotlib is imported when it is used: the other commands do without.

REPORT_FILE, FIGURES_FOLDER = "report.html", "figures"


def report(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="What `dssfn simulate --out DIR` wrote."),
    ],
) -> None:
    """Make the report of a training anew, from the figures in its folder."""
    try:
        write_report(read_result(folder), folder)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as exc:
        if isinstance(exc, InputError):
            raise
        raise DataError(
            f"`{folder / RESULT_FILE}` must be a result that dssfn wrote; it cannot be "
            f"read as one ({type(exc).__name__}: {exc}). Train again with --out."
        ) from exc
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
    from dssfn.report.figures import NAMES, draw_all
    from dssfn.report.page import make_page

    drawings = draw_all(result)
    page = make_page(result, drawings)
    figures = folder / FIGURES_FOLDER
    figures.mkdir(exist_ok=True)
    for name in NAMES:
        svg, png = figures / f"{name}.svg", figures / f"{name}.png"
        if name in drawings:
            write_atomically(svg, drawings[name].svg.encode())
            write_atomically(png, drawings[name].png)
        else:
            svg.unlink(missing_ok=True)
            png.unlink(missing_ok=True)
    write_atomically(folder / REPORT_FILE, page.encode())


def try_to_report(
    result: Mapping[str, Any], folder: Path, *, quiet: bool = False
) -> None:
    """The report of a training that has just ended; without the extra, a line."""
    path = folder / REPORT_FILE
    path.unlink(missing_ok=True)  # it would be about another training
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        notes.print(
            "No report was made: it needs matplotlib (pip install 'dssfn[report]').",
            soft_wrap=True,
        )
        return
    write_report(json.loads(to_json(result)), folder)
    if not quiet:
        screen.print(f"The report is in {path}", soft_wrap=True)
