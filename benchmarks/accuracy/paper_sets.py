"""The paper's sets in their canonical splits, with the defaults of SSFN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.measures import classification
from benchmarks.accuracy.models import CLASSIFIERS, SSFN, Model
from benchmarks.accuracy.part import Choice, Part, command
from benchmarks.accuracy.sets import percent
from benchmarks.accuracy.tabular import Split
from benchmarks.claim import Claim, at_least
from dssfn import DSSFNClassifier
from dssfn.datasets import load_dataset
from dssfn.report.evidence.selection import deviation, grouped, mean
from dssfn.report.numbers import plural
from dssfn.report.table import Table
from dssfn.rows import Metrics, Row
from dssfn.sweeps import Task

NAME = "paper-sets"
N_SEEDS = 3
WANTED = {"satimage": 91.0, "letter": 96.5, "mnist": 97.0}  # test %
QUICK_SETS = ("vowel",)
DEFAULTS = "defaults"

# The training rows of Vowel are those of eight speakers, one after the other. Those of
# its test are other speakers, as whole nodes that are left out are.
SPEAKERS: NDArray[np.intp] = np.repeat(np.arange(8), 66)


def _by_speaker(seed: int) -> Model:
    return DSSFNClassifier(
        n_nodes=8, partition=SPEAKERS, folds="nodes", random_state=seed
    )


# The set, the name of the way to train on it, and how the model is made from a seed.
WAYS: tuple[tuple[str, str, Callable[[int], Model]], ...] = (
    ("vowel", DEFAULTS, CLASSIFIERS[SSFN]),
    ("vowel", "folds by speaker", _by_speaker),
    *((data, DEFAULTS, CLASSIFIERS[SSFN]) for data in WANTED),
)


def measure(
    data: str, make: Callable[[int], Model], seed: int, data_dir: Path | None
) -> Metrics:
    """Return what SSFN does on a set."""
    loaded = load_dataset(data, data_dir=data_dir)
    split = Split(loaded.X_train, loaded.y_train, loaded.X_test, loaded.y_test)
    return classification(make(seed), split)


def tasks(choice: Choice) -> list[Task]:
    """Return every set with every seed."""
    return [
        Task(
            NAME,
            {"data": data, "seed": seed, "model": SSFN, "way": way},
            partial(measure, data, make, seed, choice.data_dir),
        )
        for data, way, make in WAYS
        if data in QUICK_SETS or not choice.quick
        for seed in choice.seeds(N_SEEDS)
    ]


def tables(rows: Sequence[Row]) -> list[Table]:
    """Return the test accuracy by set."""
    lines = [
        (
            str(data),
            str(way),
            percent(mean(group, "accuracy")),
            percent(deviation(group, "accuracy")),
            f"{len(group)}",
        )
        for (data, way), group in grouped(rows, ("data", "way")).items()
    ]
    head = ("data", "with", "test %", "deviation", "seeds")
    return [Table("The paper's sets, SSFN", head, lines, 2)]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the test accuracy with the defaults beside what is wanted."""
    return [
        at_least(
            f"{data}: test % of SSFN, mean of {plural(len(group), 'seed')}",
            100 * mean(group, "accuracy"), WANTED[str(data)], command(NAME),
        )
        for (data, way), group in grouped(rows, ("data", "way")).items()
        if way == DEFAULTS and data in WANTED
    ]  # fmt: skip


PART = Part(
    name=NAME,
    title="The paper's sets",
    about=f"Canonical splits, all training rows, {N_SEEDS} seeds.",
    tasks=tasks,
    tables=tables,
    claims=claims,
)
