"""Four hospitals with heart patients, beside the figures that FLamby published.

FLamby (fed_heart_disease) leaves out the columns slope, ca and thal and then patients
with gaps. It predicts whether there is any disease, and splits every hospital by one
fixed seed. Here columns are raw, with zeros and ones for the levels of cp and restecg
but the first, and every hospital is a node. The usual models are given the patients of
all hospitals together, as FLamby's pooled training is.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from benchmarks.accuracy.measures import classification
from benchmarks.accuracy.models import CLASSIFIERS, DSSFN, LABELS, Model
from benchmarks.accuracy.part import Choice, Part, command, tasks_of
from benchmarks.accuracy.sets import percent
from benchmarks.accuracy.tabular import Split
from benchmarks.claim import Claim, at_least
from dssfn import DSSFNClassifier
from dssfn.datasets.hospitals import HOSPITALS, read_hospitals
from dssfn.report.evidence.selection import grouped, mean
from dssfn.report.numbers import NONE
from dssfn.report.table import Table
from dssfn.rows import Metrics, Row
from dssfn.sweeps import Task

NAME = "hospitals"
N_SEEDS = 5
WITH_GAPS = ("slope", "ca", "thal")
FLAMBY_SEED, FLAMBY_TRAIN = 43, 0.66

# Test accuracies in FLamby's results files, heart_seed42.csv to heart_seed46.csv of its
# commits a422b61c and f553c7ac, means of five seeds: of all patients together, and for
# pooled training of each hospital's. Earlier versions of these files have others.
FLAMBY: tuple[tuple[str, float, tuple[float, ...]], ...] = (
    ("pooled training", 0.795, (0.783, 0.764, 0.750, 0.644)),
    ("cyclic learning", 0.785, ()),
    ("FedAdagrad, FedAdam, FedYogi", 0.779, ()),
    ("FedAvg, FedProx, Scaffold", 0.748, ()),
    ("Cleveland's own model", 0.784, ()),
    ("Hungary's own model", 0.727, ()),
    ("VA's own model", 0.611, ()),
    ("Switzerland's own model", 0.483, ()),
)
WANTED = 80.5  # test %: a point above FLamby's pooled training


@dataclass(frozen=True, slots=True, eq=False)
class Patients:
    """The patients of all hospitals, and to which hospital each of them belongs."""

    split: Split
    train_hospital: NDArray[np.intp]
    test_hospital: NDArray[np.intp]


def read_patients(data_dir: Path | None) -> Patients:
    """Return the patients of all hospitals, divided as FLamby divides them."""
    frame = pd.concat(
        [
            _read_hospital(content).assign(hospital=number)
            for number, content in enumerate(read_hospitals(data_dir).values())
        ],
        ignore_index=True,
    )
    is_train, hospital = frame.pop("is_train").to_numpy(), frame.pop("hospital")
    y = (frame.pop("num") > 0).to_numpy(dtype=int)
    levels = pd.get_dummies(frame, columns=["cp", "restecg"], drop_first=True)
    X, where = levels.to_numpy(dtype=float), hospital.to_numpy(dtype=np.intp)
    split = Split(X[is_train], y[is_train], X[~is_train], y[~is_train])
    return Patients(split, where[is_train], where[~is_train])


def _read_hospital(content: bytes) -> pd.DataFrame:
    """Return the patients without gaps, and which of them are to train on."""
    frame = pd.read_csv(io.BytesIO(content)).drop(columns=list(WITH_GAPS)).dropna()
    is_ill = frame["num"] > 0
    # Too few healthy patients in Switzerland for FLamby to stratify.
    enough = min(is_ill.sum(), (~is_ill).sum()) > 2
    train, _ = train_test_split(
        np.arange(len(frame)),
        train_size=FLAMBY_TRAIN,
        test_size=1 - FLAMBY_TRAIN,
        random_state=FLAMBY_SEED,
        stratify=is_ill if enough else None,
    )
    return frame.assign(is_train=np.isin(np.arange(len(frame)), train))


def measure(data: str, seed: int, model: str, data_dir: Path | None) -> Metrics:
    """Return the accuracy on all test patients, and on those of each hospital."""
    patients = read_patients(data_dir)
    classifier = _make(model, seed, patients)
    metrics = classification(classifier, patients.split)
    is_right = classifier.predict(patients.split.X_test) == patients.split.y_test
    of_each = {
        name: float(is_right[patients.test_hospital == number].mean())
        for number, name in enumerate(HOSPITALS)
    }
    return metrics | of_each


def _make(model: str, seed: int, patients: Patients) -> Model:
    if model != DSSFN:
        return CLASSIFIERS[model](seed)
    hospital = patients.train_hospital
    return DSSFNClassifier(len(HOSPITALS), partition=hospital, random_state=seed)


def tasks(choice: Choice) -> list[Task]:
    """Return every classifier with every seed."""
    run = partial(measure, data_dir=choice.data_dir)
    return tasks_of(NAME, ["heart"], choice.seeds(N_SEEDS), CLASSIFIERS, run)


def tables(rows: Sequence[Row]) -> list[Table]:
    """Return what was measured, and below it what FLamby published."""
    labels = LABELS | {DSSFN: "dSSFN, a node in each hospital"}
    measured = [
        (
            labels[str(model)],
            *(percent(mean(group, name)) for name in ("accuracy", *HOSPITALS)),
        )
        for (model,), group in grouped(rows, ("model",)).items()
    ]
    published = [
        (
            f"FLamby: {name}",
            percent(pooled),
            *(map(percent, of_each) if of_each else [NONE] * len(HOSPITALS)),
        )
        for name, pooled, of_each in FLAMBY
    ]
    head = ("model", "all patients", "Cleveland", "Hungary", "Switzerland", "VA")
    note = (
        "Test accuracy in per cent, means over the seeds. FLamby's results by hospital "
        "do not average to its result for all patients; that is how its files are."
    )
    return [Table("Four hospitals", head, [*measured, *published], note=note)]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return what dSSFN reaches, beside what is wanted."""
    group = grouped(rows, ("model",)).get((DSSFN,))
    if group is None:
        return []
    what = "four hospitals: test % of dSSFN (FLamby's pooled training: 79.5)"
    return [at_least(what, 100 * mean(group, "accuracy"), WANTED, command(NAME))]


PART = Part(
    name=NAME,
    title="Four hospitals",
    about="Heart patients of four hospitals, prepared and divided as the benchmark "
    f"FLamby does it. dSSFN has one node in each hospital; {N_SEEDS} seeds. The usual "
    "models are given all patients together.",
    tasks=tasks,
    tables=tables,
    claims=claims,
)
