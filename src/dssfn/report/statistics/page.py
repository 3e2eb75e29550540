"""The page of the statistics: all nodes' rows, and beside them those of one node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dssfn.report.html import Card, Headline, section, table_card, whole_page
from dssfn.report.numbers import clean, plural
from dssfn.report.numbers import count as digits
from dssfn.report.statistics.bars import ALL, HERE, Bars, Cell, bars_card
from dssfn.report.statistics.sites import sites_section
from dssfn.report.statistics.words import counted, moments, share, share_text
from dssfn.report.table import Table
from dssfn.statistics.figures import Agreed, Column, Count, Figures, Statistics

LONGEST = 400  # letters of a remark
BARS = "Upper bar (blue): all nodes. Lower bar (orange): this node."


def make_statistics_page(statistics: Statistics) -> str:
    """Return the statistics as HTML, this node's own numbers beside those of all."""
    agreed, here = statistics.agreed, statistics.here
    name, everybody = clean(statistics.node, 80), agreed.all
    nodes = plural(len(agreed.nodes), "node")
    return whole_page(
        title=f"{name}: statistics of all nodes",
        eyebrow="dssfn · federation statistics",
        heading=name,
        lead=f"What {nodes} hold together, {counted(everybody.rows)} rows in all. They "
        f"were counted without any row leaving its node. {_who_knows(agreed, name)}",
        headlines=_headlines(statistics),
        sections=[
            _stands_out(statistics),
            _target(everybody, here),
            _numbers(everybody, here),
            _categories(everybody, here),
            sites_section(agreed),
            _record(statistics),
        ],
        version=statistics.made_by.get("dssfn", ""),
    )


def _who_knows(agreed: Agreed, name: str) -> str:
    what = "small counts" if agreed.sites else "own numbers"
    return (
        f"This page also shows the {what} of {name}, which nobody else has: keep it to "
        "yourself."
    )


def _headlines(statistics: Statistics) -> list[Headline]:
    agreed, here = statistics.agreed, statistics.here
    n_remarks = len(statistics.stands_out)
    return [
        Headline("All rows", counted(agreed.all.rows), "over all nodes"),
        Headline("Rows here", counted(here.rows), _part(here.rows, agreed.all.rows)),
        Headline("Nodes", digits(len(agreed.nodes)), "agree on these numbers"),
        Headline("Columns", digits(len(here.columns)), "and the target"),
        Headline("To look at", digits(n_remarks), "remarks about this node, below"),
    ]


def _part(rows: Count, of: Count) -> str:
    found = share(rows, of)
    return "of these" if found is None else f"{100 * found:.0f}\u202f% of them"


def _stands_out(statistics: Statistics) -> str:
    texts: dict[str, list[str]] = {}
    for one in statistics.stands_out:
        texts.setdefault(clean(one.column), []).append(clean(one.text, LONGEST))
    rows = [[column, "; ".join(some)] for column, some in texts.items()]
    if not rows:
        rows = [["All columns", "nothing differs much from the other nodes"]]
    return section(
        "What stands out here",
        "Is a column coded differently at this node? Listed are levels that occur only "
        "here or everywhere but here, means more than half a standard deviation away, "
        "shares of missing values that differ by more than 20 points, and columns that "
        "are constant or entirely missing here.",
        table_card(
            Table("Columns to look at", ("Column", "Here"), rows, numeric_from=2),
            is_wide=True,
        ),
    )


def _target(everybody: Figures, here: Figures) -> str:
    pair = everybody.target, here.target
    card = (
        _numbers_card("What is to be predicted", [pair], everybody.rows, here.rows)
        if here.target.kind == "number"
        else _levels_card(*pair, everybody.rows, here.rows, is_wide=True)
    )
    return section("Target", f"The column to be predicted. {BARS}", card)


def _numbers(everybody: Figures, here: Figures) -> str:
    pairs = [
        (all_, mine)
        for all_, mine in zip(everybody.columns, here.columns, strict=True)
        if mine.kind == "number"
    ]
    if not pairs:
        return ""
    return section(
        "Numbers",
        "Mean and standard deviation of the values that are present, and how many are "
        f"missing. {BARS}",
        _numbers_card("Columns of numbers", pairs, everybody.rows, here.rows),
    )


def _numbers_card(
    caption: str, pairs: Sequence[tuple[Column, Column]], n_all: Count, n: Count
) -> Card:
    rows: list[list[Cell]] = []
    for all_, mine in pairs:
        unit = f" ({clean(mine.unit)})" if mine.unit else ""
        rows.append(
            [
                f"{clean(mine.name)}{unit}",
                *moments(all_),
                *moments(mine),
                Bars(share(all_.missing, n_all), share(mine.missing, n)),
                share_text(all_.missing, n_all),
                share_text(mine.missing, n),
            ]
        )
    return bars_card(
        caption,
        (
            "Column", "Mean, all", "Std. dev., all", "Mean, here", "Std. dev., here",
            "Missing", "Missing, all", "Missing, here",
        ),
        rows,
        kinds=("", ALL, ALL, HERE, HERE, "", ALL, HERE),
        is_wide=True,
    )  # fmt: skip


def _categories(everybody: Figures, here: Figures) -> str:
    cards = [
        _levels_card(all_, mine, everybody.rows, here.rows)
        for all_, mine in zip(everybody.columns, here.columns, strict=True)
        if mine.kind != "number"
    ]
    return section("Categories", f"Share of the rows with each level. {BARS}", *cards)


def _levels_card(
    all_: Column, mine: Column, n_all: Count, n: Count, *, is_wide: bool = False
) -> Card:
    rows: list[list[Cell]] = [
        [
            clean(name, 40),
            Bars(share(total, n_all), share(own, n)),
            share_text(total, n_all),
            share_text(own, n),
        ]
        for name, total, own in _levels(all_, mine)
    ]
    return bars_card(
        clean(mine.name),
        ("Class" if mine.kind == "class" else "Level", "Share", "All nodes", "Here"),
        rows,
        kinds=("", "", ALL, HERE),
        is_wide=is_wide,
    )


def _levels(all_: Column, mine: Column) -> Iterator[tuple[str, Count, Count]]:
    for one, own in zip(all_.levels, mine.levels, strict=True):
        yield own.name, one.count, own.count
    if all_.other is not None and mine.other is not None:
        yield "(any other)", all_.other, mine.other
    if mine.kind != "class":
        yield "(missing)", all_.missing, mine.missing


def _record(statistics: Statistics) -> str:
    agreed = statistics.agreed
    hides = agreed.min_cell > 1
    note = (
        f"Counts of 1 to {agreed.min_cell - 1} are hidden, and so are others from "
        "which they would follow. Where the number of values in a column is hidden, "
        "its mean and standard deviation are rounded."
    )
    rows = [
        ["sha256 of the agreed numbers", statistics.sha256],
        ["Plan", agreed.plan],
        ["Nodes", ", ".join(map(clean, agreed.nodes))],
        ["Smallest count shown", digits(agreed.min_cell)],
        ["Numbers of each node", "published" if agreed.sites else "not published"],
    ]
    return section(
        "How it was counted",
        "The nodes added up whole numbers along their links, so all of them have the "
        "same numbers to the last bit: compare the sha256. All of it is in "
        "statistics.json.",
        table_card(
            Table("Record", ("What", "Value"), rows, 2, note if hides else ""),
            is_wide=True,
        ),
    )
