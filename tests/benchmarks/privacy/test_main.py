"""The commands: they leave out what is not at hand, and fill in a document."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.document import marks, with_text
from benchmarks.privacy.__main__ import MEMBERSHIP, TOTALS, app
from dssfn.errors import DataError

DOCUMENT = Path(__file__).parents[3] / "docs" / "privacy.md"


def test_there_are_two_commands():
    shown = CliRunner().invoke(app, ["--help"])
    assert shown.exit_code == 0
    assert "totals" in shown.output
    assert "membership" in shown.output


@pytest.mark.parametrize("name", [TOTALS, MEMBERSHIP])
def test_the_document_has_a_place_for_the_tables_of_every_command(name):
    document = DOCUMENT.read_text(encoding="utf-8")
    begin, end = marks(name)
    before, rest = document.split(begin)
    tables, after = rest.split(end)
    assert f"benchmarks.privacy {name}" in tables
    assert with_text(document, name, tables.strip("\n") + "\n") == document
    assert with_text(document, name, "").startswith(before)
    assert with_text(document, name, "").endswith(after)


def test_a_document_without_a_place_for_tables_is_refused():
    with pytest.raises(DataError, match="must have the marks"):
        with_text("# Nothing", TOTALS, "| new |")
