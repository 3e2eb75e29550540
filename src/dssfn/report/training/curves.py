"""The curves of a training's report: cost, error and accuracy by layer."""

from __future__ import annotations

from dssfn.report.canvas import (
    BLACK,
    BLUE,
    FIRST,
    INK,
    MUTED,
    ORANGE,
    QUIET,
    SMALL,
    Axes,
    Drawing,
    finish,
    legend_above,
    log_range,
    new_axes,
    percent_axis,
)
from dssfn.report.numbers import amount, decibel, percent
from dssfn.report.on_axes import draw_series, layer_axis
from dssfn.report.training.found import is_validated
from dssfn.results import Result

# Names of series, in figures and in what is said of them.
TRAINING, VALIDATION, TEST = "training samples", "validation samples", "test samples"


def draw_cost(result: Result) -> Drawing | None:
    """Draw the cost per layer, on a logarithmic scale, if nothing was validated."""
    layers = [row.layer for row in result.layers if row.cost > 0]
    costs = [row.cost for row in result.layers if row.cost > 0]
    if not costs or is_validated(result):
        return None
    axes = new_axes(220)
    axes.semilogy(layers, costs, "o-", color=FIRST, markersize=5)
    layer_axis(axes, layers)
    log_range(axes, "y", min(costs), max(costs))
    axes.set_ylabel("cost")
    _mark_kept(axes, result)
    for x, y, offset, side in (
        (layers[0], costs[0], (0, 8), "left"),
        (layers[-1], costs[-1], (0, -15), "right"),
    )[: len(costs)]:
        axes.annotate(
            amount(y), (x, y), offset, textcoords="offset points", ha=side, color=INK,
        )  # fmt: skip
    label = (
        f"Cost by layer, on a logarithmic scale: from {amount(costs[0])} at layer "
        f"{layers[0]} to {amount(costs[-1])} at layer {layers[-1]}."
    )
    return finish(axes, "cost", label)


def draw_error(result: Result) -> Drawing | None:
    """Draw the error of training and of validation per layer, and which is kept."""
    if not is_validated(result):
        return None
    axes, told = new_axes(240), []
    for name, attribute, look in (
        (TRAINING, "train_error_db", BLUE),
        (VALIDATION, "validation_error_db", ORANGE),
    ):
        values = draw_series(axes, result.layers, attribute, name, look)
        told.append(f"from {decibel(values[0])} to {decibel(values[-1])} on {name}")
    layer_axis(axes, [row.layer for row in result.layers])
    axes.set_ylabel("error in dB")
    _mark_kept(axes, result)
    legend_above(axes, columns=2)
    label = f"Error by layer: {'; '.join(told)}. "
    return finish(axes, "error", label + f"Layer {result.settings.depth} is kept.")


def draw_accuracy(result: Result) -> Drawing | None:
    """Draw the accuracy per layer, on training, validation and test samples."""
    rows = result.layers
    if not rows or result.settings.is_regression:
        return None
    validated = is_validated(result)
    axes, told = new_axes(240 if validated else 220), []
    for name, attribute, look in (
        (TRAINING, "train_accuracy", BLUE),
        (VALIDATION, "validation_accuracy", ORANGE),
        (TEST, "test_accuracy", BLACK if validated else ORANGE),
    ):
        if shares := draw_series(axes, rows, attribute, name, look, factor=100):
            first, last = (percent(shares[end] / 100) for end in (0, -1))
            told.append(f"{first} to {last} of the {name}")
    layer_axis(axes, [row.layer for row in rows])
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, 0), min(high, 101))
    percent_axis(axes, "y")
    legend_above(axes, columns=2)
    label = f"Accuracy from layer {rows[0].layer} to {rows[-1].layer}: "
    return finish(axes, "accuracy", label + f"{'; '.join(told)}.")


def _mark_kept(axes: Axes, result: Result) -> None:
    """Mark the last layer that is kept, if the network found its depth."""
    if "n_layers" not in result.settings.found:
        return
    depth, last = result.settings.depth, result.layers[-1].layer
    axes.axvline(depth, color=QUIET, linewidth=1.2, zorder=0)
    is_left = depth <= last / 2
    axes.annotate(
        f"layer {depth} is kept", (depth, 1), (4 if is_left else -4, -4),
        xycoords=axes.get_xaxis_transform(), textcoords="offset points", va="top",
        ha="left" if is_left else "right", color=MUTED, size=SMALL,
    )  # fmt: skip
