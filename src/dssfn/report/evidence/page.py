"""The page of the paper's experiments."""

from __future__ import annotations

from collections.abc import Sequence

from dssfn.report.evidence.findings import ABOUT, headlines
from dssfn.report.evidence.select import file_name, grouped, is_quick, where
from dssfn.report.evidence.tables import QUICK, TABLES
from dssfn.report.html import Card, Pictures, figure, section, table_card, whole_page
from dssfn.report.numbers import seconds
from dssfn.report.table import Table
from dssfn.rows import Row

TITLES = {
    "table2": "Table II",
    "satimage": "The Satimage row",
    "convergence": "Convergence",
    "degree": "Degree",
    "communication": "Communication",
    "comparison": "Against averaging of weights",
}


def make_evidence_page(rows: Sequence[Row], pictures: Pictures) -> str:
    """One page for all experiments that have rows.

    Parameters
    ----------
    rows : sequence of Row
    pictures : mapping
        Metrics by name, as `draw_evidence` makes them.
    """
    return whole_page(
        title="dssfn: the paper's evidence, repeated",
        eyebrow="dssfn · reproduction",
        heading="The paper's evidence, repeated",
        lead="Tables and figures of “A Low Complexity Decentralized Neural Net with "
        "Centralized Equivalence using Layer-wise Learning”, made anew from data, with "
        "this package's solvers beside the paper's.",
        headlines=headlines(rows),
        sections=[_experiment(name, rows, pictures) for name in TABLES]
        + [_record(rows)],
        version=rows[-1].made_by.get("dssfn", "") if rows else "",
        warning=QUICK if is_quick(rows) else "",
    )


def _experiment(name: str, rows: Sequence[Row], pictures: Pictures) -> str:
    found = where(rows, name)
    if not found:
        return ""
    cards = [
        figure(pictures, drawn, title, note)
        for drawn, title, note in _figures(name, found)
    ]
    table = table_card(TABLES[name](found), is_wide=True)
    return section(TITLES[name], ABOUT[name](found), *cards, table)


def _figures(name: str, rows: Sequence[Row]) -> list[tuple[str, str, str]]:
    """Name, title and note of the figures of an experiment."""
    sets = [str(key[0]) for key in grouped(rows, ("data",))]
    if name == "table2":
        note = "On 20 nodes; mean and standard deviation over the seeds."
        return [("test-accuracy", "Test accuracy", note)]
    if name == "satimage":
        return [("satimage-changes", "One change at a time", "Mean over the seeds.")]
    if name == "convergence":
        note = "Both axes logarithmic; 20 nodes, degree 4."
        return [(file_name(name, data), data.capitalize(), note) for data in sets]
    if name == "degree":
        return _degree_figures(sets)
    if name == "communication":
        names = ("data", "layers", "width", "descent")
        return [
            (
                file_name(name, *key),
                f"{str(key[0]).capitalize()}, {key[1]} layers of {key[2]}, {key[3]}",
                "Cost against what a node has sent; both axes logarithmic.",
            )
            for key in grouped(rows, names)
        ]
    return [
        (
            file_name(name, data, split),
            f"{str(data).capitalize()}, {split}",
            "dSSFN layer by layer; the others' best setting.",
        )
        for data, split in grouped(rows, ("data", "split"))
    ]


def _degree_figures(sets: Sequence[str]) -> list[tuple[str, str, str]]:
    found = [("degree-rounds", "Rounds", "Of one averaging to 1e-10.")]
    for data in sets:
        title = data.capitalize()
        found += [
            (
                file_name("degree", "modelled", data),
                f"{title}, over a network, modelled",
                "By a model of links with 20 ms and 100 Mbit/s. Grey line: arithmetic "
                "alone.",
            ),
            (
                file_name("degree", "estimated", data),
                f"{title}, on this machine, estimated",
                "One averaging of all nodes was timed, and counted as often as the "
                "training averages. Grey line: arithmetic alone.",
            ),
        ]
    return found


def _record(rows: Sequence[Row]) -> str:
    """On what the rows were made."""
    made = {
        name: sorted({row.made_by[name] for row in rows if name in row.made_by})
        for name in dict.fromkeys(name for row in rows for name in row.made_by)
    }
    versions = [(name, ", ".join(values)) for name, values in made.items()]
    by_name = [(TITLES[name], where(rows, name)) for name in TITLES]
    cards: list[Card | None] = [
        table_card(Table("Versions", ("part", "version"), versions)) if made else None,
        table_card(
            Table(
                "Rows",
                ("experiment", "rows and time"),
                [
                    (title, f"{len(some)}, {seconds(sum(r.seconds for r in some))}")
                    for title, some in by_name
                    if some
                ],
            )
        ),
    ]
    about = "Every figure above comes from a row of rows.jsonl, with its settings."
    return section("Rows and versions", about, *cards)
