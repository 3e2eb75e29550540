"""Finding rows, what they say together, and names for what is drawn from them."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from dssfn.rows import Row

Value: TypeAlias = str | int | float | bool


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


def mean(group: Sequence[Row], figure: str) -> float:
    """The mean of a figure."""
    return statistics.mean(float(row.figures[figure]) for row in group)


def deviation(group: Sequence[Row], figure: str) -> float:
    """The standard deviation of a figure; zero for a single row."""
    values = [row.figures[figure] for row in group]
    return statistics.stdev(values) if len(values) > 1 else 0.0


def is_quick(rows: Iterable[Row]) -> bool:
    """Whether the rows are of reduced sizes."""
    return any(row.key.get("quick") for row in rows)


def best_of(group: Sequence[Row]) -> Row | None:
    """The row of a method whose curve goes highest; None if all of them diverged."""
    known = [row for row in group if row.figures["best_accuracy"] is not None]
    return max(known, key=lambda row: row.figures["best_accuracy"], default=None)


def file_name(*parts: object) -> str:
    """Of a figure: letters and digits.

    >>> file_name("comparison", "letter", "dirichlet:0.1")
    'comparison-letter-dirichlet-0-1'
    """
    return "-".join(re.sub(r"[^a-z0-9]+", "-", str(part).lower()) for part in parts)
