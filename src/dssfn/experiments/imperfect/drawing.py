"""The figures of networks that are not perfect; one look for each contender."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dssfn.experiments.imperfect.cases import CONTENDERS, LOSSES
from dssfn.report import canvas
from dssfn.report.numbers import small
from dssfn.rows import Row

FLOOR = 1e-15  # gaps below are rounding
LOOKS = {
    "perfect": canvas.GREY,
    "tree": canvas.BLACK,
    "push-sum": canvas.BLUE,
    "relaxed": canvas.ORANGE,
}
UNITS = {
    "times": (1.0, "simulated time (s, log scale)"),
    "bytes": (1e6, "sent over all links (MB, log scale)"),
}


def draw_curves(
    name: str, what: str, metric: str, rows: Sequence[Row]
) -> canvas.Drawing:
    """Draw the gap of the worst node against time or bytes.

    Parameters
    ----------
    name, what : str
        The name of the drawing's files, and of what it shows.
    metric : {"times", "bytes"}
        What is on the horizontal axis.
    rows : sequence of Row
        One per contender.
    """
    axes, spoken = canvas.new_axes(270), []
    unit, label = UNITS[metric]
    for row in rows:
        contender = str(row.key["contender"])
        look = LOOKS[contender]
        x = np.maximum(np.array(row.metrics[metric], dtype=float) / unit, 1e-4)
        y = np.maximum(np.array(row.metrics["gaps"]), FLOOR)
        axes.plot(
            x, y, look.dash, color=look.colour, linewidth=1.8, drawstyle="steps-post",
            label=CONTENDERS[contender],
        )  # fmt: skip
        axes.plot(x[-1:], y[-1:], look.mark, color=look.colour, markersize=5)
        spoken.append(f"{CONTENDERS[contender]} ends at {small(float(y[-1]))}")
    canvas.log_log(axes)
    axes.set_xlabel(label)
    axes.set_ylabel("relative cost gap (log scale)")
    axes.grid(axis="y")
    _mark_exact(axes)
    canvas.legend_above(axes, columns=2)
    return canvas.finish(axes, name, f"{what}: {'; '.join(spoken)}.")


def _mark_exact(axes: canvas.Axes) -> None:
    """Name the floor, below which there is nothing but rounding."""
    axes.axhline(FLOOR, color=canvas.QUIET, linewidth=1, zorder=0)
    axes.annotate(
        "exact", (0, FLOOR), (4, 3), xycoords=axes.get_yaxis_transform(),
        textcoords="offset points", color=canvas.MUTED, size=canvas.SMALL,
    )  # fmt: skip


def draw_times(name: str, what: str, rows: Sequence[Row]) -> canvas.Drawing:
    """Draw the time to an exact layer against the share of lost letters."""
    axes, spoken = canvas.new_axes(240), []
    seconds: list[float] = []
    for contender in ("tree", "push-sum"):
        look = LOOKS[contender]
        same = {contender, "perfect"} if contender == "tree" else {contender}
        points = sorted(
            (100 * LOSSES[str(row.key["trouble"])], float(row.metrics["seconds"]))
            for row in rows
            if row.key["contender"] in same and row.key["trouble"] in LOSSES
        )
        if not points:
            continue
        x, y = zip(*points, strict=True)
        axes.plot(
            x, y, look.dash, color=look.colour, marker=look.mark, markersize=5,
            linewidth=1.8, label=CONTENDERS[contender],
        )  # fmt: skip
        spoken.append(f"{CONTENDERS[contender]}: {small(y[0])} to {small(y[-1])} s")
        seconds += y
    canvas.log_range(axes, "y", min(seconds), max(seconds))
    canvas.percent_axis(axes, "x")
    axes.set_xlabel("messages lost")
    axes.set_ylabel("simulated time (s, log scale)")
    axes.grid(axis="y")
    canvas.legend_above(axes, columns=2)
    return canvas.finish(axes, name, f"{what}, time to the end: {'; '.join(spoken)}.")
