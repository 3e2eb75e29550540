"""The four hospitals' tables as they are: all 13 columns, gaps and categories.

Every patient is predicted once, by a model that was trained on the other four of five
parts. dSSFN has a node in each hospital; boosting takes gaps and categories itself;
logistic regression is given means for missing numbers, columns that say so, and zeros
and ones for levels. What a hospital can do alone stands beside it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.accuracy.measures import fit
from benchmarks.accuracy.models import DSSFN, LOGISTIC, Model
from benchmarks.accuracy.part import Choice, Part, command, tasks_of
from benchmarks.accuracy.sets import percent
from benchmarks.claim import Claim, at_least
from dssfn import DSSFNClassifier, SSFNClassifier
from dssfn.datasets.hospitals import HOSPITALS, TARGET, read_hospitals
from dssfn.report.evidence.selection import grouped, mean
from dssfn.report.table import Table
from dssfn.rows import Metrics, Row
from dssfn.sweeps import Task

NAME = "tables"
N_SEEDS, N_FOLDS = 5, 5
CATEGORIES = ("cp", "restecg", "slope", "thal")
POOLED = ("boosting", LOGISTIC)  # what dSSFN is compared with
ALLOWED = 1.0  # points below the best of them


@dataclass(frozen=True, slots=True, eq=False)
class Patients:
    """All patients: columns, whether they are sick, and the number of the hospital."""

    columns: pd.DataFrame
    is_sick: NDArray[np.intp]
    hospital: NDArray[np.intp]


def read_patients(data_dir: Path | None) -> Patients:
    """Return the patients of all hospitals."""
    tables = [
        pd.read_csv(io.BytesIO(content)).assign(hospital=number)
        for number, content in enumerate(read_hospitals(data_dir).values())
    ]
    frame = pd.concat(tables, ignore_index=True)
    is_sick = (frame.pop(TARGET) > 0).to_numpy(dtype=np.intp)
    hospital = frame.pop("hospital").to_numpy(dtype=np.intp)
    return Patients(
        frame.astype(dict.fromkeys(CATEGORIES, "category")), is_sick, hospital
    )


def _logistic(seed: int) -> Model:
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer(
        (levels, list(CATEGORIES)), remainder=numbers, sparse_threshold=0
    )
    return make_pipeline(columns, LogisticRegression(max_iter=2000, random_state=seed))


def _dssfn(seed: int, hospital: NDArray[np.intp]) -> Model:
    return DSSFNClassifier(len(HOSPITALS), partition=hospital, random_state=seed)


Maker = Callable[[int, NDArray[np.intp]], Model]
TOLD = "dssfn told"  # the hospital is a column, too
TOGETHER: dict[str, Maker] = {
    DSSFN: _dssfn,
    TOLD: _dssfn,
    "boosting": lambda seed, hospital: HistGradientBoostingClassifier(
        random_state=seed
    ),
    LOGISTIC: lambda seed, hospital: _logistic(seed),
}
ALONE: dict[str, Maker] = {
    "ssfn alone": lambda seed, hospital: SSFNClassifier(random_state=seed),
    "logistic alone": lambda seed, hospital: _logistic(seed),
}
LABELS = {
    DSSFN: "dSSFN, a node in each hospital",
    TOLD: "dSSFN, with a column that names the hospital",
    "boosting": "boosting, all patients together",
    LOGISTIC: "logistic, all patients together",
    "ssfn alone": "SSFN, each hospital alone",
    "logistic alone": "logistic, each hospital alone",
}


def measure(data: str, seed: int, model: str, data_dir: Path | None) -> Metrics:
    """Return accuracy and AUC over all patients, and the accuracy in each hospital."""
    patients = read_patients(data_dir)
    columns = patients.columns
    if model == TOLD:
        columns = columns.assign(hospital=pd.Categorical(patients.hospital))
    risk, seconds = np.empty(len(patients.is_sick)), 0.0
    # Every part has patients of each hospital, sick ones and others.
    kinds = 2 * patients.hospital + patients.is_sick
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    for train, test in folds.split(kinds, kinds):
        for mine, theirs in _groups(model, patients, train, test):
            made = (TOGETHER | ALONE)[model](seed, patients.hospital[mine])
            seconds += fit(made, columns.iloc[mine], patients.is_sick[mine])
            risk[theirs] = made.predict_proba(columns.iloc[theirs])[:, 1]
    is_right = (risk > 0.5) == patients.is_sick
    return {
        "accuracy": float(is_right.mean()),
        "auc": float(roc_auc_score(patients.is_sick, risk)),
        "fit_seconds": seconds,
        **{
            name: float(is_right[patients.hospital == number].mean())
            for number, name in enumerate(HOSPITALS)
        },
    }


def _groups(
    model: str, patients: Patients, train: NDArray[np.intp], test: NDArray[np.intp]
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return who is trained on and who is predicted, hospital by hospital if alone."""
    if model in TOGETHER:
        return [(train, test)]
    return [
        tuple(rows[patients.hospital[rows] == number] for rows in (train, test))
        for number in range(len(HOSPITALS))
    ]


def tasks(choice: Choice) -> list[Task]:
    """Return every classifier with every seed."""
    run = partial(measure, data_dir=choice.data_dir)
    return tasks_of(NAME, ["heart"], choice.seeds(N_SEEDS), TOGETHER | ALONE, run)


def tables(rows: Sequence[Row]) -> list[Table]:
    """Return what was measured."""
    measured = [
        (
            LABELS[str(model)],
            percent(mean(group, "accuracy")),
            f"{mean(group, 'auc'):.3f}",
            *(percent(mean(group, name)) for name in HOSPITALS),
        )
        for (model,), group in grouped(rows, ("model",)).items()
    ]
    head = ("model", "all patients", "AUC", "Cleveland", "Hungary", "Switzerland", "VA")
    note = (
        "The share of sick patients is 36 to 93 % by hospital, which a model of one "
        "hospital learns from its own patients. Accuracy in per cent on patients that "
        f"were left out, in {N_FOLDS} parts, and the area under the ROC curve; means "
        "over the seeds."
    )
    return [Table("Tables as they are", head, measured, note=note)]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return what dSSFN reaches, beside the best model of all patients together."""
    found = {str(model): group for (model,), group in grouped(rows, ("model",)).items()}
    if DSSFN not in found or not set(POOLED) & set(found):
        return []
    claimed = []
    for metric, what, factor in (("accuracy", "test %", 100.0), ("auc", "AUC", 1.0)):
        best = max(factor * mean(found[one], metric) for one in POOLED if one in found)
        least = best - ALLOWED * factor / 100
        name = f"four hospitals' tables as they are: {what} of dSSFN"
        mine = factor * mean(found[DSSFN], metric)
        claimed.append(at_least(name, mine, least, command(NAME)))
    return claimed


PART = Part(
    name=NAME,
    title="Four hospitals, tables as they are",
    about="The same hospitals with all of their patients and columns, up to 99 % of "
    f"which are missing in one of them; {N_SEEDS} seeds. The goal is not to be more "
    "than a point below the best model that is given all patients together.",
    tasks=tasks,
    tables=tables,
    claims=claims,
)
