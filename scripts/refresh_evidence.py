"""Put the tables and figures of the kept rows into the documentation.

    python -m scripts.refresh_evidence

`docs/evidence/rows.jsonl` has the rows of `dssfn reproduce`. Nothing is trained here:
pages get the tables between their marks, and `docs/figures` the figures that pages
show. A test compares the pages with the rows, so no table is typed by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.document import with_text
from dssfn.experiments.paper import is_of_paper
from dssfn.experiments.registry import EXPERIMENTS
from dssfn.report.evidence.page import draw_evidence
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
        table = EXPERIMENTS[experiment].table(some)
        text = with_text(text, name, table.markdown(is_bare=True))
    return text


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
