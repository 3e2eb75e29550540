"""A metric by data set and model, from rows: the mean over the seeds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.models import DSSFN, LABELS, SSFN
from benchmarks.accuracy.ranks import mean_ranks
from dssfn.report.evidence.selection import grouped, mean
from dssfn.report.table import Table
from dssfn.rows import Row


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """A metric of several models on several data sets, each a mean over seeds.

    Parameters
    ----------
    sets, models : tuple of str
        The names of its rows and columns.
    values : array of shape (sets, models)
        The metric.
    """

    sets: tuple[str, ...]
    models: tuple[str, ...]
    values: NDArray[np.float64]

    def of(self, model: str) -> NDArray[np.float64]:
        """Return the metric of a model on every set."""
        column: NDArray[np.float64] = self.values[:, self.models.index(model)]
        return column

    def mean(self, model: str) -> float:
        """Return the mean of a model's metric over the sets."""
        return float(self.of(model).mean())

    def only(self, models: Collection[str]) -> Grid:
        """Return the grid of some of the models."""
        kept = tuple(model for model in self.models if model in models)
        return Grid(self.sets, kept, np.array([self.of(model) for model in kept]).T)

    def ranks(self) -> dict[str, float]:
        """Return mean ranks, larger metrics first; dSSFN's is in the place of SSFN.

        The two are the same network, so only one of them at a time is ranked against
        the others.
        """
        others = set(self.models) - {SSFN, DSSFN}
        ranks: dict[str, float] = {}
        for one in (DSSFN, SSFN):  # the others' ranks are those beside SSFN
            some = self.only({one} | others)
            if some.models:
                ranks |= zip(some.models, mean_ranks(some.values), strict=True)
        return {model: float(ranks[model]) for model in self.models}


def grid_of(rows: Sequence[Row], metric: str, models: Collection[str]) -> Grid:
    """Return a metric of those models that have rows, on sets that all of them have.

    Where no set has all of them, there is nothing to compare: the grid is empty.
    """
    measured = [row for row in rows if metric in row.metrics]
    found = grouped(measured, ("data", "model"))
    present = tuple(model for model in models if any(m == model for _, m in found))
    sets = tuple(
        data
        for data in dict.fromkeys(str(row.key["data"]) for row in measured)
        if all((data, model) in found for model in present)
    )
    if not sets:
        present = ()
    values = [[mean(found[data, model], metric) for model in present] for data in sets]
    return Grid(sets, present, np.array(values).reshape(len(sets), len(present)))


def summary_table(
    grid: Grid,
    rows: Sequence[Row],
    caption: str,
    unit: str,
    show: Callable[..., str],
    n_sets: int,
) -> Table:
    """Return mean and mean rank of every model, the best rank first."""
    ranks = grid.ranks()
    lines = [
        (LABELS[model], show(grid.mean(model)), f"{ranks[model]:.2f}")
        for model in sorted(grid.models, key=lambda model: ranks[model])
    ]
    n_seeds = len({row.key["seed"] for row in rows})
    note = f"Means over {len(grid.sets)} of the {n_sets} sets, {n_seeds} splits each."
    if {SSFN, DSSFN} <= set(grid.models):
        note += " dSSFN is ranked in the place of SSFN, not beside it."
    return Table(caption, ("model", unit, "mean rank"), lines, 1, note)


def table_by_set(grid: Grid, caption: str, show: Callable[..., str]) -> Table:
    """Return the metric of every model on every set, and the means."""
    lines = [
        (data, *map(show, values))
        for data, values in zip(grid.sets, grid.values, strict=True)
    ]
    means = ("mean", *(show(grid.mean(model)) for model in grid.models))
    head = ("data", *(LABELS[model] for model in grid.models))
    return Table(caption, head, [*lines, means])
