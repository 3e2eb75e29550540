"""Bars of what was sent."""

from __future__ import annotations

from collections.abc import Mapping

from dssfn.plot.surroundings import axes_or_new, palette_of
from dssfn.report.canvas import Axes, FuncFormatter, MaxNLocator
from dssfn.report.numbers import count, size, unit_of
from dssfn.report.on_axes import draw_bars

_BYTES = {
    "B": "bytes",
    "kB": "kilobytes",
    "MB": "megabytes",
    "GB": "gigabytes",
    "TB": "terabytes",
}


def draw_traffic(sent: Mapping[str, int], unit: str, ax: Axes | None) -> Axes:
    """Draw what was sent by layer, and before and after all layers."""
    axes = axes_or_new(ax, 6.0, 3.6)
    step, told = 1, [count(value) for value in sent.values()]
    if unit == "bytes":
        short, step = unit_of(max(sent.values()))
        name = f"{_BYTES[short]} over all links"
        told = [size(value) for value in sent.values()]
    elif unit == "numbers":
        name = "numbers in a node's messages,\nsummed over the rounds"
    else:
        name = "rounds of exchange"
    values = [value / step for value in sent.values()]
    draw_bars(axes, list(sent), values, told, palette_of(axes))
    axes.set_xlabel("layer")
    axes.set_ylabel(name)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=unit != "bytes"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    return axes
