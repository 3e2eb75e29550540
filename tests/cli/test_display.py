from __future__ import annotations

import msgspec
import pytest

from dssfn.cli.display import show_layers, show_summary
from dssfn.results import Result
from tests.support.report_sample import found_result, sample_result


def shown(result, capsys):
    typed = msgspec.convert(result, Result)
    show_layers(typed)
    show_summary(typed)
    return capsys.readouterr().out


def test_layers_that_are_not_kept_are_in_brackets(capsys):
    text = shown(found_result(), capsys)
    for words in ("(4)", "(5)", "in brackets: tried, but not kept", "valid."):
        assert words in text
    assert "(3)" not in text
    assert "no test samples" not in text


def test_the_summary_is_about_the_layer_that_is_kept(capsys):
    lines = shown(found_result(), capsys).splitlines()
    summary = {line[:34].strip(): line[34:].strip() for line in lines}
    assert summary["train accuracy"] == "100.00 %"
    assert summary["train error"] == "-20.00 dB"
    assert summary["validation accuracy"] == "90.00 %"
    assert summary["members"] == "5, each validated on samples it left out"
    assert summary["width"] == "30 random units"
    assert summary["same choices as one machine"] == "yes"


def test_a_complete_fit_is_warned_of(capsys):
    assert "correctly, but only" in shown(found_result(), capsys)


def test_choices_that_differ_from_those_of_one_machine_are_told(capsys):
    result = found_result()
    result["equivalence"] |= {"same_choices": False, "central_difference": None}
    text = shown(result, capsys)
    assert "no: it chose another size or scale" in text
    assert "differs from one machine by" not in text
    assert "same prediction as one machine" in text


@pytest.mark.parametrize("result", [found_result(), sample_result()])
def test_the_table_of_layers_fits_into_eighty_letters(result, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = shown(result, capsys)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_network_of_given_size_has_no_columns_of_validation(capsys):
    text = shown(sample_result(), capsys)
    assert "averaged" in text
    assert "valid" not in text
    assert "members" not in text


def test_rounds_beside_the_layers_are_told_under_the_table(capsys):
    result = sample_result()
    assert "Outside the layers: 8 rounds to agree on the input scaling." in shown(
        result, capsys
    )
    result["communication"]["after_layers"] = {"rounds": 10, "bytes_total": 0}
    both = "8 rounds to agree on the input scaling, 10 rounds to score the model."
    assert both in " ".join(shown(result, capsys).split())


@pytest.mark.parametrize("result", [found_result(), sample_result()])
def test_decibels_are_explained_once_under_the_table(result, capsys):
    assert shown(result, capsys).count("dB: squared error relative to predicting") == 1


def test_nodes_whose_models_are_the_same_bits_are_called_identical(capsys):
    result = found_result()
    result["equivalence"] |= {"node_spread": 0.0}
    lines = shown(result, capsys).splitlines()
    (line,) = (one for one in lines if one.startswith("nodes' models differ by"))
    assert line.split("at most")[1].strip() == "0 (identical)"
    result["equivalence"] |= {"node_spread": 2e-9}
    assert "2.0e-09" in shown(result, capsys)


def test_a_small_ridge_fits_into_the_table(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = found_result()
    result["layers"][1] |= {"ridge": 1e-4, "afresh": True}
    assert "1e-04*" in shown(result, capsys)
