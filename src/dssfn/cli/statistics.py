"""`dssfn federation statistics`: what all nodes hold, before they train."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from dssfn._atomic import write_atomically
from dssfn.cli.node import NodeFile
from dssfn.cli.options import Json
from dssfn.cli.outcome import print_json, show_lines
from dssfn.cli.read_progress import reading_progress
from dssfn.report.statistics.page import make_statistics_page
from dssfn.statistics.figures import STATISTICS_FILE, Column, Count, Statistics

PAGE_FILE = "statistics.html"
MOST_LINES = 30  # of columns; all of them are in the page


def statistics(
    node: NodeFile,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder for the results; by default the node's `out` folder.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Describe the data of all nodes together: exact counts, means, missing values.

    All nodes run this command at about the same time, like `dssfn node run`. No row
    leaves its node, and counts of fewer rows than the plan's `min_cell` are hidden. The
    page shows this node's own numbers beside those of all nodes, and points out what is
    different here.
    """
    # What needs gRPC is imported when it is used: the other commands do without.
    from dssfn.node.launch_statistics import launch_statistics

    folder, found = launch_statistics(node, out, while_reading=reading_progress)
    page = make_statistics_page(found).encode()
    write_atomically(folder / PAGE_FILE, page, private=True)
    if json:
        print_json({"out": str(folder), **msgspec.to_builtins(found)})
    else:
        show_lines(_summary(found, folder))


def _summary(found: Statistics, folder: Path) -> str:
    everybody = found.agreed.all
    columns = (*everybody.columns, everybody.target)
    lines = [f"{everybody.rows} rows of {len(found.agreed.nodes)} nodes", ""]
    wide = max(len(one.name) for one in columns[:MOST_LINES])
    lines += [f"{one.name:<{wide}}  {_line(one)}" for one in columns[:MOST_LINES]]
    if len(columns) > MOST_LINES:
        lines.append(f"and {len(columns) - MOST_LINES} more columns")
    if found.stands_out:
        lines += ["", f"What stands out at {found.node}:"]
        lines += [f"{one.column}: {one.text}" for one in found.stands_out]
    lines += [
        "",
        f"page    {folder / PAGE_FILE}",
        f"json    {folder / STATISTICS_FILE}",
        f"sha256  {found.sha256}",
    ]
    return "\n".join(lines)


def _line(column: Column) -> str:
    parts: list[tuple[str, Count]] = [(one.name, one.count) for one in column.levels]
    if column.other is not None:
        parts.append(("other", column.other))
    if column.missing != 0:
        parts.append(("missing", column.missing))
    words = [f"{name} {count}" for name, count in parts]
    if column.mean is not None and column.deviation is not None:
        spread = f"standard deviation {column.deviation:.5g}"
        words.insert(0, f"mean {column.mean:.5g}, {spread}")
    return ", ".join(words)
