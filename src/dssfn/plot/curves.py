"""Curves over the layers of a network."""

from __future__ import annotations

from dssfn.errors import InputError
from dssfn.plot.reading import Layers
from dssfn.plot.surroundings import axes_or_new, palette_of
from dssfn.report.canvas import BLUE, ORANGE, Axes, MaxNLocator, percent_axis
from dssfn.report.on_axes import draw_series, layer_axis
from dssfn.report.training.curves import TRAINING, VALIDATION

HEADROOM = 0.28  # of the height: room for the legend above all curves


def draw_history(layers: Layers, metric: str, ax: Axes | None) -> Axes:
    """Draw the error or the accuracy of every layer."""
    records = layers.records
    if metric == "accuracy" and records[0].train_accuracy is None:
        raise InputError(
            "`metric` must be 'error' for a regressor: numbers are not right or wrong."
        )
    ending, factor = ("error_db", 1.0) if metric == "error" else ("accuracy", 100.0)
    axes = axes_or_new(ax, 6.0, 3.6)
    palette = palette_of(axes)
    for name, part, look in (
        (TRAINING, "train", BLUE._replace(colour=palette.first)),
        (VALIDATION, "validation", ORANGE._replace(colour=palette.second)),
    ):
        draw_series(axes, records, f"{part}_{ending}", name, look, factor=factor)
    layer_axis(axes, _layers_on(axes), palette)
    if layers.is_chosen:
        axes.axvline(
            layers.depth, color=palette.muted, linewidth=1.2, linestyle=":",
            label=f"layer {layers.depth} is kept", zorder=0,
            ymax=1 / (1 + HEADROOM),
        )  # fmt: skip
    # Also after an earlier call, on the same or shared axes, which has fixed the ticks.
    axes.yaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10]))
    axes.autoscale(axis="y")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + HEADROOM * (high - low))
    if metric == "error":
        axes.set_ylabel("error in decibels")
    else:
        axes.set_ylabel("correct predictions")
        percent_axis(axes, "y")
    axes.set_yticks([tick for tick in axes.get_yticks() if low <= tick <= high])
    axes.legend(loc="upper right", ncols=2, frameon=False)
    return axes


def _layers_on(axes: Axes) -> tuple[int, int]:
    """Return the first and the last layer on these axes, and on those that share x."""
    together = axes.get_shared_x_axes().get_siblings(axes)
    ends = [one.dataLim.intervalx for one in together if one.has_data()]
    return int(min(low for low, _ in ends)), int(max(high for _, high in ends))
