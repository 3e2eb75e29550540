"""Sums of floats are those of fractions, rounded once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dssfn.errors import DataError
from dssfn.exact import limbs
from dssfn.exact.limbs import LARGEST, LOWEST, N_LIMBS, ExactTally, add_exactly, rounded

below = math.nextafter(LARGEST, 0.0)
huge_and_tiny = st.floats(-below, below)
usual = st.floats(-1e6, 1e6)
whole = st.integers(-(2**53), 2**53).map(float)
numbers = huge_and_tiny | usual | whole
columns = st.lists(numbers, max_size=40)


def exact_sum(values):
    """The sum of what is not cut off, as a fraction."""
    last = Fraction(2) ** LOWEST
    return sum((math.trunc(Fraction(x) / last) * last for x in values), Fraction(0))


def limbs_of(values):
    found = np.zeros(N_LIMBS, dtype=np.int64)
    add_exactly(np.array(values, dtype=float), found)
    return found


@given(columns)
@example([])
@example([0.0, -0.0])
@example([below, below, -below])
@example([2.0**LOWEST, -(2.0**LOWEST) / 2, 5e-324])
@example([1.0, 2.0**-53, 2.0**-200])  # just above a tie
@example([-1.0, -(2.0**-53)])  # a tie
def test_a_sum_is_that_of_fractions_rounded_once(values):
    found = float(rounded(limbs_of(values)))
    assert found == float(exact_sum(values))


@given(st.lists(usual | whole, max_size=40))
def test_a_sum_of_numbers_that_are_not_cut_off_is_that_of_fsum(values):
    assume_kept = [x if abs(x) > 1e-50 else 0.0 for x in values]
    assert float(rounded(limbs_of(assume_kept))) == math.fsum(assume_kept)


@given(columns, st.randoms(use_true_random=False), st.integers(1, 5), st.integers(1, 7))
def test_no_order_and_no_split_changes_a_sum(values, random, n_nodes, chunk):
    tallies = [ExactTally(2) for _ in range(n_nodes)]
    shuffled = random.sample(values, len(values))
    for start in range(0, len(shuffled), chunk):
        part = np.array(shuffled[start : start + chunk])
        random.choice(tallies).add(np.stack([part, -2.0 * part / 4]))
    total = np.sum([tally.numbers() for tally in tallies], axis=0)
    assert total.dtype == np.int64
    found = ExactTally.read(total)
    halves = [-x / 2 for x in values]
    assert found.tolist() == [float(exact_sum(values)), float(exact_sum(halves))]


@given(columns)
def test_numbers_and_their_opposites_cancel(values):
    tally = ExactTally(1)
    tally.add(np.array([values]))
    tally.add(-np.array([values[::-1]]))
    assert ExactTally.read(tally.numbers()).tolist() == [0.0]


def test_every_sum_of_several_is_its_own():
    values = np.array([[[1e30, 1.0], [0.0, 0.0]], [[-1.0, 1e-30], [5.0, -7.0]]])
    found = np.zeros((2, 2, N_LIMBS), dtype=np.int64)
    add_exactly(values, found)
    assert rounded(found).tolist() == values.sum(axis=-1).tolist()


def test_many_samples_are_added_in_several_parts(monkeypatch):
    values = np.random.default_rng(0).normal(size=1000).tolist()
    whole = limbs_of(values)
    monkeypatch.setattr(limbs, "MOST_AT_ONCE", 7)
    assert (limbs_of(values) == whole).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_as_many_of_the_largest_digits_as_are_added_at_once_are_not_rounded(sign):
    largest = sign * float(2**limbs.BITS - 1)
    values = np.full(limbs.MOST_AT_ONCE, largest)
    values[0] = sign  # an odd sum
    total = int((limbs.MOST_AT_ONCE - 1) * largest) + sign
    assert int(limbs_of(values)[-LOWEST // limbs.BITS]) == total
    assert float(rounded(limbs_of(values))) == total


@given(st.lists(st.tuples(usual | whole, st.integers(0, 2**26 - 1)), max_size=30))
def test_a_whole_weight_counts_a_number_so_often(pairs):
    values = np.array([[x for x, _ in pairs]])
    tally = ExactTally(1)
    tally.add(values, np.array([w for _, w in pairs], dtype=float))
    kept = [Fraction(x) * w if abs(x) > 1e-50 else Fraction(0) for x, w in pairs]
    found = float(ExactTally.read(tally.numbers())[0])
    # what is cut off of numbers that small is below the last place
    assert found == pytest.approx(float(sum(kept, Fraction(0))), rel=0, abs=1e-40)
    if all(abs(x) > 1e-50 or x == 0 for x, _ in pairs):
        assert found == float(sum(kept, Fraction(0)))


@pytest.mark.parametrize("value", [LARGEST, -LARGEST, np.inf, np.nan])
def test_numbers_that_are_too_large_are_refused(value):
    with pytest.raises(DataError, match=r"below 2\^280.*dense"):
        limbs_of([1.0, value])
