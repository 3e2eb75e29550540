"""What a budget of differential privacy costs, and what it leaves to attackers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.accuracy.hospitals import read_patients
from benchmarks.privacy.inference import Tell
from benchmarks.privacy.membership import likelihood_ratio, measure, train_models
from benchmarks.privacy.sets import LabelledRows
from benchmarks.privacy.subjects import by_scores
from dssfn import DSSFNClassifier, SSFNClassifier
from dssfn.datasets import load
from dssfn.datasets.hospitals import HOSPITALS
from dssfn.report.table import Table

COMMAND = "python -m benchmarks.privacy budget"
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
DELTA, FEW_ROWS_DELTA = 1e-5, 1e-4
SEED = 0

# Ranges that are known beforehand: of clinical measurements, of pixels and the like.
HEART_LOW = (0.0, 0.0, 60.0, 0.0, 0.0, 50.0, 0.0, -3.0, *[0.0] * 5)
HEART_HIGH = (100.0, 1.0, 220.0, 600.0, 1.0, 220.0, 1.0, 7.0, *[1.0] * 5)
RANGES: dict[str, tuple[Any, Any]] = {
    "digits": (0.0, 16.0),
    "letter": (0.0, 15.0),
    "mnist": (0.0, 1.0),
    "four hospitals": (HEART_LOW, HEART_HIGH),
}

# Published by FLamby with its code (flamby/dp_example), for delta 1e-4: the mean over
# five seeds of the mean over the four hospitals. None: without privacy.
FLAMBY = {None: 0.7890, 0.1: 0.6638, 1.0: 0.7813, 5.0: 0.7736, 10.0: 0.7771}
FLAMBY_EPSILONS = (0.1, 1.0, 5.0, 10.0)


def private(name: str, epsilon: float | None, delta: float) -> dict[str, Any]:
    """Return the settings of an estimator with a budget; none without epsilon."""
    if epsilon is None:
        return {}
    low, high = RANGES[name]
    return {"epsilon": epsilon, "delta": delta, "input_low": low, "input_high": high}


def accuracy_table(data_dir: Path | None, n_seeds: int, tell: Tell) -> Table:
    """Return the test accuracy of private networks by their budget."""
    lines = []
    for name in ("letter", "mnist"):
        data = load(name, data_dir=data_dir)
        cells = []
        for epsilon in (*EPSILONS, None):
            found = []
            for seed in range(n_seeds if epsilon is not None else 1):
                settings = private(name, epsilon, DELTA)
                model = SSFNClassifier(random_state=seed, **settings)
                model.fit(data.X_train, data.y_train)
                found.append(float(model.score(data.X_test, data.y_test)))
            cells.append(_percent(found))
        line = (name, f"{len(data.y_train):,}", f"{DELTA:g}", *cells)
        tell("  ".join(line))
        lines.append(line)
    line = _hospitals_line(data_dir, n_seeds)
    tell("  ".join(line))
    lines.append(line)
    head = ("data", "rows", "delta", *(f"{one:g}" for one in EPSILONS), "no noise")
    note = (
        "Test accuracy in per cent by epsilon: mean and standard deviation of "
        f"{n_seeds} trainings, with seeds from 0. The hospitals are four nodes, the "
        "other sets are at one node. No noise: the default network. "
        f"`{COMMAND}`"
    )
    return Table("What a budget costs", head, lines, 3, note)


def flamby_table(data_dir: Path | None, n_seeds: int, tell: Tell) -> Table:
    """Return the accuracy at the hospitals beside what FLamby has published."""
    mine = ["dssfn"]
    theirs = ["FLamby, DP-SGD and FedAvg"]
    for epsilon in (*FLAMBY_EPSILONS, None):
        mine.append(_percent(_of_hospitals(data_dir, epsilon, n_seeds)))
        theirs.append(f"{100 * FLAMBY[epsilon]:.1f}")
    tell("  ".join(mine))
    head = ("four hospitals", *(f"{one:g}" for one in FLAMBY_EPSILONS), "no noise")
    note = (
        "The mean of the four hospitals' test accuracies, in per cent, by epsilon; "
        "delta 1e-4, with the patients and the division of FLamby. FLamby's results "
        "are from its repository "
        "(`flamby/dp_example/results_fed_heart_disease.csv`). There every hospital "
        "adds noise of its own, accounted for 15 epochs, as there are 15 rounds; but a "
        "round of 100 updates is two epochs of the largest hospital and more of the "
        f"others, so the true epsilon is larger. `{COMMAND}`"
    )
    return Table("Compared with published results", head, [mine, theirs], 1, note)


def _hospitals_line(data_dir: Path | None, n_seeds: int) -> tuple[str, ...]:
    n_rows = len(read_patients(data_dir).split.y_train)
    cells = [
        _percent(_of_hospitals(data_dir, epsilon, n_seeds, of_all=True))
        for epsilon in (*EPSILONS, None)
    ]
    return "four hospitals", f"{n_rows:,}", f"{FEW_ROWS_DELTA:g}", *cells


def _of_hospitals(
    data_dir: Path | None,
    epsilon: float | None,
    n_seeds: int,
    *,
    of_all: bool = False,
) -> list[float]:
    """Return the test accuracy of all patients, or the mean of the hospitals'."""
    patients = read_patients(data_dir)
    split, found = patients.split, []
    for seed in range(n_seeds):
        model = DSSFNClassifier(
            len(HOSPITALS),
            partition=patients.train_hospital,
            random_state=seed,
            **private("four hospitals", epsilon, FEW_ROWS_DELTA),
        ).fit(split.X_train, split.y_train)
        is_right = model.predict(split.X_test) == split.y_test
        of_each = [
            float(is_right[patients.test_hospital == number].mean())
            for number in range(len(HOSPITALS))
        ]
        found.append(float(is_right.mean()) if of_all else fmean(of_each))
    return found


def _percent(found: Sequence[float]) -> str:
    spread = f" ± {100 * stdev(found):.1f}" if len(found) > 1 else ""
    return f"{100 * fmean(found):.1f}{spread}"


def membership_by_budget(
    sets: Iterable[LabelledRows], n_models: int, tell: Tell
) -> Table:
    """Return how well members are told by the scores of private models."""
    lines = []
    for rows in sets:
        delta = DELTA if rows.name == "digits" else FEW_ROWS_DELTA
        for epsilon in (*EPSILONS, None):
            subject = by_scores(**private(rows.name, epsilon, delta))(rows)
            trials = train_models(subject, len(rows.y), n_models, SEED)
            found = measure(likelihood_ratio(trials), trials.is_member, SEED)
            low, high = found.auc_interval
            line = (
                f"{rows.name}, {len(rows.y):,} rows",
                "no noise" if epsilon is None else f"{epsilon:g}",
                f"{found.auc:.3f} ({low:.3f} to {high:.3f})",
                f"{100 * found.tpr:.1f}",
                f"{100 * found.accuracy:.1f}",
            )
            tell("  ".join(line))
            lines.append(line)
    head = ("data", "epsilon", "AUC", "found at 1 % false positives, %", "correct, %")
    note = (
        f"As above, from the scores of {n_models} models, each trained on a random "
        f"half of the rows. `{COMMAND}`"
    )
    return Table("Was this row trained on, by budget", head, lines, 2, note)
