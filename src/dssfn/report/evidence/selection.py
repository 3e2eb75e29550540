"""Finding rows, what they say together, and names for what is drawn from them."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence

from dssfn.rows import Row, Value

QUICK = "Reduced sizes (--quick): these are not the paper's numbers."


def of_experiment(rows: Iterable[Row], experiment: str) -> list[Row]:
    """Return the rows of an experiment."""
    return [row for row in rows if row.experiment == experiment]


def where(rows: Iterable[Row], **key: Value) -> list[Row]:
    """Return the rows whose key has these values."""
    return [
        row
        for row in rows
        if all(row.key.get(name) == value for name, value in key.items())
    ]


def grouped(
    rows: Iterable[Row], names: tuple[str, ...]
) -> dict[tuple[Value, ...], list[Row]]:
    """Return rows by some parts of their keys, in the order in which they come."""
    groups: defaultdict[tuple[Value, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row.key[name] for name in names)].append(row)
    return dict(groups)


def mean(group: Sequence[Row], metric: str) -> float:
    """Return the mean of a metric."""
    return statistics.mean(float(row.metrics[metric]) for row in group)


def deviation(group: Sequence[Row], metric: str) -> float:
    """Return the standard deviation of a metric; zero for a single row."""
    values = [row.metrics[metric] for row in group]
    return statistics.stdev(values) if len(values) > 1 else 0.0


def is_quick(rows: Iterable[Row]) -> bool:
    """Return whether the rows are of reduced sizes."""
    return any(row.key.get("quick") for row in rows)


def note_on(rows: Iterable[Row], text: str = "") -> str:
    """Return the note under a table, which says if its rows are of reduced sizes."""
    return " ".join(part for part in (text, QUICK if is_quick(rows) else "") if part)


def file_name(*parts: object) -> str:
    """Return the name of a figure and its files: letters and digits.

    >>> file_name("comparison", "letter", "dirichlet:0.1")
    'comparison-letter-dirichlet-0-1'
    """
    return "-".join(re.sub(r"[^a-z0-9]+", "-", str(part).lower()) for part in parts)
