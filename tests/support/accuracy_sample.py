"""Invented rows of every part of the comparison with the usual models."""

from __future__ import annotations

from benchmarks.accuracy import (
    equality,
    hospitals,
    imbalance,
    paper_sets,
    regression,
    tables,
    times,
)
from benchmarks.accuracy.models import (
    BALANCED,
    CLASSIFIERS,
    DSSFN,
    REGRESSORS,
    SSFN,
    UNITS,
)
from benchmarks.accuracy.sets import SETS
from dssfn.rows import Row

MADE_BY = {"dssfn": "0.0", "numpy": "0.0", "machine": "none"}


def sample_rows():
    """Rows that look like a whole run, with two seeds."""
    rows = []
    for seed in (0, 1):
        rows += _of_part("sets", SETS, CLASSIFIERS, seed, _classified)
        rows += _of_part("hospitals", ["heart"], CLASSIFIERS, seed, _in_hospitals)
        models = tables.TOGETHER | tables.ALONE
        rows += _of_part("tables", ["heart"], models, seed, _in_tables)
        rows += _of_part("regression", regression.SETS, REGRESSORS, seed, _regressed)
        rows += _of_part("units", SETS[:12], UNITS, seed, _classified)
        rows += _of_part("imbalance", imbalance.SETS, BALANCED, seed, _balanced)
        rows += _of_part(
            "paper-sets", paper_sets.WANTED, [SSFN], seed, _classified, way="defaults"
        )
    for how in equality.PARTITIONS:
        rows += _of_part("equality", equality.SETS, [DSSFN], 0, _equal, partition=how)
    return rows + _of_part("time", times.SETS, times.TIMED, 0, _timed)


def row(part, data, model, seed=0, **metrics):
    """One row with the metrics that are given."""
    key = {"data": data, "seed": seed, "model": model}
    return Row(part, key, metrics, 1.0, MADE_BY)


def _of_part(part, sets, models, seed, metrics, **more):
    return [
        Row(
            part,
            {"data": data, "seed": seed, "model": model, **more},
            metrics((7 * i + 5 * j + seed) % 11 / 50),
            1.0,
            MADE_BY,
        )
        for i, data in enumerate(sets)
        for j, model in enumerate(models)
    ]


def _classified(x):
    return {
        "accuracy": 0.7 + x,
        "fit_seconds": 10 * x,
        "log_loss": 0.5 - x,
        "calibration_error": x / 3,
    }


def _in_hospitals(x):
    return _classified(x) | dict.fromkeys(hospitals.HOSPITALS, 0.75 + x / 2)


def _in_tables(x):
    return _in_hospitals(x) | {"auc": 0.8 + x / 2}


def _regressed(x):
    return {"r2": 0.6 + x, "fit_seconds": 10 * x}


def _balanced(x):
    return {"recall": 0.7 + x, "specificity": 0.8 - x}


def _equal(x):
    return {
        "same_choices": 1.0,
        "central_difference": x * 1e-9,
        "prediction_agreement": 1.0,
        "node_spread": 0.0,
        "test_accuracy": 0.9,
        "scalars_per_node": 1000,
    }


def _timed(x):
    return {"ratio": 1 + 10 * x, "forest_seconds": 0.3, "n_train": 2000}
