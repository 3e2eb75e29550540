"""Regression: five ordinary sets of real values, compared by R2.

They were chosen before any of them was tried: scikit-learn's diabetes, and four sets of
the textbook "An Introduction to Statistical Learning" with 392 to 8,645 rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from sklearn.datasets import load_diabetes

from benchmarks.accuracy.archives import ISLP
from benchmarks.accuracy.grid import grid_of, summary_table, table_by_set
from benchmarks.accuracy.measures import regression
from benchmarks.accuracy.models import REGRESSORS, REGRESSORS_ARE, SSFN
from benchmarks.accuracy.part import Choice, Part, command, tasks_of
from benchmarks.accuracy.tabular import LabelledTable, divide, read_frame
from benchmarks.claim import Claim, at_least
from dssfn.report.table import Table
from dssfn.rows import Metrics, Row
from dssfn.sweeps import Task

NAME = "regression"
N_SPLITS = 3


@dataclass(frozen=True, slots=True)
class Source:
    """A file of the textbook's package, its target, and columns that reveal it."""

    file: str
    target: str
    dropped: tuple[str, ...] = ()


DIABETES = "diabetes"
SOURCES = {
    "auto": Source("Auto.csv", "mpg", ("name",)),
    "boston": Source("Boston.csv", "medv"),
    "wage": Source("Wage.csv", "wage", ("logwage",)),
    "bikeshare": Source("Bikeshare.csv", "bikers", ("casual", "registered")),
}
SETS = (DIABETES, *SOURCES)
QUICK_SETS = (DIABETES, "auto")


@cache
def read_set(name: str, folder: Path) -> LabelledTable:
    """Return a set by its name."""
    if name == DIABETES:
        return LabelledTable(
            *load_diabetes(return_X_y=True, as_frame=True, scaled=False)
        )
    source = SOURCES[name]
    frame = read_frame(ISLP.read(f"ISLP/data/{source.file}", folder), header=True)
    columns = frame.drop(columns=[source.target, *source.dropped])
    return LabelledTable(columns, frame[source.target].to_numpy(dtype=float))


def measure(data: str, seed: int, model: str, folder: Path) -> Metrics:
    """Return what a regressor does on one split of a set."""
    split = divide(read_set(data, folder), seed, stratified=False)
    return regression(REGRESSORS[model](seed), split)


def tasks(choice: Choice) -> list[Task]:
    """Return every set with every split and every regressor."""
    sets, seeds = QUICK_SETS if choice.quick else SETS, choice.seeds(N_SPLITS)
    run = partial(measure, folder=choice.cache)
    return tasks_of(NAME, sets, seeds, REGRESSORS, run)


def tables(rows: Sequence[Row]) -> list[Table]:
    """Return the summary, and R2 by set."""
    grid = grid_of(rows, "r2", REGRESSORS)
    return [
        summary_table(grid, rows, "R2 and ranks", "R2", "{:.3f}".format, len(SETS)),
        table_by_set(grid, "R2 of the test rows, by set", "{:.3f}".format),
    ]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return SSFN beside the best other model."""
    grid = grid_of(rows, "r2", REGRESSORS)
    others = [grid.mean(model) for model in grid.models if model != SSFN]
    if SSFN not in grid.models or not others:
        return []
    what = f"{len(grid.sets)} sets: mean R2 of SSFN, beside the best other model"
    return [at_least(what, grid.mean(SSFN), max(others), command(NAME))]


PART = Part(
    name=NAME,
    title="Regression",
    about="Diabetes of scikit-learn, and four sets of the textbook “An Introduction to "
    "Statistical Learning”: fuel consumption of cars, house values in Boston, wages, "
    "and the hourly use of rented bicycles. At most 4,000 rows for training and 30 % "
    f"for testing, {N_SPLITS} random splits. {REGRESSORS_ARE}",
    tasks=tasks,
    tables=tables,
    claims=claims,
)
