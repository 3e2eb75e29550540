"""Curves, bars and graphs on axes that somebody else has made.

Pages draw on axes of their own; `dssfn.plot` draws on those of a notebook, light or
dark. Both say which colours they want.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dssfn.report.canvas import (
    FIRST,
    GRID,
    INK,
    MUTED,
    QUIET,
    SECOND,
    SMALL,
    SURFACE,
    Axes,
    LineCollection,
    Look,
    MaxNLocator,
)
from dssfn.report.layout import Points

MOST_BARS_WITH_NUMBERS = 6
MOST_NAMED_BARS = 12
MANY_LINKS = 200


class Palette(NamedTuple):
    """The colour of each role in a figure."""

    ink: str
    muted: str
    grid: str
    quiet: str
    surface: str
    first: str
    second: str


PAPER = Palette(INK, MUTED, GRID, QUIET, SURFACE, FIRST, SECOND)


def draw_series(
    axes: Axes,
    rows: Sequence[Any],
    attribute: str,
    name: str,
    look: Look,
    *,
    factor: float = 1.0,
) -> list[float]:
    """Draw a curve over the layers that have a value, and return the values."""
    known = [row for row in rows if getattr(row, attribute) is not None]
    values = [factor * getattr(row, attribute) for row in known]
    if values:
        axes.plot(
            [row.layer for row in known], values, color=look.colour, linewidth=2.0,
            linestyle=look.dash, marker=look.mark, markersize=5, label=name,
        )  # fmt: skip
    return values


def layer_axis(axes: Axes, layers: Sequence[int], palette: Palette = PAPER) -> None:
    """Label the layers, and leave room beside the first and the last."""
    axes.set_xlabel("layer")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
    axes.set_xlim(layers[0] - 0.35, layers[-1] + 0.35)
    plain_y_axis(axes, palette)


def plain_y_axis(axes: Axes, palette: Palette = PAPER) -> None:
    """Replace the frame by lines across, which are behind what is drawn."""
    axes.set_axisbelow(True)
    axes.grid(axis="y", color=palette.grid, linewidth=0.8)
    axes.spines[["top", "right", "left"]].set_visible(False)


def draw_bars(
    axes: Axes,
    names: Sequence[str],
    values: Sequence[float],
    labels: Sequence[str],
    palette: Palette = PAPER,
) -> None:
    """Draw a bar for every value; the labels are above them if they are few."""
    places = np.arange(len(values))
    axes.bar(places, values, width=0.62, color=palette.first)
    if len(values) <= MOST_BARS_WITH_NUMBERS:
        for place, value, label in zip(places, values, labels, strict=True):
            axes.annotate(
                label, (place, value), (0, 4), textcoords="offset points",
                ha="center", size=SMALL, color=palette.ink,
            )  # fmt: skip
    every = -(-len(names) // MOST_NAMED_BARS)
    axes.set_xticks(places[::every], names[::every])
    plain_y_axis(axes, palette)
    axes.margins(y=0.12)


def draw_links(
    axes: Axes,
    points: Points,
    edges: Sequence[tuple[int, int]],
    palette: Palette = PAPER,
) -> None:
    """Draw a line for every link; thinner ones if there are many."""
    links = LineCollection(
        [points[list(edge)] for edge in edges],
        colors=palette.quiet,
        linewidths=1.1 if len(edges) < MANY_LINKS else 0.5,
        zorder=1,
    )
    axes.add_collection(links)
