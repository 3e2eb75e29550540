"""The command: it goes on where it stopped, and leaves out what is not at hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier

from benchmarks.accuracy import sets
from benchmarks.accuracy.__main__ import compare, run_parts
from benchmarks.accuracy.part import Choice
from benchmarks.accuracy.tabular import LabelledTable
from dssfn.errors import PlanError
from dssfn.rows import RowFile


@pytest.fixture
def fitted(monkeypatch):
    """Let two invented models compare on invented sets; returns what was fitted."""
    made = []

    class Fake(DummyClassifier):
        def fit(self, X, y):
            made.append(len(y))
            return super().fit(X, y)

    table = LabelledTable(pd.DataFrame({"x": np.arange(40.0)}), np.arange(40) % 2)
    fakes = {name: lambda seed: Fake() for name in ("ssfn", "forest")}
    monkeypatch.setattr(sets, "CLASSIFIERS", fakes)
    monkeypatch.setattr(sets, "read_set", lambda name, folder: table)
    return made


def test_a_run_goes_on_where_it_stopped(fitted, tmp_path):
    file = RowFile(tmp_path / "rows.jsonl")
    run_parts(["sets"], ["forest"], Choice(True, tmp_path), file)
    assert len(fitted) == 3
    run_parts(["sets"], [], Choice(True, tmp_path), file)
    assert len(fitted) == 6
    some = Choice(False, tmp_path, n_seeds=2)
    run_parts(["sets"], [], some, file)
    assert len(fitted) == len(list(file)) == 16 * 2 * 2
    run_parts(["sets"], [], some, file)
    assert len(fitted) == 16 * 2 * 2
    run_parts(["sets"], [], Choice(False, tmp_path), file)
    assert len(fitted) == len(list(file)) == 16 * 10 * 2


def test_the_command_prints_a_summary_and_writes_a_page(fitted, tmp_path, capsys):
    compare(["sets"], out=tmp_path, quick=True, cache=tmp_path)
    printed = capsys.readouterr().out
    assert "Accuracy and ranks" in printed
    assert "mean rank of SSFN" in printed
    assert (tmp_path / "report.html").is_file()


def test_a_part_without_data_is_left_out(fitted, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("DSSFN_DATA_DIR", raising=False)
    file = RowFile(tmp_path / "rows.jsonl")
    run_parts(["hospitals", "sets"], [], Choice(True, tmp_path), file)
    assert "hospitals: left out." in capsys.readouterr().err
    assert {row.experiment for row in file} == {"sets"}


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [({"parts": ["set"]}, "`sets`"), ({"models": "ssfn,forrest"}, "`forest`")],
)
def test_a_name_that_is_not_known_is_refused(wrong, meant, tmp_path):
    with pytest.raises(PlanError, match=meant):
        compare(**wrong, out=tmp_path)
