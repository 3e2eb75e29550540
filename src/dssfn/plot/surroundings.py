"""The axes that a plot is drawn on, and the colours that can be read there."""

from __future__ import annotations

import numpy as np

from dssfn.errors import InputError
from dssfn.report.canvas import Axes, to_rgba
from dssfn.report.on_axes import PAPER, Palette

# The colours of a report on a dark page.
NIGHT = Palette(
    ink="#e7eaed",
    muted="#a3adb7",
    grid="#3a4249",
    quiet="#7a858f",
    surface="#171b1f",
    first="#6cb8ec",
    second="#f2a065",
)
# Okabe and Ito's, which all eyes tell apart, without their black and yellow: each of
# them is hard to see on one of the two backgrounds.
SEVERAL = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")


def axes_or_new(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes that were given, or those of a new figure, in inches."""
    if ax is not None:
        _check_axes(ax)
        return ax
    import matplotlib.pyplot as plt

    axes: Axes = plt.subplots(figsize=(width, height), layout="constrained")[1]
    return axes


def _check_axes(ax: object) -> None:
    if isinstance(ax, Axes):
        return
    way_out = ""
    if hasattr(ax, "gca"):
        way_out = " Use `figure.gca()`."
    elif isinstance(ax, np.ndarray):  # as `plt.subplots` returns several
        way_out = " Choose one of them."
    raise InputError(f"`ax` must be matplotlib Axes, got {type(ax).__name__}.{way_out}")


def palette_of(axes: Axes) -> Palette:
    """Return colours that can be read on the background of these axes."""
    red, green, blue, alpha = to_rgba(axes.get_facecolor())
    figure = axes.get_figure()
    if alpha < 0.5 and figure is not None:  # what is behind shows through
        red, green, blue, alpha = to_rgba(figure.get_facecolor())
    is_dark = alpha >= 0.5 and 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
    return NIGHT if is_dark else PAPER
