"""Finding rows, what they say together, and names for what is drawn from them."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dssfn.rows import Metrics, Row, Value


def where(rows: Iterable[Row], experiment: str, **key: Value) -> list[Row]:
    """The rows of an experiment whose key has these values."""
    return [
        row
        for row in rows
        if row.experiment == experiment
        and all(row.key.get(name) == value for name, value in key.items())
    ]


def grouped(
    rows: Iterable[Row], names: tuple[str, ...]
) -> dict[tuple[Value, ...], list[Row]]:
    """Rows by some parts of their keys, in the order in which they come."""
    groups: defaultdict[tuple[Value, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row.key[name] for name in names)].append(row)
    return dict(groups)


def mean(group: Sequence[Row], metric: str) -> float:
    """The mean of a metric."""
    return statistics.mean(float(row.metrics[metric]) for row in group)


def deviation(group: Sequence[Row], metric: str) -> float:
    """The standard deviation of a metric; zero for a single row."""
    values = [row.metrics[metric] for row in group]
    return statistics.stdev(values) if len(values) > 1 else 0.0


class DegreeRows(NamedTuple):
    """What is known of one data set: its training, and averagings by scheme."""

    data: str
    training: Metrics
    schemes: dict[str, dict[int, Metrics]]  # by degree

    def times(self, scheme: str, kind: str) -> dict[int, float]:
        """Seconds of a training by degree, "estimated" here or "modelled" over links.

        One averaging counts as often as the training averages: as it was timed on the
        machine that made the rows, or by a model with latency and bandwidth.
        """
        figure = {"estimated": "seconds_measured", "modelled": "seconds_modelled"}[kind]
        whole = self.training
        return {
            d: whole["seconds"] + whole["averagings"] * one[figure]
            for d, one in self.schemes.get(scheme, {}).items()
        }


def degree_rows(rows: Iterable[Row]) -> list[DegreeRows]:
    """The sets that have a training and averagings; a sweep may have been stopped."""
    rows = list(rows)
    found = []
    for training in where(rows, "degree", part="training"):
        data = training.key["data"]
        schemes: dict[str, dict[int, Metrics]] = {}
        for row in where(rows, "degree", part="averaging", data=data):
            of_scheme = schemes.setdefault(str(row.key["scheme"]), {})
            of_scheme[int(row.key["degree"])] = row.metrics
        if schemes:
            found.append(DegreeRows(str(data), training.metrics, schemes))
    return found


def is_papers(row: Row) -> bool:
    """Whether a row of Table II is of one of the paper's own sets."""
    return bool(row.metrics["paper"]["data"] == row.key["data"])


def averagings_of_both(rows: Iterable[Row]) -> dict[str, tuple[int, int]]:
    """Averagings of whole trainings by ADMM and by krylov, for sets that have both."""
    ends: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for row in where(rows, "convergence"):
        data, solver = str(row.key["data"]), str(row.key["solver"])
        ends[data][solver] = row.metrics["averagings"][-1]
    return {
        data: (of_data["admm"], of_data["krylov"])
        for data, of_data in ends.items()
        if len(of_data) == 2
    }


def largest_descent(rows: Iterable[Row]) -> Row | None:
    """The largest network whose gradients were averaged as the paper does."""
    paper = where(rows, "communication", scheme="paper")
    return max(paper, key=lambda row: row.metrics["descent_weights"], default=None)


def reached(row: Row) -> tuple[float, int]:
    """Accuracy and bytes of a method: dSSFN's last layer, the others' best moment."""
    found = row.metrics
    if row.key["method"] == "dssfn":
        return found["last_accuracy"], found["bytes_total"][-1]
    return found["best_accuracy"], found["best_bytes"]


def is_quick(rows: Iterable[Row]) -> bool:
    """Whether the rows are of reduced sizes."""
    return any(row.key.get("quick") for row in rows)


def best_of(group: Sequence[Row]) -> Row | None:
    """The row of a method whose curve goes highest; None if all of them diverged."""
    known = [row for row in group if row.metrics["best_accuracy"] is not None]
    return max(known, key=lambda row: row.metrics["best_accuracy"], default=None)


def file_name(*parts: object) -> str:
    """Of a figure: letters and digits.

    >>> file_name("comparison", "letter", "dirichlet:0.1")
    'comparison-letter-dirichlet-0-1'
    """
    return "-".join(re.sub(r"[^a-z0-9]+", "-", str(part).lower()) for part in parts)
