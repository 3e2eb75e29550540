"""A part of the comparison: which rows it makes, and how they are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.claim import Claim
from dssfn.report.evidence.experiment import Figure
from dssfn.report.table import Table
from dssfn.rows import Row
from dssfn.sweeps import Task


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user chose.

    Parameters
    ----------
    quick : bool
        Whether only a few small sets are used, with one seed. Their rows are those of
        the whole comparison, which need not make them again.
    cache : Path
        Folder of the archives that were downloaded.
    data_dir : Path, optional
        Folder of the sets that cannot be downloaded, as in `load_dataset`.
    n_seeds : int, optional
        How many seeds, each of which divides the samples anew.
    """

    quick: bool
    cache: Path
    data_dir: Path | None = None
    n_seeds: int | None = None

    def seeds(self, number: int) -> range:
        """Return the seeds: this many, unless the user chose another number."""
        return range(1 if self.quick else self.n_seeds or number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the comparison.

    All functions but `tasks` take the rows of this part, at least one. Any may be
    missing, because a run may have been stopped, or was asked for some models only.

    Parameters
    ----------
    name : str
        Its name on the command line and in every row.
    title : str
        The title of its section on the page.
    about : str
        What was done, for the top of the section.
    tasks : callable
        Returns what there is to measure.
    tables : callable
        Returns the rows as tables, of which the first is the summary.
    claims : callable
        Returns what was measured beside what is wanted.
    figures : callable, optional
        Returns the rows as figures.
    """

    name: str
    title: str
    about: str
    tasks: Callable[[Choice], list[Task]]
    tables: Callable[[Sequence[Row]], list[Table]]
    claims: Callable[[Sequence[Row]], list[Claim]]
    figures: Callable[[Sequence[Row]], list[Figure]] = lambda rows: []


def tasks_of(
    part: str,
    sets: Iterable[str],
    seeds: Iterable[int],
    models: Iterable[str],
    measure: Callable[[str, int, str], dict[str, Any]],
) -> list[Task]:
    """Return one task for every data set, seed and model."""
    return [
        Task(
            part,
            {"data": data, "seed": seed, "model": model},
            partial(measure, data, seed, model),
        )
        for data in sets
        for seed in seeds
        for model in models
    ]


def command(part: str) -> str:
    """Return the command that measures a part."""
    return f"python -m benchmarks.accuracy {part}"
