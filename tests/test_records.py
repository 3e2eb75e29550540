from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.records import NO_ERROR, Tried, decibel, record_of, share, warning_about

positive = st.floats(1e-300, 1e300)


@given(positive, positive)
def test_decibels_are_ten_times_the_logarithm_of_a_ratio(cost, of):
    if NO_ERROR < cost / of < 1e300:
        assert decibel(cost, of) == pytest.approx(10 * math.log10(cost / of))


@given(st.floats(0, 1e300), st.floats(0, 1e300))
def test_decibels_are_finite_whatever_vanishes(cost, of):
    assert math.isfinite(decibel(cost, of))


@given(positive, st.floats(0, 1e-33))
def test_no_error_has_decibels_that_fit_into_a_table_and_a_plot(of, share_left):
    least = pytest.approx(20 * math.log10(2**-52))  # -313 dB: float64's precision
    assert decibel(share_left * of, of) == decibel(0.0, of) == least


def test_a_negative_cost_of_rounding_counts_as_none():
    assert decibel(-1e-20, 1.0) == decibel(0.0, 1.0)


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.floats(-1e-9, 1e-9))
def test_the_share_of_counts_is_exact_up_to_what_averaging_leaves(part, more, noise):
    whole = part + more
    assert share(part * (1 + noise), whole * (1 - noise)) == part / whole


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_share_lies_between_none_and_all(part, whole):
    assert 0 <= share(part, whole) <= 1


def test_a_share_of_nothing_is_none():
    assert share(0.0, 0.0) == 0.0


def test_a_record_has_the_sums_and_what_was_found():
    tried = (Tried("common", 100, -3.0),)
    record = record_of(
        2, np.array([5.0, 50.0, 30.0, 40.0]), 7, has_classes=True, width=100,
        ridge=None, tried=tried,
    )  # fmt: skip
    assert (record.layer, record.cost, record.iterations) == (2, 5.0, 7)
    assert record.train_error_db == pytest.approx(-10.0)
    assert record.train_accuracy == 0.75
    assert (record.width, record.ridge, record.tried) == (100, None, tried)
    assert record.validation_error_db is None


def test_numbers_cannot_be_correct():
    totals = np.array([5.0, 50.0, 40.0, 40.0])
    record = record_of(2, totals, 7, has_classes=False, validation_error_db=-9.0)
    assert record.train_accuracy is None
    assert warning_about(record) == ""


def test_small_weights_are_weights():
    assert share(2e-9, 5e-9) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"train": 1.0, "validation": 0.9}, "but only 90.0%"),
        ({"train": 1 - 1e-12, "validation": 0.9}, "but only 90.0%"),
        ({"train": 1.0, "validation": 0.96}, ""),
        ({"train": 0.99, "validation": 0.9}, ""),
        ({"train": 1.0, "validation": None}, ""),
        ({"train": 0.5, "validation": 0.5, "layer": 0, "ridge": None}, "same for"),
        ({"train": 0.5, "validation": 0.5, "layer": 0, "ridge": 0.1}, ""),
    ],
)
def test_who_reads_a_record_is_warned(found, said):
    totals = np.array([5.0, 50.0, 100 * found["train"], 100.0])
    validation = found["validation"]
    record = record_of(
        found.get("layer", 2), totals, 1, has_classes=True,
        ridge=found.get("ridge", 0.1),
        validation_accuracy=validation,
        validation_error_db=None if validation is None else -3.0,
    )  # fmt: skip
    warning = warning_about(record)
    assert said in warning
    assert bool(said) is bool(warning)
