"""Integer units beside dense ones: the same settings, the same splits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.accuracy.grid import grid_of, table_by_set
from benchmarks.accuracy.measures import classification
from benchmarks.accuracy.models import DENSE, INTEGER, UNITS
from benchmarks.accuracy.part import Choice, Part, command, tasks_of
from benchmarks.accuracy.sets import QUICK_SETS, SETS, percent, read_set
from benchmarks.accuracy.tabular import divide
from benchmarks.claim import Claim, at_most
from dssfn.report.table import Table
from dssfn.rows import Metrics, Row
from dssfn.sweeps import Task

NAME = "units"
N_SETS, N_SPLITS = 12, 3


def measure(data: str, seed: int, model: str, folder: Path) -> Metrics:
    """Return what a classifier does on one split of a set."""
    split = divide(read_set(data, folder), seed, stratified=True)
    return classification(UNITS[model](seed), split)


def tasks(choice: Choice) -> list[Task]:
    """Return the first sets with every split and both kinds of units."""
    sets = QUICK_SETS if choice.quick else SETS[:N_SETS]
    run = partial(measure, folder=choice.cache)
    return tasks_of(NAME, sets, choice.seeds(N_SPLITS), UNITS, run)


def tables(rows: Sequence[Row]) -> list[Table]:
    """Return the accuracy by set."""
    grid = grid_of(rows, "accuracy", UNITS)
    return [
        table_by_set(
            grid, "Integer and dense units, test accuracy in per cent", percent
        )
    ]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return how far integers are behind dense units."""
    grid = grid_of(rows, "accuracy", UNITS)
    if len(grid.models) < 2:
        return []
    behind = 100 * (np.array(grid.of(DENSE)) - np.array(grid.of(INTEGER)))
    over = f"integer and dense units, {len(grid.sets)} sets"
    return [
        at_most(f"{over}: points between the means", abs(float(behind.mean())), 0.2,
                command(NAME)),
        at_most(f"{over}: points behind on the worst set", float(behind.max()), 1.0,
                command(NAME)),
    ]  # fmt: skip


PART = Part(
    name=NAME,
    title="Integer units",
    about="SSFN with its defaults, and the same with units=“dense”: features as real "
    "numbers, whose sums depend on their order in the last bits.",
    tasks=tasks,
    tables=tables,
    claims=claims,
)
