"""Put the tables and figures of the kept rows into the documentation.

    python -m scripts.refresh_evidence

`docs/evidence/rows.jsonl` has the rows of `dssfn reproduce`. Nothing is trained here:
pages get the tables between their marks, and `docs/figures` the figures that pages
show. A test compares the pages with the rows, so no table is typed by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.document import with_text
from dssfn.experiments.paper import is_of_paper
from dssfn.experiments.registry import EXPERIMENTS
from dssfn.report.evidence.page import draw_evidence
from dssfn.report.numbers import NONE
from dssfn.report.table import Table
from dssfn.rows import Row, RowFile

DOCS = Path(__file__).parents[1] / "docs"
ROWS = DOCS / "evidence" / "rows.jsonl"
INPUTS = ("paper", "range", "scaled")  # the paper's settings with other inputs


def _of_paper(row: Row) -> bool:
    return is_of_paper(row) and row.key["settings"] not in ("range", "scaled")


def _other_inputs(row: Row) -> bool:
    is_compared = row.key["n_nodes"] != 1 and row.key["settings"] in INPUTS
    return is_of_paper(row) and is_compared


BLOCKS: dict[str, dict[str, tuple[str, Callable[[Row], bool]]]] = {
    "reproduce.md": {
        "table2": ("table2", _of_paper),
        "inputs": ("table2", _other_inputs),
        "stand-ins": ("table2", lambda row: not is_of_paper(row)),
        "satimage": ("satimage", lambda row: True),
        "convergence": ("convergence", lambda row: True),
        "degree": ("degree", lambda row: row.key["data"] == "mnist"),
        "communication": ("communication", lambda row: row.key["width"] == 1000),
        "comparison": ("comparison", lambda row: True),
    },
    "imperfect.md": {
        name: (
            "imperfect",
            lambda row, name=name: (
                row.key["data"] == name and row.key["partition"] == "by-class"
            ),
        )
        for name in ("satimage", "letter")
    },
}
"""Pages, the names of their marks, and which rows of which experiment stand there."""


def kept_rows() -> list[Row]:
    """Return the rows that are kept; of those made twice, the last."""
    return list({row.name: row for row in RowFile(ROWS)}.values())


def refreshed(page: str, rows: Iterable[Row]) -> str:
    """Return a page with the tables of these rows."""
    rows = list(rows)
    text = (DOCS / page).read_text(encoding="utf-8")
    for name, (experiment, is_shown) in BLOCKS[page].items():
        some = [row for row in rows if row.experiment == experiment and is_shown(row)]
        table = narrow(EXPERIMENTS[experiment].table(some))
        text = with_text(text, name, table.markdown(is_bare=True))
    return text


def narrow(table: Table) -> Table:
    """Return a table that fits on a page.

    Columns that say the same in all rows are left out, as is the train accuracy; what
    was published and the difference stand behind our own number.

    >>> head = "data", "error (dB)", "paper (dB)", "difference (dB)"
    >>> rows = [("a", "1.5", "1", "+0.5"), ("a", "2", "1", "+1")]
    >>> print(narrow(Table("", head, rows)).markdown(is_bare=True))
    | error (dB): ours (paper, difference) |
    | --- |
    | 1.5 (1, +0.5) |
    | 2 (1, +1) |
    <BLANKLINE>
    """
    columns = [*zip(table.head, *table.rows, strict=True)]
    kept: list[Sequence[str]] = []
    while columns:
        column, *columns = columns
        if columns and columns[0][0].startswith("paper ("):
            column = _compared(column, *columns[:2])
            columns = columns[2:]
        is_news = len(table.rows) == 1 or len(set(column[1:])) > 1
        if is_news and not column[0].startswith("train accuracy"):
            kept.append(column)
    head, *rows = zip(*kept, strict=True)
    return replace(table, head=head, rows=rows)


def _compared(
    ours: Sequence[str], paper: Sequence[str], difference: Sequence[str]
) -> list[str]:
    """Return one column for three: our number, what was published, the difference."""
    if set(paper[1:]) <= {NONE}:  # nothing was published
        return [*ours]
    behind = zip(ours[1:], paper[1:], difference[1:], strict=True)
    cells = (f"{a} ({b}, {c})" for a, b, c in behind)
    return [f"{ours[0]}: ours (paper, difference)", *cells]


def main() -> None:
    """Refresh pages and figures."""
    rows = kept_rows()
    for page in BLOCKS:
        (DOCS / page).write_text(refreshed(page, rows), encoding="utf-8")
    for figures in draw_evidence(rows, EXPERIMENTS.values()).values():
        for one in figures:
            path = DOCS / "figures" / f"{one.drawing.name}.svg"
            if path.exists():  # a page shows it
                path.write_text(one.drawing.svg, encoding="utf-8")
                print(path.relative_to(DOCS))


if __name__ == "__main__":
    main()
