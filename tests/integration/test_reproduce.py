"""`dssfn reproduce`: rows, tables and a page; bad words; going on after a stop."""

from __future__ import annotations

import json
import shutil
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from dssfn.cli.main import app
from dssfn.experiments import comparison
from dssfn.experiments.table2 import columns_of


def invoke(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("reproduction") / "new" / "folder"
    return out, invoke("reproduce", "comparison", "--quick", "--out", out)


def test_rows_tables_figures_and_a_page_are_written(made):
    out, shown = made
    assert shown.exit_code == 0, shown.output
    assert f"The report is in {out / 'report.html'}" in shown.stdout
    rows = list(map(json.loads, (out / "rows.jsonl").read_text().splitlines()))
    assert len(rows) == len(comparison.tasks(quick=True, seeds=[0]))
    assert {"experiment", "key", "figures", "seconds", "made_by"} == rows[0].keys()
    tables = (out / "tables.md").read_text()
    assert tables in shown.stdout
    assert "Reduced sizes" in tables
    figures = {path.suffix for path in (out / "figures").iterdir()}
    assert figures == {".svg", ".png"}


def test_rows_that_are_there_are_not_made_again(made):
    out, _ = made
    before = (out / "rows.jsonl").read_bytes()
    lines = before.splitlines(keepends=True)
    cut = b"".join(lines[:-1]) + lines[-1][:40]  # killed while it wrote the last row
    (out / "rows.jsonl").write_bytes(cut)
    shown = invoke("reproduce", "comparison", "--quick", "--out", out, "--json")
    assert shown.exit_code == 0, shown.output
    assert shown.stderr.count("comparison:") == 1
    rows = json.loads(shown.stdout)
    assert len(rows) == len(lines)
    after = (out / "rows.jsonl").read_bytes()
    assert after.startswith(cut)
    keys = [json.loads(line)["key"] for line in lines]
    assert [row["key"] for row in rows] == keys


def test_the_page_is_made_anew_without_training(made):
    out, _ = made
    page = (out / "report.html").read_bytes()
    (out / "report.html").unlink()
    shown = invoke("report", out)
    assert shown.exit_code == 0, shown.output
    assert (out / "report.html").read_bytes() == page


def test_without_matplotlib_there_are_tables_and_no_word_of_a_page(
    made, tmp_path, monkeypatch
):
    shutil.copytree(made[0], tmp_path / "copy")
    (tmp_path / "copy" / "tables.md").unlink()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    shown = invoke("report", tmp_path / "copy")
    assert shown.exit_code == 0, shown.output
    assert "No report was written" in shown.stderr
    assert "The report is in" not in shown.stdout
    assert (tmp_path / "copy" / "tables.md").exists()
    assert not (tmp_path / "copy" / "report.html").exists()


def test_rows_of_another_version_are_named(tmp_path):
    row = {"experiment": "table2", "key": {"data": "vowel"}, "figures": {}}
    row |= {"seconds": 1.0, "made_by": {}}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    shown = invoke("report", tmp_path)
    assert shown.exit_code == 2
    assert "rows.jsonl" in shown.stderr
    assert "another folder" in shown.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["tabel2"], "must be one of table2, satimage"),
        (["table2", "--seeds", "0"], "at least 1, got 0"),
        (["table2", "--data", "vowl"], "one of vowel, satimage, letter"),
    ],
)
def test_bad_words_are_named(arguments, told, tmp_path):
    shown = invoke("reproduce", *arguments, "--out", tmp_path)
    assert shown.exit_code == 2
    assert told in shown.stderr
    assert list(tmp_path.iterdir()) == []


def test_sets_that_are_not_at_hand_are_left_out_before_the_sweep(
    tmp_path, monkeypatch, offline
):
    monkeypatch.setenv("DSSFN_DATA_DIR", str(tmp_path))
    shown = invoke("reproduce", "table2", "--quick", "--out", tmp_path / "none")
    assert shown.exit_code == 2
    assert "Left out, because data are missing: table2. Put vowel.npz, " in shown.stderr
    assert "No data set `vowel`" in shown.stderr
    assert not (tmp_path / "none").exists()
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    arrays = {"X_train": X, "y_train": y, "X_test": X[:9], "y_test": y[:9]}
    np.savez(tmp_path / "vowel.npz", **arrays)
    shown = invoke("reproduce", "table2", "--quick", "--out", tmp_path / "some")
    assert shown.exit_code == 0, shown.output
    assert "Not available: satimage. No data set `satimage`" in shown.stderr
    assert (
        shown.stderr.count("data are missing: table2 with satimage, letter. Put") == 2
    )
    assert shown.stderr.count("table2: vowel") == len(columns_of("vowel"))
    assert "| vowel | 20 nodes | our settings, same size |" in shown.stdout


def test_experiments_that_are_left_out_are_named_with_the_way_out(
    tmp_path, monkeypatch, offline
):
    monkeypatch.setenv("DSSFN_DATA_DIR", str(tmp_path))
    monkeypatch.setattr("dssfn.cli.reproduce.run_sweep", lambda *_, **__: None)
    shown = invoke("reproduce", "all", "--quick", "--out", tmp_path / "out", "--json")
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout) == []
    last = shown.stderr.splitlines()[-1]
    assert last == (
        "Left out, because data are missing: table2; satimage; convergence; degree. "
        "Put vowel.npz, satimage.npz, letter.npz into a folder, give it as "
        "`--data-dir`, and run the same command again; finished rows are kept."
    )
    assert shown.stderr.count(last) == 2  # before hours of training, and after them


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "taken").write_text("")
    shown = invoke("reproduce", "table2", "--out", tmp_path / "taken")
    assert shown.exit_code == 2
    assert "`--out` must be a writable folder" in shown.stderr
