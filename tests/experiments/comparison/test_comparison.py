import pytest

from dssfn.experiments import comparison
from dssfn.report.evidence.selection import where
from tests.support.evidence_sample import (
    check_made_rows,
    page_of,
    sample_of,
)


@pytest.fixture(scope="module")
def rows():
    return sample_of("comparison")


def test_rows_that_are_really_made_fit_their_table_and_figures():
    check_made_rows(comparison)


def test_what_a_split_costs_is_said(rows):
    said = comparison.words(rows)
    assert "dSSFN 0.00, federated averaging 20.00" in said[1]
    assert "same in every split, to the last prediction" in said[1]
    assert "for 100 % of the test samples" in said[1]


def test_curves_that_depend_on_the_split_are_not_called_the_same():
    rows = sample_of("comparison")
    changed = where(rows, method="dssfn", split="by-class")[0]
    changed.metrics["predictions_sha256"] = "other"
    changed.metrics["prediction_agreement"] = 0.5
    said = comparison.words(rows)[1]
    assert "differ between the splits" in said
    assert "at least 50 %" in said


def test_networks_are_named_by_their_sizes(rows):
    settings = [line[3] for line in comparison.table(rows).rows if line[1] == "dSSFN"]
    assert settings == ["5 layers of 1000", "5 layers of 300"] * 3


def test_a_method_that_always_diverged_is_named(rows):
    dead = [
        row
        for row in rows
        if row.key["method"] != "fedavg" or row.key["setting"] == "rate 9"
    ]
    table = comparison.table(dead)
    assert [line[3] for line in table.rows].count("all diverged") == 3
    assert "federated averaging" in page_of(dead)[0]
