"""How well the rows that were trained on are told from others, by what is seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from benchmarks.privacy.membership import (
    Measured,
    Trials,
    likelihood_ratio,
    measure,
    offline_ratio,
    threshold,
    train_models,
)
from benchmarks.privacy.sets import LabelledRows
from benchmarks.privacy.subjects import SUBJECTS, Attacked, by_totals
from dssfn.report.table import Table

COMMAND = "python -m benchmarks.privacy membership"
N_ROWS = (500, 1000, 2000, 4000, 8000, 16000)
N_LARGER = 8  # trainings of each size
SEED = 0

Tell = Callable[[str], None]


def membership_table(
    sets: Iterable[LabelledRows],
    n_models: int,
    tell: Tell,
    *,
    subjects: Sequence[Attacked] = SUBJECTS,
) -> Table:
    """Return how well attacks on models of several kinds do.

    Parameters
    ----------
    sets : iterable of LabelledRows
        All of their rows are candidates.
    n_models : int
        How many models of each kind are trained, on half of the rows each.
    tell : callable
        Hears of every line as soon as it is known.
    subjects : sequence of Attacked
        The kinds.
    """
    lines = []
    for rows in sets:
        for line in _lines(rows, n_models, subjects):
            tell("  ".join(line))
            lines.append(line)
    head = (
        "data", "seen", "AUC", "found at 1 % false positives, %", "correct, %",
        "AUC, offline", "AUC, threshold",
    )  # fmt: skip
    note = (
        f"{n_models} models of each kind, each trained on a random half of the rows. "
        "Each is attacked for every row with the help of the others, by the likelihood "
        "ratio, so there are as many trials as models times rows. Guessing gives an "
        "AUC of 0.5, finds 1 % and is correct in 50 %. In brackets: 95 % intervals "
        "over resampled models and rows. Offline: the attacker has no models that have "
        "seen the row. Threshold: one threshold for all rows, and no other models. "
        f"`{COMMAND}`"
    )
    return Table("Was this row trained on?", head, lines, 2, note)


def _lines(
    rows: LabelledRows, n_models: int, subjects: Sequence[Attacked]
) -> Iterator[tuple[str, ...]]:
    n_rows = f"{rows.name}, {len(rows.y):,} rows"
    for attacked in subjects:
        trials = train_models(attacked.subject(rows), len(rows.y), n_models, SEED)
        for name, n_seen in attacked.seen.items():
            seen = Trials(trials.said[..., :n_seen], trials.is_member)
            yield n_rows, name, *_cells(seen)


def _cells(trials: Trials) -> tuple[str, ...]:
    ratio, offline, plain = (
        measure(attack(trials), trials.is_member, SEED)
        for attack in (likelihood_ratio, offline_ratio, threshold)
    )
    return *_main_cells(ratio), f"{offline.auc:.3f}", f"{plain.auc:.3f}"


def _main_cells(found: Measured) -> tuple[str, str, str]:
    low, high = found.auc_interval
    least, most = (100 * one for one in found.tpr_interval)
    return (
        f"{found.auc:.3f} ({low:.3f} to {high:.3f})",
        f"{100 * found.tpr:.1f} ({least:.1f} to {most:.1f})",
        f"{100 * found.accuracy:.1f}",
    )


def rows_table(
    rows: LabelledRows, tell: Tell, *, sizes: Sequence[int] = N_ROWS
) -> Table:
    """Return how well members are told by totals, by the number of rows."""
    lines = []
    order = np.random.default_rng(SEED).permutation(len(rows.y))
    for n_rows in (size for size in sizes if size <= len(rows.y)):
        some = rows.some(order[:n_rows])
        trials = train_models(by_totals(some), n_rows, N_LARGER, SEED)
        found = measure(likelihood_ratio(trials), trials.is_member, SEED)
        line = rows.name, f"{n_rows // 2:,}", *_main_cells(found)
        tell("  ".join(line))
        lines.append(line)
    head = (
        "data",
        "rows trained on",
        "AUC",
        "found at 1 % false positives, %",
        "correct, %",
    )
    note = (
        f"{N_LARGER} trainings, each on a random half of twice as many rows. The "
        "attacker sees the totals of layers 0 and 1, and uses the likelihood ratio. "
        f"`{COMMAND}`"
    )
    return Table("Membership from totals, by number of rows", head, lines, 1, note)
