"""The page of experiments: tables, figures and words, from rows.

Experiments are given, never imported: an experiment from outside stands on the page as
the paper's do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from dssfn.report.evidence.experiment import Experiment, Figure
from dssfn.report.evidence.selection import QUICK, is_quick, of_experiment
from dssfn.report.html import Card, figure, section, table_card, whole_page
from dssfn.report.numbers import plural, seconds
from dssfn.report.table import Table
from dssfn.rows import Row

Drawn = Mapping[str, Sequence[Figure]]
"""Figures by the name of their experiment."""


def tables_of(
    rows: Iterable[Row], experiments: Collection[Experiment]
) -> dict[str, Table]:
    """Return the table of every experiment that has rows, by its name."""
    return {one.name: one.table(some) for one, some in _with_rows(rows, experiments)}


def draw_evidence(
    rows: Iterable[Row], experiments: Collection[Experiment]
) -> dict[str, list[Figure]]:
    """Return every figure that the rows have the numbers for, by experiment."""
    from dssfn.report.canvas import style  # needs matplotlib; tables do without

    with style():
        return {
            one.name: list(one.figures(some))
            for one, some in _with_rows(rows, experiments)
        }


def make_evidence_page(
    rows: Sequence[Row], drawn: Drawn, experiments: Collection[Experiment]
) -> str:
    """Return one page for all experiments that have rows.

    Parameters
    ----------
    rows : sequence of Row
        The rows of all experiments.
    drawn : mapping
        Figures by experiment, as `draw_evidence` makes them.
    experiments : collection of Experiment
        The experiments, in the order of their sections.
    """
    found = _with_rows(rows, experiments)
    return whole_page(
        title="dssfn: the paper's evidence, reproduced",
        eyebrow="dssfn · reproduction",
        heading="The paper's evidence, reproduced",
        lead="Tables and figures of “A Low Complexity Decentralized Neural Net with "
        "Centralized Equivalence using Layer-wise Learning”, computed again from the "
        "data, with this package's solvers beside the paper's.",
        headlines=[line for one, some in found for line in one.headlines(some)],
        sections=[
            *(_section(one, some, drawn.get(one.name, ())) for one, some in found),
            _record(rows, found),
        ],
        version=rows[-1].made_by.get("dssfn", "") if rows else "",
        warning=QUICK if is_quick(rows) else "",
    )


def _with_rows(
    rows: Iterable[Row], experiments: Collection[Experiment]
) -> list[tuple[Experiment, list[Row]]]:
    """Return the experiments that have rows, each with its own."""
    rows = list(rows)
    every = [(one, of_experiment(rows, one.name)) for one in experiments]
    return [(one, some) for one, some in every if some]


def _section(
    experiment: Experiment, rows: Sequence[Row], figures: Sequence[Figure]
) -> str:
    pictures = {one.drawing.name: one.drawing for one in figures}
    cards = [figure(pictures, one.drawing.name, one.title, one.note) for one in figures]
    table = table_card(experiment.table(rows), is_wide=True)
    return section(experiment.title, experiment.words(rows), *cards, table)


def _rows_and_time(rows: Sequence[Row]) -> str:
    return f"{plural(len(rows), 'row')}, {seconds(sum(row.seconds for row in rows))}"


def _record(
    rows: Sequence[Row], found: Sequence[tuple[Experiment, Sequence[Row]]]
) -> str:
    """Return on what machine and with which versions the rows were made."""
    made = {
        name: sorted({row.made_by[name] for row in rows if name in row.made_by})
        for name in dict.fromkeys(name for row in rows for name in row.made_by)
    }
    versions = [(name, ", ".join(values)) for name, values in made.items()]
    times = [(one.title, _rows_and_time(some)) for one, some in found]
    cards: list[Card | None] = [
        table_card(Table("Versions", ("part", "version"), versions)) if made else None,
        table_card(Table("Trainings", ("experiment", "rows and time"), times)),
    ]
    about = "Every number above comes from a row of rows.jsonl, with its settings."
    return section("Where the numbers come from", about, *cards)
