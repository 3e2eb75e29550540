"""`dssfn data`: tables to try things out on."""

from __future__ import annotations

from tests.support.commands import dssfn, wrong


def test_a_name_is_checked_before_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert dssfn("data", "iris").exit_code == 0
    said = wrong("data", "iris/test.csv")
    assert "The name of a data set must consist of" in said
    assert "--out" not in said


def test_a_folder_is_called_by_the_option_only_if_that_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "iris").touch()
    said = wrong("data", "iris")
    assert "`iris` must be a new or empty folder" in said
    assert "Choose another one with `--out`" in said
    said = wrong("data", "wine", "--out", "iris")
    assert "`--out` must be a new or empty folder, got `iris`" in said
