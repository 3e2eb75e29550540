"""Tables with small bars: the share of all rows, and below it that of rows here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from dssfn.report.html import LONG, Card, scrolled, text

ALL, HERE = "all", "here"  # classes of the style


class Bars(NamedTuple):
    """The bars of a cell: two shares of one; None where a share is not shown."""

    everybody: float | None
    here: float | None

    def html(self) -> str:
        """Return both bars, one below the other."""
        return "".join(
            f'<span class="bar {kind}"><span style="width:{100 * (share or 0):.1f}%">'
            "</span></span>"
            for kind, share in ((ALL, self.everybody), (HERE, self.here))
        )


Cell: TypeAlias = str | Bars


def bars_card(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    kinds: Sequence[str],
    note: str = "",
    is_wide: bool = False,
) -> Card:
    """Return a table in a card, some of whose cells are bars.

    Parameters
    ----------
    caption : str
        What it shows.
    head : sequence of str
        The name of each column.
    rows : sequence of sequences
        Words, or bars. The first cell names the row.
    kinds : sequence of str
        Whose figures a column holds, as its colour: `all`, `here`, or nobody's.
    note : str
        What must be known to read it.
    is_wide : bool
        Whether it takes the whole width of the page.
    """
    names = "".join(
        f'<th scope="col" class="{_kind(kind)}">{text(name)}</th>'
        for name, kind in zip(head, kinds, strict=True)
    )
    body = "\n".join(f"<tr>{_row(row)}</tr>" for row in rows)
    inner = (
        f'<table class="many bars">\n<caption>{text(caption)}</caption>\n'
        f"<thead><tr>{names}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    )
    inner = scrolled(inner, caption)
    inner += f'\n<p class="below">{text(note)}</p>' if note else ""
    return Card("div", inner, is_wide, len(rows) > LONG)


def _kind(kind: str) -> str:
    return f"n of-{kind}" if kind else ""


def _row(row: Sequence[Cell]) -> str:
    first, *others = row
    assert isinstance(first, str)
    cells = (
        f'<td class="shares">{one.html()}</td>'
        if isinstance(one, Bars)
        else f'<td class="n whole">{text(one)}</td>'
        for one in others
    )
    return f'<th scope="row">{text(first)}</th>{"".join(cells)}'
