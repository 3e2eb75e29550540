"""The critical-difference diagram: mean ranks, and which of them are alike."""

from __future__ import annotations

from benchmarks.accuracy.grid import Grid
from benchmarks.accuracy.models import LABELS, SSFN
from benchmarks.accuracy.ranks import LEVEL, alike, chance, critical_difference
from dssfn.report import canvas
from dssfn.report.evidence.experiment import Figure
from dssfn.report.numbers import small

STEP = 1.0  # between the lines of two names
SIDE = 1.6  # ranks beyond both ends of the axis, for the names


def draw_ranks(grid: Grid) -> Figure:
    """Return the diagram: best on the left, names on both sides below the axis."""
    ranks = sorted(grid.ranks().items(), key=lambda item: item[1])
    difference = critical_difference(len(ranks), len(grid.sets))
    groups = alike([rank for _, rank in ranks], difference)
    n_left = (len(ranks) + 1) // 2
    below = 0.6 + 0.4 * len(groups)
    depth = below + STEP * n_left
    axes = canvas.new_axes(40 + 26 * (depth + 1.6))
    canvas.bare(axes)
    axes.set_xlim(1 - SIDE, len(ranks) + SIDE)
    axes.set_ylim(-depth, 1.9)
    _draw_scale(axes, len(ranks), difference)
    for place, (first, last) in enumerate(groups):
        height = -0.45 - 0.4 * place
        axes.plot([first - 0.05, last + 0.05], [height] * 2, color=canvas.QUIET,
                  linewidth=4, solid_capstyle="round")  # fmt: skip
    for place, (model, rank) in enumerate(ranks):
        is_left = place < n_left
        line = place if is_left else len(ranks) - 1 - place
        _draw_model(axes, model, rank, -below - STEP * line, is_left, len(ranks))
    spoken = ", ".join(f"{LABELS[model]} {rank:.2f}" for model, rank in ranks)
    label = f"Mean ranks: {spoken}; critical difference {difference:.2f}."
    return Figure(
        canvas.finish(axes, "ranks", label),
        "Mean ranks of test accuracy",
        f"{len(grid.sets)} sets, 1 is best. Models that one bar joins do not differ by "
        f"the critical difference (CD; Nemenyi, {LEVEL:g}). That all are equally good "
        f"has p = {small(chance(grid.values))} (Friedman).",
    )


def _draw_scale(axes: canvas.Axes, n_models: int, difference: float) -> None:
    """Draw the axis of ranks, and the critical difference above it."""
    axes.plot([1, n_models], [0, 0], color=canvas.MUTED, linewidth=1)
    for rank in range(1, n_models + 1):
        axes.plot([rank, rank], [0, 0.15], color=canvas.MUTED, linewidth=1)
        axes.text(rank, 0.3, f"{rank}", ha="center", color=canvas.MUTED)
    end = 1 + difference
    axes.plot([1, end], [1.2, 1.2], color=canvas.INK, linewidth=1.4)
    for x in (1, end):
        axes.plot([x, x], [1.08, 1.32], color=canvas.INK, linewidth=1.4)
    axes.text(1 + difference / 2, 1.4, f"CD {difference:.2f}", ha="center")


def _draw_model(
    axes: canvas.Axes,
    model: str,
    rank: float,
    height: float,
    is_left: bool,
    n_models: int,
) -> None:
    """Draw a model's rank, a line from there to its side, and its name."""
    is_ours = model == SSFN
    colour = canvas.FIRST if is_ours else canvas.INK
    above = 3 + is_ours  # where two ranks are equal, ours is seen
    edge = 1 - SIDE if is_left else n_models + SIDE
    axes.plot([rank, rank, edge], [0, height, height], color=colour, linewidth=1,
              zorder=above)  # fmt: skip
    axes.plot(rank, 0, "o", color=colour, markersize=5, zorder=above)
    axes.text(
        edge, height + 0.08, f"{LABELS[model]} {rank:.2f}", color=colour,
        size=canvas.SMALL, ha="left" if is_left else "right", va="bottom",
    )  # fmt: skip
