"""Time of `fit` against a random forest, in turn in one process."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.accuracy.grid import Grid, grid_of
from benchmarks.accuracy.measures import fit, sizes
from benchmarks.accuracy.models import CLASSIFIERS, DSSFN, FOREST, LABELS, SSFN
from benchmarks.accuracy.part import Choice, Part, command, tasks_of
from benchmarks.accuracy.sets import read_set
from benchmarks.accuracy.tabular import divide
from benchmarks.claim import Claim, at_most
from dssfn.report.table import Table
from dssfn.rows import Metrics, Row
from dssfn.sweeps import Task

NAME = "time"
SETS = (  # those with 500 to 4,000 training rows
    "banana", "german", "magic", "optdigits", "penbased", "pima", "ring", "segment",
    "texture", "twonorm",
)  # fmt: skip
QUICK_SETS = ("german", "pima")
TIMED = (SSFN, DSSFN)
REPEATS = 3
WANTED = {SSFN: 3.0, DSSFN: 6.0}  # times as long as the forest


def measure(data: str, seed: int, model: str, folder: Path) -> Metrics:
    """Return the time of a model and of a forest, medians of turns on one split."""
    split = divide(read_set(data, folder), seed, stratified=True)
    times: dict[str, list[float]] = {model: [], FOREST: []}
    for _ in range(REPEATS):  # in turn, so that a slow moment hits both
        for name, spent in times.items():
            classifier = CLASSIFIERS[name](seed)
            spent.append(fit(classifier, split.X_train, split.y_train))
    ours, forest = (statistics.median(spent) for spent in times.values())
    return {
        "fit_seconds": ours,
        "forest_seconds": forest,
        "ratio": ours / forest,
        **sizes(split),
    }


def tasks(choice: Choice) -> list[Task]:
    """Return every set with both of our models."""
    sets = QUICK_SETS if choice.quick else SETS
    return tasks_of(NAME, sets, [0], TIMED, partial(measure, folder=choice.cache))


def median(grid: Grid, model: str) -> float:
    """Return the median of a model's ratios over the sets."""
    return float(np.median(grid.of(model)))


def tables(rows: Sequence[Row]) -> list[Table]:
    """Return the ratios by set, and their medians."""
    ratio, forest, n_train = (
        grid_of(rows, metric, TIMED)
        for metric in ("ratio", "forest_seconds", "n_train")
    )
    lines = [
        (
            data,
            f"{n_train.values[place, 0]:,.0f}",
            f"{forest.values[place].mean():.2f}",
            *(f"{value:.2f}" for value in ratio.values[place]),
        )
        for place, data in enumerate(ratio.sets)
    ]
    medians = (f"{median(ratio, model):.2f}" for model in ratio.models)
    head = ("data", "training rows", "forest, s", *(LABELS[m] for m in ratio.models))
    caption = "Time of fit, as a multiple of the forest's"
    return [Table(caption, head, [*lines, ("median", "", "", *medians)])]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the median ratio of both models."""
    grid = grid_of(rows, "ratio", TIMED)
    return [
        at_most(
            f"{len(grid.sets)} sets: median time of {LABELS[model]}, in units of the "
            "forest's",
            median(grid, model), WANTED[model], command(NAME),
        )
        for model in grid.models
    ]  # fmt: skip


PART = Part(
    name=NAME,
    title="Time",
    about="Time of fit with the defaults against RandomForestClassifier with its 100 "
    "trees and one process, both in turn in one process; median of three turns. Sets "
    "with 500 to 4,000 training rows.",
    tasks=tasks,
    tables=tables,
    claims=claims,
)
