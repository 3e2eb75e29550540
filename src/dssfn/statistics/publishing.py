"""From sums to figures that may be shown.

How this works. Small counts are hidden, and those they would follow from. A mean of
integers, times each number of rows that is possible, gives an integer for hardly any
but the true one. So where the number of rows is hidden, mean and deviation are rounded
to about the error that the mean has as an estimate.

Where the figures of every node are published, each hides its own before they leave it.
Then the figures of all together show nothing that does not follow from those: a count
is hidden if any node hides its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from dssfn._typing import Array, Integers
from dssfn.statistics.asked import Asked, Questions
from dssfn.statistics.figures import (
    NOT_SHOWN,
    Column,
    Count,
    Figures,
    Level,
    fewer_than,
)
from dssfn.statistics.hiding import FEWER, WITHHELD, hidden
from dssfn.statistics.totals import Totals


@dataclass(frozen=True, slots=True)
class Shown:
    """Sums of which the small ones are hidden.

    Parameters
    ----------
    n_rows : int
        The number of rows, or FEWER.
    counts : array of int
        The rows in every cell, or FEWER or WITHHELD.
    means, deviations : arrays
        Those of the numbers of every column that has numbers; NaN if not shown.
    """

    n_rows: int
    counts: Integers
    means: Array
    deviations: Array

    def numbers(self) -> Integers:
        """Return all of it as integers, which an exact message carries."""
        floats = np.concatenate([self.means, self.deviations])
        return np.concatenate([[self.n_rows], self.counts, floats.view(np.int64)])

    @classmethod
    def read(cls, numbers: Integers, questions: Questions) -> Self:
        """Return what `numbers` has made integers of."""
        n_cells = questions.n_cells
        floats = np.ascontiguousarray(numbers[1 + n_cells :]).view(np.float64)
        means, deviations = np.split(floats, 2)
        return cls(int(numbers[0]), numbers[1 : 1 + n_cells], means, deviations)


def shown(
    totals: Totals, questions: Questions, least: int, sites: Sequence[Shown] = ()
) -> Shown:
    """Return sums without those that are too small.

    Parameters
    ----------
    totals : Totals
        The sums over all rows.
    questions : Questions
        What was asked.
    least : int
        The smallest count but zero that is shown.
    sites : sequence of Shown
        What every node has published of its own sums, if they have.
    """
    cells: list[int] = []
    for one in _slices(questions):
        counts = totals.counts[one].tolist()
        if sites:
            is_hidden = np.any([site.counts[one] < 0 for site in sites], axis=0)
            counts = np.where(is_hidden, WITHHELD, counts).tolist()
        else:
            counts = hidden(counts, least)
        cells += counts
    means, deviations = np.full((2, len(questions.numbers)), np.nan)
    for k, place in enumerate(_places(questions)):
        there, lacks = int(totals.counts[place]), False
        for site in sites:
            lacks |= bool(np.isnan(site.means[k]) and site.counts[place] != 0)
        if there >= max(least, 1) and not lacks:
            pair = float(totals.means[k]), float(totals.deviations[k])
            if cells[place] < 0:
                pair = _rounded(*pair, there)
            means[k], deviations[k] = pair
    n_rows = totals.n_rows if totals.n_rows >= least else FEWER
    return Shown(n_rows, np.array(cells, dtype=np.int64), means, deviations)


def _slices(questions: Questions) -> Iterator[slice]:
    """Yield where the cells of each column are among all cells."""
    at = 0
    for one in questions.every:
        yield slice(at, at + one.n_cells)
        at += one.n_cells


def _places(questions: Questions) -> Iterator[int]:
    """Yield the cell that counts the numbers of each column that has numbers."""
    for one, cells in zip(questions.every, _slices(questions), strict=True):
        if one.is_number:
            yield cells.start


def _rounded(mean: float, deviation: float, n: int) -> tuple[float, float]:
    """Return both to the power of ten above the error of the mean.

    The deviation keeps one digit at least, so that it never reads as none.
    """
    if deviation == 0:
        return mean, deviation
    place = -1 - _power(deviation / math.sqrt(n))
    return round(mean, place), round(deviation, max(place, -_power(deviation)))


def _power(number: float) -> int:
    """Return the power of ten below a number, by its digits: alike on all machines."""
    return int(f"{number:.16e}".partition("e")[2])


def figures(shown: Shown, questions: Questions, least: int) -> Figures:
    """Return sums as figures for people.

    Parameters
    ----------
    shown : Shown
        The sums.
    questions : Questions
        What was asked.
    least : int
        The smallest count but zero that is shown.
    """
    words = {FEWER: fewer_than(least), WITHHELD: NOT_SHOWN}

    def count(number: int) -> Count:
        return words.get(number, number)

    moments = iter(zip(shown.means.tolist(), shown.deviations.tolist(), strict=True))
    columns = []
    for one, cells in zip(questions.every, _slices(questions), strict=True):
        counts = [count(number) for number in shown.counts[cells].tolist()]
        mean, deviation = next(moments) if one.is_number else (math.nan, math.nan)
        columns.append(_column(one, counts, mean, deviation))
    return Figures(
        rows=count(shown.n_rows), columns=tuple(columns[:-1]), target=columns[-1]
    )


def _column(
    asked: Asked, counts: Sequence[Count], mean: float, deviation: float
) -> Column:
    *held, missing = counts
    other = held.pop() if asked.has_other else None
    named = zip(asked.levels, held, strict=True) if not asked.is_number else ()
    return Column(
        name=asked.name,
        kind=asked.kind,
        unit=asked.unit,
        there=held[0] if asked.is_number else None,
        levels=tuple(Level(name=name, count=n) for name, n in named),
        other=other,
        missing=missing,
        mean=None if math.isnan(mean) else mean,
        deviation=None if math.isnan(deviation) else deviation,
    )
