"""What the importance of columns means, in words for a terminal and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dssfn.hints import listing
from dssfn.importance import Importance, Repeated
from dssfn.report.numbers import clean, count, plural


class Words(NamedTuple):
    """How a figure of an importance is told.

    Parameters
    ----------
    name : str
        Its name, short enough for the head of a table.
    is_share : bool
        Whether it is a share of one, which is told in per cent.
    """

    name: str
    is_share: bool


WORDS = {
    "accuracy_lost": Words("accuracy lost", True),
    "log_loss_added": Words("log loss added", False),
    "r2_lost": Words("R2 lost", False),
    "rmse_added": Words("error added", False),
    "probability_moved": Words("probability moved", True),
    "classes_changed": Words("classes changed", True),
    "prediction_moved": Words("prediction moved", False),
}
BASELINE = {
    "accuracy": Words("accuracy", True),
    "log_loss": Words("log loss", False),
    "r2": Words("R2", False),
    "rmse": Words("root mean squared error", False),
}


def short_names(names: Sequence[str], longest: int) -> list[str]:
    """Return names of at most so many letters, cut where they differ least.

    >>> short_names(["left arm: pressure", "right arm: pressure"], 10)
    ['left arm:…', 'right arm…']
    >>> short_names(["pressure: left arm", "pressure: right arm"], 10)
    ['… left arm', '…right arm']
    """
    whole = [clean(name, len(name)) for name in names]
    # The last letters that stay: none, half of them, or all.
    ends = (0, (longest - 1) // 2, longest - 1)
    cuts = [[_cut(name, longest, end) for name in whole] for end in ends]
    return max(cuts, key=lambda some: len(set(some)))  # of equals, the first


def _cut(name: str, longest: int, end: int) -> str:
    if len(name) <= longest:
        return name
    return f"{name[: longest - 1 - end]}…{name[len(name) - end :]}"


def told(figure: Repeated, words: Words) -> str:
    """Return a figure with its standard deviation.

    >>> told(Repeated(mean=0.1234, std=0.01), WORDS["accuracy_lost"])
    '12.34 ± 1.00 %'
    """
    if words.is_share:
        return f"{100 * figure.mean:.2f} ± {100 * figure.std:.2f} %"
    return f"{figure.mean:.4g} ± {figure.std:.2g}"


def about(importance: Importance, targets: Sequence[str]) -> list[str]:
    """Return what was measured, on what, and what was left out, in sentences."""
    said = [_measured(importance, targets), _on(importance)]
    left = importance.n_columns - len(importance.columns)
    if left:
        said.append(
            f"Of {count(importance.n_columns)} columns, only the "
            f"{len(importance.columns)} that move the predictions of "
            f"{plural(importance.n_screened, 'sample')} most were measured."
        )
    return said


def _measured(importance: Importance, targets: Sequence[str]) -> str:
    if not targets:
        return "How much predictions move when a column is shuffled (no labels given)."
    good = [
        f"{words.name} {100 * value:.2f} %"
        if words.is_share
        else f"{words.name} {value:.4g}"
        for words, value in (
            (BASELINE[name], value) for name, value in importance.baseline.items()
        )
    ]
    return (
        f"How much worse {listing(targets)} is predicted when a column is shuffled. "
        f"Without shuffling: {', '.join(good)}."
    )


def _on(importance: Importance) -> str:
    used, there = importance.n_used, importance.n_samples
    of = "" if used == there else f", chosen at random from {count(there)}"
    return (
        f"On {plural(used, 'sample')}{of}; mean ± standard deviation of "
        f"{importance.n_repeats} permutations."
    )
