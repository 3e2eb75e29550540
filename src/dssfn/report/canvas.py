"""What all figures share: size, colours, and how they become SVG and PNG.

How this works. A figure is drawn once, in the colours of paper. Each of them stands for
a role (ink, a grid line, a series), so in the SVG of a page every colour is replaced by
a CSS variable of that name, and the page decides about light and dark. Letters stay
text and take the page's font.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import numpy as np

from dssfn.errors import InputError
from dssfn.report.numbers import power

try:
    import matplotlib
    from matplotlib import colormaps
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_hex, to_rgba
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle, Patch, Rectangle, Wedge
    from matplotlib.ticker import (
        Formatter,
        FuncFormatter,
        LogLocator,
        MaxNLocator,
        NullFormatter,
    )
except ImportError as exc:
    raise InputError(
        "Figures need matplotlib. Install it with: pip install 'dssfn[report]'"
    ) from exc

__all__ = [
    "BLACK",
    "BLUE",
    "FIRST",
    "GREY",
    "GRID",
    "INK",
    "MUTED",
    "ORANGE",
    "QUIET",
    "SECOND",
    "SMALL",
    "SURFACE",
    "TEXT",
    "WIDTH",
    "Axes",
    "Circle",
    "Drawing",
    "FuncFormatter",
    "LineCollection",
    "LogLocator",
    "Look",
    "MaxNLocator",
    "Patch",
    "Rectangle",
    "Wedge",
    "bare",
    "colormaps",
    "finish",
    "legend_above",
    "log_log",
    "log_range",
    "new_axes",
    "percent_axis",
    "plain",
    "round_numbers",
    "scientific",
    "style",
    "to_hex",
    "to_rgba",
]

# Okabe and Ito's blue and vermilion, which all eyes tell apart; the rest is grey.
COLOURS = {
    "ink": "#1d2126",
    "muted": "#5d6670",
    "grid": "#d3d9df",
    "quiet": "#8a939d",
    "surface": "#fefefe",
    "first": "#0069a8",
    "second": "#b54900",
}
INK, MUTED, GRID = COLOURS["ink"], COLOURS["muted"], COLOURS["grid"]
QUIET, SURFACE = COLOURS["quiet"], COLOURS["surface"]
FIRST, SECOND = COLOURS["first"], COLOURS["second"]


class Look(NamedTuple):
    """The look of a series, which tells it from others also without colours."""

    colour: str
    dash: str
    mark: str


BLUE, ORANGE = Look(FIRST, "-", "o"), Look(SECOND, "--", "s")
GREY, BLACK = Look(MUTED, "-.", "^"), Look(INK, ":", "D")

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
WIDTH = 340  # points: what a phone shows at its own size
TEXT, SMALL = 11.0, 10.0  # points
DOTS_PER_INCH = 220

_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "dssfn",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same everywhere
    "font.size": TEXT,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": MUTED,
    "axes.labelsize": TEXT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "figure.facecolor": SURFACE,
    "savefig.facecolor": SURFACE,
    "text.color": INK,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": TEXT,
    "ytick.labelsize": TEXT,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "lines.linewidth": 2.0,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
}


@dataclass(frozen=True, slots=True)
class Drawing:
    """A finished figure.

    Parameters
    ----------
    name : str
        The name of its files, and of its place on the page.
    label : str
        What it shows, for those who do not see it.
    svg : str
        The figure as a file of its own, in the colours of paper.
    png : bytes
        The figure as a PNG file.
    inline : str
        The SVG as a part of a page, in the page's colours.
    width : int
        Points at which its letters have their size.
    """

    name: str
    label: str
    svg: str = field(repr=False)
    png: bytes = field(repr=False)
    inline: str = field(repr=False)
    width: int

    @property
    def is_wide(self) -> bool:
        """Whether the figure is wider than others."""
        return self.width > WIDTH


@contextmanager
def style() -> Iterator[None]:
    """Use our settings and matplotlib's defaults, whatever the user's files say."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        # A label's letter may be missing in the font of the PNG: a box stands for it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def new_axes(height: float, *, width: float = WIDTH) -> Axes:
    """Return axes on a figure of a size in points."""
    figure = Figure(figsize=(width / 72, height / 72), layout="constrained")
    axes = figure.add_subplot()
    axes.tick_params(length=0, pad=5)
    return axes


def bare(axes: Axes) -> None:
    """Remove everything from axes but what is drawn."""
    axes.set_axis_off()


def log_range(axes: Axes, which: Literal["x", "y"], low: float, high: float) -> None:
    """Make an axis logarithmic: powers of ten, and steps between if they are few.

    All numbers of an axis are written in one way: as they are, or as powers of ten.
    """
    few = high / low < 300
    fine = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if high / low < 6 else (1.0, 2.0, 5.0)
    room = max(high / low, 4.0) ** 0.12
    shown = plain if low / room**1.3 > 1e-3 and high * room < 1e5 else scientific
    axis = axes.yaxis if which == "y" else axes.xaxis
    axes.set(**{f"{which}scale": "log", f"{which}lim": (low / room**1.3, high * room)})
    axis.set_major_locator(LogLocator(subs=fine if few else (1.0,), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: shown(value)))
    axis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="minor", length=0)


def log_log(axes: Axes) -> None:
    """Make both axes logarithmic, as wide as what is drawn."""
    lines = axes.get_lines()
    x = np.concatenate([np.asarray(line.get_xdata(), dtype=float) for line in lines])
    y = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in lines])
    log_range(axes, "x", float(x.min()), float(x.max()))
    log_range(axes, "y", float(y.min()), float(y.max()))


def round_numbers(axes: Axes, which: Literal["x", "y"]) -> None:
    """Put few ticks on an axis, at round numbers that are written alike."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(_Alike())


class _Alike(Formatter):
    """Numbers with the same digits after the point, a true minus, and a unit."""

    def __init__(self, unit: str = "") -> None:
        self.unit, self.places = unit, 0

    def set_locs(self, locs: Any) -> None:
        """Take as many digits as the tick that needs most of them."""
        super().set_locs(locs)
        largest = max(map(abs, locs), default=0.0) or 1.0
        rounded = (round(value, 5 - int(np.log10(largest) // 1)) for value in locs)
        shown = (f"{Decimal(f'{value:.6g}'):f}" for value in rounded)
        self.places = max((len(one.partition(".")[2]) for one in shown), default=0)

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of a tick."""
        x = round(x, self.places) + 0.0  # no minus before zero
        return f"{x:,.{self.places}f}{self.unit}".replace("-", "−")


def percent_axis(axes: Axes, which: Literal["x", "y"]) -> None:
    """Label an axis with round numbers of per cent."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    round_numbers(axes, which)
    axis.set_major_formatter(_Alike(" %"))


def legend_above(axes: Axes, *, columns: int) -> None:
    """Put the names of the series above the axes, over the width of the figure."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside upper left", ncols=columns,
        handlelength=2.4, borderpad=0, columnspacing=1.2, labelspacing=0.3,
    )  # fmt: skip


def plain(value: float) -> str:
    """Return a number as it is, with commas between thousands.

    >>> plain(0.5), plain(20_000.0)
    ('0.5', '20,000')
    """
    return f"{value:,.6g}"


def scientific(value: float) -> str:
    """Return a number as a power of ten, or as a digit times one.

    >>> scientific(1000.0), scientific(2e7)
    ('10³', '2 × 10⁷')
    """
    exponent = int(np.floor(np.log10(value) + 1e-9))
    digit = round(value / 10.0**exponent)
    return power(exponent) if digit == 1 else f"{digit} × {power(exponent)}"


def finish(axes: Axes, name: str, label: str) -> Drawing:
    """Turn axes into a drawing; the same axes always give the same files."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    png, text = io.BytesIO(), io.StringIO()
    figure.savefig(png, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(text, format="svg", metadata=nothing)
    svg = _own_fonts(text.getvalue())
    width = round(figure.get_figwidth() * 72)
    return Drawing(name, label, svg, png.getvalue(), _inline(svg, name), width)


def _own_fonts(svg: str) -> str:
    return _in_tags(
        svg, lambda tag: re.sub(r"'?DejaVu Sans'?(, sans-serif)?", FONTS, tag)
    )


def _inline(svg: str, name: str) -> str:
    """Return the SVG as a part of a page: no head, own ids, the page's look."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<style.*?</style>", "", body, count=1, flags=re.DOTALL)

    def adapted(tag: str) -> str:
        tag = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", tag)
        for role, colour in COLOURS.items():
            tag = tag.replace(colour, f"var(--{role})")
        return tag.replace(FONTS, "var(--sans)")

    return _in_tags(body, adapted)


def _in_tags(svg: str, change: Callable[[str], str]) -> str:
    """Change the tags and leave what is between them: labels are the user's."""
    return re.sub(r"<[^>]+>", lambda tag: change(tag[0]), svg)
