"""`dssfn node status`: what a running node is doing, and who is here."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated

import msgspec
import typer
from rich import box
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table as Grid

from dssfn.cli.console import screen
from dssfn.cli.node import NodeFile
from dssfn.cli.options import Json
from dssfn.cli.outcome import print_json
from dssfn.errors import InputError
from dssfn.report.numbers import plural, seconds
from dssfn.report.status.page import place, warning
from dssfn.report.status.tables import (
    layers_table,
    links_table,
    log_table,
    nodes_table,
)
from dssfn.report.table import Table
from dssfn.status import Status

PAUSE = 2.0  # seconds between two looks
MOST_LAYERS, MOST_LINES = 8, 10  # the latest ones, so that all fits on a screen


def status(
    node: NodeFile,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Refresh every two seconds until the node ends."),
    ] = False,
    json: Json = False,
) -> None:
    """Show what a running node is doing, and which nodes are connected.

    The node must be running on this machine with `page` set in its node.toml. Nothing
    shown here is computed from the rows of a single node.
    """
    if watch and json:
        raise InputError("`--watch` must come without `--json`; choose one of them.")
    from dssfn.node.page_client import ask_status
    from dssfn.node.spec import load_node

    spec, _ = load_node(node)
    found = ask_status(spec)
    if json:
        print_json(msgspec.to_builtins(found))
        return
    if not watch:
        screen.print(shown(found))
        return
    with Live(shown(found), console=screen, auto_refresh=False) as live:
        while True:
            time.sleep(PAUSE)
            live.update(shown(ask_status(spec)), refresh=True)


def shown(status: Status) -> RenderableType:
    """Return a status for a terminal."""
    return Group(*_parts(status))


def _parts(status: Status) -> Iterator[RenderableType]:
    ends = f"certificate valid for {plural(status.certificate_days, 'day')}"
    running = f"running for {seconds(status.seconds)}"
    yield screen.render_str(f"{status.node} {status.doing}")
    yield screen.render_str(f"{place(status)}, {running}, {ends}")
    if told := warning(status):
        yield screen.render_str(told)
    yield _grid(nodes_table(status))
    yield _grid(links_table(status))
    if (layers := layers_table(status)) is not None:
        yield _grid(layers, last=MOST_LAYERS)
    if (lines := log_table(status)) is not None:
        yield _grid(lines, first=MOST_LINES)


def _grid(table: Table, *, first: int | None = None, last: int = 0) -> Grid:
    """Return a table for a terminal, of which the first or the last rows are shown."""
    grid = Grid(
        title=table.caption,
        caption=table.note or None,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,  # narrower than others: names may be long
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for place_, name in enumerate(table.head):
        right = place_ >= table.numeric_from
        grid.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in table.rows[-last:][:first]:
        grid.add_row(*row)
    return grid
