"""An experiment: which rows it makes, and how they are shown.

How this works. An experiment is one value, made in one module. Its tasks train and
leave rows; everything else reads rows. The command and the page know experiments by
this class alone, so nothing here or in the page imports what trains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dssfn.report.html import Headline
from dssfn.report.table import Table
from dssfn.rows import Row
from dssfn.sweeps import Task

if TYPE_CHECKING:
    from dssfn.report.canvas import Drawing


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, and the title above it on the page."""

    drawing: Drawing
    title: str
    note: str


class MakeTasks(Protocol):
    """A function that returns the tasks of an experiment."""

    def __call__(
        self, *, quick: bool, seeds: Sequence[int], data_dir: Path | None = None
    ) -> Sequence[Task]:
        """Return the tasks, in the order in which they are run.

        Parameters
        ----------
        quick : bool
            Whether sizes are reduced; the key of every task has it as "quick".
        seeds : sequence of int
            One training for each, where an experiment repeats its trainings.
        data_dir : Path, optional
            Folder of data sets, as in `load_dataset`.
        """


def no_headlines(rows: Sequence[Row]) -> Sequence[Headline]:
    """Return nothing for the top of the page."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """An experiment: which rows are made, and how they are shown.

    All functions but `tasks` take the rows of this experiment, at least one, in the
    order in which they were made. A sweep may have been stopped: any may be missing.

    Parameters
    ----------
    name : str
        Its name, as in `dssfn reproduce NAME` and in every row.
    title : str
        The title of its section on the page.
    tasks : callable
        Returns what there is to train. What trains is imported when a task runs, so
        that a page can be made without.
    table : callable
        Returns the rows as a table.
    words : callable
        Returns what the rows say, in paragraphs; every number is taken from them.
    figures : callable
        Returns the rows as figures. It imports `dssfn.report.canvas`, and with it
        matplotlib, when it is called: all else does without.
    headlines : callable, optional
        Returns what is shown at the top of the page.
    """

    name: str
    title: str
    tasks: MakeTasks
    table: Callable[[Sequence[Row]], Table]
    words: Callable[[Sequence[Row]], Sequence[str]]
    figures: Callable[[Sequence[Row]], Iterable[Figure]]
    headlines: Callable[[Sequence[Row]], Sequence[Headline]] = no_headlines
