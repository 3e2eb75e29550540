"""Tables of the documentation beside the rows that they are made from."""

from __future__ import annotations

import pytest
from scripts.refresh_evidence import BLOCKS, DOCS, kept_rows, refreshed

from dssfn.experiments.registry import EXPERIMENTS
from dssfn.report.evidence.page import draw_evidence


@pytest.fixture(scope="module")
def rows():
    return kept_rows()


@pytest.mark.parametrize("page", BLOCKS)
def test_tables_are_those_of_the_kept_rows(page, rows):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert refreshed(page, rows) == text, "run `python -m scripts.refresh_evidence`"


def test_all_rows_are_of_full_size_and_of_known_experiments(rows):
    assert {row.experiment for row in rows} == set(EXPERIMENTS)
    assert not any(row.key["quick"] for row in rows)


def test_figures_of_the_pages_can_be_drawn_from_the_rows(rows):
    pytest.importorskip("matplotlib")
    drawn = draw_evidence(rows, EXPERIMENTS.values())
    names = {f"{one.drawing.name}.svg" for some in drawn.values() for one in some}
    own = {"idea.svg"}  # drawn by hand
    assert {path.name for path in (DOCS / "figures").glob("*.svg")} - own <= names
