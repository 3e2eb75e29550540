"""Matrices of counts: who held which classes, and what was taken for what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn.report.canvas import (
    FIRST,
    INK,
    SECOND,
    SMALL,
    SURFACE,
    TEXT,
    WIDTH,
    Axes,
    Drawing,
    Rectangle,
    finish,
    new_axes,
)
from dssfn.report.numbers import clean, count, plural
from dssfn.results import Result

Counts = NDArray[np.int64]

LARGEST = 30  # classes, or nodes, in a matrix that can be read
LONGEST_TICK = 12  # letters
EMPTY = 0.08  # how much of a cell without samples is covered
# Numbers are dark on a cell that is covered up to a half and bright on a full one; in
# between, neither could be read.
STRONG, FAINT = 0.5, 0.12


def confusion_counts(result: Result) -> Counts | None:
    """Return test samples by class and prediction, (Q, Q), unless none or too many."""
    entries, n_classes = result.confusion, len(result.settings.classes)
    if not entries or n_classes > LARGEST:
        return None
    counts: Counts = np.zeros((n_classes, n_classes), dtype=np.int64)
    for true, predicted, number in entries:
        counts[true, predicted] = number
    return counts


def draw_confusion(result: Result) -> Drawing | None:
    """Draw test samples by true class and prediction."""
    counts = confusion_counts(result)
    if counts is None:
        return None
    labels = [clean(one, LONGEST_TICK) for one in result.settings.classes]
    right = np.eye(len(counts), dtype=bool)
    # Mistakes are few: the root makes a single one visible.
    cover = 0.15 + np.sqrt(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
    colours = np.where(right, FIRST, SECOND)
    axes = _draw_cells(counts, cover, colours)
    _label_axes(axes, labels, labels)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    wrong = int(counts.sum() - np.trace(counts))
    label = (
        f"Confusion matrix of {plural(len(labels), 'class', 'classes')}: "
        f"{count(np.trace(counts))} of {plural(int(counts.sum()), 'test sample')} lie "
        f"on the diagonal, {count(wrong)} beside it."
    )
    return finish(axes, "confusion", label)


def draw_held(result: Result) -> Drawing | None:
    """Draw training samples by node and class."""
    held, classes = result.held, result.settings.classes
    if not held or len(held) > LARGEST or len(classes) > LARGEST:
        return None
    counts = np.array(held)
    cover = STRONG * counts / max(counts.max(), 1)
    axes = _draw_cells(counts, cover, np.full(counts.shape, FIRST))
    labels = [clean(one, LONGEST_TICK) for one in classes]
    _label_axes(axes, [str(node) for node in range(len(held))], labels)
    axes.set_xlabel("class")
    axes.set_ylabel("node")
    kinds = np.count_nonzero(counts, axis=1)
    label = (
        f"Training samples by node and class: a node holds {counts.sum(axis=1).min()} "
        f"to {counts.sum(axis=1).max()} samples of {kinds.min()} to {kinds.max()} "
        "classes."
    )
    return finish(axes, "held", label)


def _draw_cells(counts: Counts, cover: Any, colours: Any) -> Axes:
    """Draw squares that are covered by colour, each with its number."""
    rows, columns = counts.shape
    cell = max((WIDTH - 48) / max(columns, 8), 19.5)
    height = float(np.clip(300 / rows, 17, min(cell, 32))) * rows + 48
    axes = new_axes(height, width=max(WIDTH, round(cell * columns + 48)))
    font = SMALL if cell > 26 else 8.5
    for (i, j), number in np.ndenumerate(counts):
        _cover(axes, i, j, FIRST, EMPTY)
        if number:
            strong = cover[i, j] > STRONG
            alpha = 1.0 if strong else max(float(cover[i, j]), FAINT)
            _cover(axes, i, j, colours[i, j], alpha)
            figure = axes.text(
                j, i, count(int(number)), ha="center", va="center_baseline", size=font,
                color=SURFACE if strong else INK,
            )  # fmt: skip
            figure.set_in_layout(False)
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.spines[:].set_visible(False)
    return axes


def _cover(axes: Axes, i: int, j: int, colour: str, alpha: float) -> None:
    corner = j - 0.47, i - 0.47
    patch = Rectangle(corner, 0.94, 0.94, color=colour, alpha=alpha, lw=0)
    patch.set_in_layout(False)  # within the axes anyway, and there are many
    axes.add_patch(patch)


def _label_axes(axes: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    axes.set_yticks(range(len(rows)), rows, parse_math=False)
    slanted = max(map(len, columns)) > 3 + 30 // len(columns)
    axes.set_xticks(
        range(len(columns)), columns, parse_math=False, rotation=90 if slanted else 0
    )
    axes.tick_params(labelsize=TEXT if len(columns) <= 16 else SMALL, pad=3)
