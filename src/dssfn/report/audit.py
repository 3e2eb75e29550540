"""The figure of an audit: pictures that an attacker sees, beside the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dssfn._typing import Array
from dssfn.report.canvas import (
    GRID,
    INK,
    MUTED,
    SMALL,
    Drawing,
    Rectangle,
    finish,
    new_axes,
    style,
)
from dssfn.report.numbers import clean

TILE = 40  # points of a picture's side
GAP = 0.12  # between pictures, in their sides
LETTER, MARGIN = 5.8, 16.0  # points of a letter of a label, and around it
LONGEST = 8  # letters of a class
MOST = 12  # pictures in a row


@dataclass(frozen=True, slots=True, eq=False)
class Strip:
    """A row of pictures.

    Parameters
    ----------
    label : str
        What they are.
    pictures : array of shape (k, height, width)
        The pictures, each of which is shown from its lowest to its highest number; in
        place of one of NaN it says "none".
    """

    label: str
    pictures: Array


def draw_strips(strips: Sequence[Strip], columns: Sequence[str]) -> Drawing:
    """Draw rows of pictures, one below the other, with names above the columns."""
    with style():
        return _draw(strips, columns)


def _draw(strips: Sequence[Strip], columns: Sequence[str]) -> Drawing:
    n_columns = min(MOST, max(len(strip.pictures) for strip in strips))
    step = 1 + GAP
    lines = (line for strip in strips for line in strip.label.split("\n"))
    label_width = LETTER * max(map(len, lines)) + MARGIN
    width = label_width + TILE * step * n_columns
    axes = new_axes(TILE * step * len(strips) + 26, width=width)
    for row, strip in enumerate(strips):
        for column, picture in enumerate(strip.pictures[:MOST]):
            left, top = column * step, row * step
            axes.add_patch(_frame(left, top))
            if np.isfinite(picture).all():
                axes.imshow(
                    _in_range(picture),
                    extent=(left, left + 1, top + 1, top),
                    cmap="gray_r", vmin=0, vmax=1, interpolation="nearest",
                )  # fmt: skip
            else:
                axes.text(
                    left + 0.5, top + 0.5, "none", ha="center", va="center",
                    size=SMALL, color=MUTED,
                )  # fmt: skip
        axes.text(
            -0.2, row * step + 0.5, strip.label, ha="right", va="center",
            size=SMALL, color=INK,
        )  # fmt: skip
    for column, name in enumerate(columns[:MOST]):
        axes.text(
            column * step + 0.5, -0.15, clean(name, LONGEST), ha="center", va="bottom",
            size=SMALL, color=MUTED, parse_math=False,
        )  # fmt: skip
    axes.set_xlim(-label_width / TILE, n_columns * step)
    axes.set_ylim(len(strips) * step, -0.6)
    axes.set_aspect("equal")
    axes.set_axis_off()
    shown = "; ".join(strip.label.replace("\n", " ") for strip in strips)
    return finish(axes, "audit", f"Pictures, row by row: {shown}.")


def _frame(left: float, top: float) -> Rectangle:
    """Return the outline of a picture, whose own edges may be white."""
    return Rectangle((left, top), 1, 1, fill=False, edgecolor=GRID, linewidth=1)


def _in_range(picture: Array) -> Array:
    """Return a picture between zero and one.

    >>> _in_range(np.array([[2.0, 4.0], [3.0, 2.0]])).tolist()
    [[0.0, 1.0], [0.5, 0.0]]
    """
    low, high = float(picture.min()), float(picture.max())
    return (picture - low) / ((high - low) or 1.0)
