"""How far a large file is read is shown on a terminal, and nowhere else."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from dssfn.cli import display, read_progress
from dssfn.cli.display import layer_progress
from dssfn.cli.read_progress import reading_progress
from dssfn.config import Plan
from dssfn.datasets import csv_file, read_table
from dssfn.datasets.watching import VALUES, tell
from dssfn.records import LayerRecord
from tests.support.commands import dssfn


@pytest.fixture
def terminal(monkeypatch):
    """A terminal that keeps what it was shown."""
    monkeypatch.setenv("TERM", "xterm")
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=100)
    for module in (read_progress, display):
        monkeypatch.setattr(module, "notes", console)
    return shown


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_file, "_CSV_BYTES", 64)
    path = tmp_path / "[red]t\x1b[31m.csv"
    path.write_text("a,y\n" + "".join(f"{k},{k % 2}\n" for k in range(100)))
    return path


def plain(terminal):
    """What was shown, without colours."""
    return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", terminal.getvalue())


def test_a_bar_shows_the_file_its_rows_and_its_share(terminal, table, capsys):
    with reading_progress(patience=0):
        read_table(table)
        print("a result")
    text = plain(terminal)
    assert "[red]t?[31m.csv: " in text  # as it is, and nothing to obey
    assert "detecting column types" in text
    assert "100 rows (100 %)" in text
    assert capsys.readouterr().out == "a result\n"


def test_what_is_soon_done_or_unwanted_is_not_shown(terminal, table, monkeypatch):
    with reading_progress():
        read_table(table)
    with reading_progress(quiet=True, patience=0):
        read_table(table)
    assert terminal.getvalue() == ""


def test_nothing_is_shown_where_there_is_no_terminal(table, monkeypatch):
    monkeypatch.setattr(read_progress, "PATIENCE", 0.0)
    result = dssfn("schema", table, "--target", "y")
    assert result.exit_code == 0
    assert result.stderr == ""


def test_a_training_that_reads_a_file_again_says_so(terminal, table):
    plan = Plan(n_features=1, classes=(0, 1))
    with layer_progress(plan, quiet=False):
        tell(table, VALUES, 1234, 0.5)
    assert "layer 0 [red]t?[31m.csv: 1,234 rows (50 %)" in plain(terminal)
    with layer_progress(plan, quiet=False) as on_layer:
        on_layer(LayerRecord(1, 1.0, -2.0, 0.5, 1, width=3), None)
        tell(table, VALUES, 1234)
    assert "3 units  cost 1  -2.00 dB  1,234 rows read" in plain(terminal)
    before = len(terminal.getvalue())
    with layer_progress(plan, quiet=False):
        tell(table, VALUES, 2000, 1.0)
    assert "rows" not in terminal.getvalue()[before:]


def test_a_training_of_known_depth_says_when_only_scoring_is_left(terminal):
    plan = Plan(n_features=1, classes=(0, 1), n_layers=2, width=3)
    with layer_progress(plan, quiet=False) as on_layer:
        on_layer(LayerRecord(1, 1.0, -2.0, 0.5, 1), None)
        assert "scoring" not in plain(terminal)
        on_layer(LayerRecord(2, 1.0, -3.0, 0.5, 1), None)
    assert "-3.00 dB  scoring" in plain(terminal)
