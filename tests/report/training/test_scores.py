"""The section of a report about how good the model is."""

from __future__ import annotations

import msgspec
import pytest

from dssfn.report.numbers import NONE
from dssfn.report.training.calibration import draw_calibration
from dssfn.report.training.page import make_page
from dssfn.report.training.scores import (
    MOST_NODES,
    nodes_table,
    own_table,
    scores_section,
    total_table,
)
from dssfn.results import Result
from dssfn.scores import ONE_CLASS
from tests.support.report_sample import SCORES, node_result, sample_result

OWN = SCORES | {"auc": 0.912, "sensitivity": 0.75, "specificity": 0.9}
NUMBERS = {"n": 40, "r2": -0.25, "mae": 12.5, "rmse": 15.0}
TITLE = "How good is the model"


def node_with(here, classes=("ill", "well"), **changes):
    result = node_result() | {"here": here} | changes
    result["settings"] = result["settings"] | {"classes": list(classes)}
    return msgspec.convert(result, Result)


def host_with(nodes, **settings):
    result = sample_result(classes=("ill", "well"))
    result["scores"] = {"total": SCORES, "nodes": nodes}
    found = {"members": 5, "consensus": "tree"}  # as a network that finds its size
    result["settings"] = result["settings"] | found | settings
    return msgspec.convert(result, Result)


def test_a_node_shows_its_figures_beside_those_that_it_could_have_alone():
    local = OWN | {"accuracy": 0.7}
    result = node_with(
        {"samples": "test", "model": OWN, "local": local, "baseline": OWN}
    )
    table = own_table(result)
    assert table.caption == "On 40 test samples of this node"
    assert list(table.head) == [
        "score", "model of all nodes", "this node alone",
        "always the most frequent class",
    ]  # fmt: skip
    shown = {row[0]: row[1:] for row in table.rows}
    assert shown["accuracy"][:2] == ("82.5\u202f%", "70.0\u202f%")
    assert shown["AUC"][0] == "0.912"
    assert shown["log loss"][0] == "0.412"
    page = make_page(result, {})
    assert f"<h2>{TITLE} here?</h2>" in page
    assert "The scores are never shared" in page
    assert "The positive class is “well”" in page


def test_what_cannot_be_known_is_said_in_words():
    lacking = OWN | {"auc": None, "missing": {"auc": ONE_CLASS}}
    here = {
        "samples": "validation",
        "model": lacking,
        "baseline": OWN,
        "missing": {"local": "this node has more than 50000 samples."},
    }
    page = make_page(node_with(here), {})
    assert "No AUC: all samples are of one class." in page
    assert "samples alone: this node has more than" in page
    assert "this node alone</th>" not in page


def test_a_node_without_samples_to_score_says_so():
    here = {"samples": "validation", "missing": {"model": "all were trained on."}}
    result = node_with(here, scores={"total": SCORES})
    page = make_page(result, {})
    assert "This node has no scores of its own." in page
    assert "all were trained on." in page
    assert own_table(result) is None


def test_a_training_without_scores_has_no_such_section():
    for whole in (sample_result() | {"scores": None}, node_result()):
        assert scores_section(msgspec.convert(whole, Result), {}) == ""


def test_a_regression_shows_errors_and_the_mean():
    result = node_result()
    result["here"] = {"samples": "test", "model": NUMBERS, "baseline": NUMBERS}
    result["settings"] = result["settings"] | {"classes": [], "targets": ["dose"]}
    table = own_table(msgspec.convert(result, Result))
    assert table.head[-1] == "always the mean"
    assert [row[:2] for row in table.rows] == [
        ("samples", "40"),
        ("R²", "\u22120.250"),
        ("mean absolute error", "12.50"),
        ("root mean squared error", "15.00"),
    ]


def test_every_node_has_a_row_where_they_are_known():
    rows = [{"node": name, "scores": SCORES} for name in ("a", "b<i>")]
    result = host_with(rows, folds="nodes")
    table = nodes_table(result)
    assert [row[0] for row in table.rows] == ["a", "b<i>"]
    page = make_page(result, {})
    assert "b&lt;i&gt;" in page
    assert "at an organisation that did not take part" in page
    assert f"<h2>{TITLE} for all nodes?</h2>" in page
    assert nodes_table(host_with([])) is None


def test_the_table_says_why_a_node_has_no_figure():
    known = [{"node": "a", "scores": OWN}]
    assert nodes_table(host_with(known)).note == ""
    table = nodes_table(host_with([*known, {"node": "b", "scores": SCORES}]))
    assert table.rows[1][table.head.index("AUC")] == NONE
    assert (
        table.note
        == f"{NONE}: the node has no validation samples, or they lack a class."
    )


def test_of_very_many_nodes_the_first_are_shown():
    rows = [{"node": str(k), "scores": SCORES} for k in range(100)]
    table = nodes_table(host_with(rows))
    assert len(table.rows) == MOST_NODES
    assert "40 more nodes" in table.note


def test_the_figures_of_all_nodes_are_shown_together():
    rows = dict(total_table(host_with([])).rows)
    assert rows["samples"] == "40"
    assert rows["balanced accuracy"] == "80.0\u202f%"
    assert "AUC" not in rows


@pytest.mark.parametrize("folds", ["rows", "nodes"])
def test_how_calibrated_a_model_is_can_be_drawn(folds):
    drawing = draw_calibration(host_with([], folds=folds))
    assert drawing.name == "calibration"
    assert "3.1" in drawing.label
    assert draw_calibration(msgspec.convert(node_result(), Result)) is None
