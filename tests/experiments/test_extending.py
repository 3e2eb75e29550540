"""The experiment of docs/extending.md, added from outside."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from dssfn.cli.main import app
from dssfn.experiments.registry import EXPERIMENTS
from dssfn.rows import Row, RowFile
from tests.support.documents import block


@pytest.fixture
def registered():
    exec(block("extending.md", "experiment"), {"__name__": "width"})
    yield EXPERIMENTS["width"]
    del EXPERIMENTS["width"]


def invoke(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


def test_an_experiment_from_outside_is_run_and_shown(registered, tmp_path):
    shown = invoke("reproduce", "width", "--quick", "--out", tmp_path)
    assert shown.exit_code == 0, shown.output
    rows = list(RowFile(tmp_path / "rows.jsonl"))
    assert [row.key["width"] for row in rows] == [10, 20, 40]
    assert all(0.5 < row.metrics["accuracy"] <= 1 for row in rows)
    assert "| width | test accuracy |" in (tmp_path / "tables.md").read_text()
    page = (tmp_path / "report.html").read_text()
    assert "<h2>Width</h2>" in page
    assert "Of 3 widths, " in page
    assert "<caption>Accuracy by width</caption>" in page
    assert 'id="width-accuracy"' in page
    assert (tmp_path / "figures" / "width-accuracy.svg").exists()


def test_it_stands_behind_the_papers_experiments(registered):
    assert list(EXPERIMENTS)[-1] == "width"
    shown = invoke("reproduce", "with")
    assert shown.exit_code == 2
    assert "width" in shown.stderr


def test_a_page_is_not_replaced_by_one_that_does_not_know_its_experiment(tmp_path):
    RowFile(tmp_path / "rows.jsonl").add(Row("width", {"width": 10}, {}, 0.1, {}))
    (tmp_path / "report.html").write_text("what was there")
    shown = invoke("report", tmp_path)
    assert shown.exit_code == 2
    assert "unknown experiment, width" in shown.stderr
    assert (tmp_path / "report.html").read_text() == "what was there"
