"""The page and the document are made from rows alone."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.accuracy.page import MARK, make_page, with_rows, with_tables
from benchmarks.accuracy.parts import PARTS
from benchmarks.document import marks
from dssfn.errors import DataError
from tests.support.accuracy_sample import row, sample_rows

DOCUMENT = Path(__file__).parents[3] / "docs" / "accuracy.md"


def test_a_page_shows_every_part_and_every_claim():
    rows = sample_rows()
    page = make_page(rows)
    for part, some in with_rows(rows):
        assert f"<h2>{part.title}</h2>" in page.replace("&#x27;", "'")
        assert part.claims(some)
    assert "Mean ranks: " in page
    assert "FLamby: pooled training" in page


@pytest.mark.parametrize("part", PARTS)
def test_a_run_that_was_stopped_after_its_first_row_can_be_looked_at(part):
    first = next(row for row in sample_rows() if row.experiment == part)
    assert make_page([first])


def test_models_that_share_no_set_have_a_page_all_the_same():
    rows = [row("sets", "iris", "ssfn", accuracy=0.9, fit_seconds=1.0)]
    rows += [row("sets", "wine", "forest", accuracy=0.8, fit_seconds=1.0)]
    assert make_page(rows)
    assert PARTS["sets"].claims(rows) == []


def test_a_better_model_reaches_what_is_wanted():
    rows = [row("sets", "iris", "ssfn", accuracy=0.9, fit_seconds=1.0)]
    rows += [row("sets", "iris", "forest", accuracy=0.8, fit_seconds=1.0)]
    rank, accuracy = PARTS["sets"].claims(rows)
    assert (rank.value, rank.wanted, rank.holds) == (1, 2, True)
    assert (accuracy.value, accuracy.wanted, accuracy.holds) == (90, 80, True)


def test_the_document_gets_its_tables_between_the_marks():
    document = DOCUMENT.read_text(encoding="utf-8")
    once = with_tables(document, sample_rows())
    begin, end = marks(MARK)
    assert once.startswith(document.split(begin)[0])
    assert once.endswith(document.split(end)[1])
    assert "### Accuracy and ranks" in once
    assert with_tables(once, sample_rows()) == once


def words(document):
    """Headings, heads of tables and notes between the marks, without numbers."""
    begin, end = marks(MARK)
    lines = document.split(begin)[1].split(end)[0].splitlines()
    heads = [
        line for line, following in pairwise(lines) if following.startswith("| ---")
    ]
    notes = [line for line in lines if line and not line.startswith("|")]
    return heads, [re.sub(r"\d+", "", line) for line in notes]


def test_the_document_has_the_words_that_a_run_would_write():
    document = DOCUMENT.read_text(encoding="utf-8")
    assert words(document) == words(with_tables(document, sample_rows()))


def test_a_document_without_marks_is_refused():
    with pytest.raises(DataError, match="must have the marks"):
        with_tables("nothing", sample_rows())
