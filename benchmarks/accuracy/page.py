"""The comparison as one page, and as tables for a document; both from rows alone."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.accuracy.part import Part
from benchmarks.accuracy.parts import PARTS
from benchmarks.claim import Claim
from benchmarks.document import with_text
from dssfn.report.canvas import style
from dssfn.report.evidence.selection import of_experiment
from dssfn.report.html import Headline, figure, section, table_card, whole_page
from dssfn.report.table import Table
from dssfn.rows import Row

WITHOUT_HEADLINE = ("paper-sets",)  # there is room for five
MARK = "accuracy"  # in the document, where the tables are


def make_page(rows: Sequence[Row]) -> str:
    """Return the page of all parts that have rows."""
    found = with_rows(rows)
    return whole_page(
        title="dssfn beside the usual models",
        eyebrow="dssfn · accuracy",
        heading="Beside the usual models",
        lead="The estimators of dssfn with their defaults beside scikit-learn's usual "
        "models, on real data: accuracy, calibration and time.",
        headlines=[
            line
            for part, some in found
            if part.name not in WITHOUT_HEADLINE
            for line in _headlines(part, some)
        ],
        sections=[
            section("Targets and results", "", table_card(_all_claims(found))),
            *(_section(part, some) for part, some in found),
            section("Versions", "", table_card(_versions(rows))),
        ],
        version=rows[-1].made_by["dssfn"],
    )


def with_rows(rows: Sequence[Row]) -> list[tuple[Part, list[Row]]]:
    """Return the parts that have rows, each with its own."""
    every = [(part, of_experiment(rows, part.name)) for part in PARTS.values()]
    return [(part, some) for part, some in every if some]


def claims_table(claims: Sequence[Claim]) -> Table | None:
    """Return what is wanted beside what was measured; None if there is nothing."""
    lines = [
        (
            claim.what,
            _bound(claim),
            f"{claim.value:.4g}",
            "yes" if claim.holds else "no",
        )
        for claim in claims
    ]
    head = ("what", "target", "measured", "reached")
    return Table("Targets and results", head, lines) if lines else None


def _bound(claim: Claim) -> str:
    return f"{'at most' if claim.at_most else 'at least'} {claim.wanted:.4g}"


def _all_claims(found: Sequence[tuple[Part, list[Row]]]) -> Table | None:
    return claims_table([one for part, some in found for one in part.claims(some)])


def _headlines(part: Part, rows: Sequence[Row]) -> list[Headline]:
    """Return the first claim of a part for the top of the page."""
    return [
        Headline(part.title, f"{claim.value:.4g}", f"{claim.what}: {_bound(claim)}")
        for claim in part.claims(rows)[:1]
    ]


def _section(part: Part, rows: Sequence[Row]) -> str:
    with style():
        figures = part.figures(rows)
    pictures = {one.drawing.name: one.drawing for one in figures}
    cards = [figure(pictures, one.drawing.name, one.title, one.note) for one in figures]
    summary, *others = part.tables(rows)
    cards.append(table_card(summary, is_wide=not figures))
    cards += [table_card(table, is_wide=True) for table in others]
    return section(part.title, part.about, *cards)


def _versions(rows: Sequence[Row]) -> Table:
    names = dict.fromkeys(name for row in rows for name in row.made_by)
    lines = [
        (name, ", ".join(sorted({row.made_by[name] for row in rows}))) for name in names
    ]
    return Table("Made by", ("part", "version"), lines)


def with_tables(document: str, rows: Sequence[Row]) -> str:
    """Return a Markdown document with the tables put between its two marks."""
    found = with_rows(rows)
    tables = [_all_claims(found)]
    tables += [table for part, some in found for table in part.tables(some)]
    text = "\n".join(table.markdown() for table in tables if table)
    return with_text(document, MARK, text)
