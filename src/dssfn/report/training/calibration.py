"""The figure of how much probabilities mean."""

from __future__ import annotations

from dssfn.report.canvas import (
    FIRST,
    MUTED,
    Drawing,
    finish,
    new_axes,
    percent_axis,
)
from dssfn.report.numbers import percent
from dssfn.report.training.scores import calibrated
from dssfn.results import Result

SMALLEST, LARGEST = 12.0, 160.0  # areas of marks, in square points


def draw_calibration(result: Result) -> Drawing | None:
    """Draw the share of right answers by the probability that was given."""
    scores = calibrated(result)
    if scores is None:
        return None
    bins = scores.calibration
    most = max(one.n for one in bins)
    axes = new_axes(250)
    axes.plot([0, 100], [0, 100], color=MUTED, linewidth=1, linestyle="--")
    axes.scatter(
        [100 * one.confidence for one in bins],
        [100 * one.accuracy for one in bins],
        s=[SMALLEST + (LARGEST - SMALLEST) * one.n / most for one in bins],
        color=FIRST,
        alpha=0.8,
        clip_on=False,
        zorder=3,
    )
    least = min(100 * min(one.confidence, one.accuracy) for one in bins)
    axes.set_xlim(max(0.0, least - 5), 100)
    axes.set_ylim(max(0.0, least - 5), 100)
    axes.set_xlabel("probability of the predicted class")
    axes.set_ylabel("right answers")
    for which in ("x", "y"):
        percent_axis(axes, which)
    axes.grid()
    told = percent(scores.calibration_error)
    label = (
        f"Right answers by probability, in {len(bins)} groups; mean distance {told}."
    )
    return finish(axes, "calibration", label)
