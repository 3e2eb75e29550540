"""The figures of every node, where the plan publishes them."""

from __future__ import annotations

from collections.abc import Iterator

from dssfn.report.html import section, table_card
from dssfn.report.numbers import clean
from dssfn.report.statistics.words import counted, moments
from dssfn.report.table import Table
from dssfn.statistics.figures import Agreed, Column, Count, Figures


def sites_section(agreed: Agreed) -> str:
    """Return a table of numbers and one of counts, by node; nothing without them."""
    if not agreed.sites:
        return ""
    columns = list(zip(*map(_every, agreed.sites), strict=True))
    numbers = [one for one in columns if one[0].kind == "number"]
    means = [[clean(one[0].name), *map(_mean, one)] for one in numbers]
    counts = [["Rows", *(counted(site.rows) for site in agreed.sites)]]
    for one in columns:
        for cells in zip(*map(_cells, one), strict=True):
            counts.append([cells[0][0], *(counted(n) for _, n in cells)])
    head = [clean(name) for name in agreed.nodes]
    return section(
        "Every node",
        "What each node has published about its own rows. Each hid its small counts "
        "before they left it.",
        table_card(
            Table("Mean ± standard deviation", ("Column", *head), means), is_wide=True
        )
        if means
        else None,
        table_card(Table("Counts", ("Value", *head), counts), is_wide=True),
    )


def _every(site: Figures) -> tuple[Column, ...]:
    return (*site.columns, site.target)


def _mean(column: Column) -> str:
    mean, deviation = moments(column)
    return mean if column.mean is None else f"{mean} ± {deviation}"


def _cells(column: Column) -> Iterator[tuple[str, Count]]:
    name = clean(column.name)
    if column.there is not None:
        yield f"{name}: present", column.there
    for level in column.levels:
        yield f"{name}: {clean(level.name, 40)}", level.count
    if column.other is not None:
        yield f"{name}: any other value", column.other
    if column.kind != "class":
        yield f"{name}: missing", column.missing
