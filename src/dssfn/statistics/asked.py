"""What is asked of every column: which cells its rows are counted in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dssfn._typing import Array, Integers
from dssfn.config import Plan
from dssfn.schema import Column
from dssfn.shard import Rows

NUMBER, BOOLEAN, CLASS = "number", "boolean", "class"


@dataclass(frozen=True, slots=True)
class Asked:
    """One column, or the target, and the features that tell its values.

    Parameters
    ----------
    name, kind, unit : str
        As in the schema, and `class` for the target of a classifier.
    features : slice
        The rows of the matrix of samples that hold it.
    levels : tuple of str
        The levels that rows are counted by.
    has_other : bool
        Whether other values are counted, too.

    Examples
    --------
    >>> sex = Asked("sex", "category", slice(0, 3), ("f", "m"))
    >>> sex.n_cells  # one is for the missing
    3
    >>> sex.counted(np.array([[1.0, 0, 1], [0, 1, 0], [0, 0, 0]]))
    array([2, 1, 0])
    """

    name: str
    kind: str
    features: slice
    levels: tuple[str, ...] = ()
    has_other: bool = False
    unit: str = ""

    @property
    def is_number(self) -> bool:
        """Whether it has a mean and a deviation."""
        return self.kind == NUMBER

    @property
    def n_cells(self) -> int:
        """The number of cells: for what is there, for others, and for the missing."""
        return (1 if self.is_number else len(self.levels)) + self.has_other + 1

    def counted(self, X: Array) -> Integers:
        """Return how many of some samples (P, c) are in each cell."""
        X = X[self.features]
        if self.kind in (NUMBER, BOOLEAN):
            values = X[0]
            cells = [~np.isnan(values)] if self.is_number else [values == 0, values > 0]
            X = np.stack([*cells, np.isnan(values)])
        counts: Integers = np.zeros(self.n_cells, dtype=np.int64)
        counts[: len(X)] = np.count_nonzero(X, axis=1)
        return counts


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked of all columns, and of the target.

    Parameters
    ----------
    columns : tuple of Asked
        The columns, in the order of their features.
    target : Asked
        What is to be predicted.
    """

    columns: tuple[Asked, ...]
    target: Asked

    @classmethod
    def of(cls, plan: Plan) -> Questions:
        """Return the questions of a plan, alike on all nodes."""
        return cls(tuple(_columns(plan)), _target(plan))

    @property
    def every(self) -> tuple[Asked, ...]:
        """The columns, and the target last."""
        return (*self.columns, self.target)

    @property
    def n_cells(self) -> int:
        """The number of cells that rows are counted in."""
        return sum(one.n_cells for one in self.every)

    @property
    def numbers(self) -> tuple[Asked, ...]:
        """Those that have a mean and a deviation."""
        return tuple(one for one in self.every if one.is_number)

    def counted(self, rows: Rows) -> Integers:
        """Return how many of some samples are in every cell of every column."""
        X, T = rows.X, rows.T
        cells = [one.counted(X) for one in self.columns]
        return np.concatenate([*cells, self.target.counted(T)])

    def values(self, rows: Rows) -> Array:
        """Return the numbers of some samples, (n, c), NaN where they are missing."""
        X = [rows.X[one.features][:1] for one in self.columns if one.is_number]
        T = rows.T if self.target.is_number else rows.T[:0]
        return np.concatenate([*X, T])


def _columns(plan: Plan) -> list[Asked]:
    if plan.schema is None:
        names = plan.feature_names or [
            f"feature {k + 1}" for k in range(plan.n_features)
        ]
        return [Asked(one, NUMBER, slice(k, k + 1)) for k, one in enumerate(names)]
    found, at = [], 0
    for column in plan.schema.used:
        found.append(_column(column, at))
        at += len(column.feature_names)
    return found


def _column(column: Column, at: int) -> Asked:
    levels = ("false", "true") if column.kind == BOOLEAN else column.level_texts
    return Asked(
        column.name,
        column.kind,
        slice(at, at + len(column.feature_names)),
        levels,
        column.other,
        column.unit,
    )


def _target(plan: Plan) -> Asked:
    target = plan.schema.target if plan.schema else None
    name, unit = (target.column, target.unit) if target else ("target", "")
    whole = slice(0, plan.n_outputs)
    if plan.is_regression:
        return Asked(name, NUMBER, whole, unit=unit)
    return Asked(name, CLASS, whole, tuple(map(str, plan.classes)), unit=unit)
