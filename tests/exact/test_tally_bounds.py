"""What exact tallies can be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dssfn.exact.limbs import ExactTally
from dssfn.exact.tally_bounds import TallyBounds

LOW, HIGH = np.array([1.0, -3.0, 0.0, -np.inf]), np.array([1.0, 3.0, 1e30, np.inf])
SHARES = st.sampled_from([0.0, 1.0]) | st.floats(0, 1)


def tally_of(values, weights):
    tally = ExactTally(len(values))
    tally.add(values, weights)
    return tally.numbers()


@settings(max_examples=300)
@given(
    data=st.data(),
    J=st.integers(1, 20),
    size=st.sampled_from([0.0, 1e-60, 1e-9, 1.0, 1e12]),
    is_stated=st.booleans(),
)
def test_numbers_within_the_bounds_keep_them(data, J, size, is_stated):
    shares = data.draw(arrays(float, (4, J), elements=SHARES))
    top = np.where(np.isinf(HIGH), 1e40, HIGH)[:, None]
    bottom = np.where(np.isinf(LOW), -1e40, LOW)[:, None]
    values = np.clip(bottom + shares * (top - bottom), bottom, top)
    weights = size * data.draw(arrays(float, J, elements=SHARES))
    numbers, weight = tally_of(values, weights), float(weights.sum())
    for known in (weight, math.inf):
        bounds = TallyBounds(LOW, HIGH, known, is_stated=is_stated)
        assert bounds.fault(numbers, weight) is None
        assert bounds.fault(numbers, math.inf) is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([9.0, 0.0, 0.0, 0.0], "above"),
        ([8.0, 0.0, 0.0, 0.0], "below"),
        ([8.5, 26.0, 0.0, 0.0], "above"),
        ([8.5, -26.0, 0.0, 0.0], "below"),
        ([8.5, 0.0, -1e-6, 0.0], "below"),
    ],
)
def test_numbers_beyond_the_bounds_break_them(values, said):
    numbers = tally_of(np.array(values)[:, None], None)
    assert said in TallyBounds(LOW, HIGH, 8.5).fault(numbers, math.inf)
    assert said in TallyBounds(LOW, HIGH).fault(numbers, 8.5)


def test_a_weight_that_is_stated_bounds_the_others():
    def fault(weight, count, of=math.inf):
        numbers = tally_of(np.array([[weight], [count]]), None)
        bounds = TallyBounds(np.array([1.0, 0.0]), np.ones(2), is_stated=True)
        return bounds.fault(numbers, of)

    assert fault(7.0, 7.0) is None
    assert "is above" in fault(7.0, 8.0)
    assert "is negative" in fault(-1.0, 0.0)
    assert fault(7.0, 3.0, of=6.0) == "the weight of samples is 7 and not 6"


def test_whatever_an_int64_holds_can_be_judged():
    for lie in (2**63 - 1, -(2**63)):
        numbers = np.full(2 * len(tally_of(np.ones((1, 1)), None)), lie)
        assert TallyBounds(np.zeros(2), np.ones(2), 5.0).fault(numbers, 5.0)
