"""What sums of products can be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.exact.bounds import STEPS, TOP, WIDE
from dssfn.exact.gram import Layout
from dssfn.exact.gram_bounds import GramBounds, Weighing
from dssfn.exact.samples import SampleSums

Q, WIDE_ROWS, UNITS = 2, 3, 4
N = WIDE_ROWS + UNITS


def features(rng, J, how, *, is_positive):
    """Wide numbers, units and what is left over, at their clips or within."""
    ends = {"clipped": [1.0], "either end": [0.0, 1.0], "within": None}[how]

    def drawn(rows, most, *, both_signs):
        shares = rng.random((rows, J)) if ends is None else rng.choice(ends, (rows, J))
        signs = rng.choice([-1, 1], (rows, J)) if both_signs else 1
        return np.rint(shares * most) * signs

    W = drawn(WIDE_ROWS, WIDE, both_signs=not is_positive)
    W[0] = STEPS
    U = drawn(UNITS, TOP, both_signs=False).astype(np.uint8)
    return W, U, drawn(Q, WIDE, both_signs=True)


def summed(first, W, U, D, weights, usual):
    layout = Layout(Q, N if usual is not None else WIDE_ROWS, first, N)
    sums = SampleSums(layout, usual)
    sums.add(W, U, D, weights)
    message = np.zeros(layout.size, dtype=np.int64)
    sums.write(message)
    return layout, message


@given(
    seed=st.integers(0, 2**32 - 1),
    J=st.integers(1, 40),
    first=st.sampled_from([0, WIDE_ROWS, WIDE_ROWS + 2]),
    how=st.sampled_from(["clipped", "either end", "within"]),
    weights=st.sampled_from(["none", "whole", "fractions", "tiny"]),
    is_positive=st.booleans(),
)
def test_features_of_any_samples_keep_the_bounds(
    seed, J, first, how, weights, is_positive
):
    rng = np.random.default_rng(seed)
    W, U, D = features(rng, J, how, is_positive=is_positive)
    w = {
        "none": None,
        "whole": rng.integers(0, 9, J).astype(float),
        "fractions": rng.uniform(0, 4, J),
        "tiny": 2.0 ** -rng.integers(0, 60, J),
    }[weights]
    usual = 0 if weights in ("fractions", "tiny") else None
    layout, message = summed(first, W, U, D, w, usual)
    weight = float(J if w is None else w.sum())
    for known in (weight, math.inf):
        weighing = Weighing(given=known, used=known, usual=usual)
        bounds = GramBounds(
            layout, WIDE_ROWS, weighing, constant=1, is_positive=is_positive
        )
        assert bounds.fault(message, weight) is None
        assert bounds.fault(message, math.inf) is None


@pytest.mark.parametrize("usual", [None, 0])
@pytest.mark.parametrize("first", [0, WIDE_ROWS])
def test_samples_at_all_clips_need_the_weight_that_they_have(first, usual):
    W, U, D = features(np.random.default_rng(0), 100, "clipped", is_positive=True)
    layout, message = summed(first, W, U, D, None, usual)
    # Rounding of weighted features may be as large as they are.
    fewer = 99.0 if usual is None else 24.0
    bounds = GramBounds(layout, WIDE_ROWS, Weighing(usual=usual))
    assert bounds.fault(message, 100.0) is None
    assert "is above" in bounds.fault(message, fewer)


def test_every_number_of_a_message_is_held_to_a_bound():
    """One number after another is made as large as an int64 can be."""
    W, U, D = features(np.random.default_rng(1), 30, "within", is_positive=True)
    for first in (0, WIDE_ROWS + 1):
        layout, message = summed(first, W, U, D, None, None)
        bounds = GramBounds(layout, WIDE_ROWS, Weighing(given=30.0, used=30.0))
        for place in range(layout.size):
            for lie in (2**62, -(2**62)):
                told = message.copy()
                told[place] = lie
                assert bounds.fault(told, math.inf) is not None, (first, place)


def test_a_class_weighs_what_its_factor_says():
    weighing = Weighing(given=100.0, factor=5.0, used=100.0)
    assert weighing.of(10.0) == 50.0
    assert weighing.of(30.0) == 100.0
    assert weighing.of(math.inf) == 100.0
