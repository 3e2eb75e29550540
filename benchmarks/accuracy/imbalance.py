"""Rare positives: recall with `class_weight="balanced"`.

Of the training rows so many positives are left out, at random, that 1.5 % remain. The
test rows are kept as they are: recall does not depend on how common positives are, and
with more of them it is measured better. Positive is the class that comes second when
they are sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.accuracy.grid import grid_of
from benchmarks.accuracy.measures import fit, sizes
from benchmarks.accuracy.models import BALANCED, LABELS, LOGISTIC, SSFN
from benchmarks.accuracy.part import Choice, Part, command, tasks_of
from benchmarks.accuracy.sets import N_SPLITS, percent, read_set
from benchmarks.accuracy.tabular import Split, divide
from benchmarks.claim import Claim, at_least
from dssfn.report.table import Table
from dssfn.rows import Metrics, Row
from dssfn.sweeps import Task

NAME = "imbalance"
SETS = ("banana", "magic", "ring", "twonorm")
QUICK_SETS = ("banana",)
SHARE = 0.015


def thinned(split: Split, seed: int) -> Split:
    """Return a split of two classes with few positives among its training rows."""
    negative = np.flatnonzero(split.y_train == 0)
    positive = np.flatnonzero(split.y_train == 1)
    n_kept = round(SHARE / (1 - SHARE) * len(negative))
    kept = np.random.default_rng(seed).permutation(positive)[:n_kept]
    rows = np.sort(np.concatenate([negative, kept]))
    return Split(split.X_train[rows], split.y_train[rows], split.X_test, split.y_test)


def measure(data: str, seed: int, model: str, folder: Path) -> Metrics:
    """Return how many positives and how many negatives a classifier recognises."""
    whole = divide(read_set(data, folder), seed, stratified=True)
    split, classifier = thinned(whole, seed), BALANCED[model](seed)
    seconds = fit(classifier, split.X_train, split.y_train)
    is_right = classifier.predict(split.X_test) == split.y_test
    return {
        "recall": float(is_right[split.y_test == 1].mean()),
        "specificity": float(is_right[split.y_test == 0].mean()),
        "fit_seconds": seconds,
        **sizes(split),
    }


def tasks(choice: Choice) -> list[Task]:
    """Return every set with every split and both models."""
    sets, seeds = QUICK_SETS if choice.quick else SETS, choice.seeds(N_SPLITS)
    run = partial(measure, folder=choice.cache)
    return tasks_of(NAME, sets, seeds, BALANCED, run)


def tables(rows: Sequence[Row]) -> list[Table]:
    """Return recall and specificity by set."""
    recall, specificity = (
        grid_of(rows, metric, BALANCED) for metric in ("recall", "specificity")
    )
    columns = [(g, model) for model in recall.models for g in (recall, specificity)]
    names = [
        f"{LABELS[model]}, {what}"
        for model in recall.models
        for what in ("recall", "negatives")
    ]
    lines = [
        (data, *(percent(grid.of(model)[place]) for grid, model in columns))
        for place, data in enumerate(recall.sets)
    ]
    means = ("mean", *(percent(grid.mean(model)) for grid, model in columns))
    note = "Negatives: the share that is recognised. All in per cent of test rows."
    caption = "1.5 % positives, balanced class weights"
    return [Table(caption, ("data", *names), [*lines, means], note=note)]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the recall of SSFN beside that of logistic regression."""
    grid = grid_of(rows, "recall", BALANCED)
    if len(grid.models) < 2:
        return []
    over = f"1.5 % positives, {len(grid.sets)} sets"
    what = f"{over}: recall % of SSFN, beside logistic less 2 points"
    measured, wanted = 100 * grid.mean(SSFN), 100 * grid.mean(LOGISTIC) - 2
    return [at_least(what, measured, wanted, command(NAME))]


PART = Part(
    name=NAME,
    title="Rare positives",
    about="Sets of two classes with 1.5 % positives among the training rows; both "
    "models with class_weight=“balanced”.",
    tasks=tasks,
    tables=tables,
    claims=claims,
)
