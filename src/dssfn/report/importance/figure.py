"""The figure of the importance of columns."""

from __future__ import annotations

from dssfn.importance import Importance
from dssfn.report.canvas import (
    FIRST,
    INK,
    QUIET,
    SMALL,
    TEXT,
    Drawing,
    finish,
    new_axes,
    percent_axis,
    round_numbers,
    style,
)
from dssfn.report.importance.words import WORDS, short_names

WIDTH = 460  # points
FEW = 20  # columns: the rows of more are narrower
LONGEST = 30  # letters of a name


def draw_importance(importance: Importance) -> Drawing:
    """Draw the columns as bars, the most important at the top."""
    with style():
        return _draw(importance)


def _draw(importance: Importance) -> Drawing:
    columns, words = importance.columns, WORDS[importance.main]
    is_few = len(columns) <= FEW
    row, letters = (19.0, TEXT) if is_few else (13.5, SMALL)
    factor = 100.0 if words.is_share else 1.0
    means = [factor * one.figures[importance.main].mean for one in columns]
    stds = [factor * one.figures[importance.main].std for one in columns]
    places = range(len(columns))
    axes = new_axes(row * len(columns) + 62, width=WIDTH)
    axes.barh(
        places, means, xerr=stds, height=0.62, color=FIRST,
        error_kw={"ecolor": INK, "elinewidth": 1.1, "capsize": 0},
    )  # fmt: skip
    axes.axvline(0, color=QUIET, linewidth=0.8, zorder=2)
    names = short_names([one.name for one in columns], LONGEST)
    # Names are the user's: a dollar sign begins no formula.
    axes.set_yticks(places, names, size=letters, color=INK, parse_math=False)
    axes.set_ylim(len(columns) - 0.4, -0.6)
    if not any(means):
        axes.set_xlim(0, 1)
    (percent_axis if words.is_share else round_numbers)(axes, "x")
    axes.set_xlabel(
        f"{words.name} when the column is shuffled\n"
        f"(mean of {importance.n_repeats} shuffles; lines: ± one standard deviation)",
        size=SMALL,
    )
    axes.grid(axis="x")
    axes.spines["left"].set_visible(False)
    label = f"Importance of {len(columns)} columns, from {names[0]} to {names[-1]}."
    return finish(axes, "importance", label)
