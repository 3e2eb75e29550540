"""The figure of how much probabilities mean."""

from __future__ import annotations

from dssfn.report.canvas import (
    FIRST,
    MUTED,
    QUIET,
    Drawing,
    finish,
    new_axes,
    percent_axis,
)
from dssfn.report.intervals import share_interval
from dssfn.report.numbers import percent
from dssfn.report.training.scores import calibrated
from dssfn.results import Result

SMALLEST, LARGEST = 20.0, 160.0  # areas of marks, in square points


def draw_calibration(result: Result) -> Drawing | None:
    """Draw the share of right answers by the probability that was given."""
    scores = calibrated(result)
    if scores is None:
        return None
    bins = scores.calibration
    most = max(one.n for one in bins)
    axes = new_axes(250)
    axes.plot([0, 100], [0, 100], color=MUTED, linewidth=1, linestyle="--")
    for one in bins:
        low, high = share_interval(one.accuracy, one.n)
        x = 100 * one.confidence
        axes.plot([x, x], [100 * low, 100 * high], color=QUIET, linewidth=1.2)
    axes.scatter(
        [100 * one.confidence for one in bins],
        [100 * one.accuracy for one in bins],
        s=[SMALLEST + (LARGEST - SMALLEST) * one.n / most for one in bins],
        color=FIRST,
        clip_on=False,
        zorder=3,
    )
    least = min(100 * min(one.confidence, one.accuracy) for one in bins)
    axes.set_xlim(max(0.0, least - 5), 100)
    axes.set_ylim(0, 100)
    axes.set_xlabel("probability that the model gives")
    axes.set_ylabel("right answers")
    for which in ("x", "y"):
        percent_axis(axes, which)
    axes.grid()
    told = percent(scores.calibration_error)
    label = (
        f"Right answers by probability, in {len(bins)} groups; mean distance {told}."
    )
    return finish(axes, "calibration", label)
