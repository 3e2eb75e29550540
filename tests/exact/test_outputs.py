"""Scores are those of fractions, and rounded matrices stay what they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.exact.bounds import LEVELS, ROWS, STEPS, TOP, WIDE
from dssfn.exact.outputs import (
    SMALLEST,
    UNIT_BITS,
    on_grid,
    rounded_outputs,
    scores_of,
)
from tests.support.strategies import seeds


def fraction_scores(O, W, U):
    """Scores of wide numbers and those of units, each rounded once, and their sum."""

    def product(A, B, step):
        return [
            [
                float(
                    sum(
                        (
                            Fraction(a) * int(b)
                            for a, b in zip(row, column, strict=True)
                        ),
                        Fraction(0),
                    )
                    / step
                )
                for column in B.T
            ]
            for row in A
        ]

    wide = product(O[:, : len(W)], W, STEPS)
    return np.array(wide) + np.array(product(O[:, len(W) :], U, LEVELS))


def features(rng, n_wide, n_units, c):
    W = rng.integers(-WIDE, WIDE + 1, size=(n_wide, c)).astype(float)
    return W, rng.integers(0, TOP + 1, size=(n_units, c)).astype(np.uint8)


exponents = st.integers(-40, 40)


@settings(max_examples=60)
@given(seeds, st.integers(1, 20), st.integers(0, 40), exponents, exponents)
def test_scores_are_those_of_fractions(seed, n_wide, n_units, small, large):
    rng = np.random.default_rng(seed)
    O = rng.normal(size=(3, n_wide + n_units)) * 2.0**small
    O[:, n_wide:] *= 2.0**large
    O = rounded_outputs(O, n_wide)
    W, U = features(rng, n_wide, n_units, 4)
    assert scores_of(O, W, U).tolist() == fraction_scores(O, W, U).tolist()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("n_units", [1, ROWS, ROWS + 1])
def test_scores_of_the_largest_digits_are_those_of_fractions(sign, n_units):
    """Digits of 7 bits with a sign are at most 64 or 63."""
    largest = 2**UNIT_BITS - 1
    sixties = sum(63 * 128**k for k in range(4))
    for whole in (largest, sixties, 2**27 - 2**20, 2**26, 64 * (1 + 128 + 128**2)):
        O = np.full((2, 1 + n_units), sign * float(whole))
        O[0, -1] = sign * float(largest)
        O[:, 0] = 1 - 2.0**-52
        W = np.full((1, 2), float(WIDE))
        U = np.full((n_units, 2), TOP, dtype=np.uint8)
        O = rounded_outputs(O, 1)
        assert O[1, 1] == sign * whole
        assert scores_of(O, W, U).tolist() == fraction_scores(O, W, U).tolist()


@pytest.mark.parametrize("n_wide", [1, 21, 63, 64, 300])
def test_scores_of_the_largest_wide_numbers_are_those_of_fractions(n_wide):
    rng = np.random.default_rng(0)
    O = rounded_outputs(1 - rng.uniform(size=(2, n_wide)) * 2.0**-45, n_wide)
    W = np.full((n_wide, 2), float(WIDE))
    W[:, 1] -= rng.integers(2, size=n_wide)
    U = np.empty((0, 2), dtype=np.uint8)
    assert scores_of(O, W, U).tolist() == fraction_scores(O, W, U).tolist()


matrices = st.lists(
    st.floats(-1, 1) | st.sampled_from([1 - 2.0**-40, 1 - 2.0**-20, 0.5, 3 * 2.0**-27]),
    min_size=1,
    max_size=12,
).map(np.array)


@given(matrices, st.integers(2, 52))
def test_numbers_on_a_grid_stay_where_they_are(A, bits):
    once = on_grid(A, bits)
    assert (on_grid(once, bits) == once).all()
    # the nearest of the grid, whose step is that of the largest number
    step = max(2.0 ** (1 - bits) * np.abs(A).max(), 2.0**SMALLEST)
    assert np.abs(once - A).max() <= step


@given(matrices, st.integers(0, 12))
def test_rounded_outputs_stay_what_they_are(row, n_wide):
    O = np.stack([row, -row])
    n_wide = min(n_wide, len(row))
    for n_digits in (1, 2):
        once = rounded_outputs(O, n_wide, n_digits)
        assert (rounded_outputs(once, n_wide, n_digits) == once).all()


def test_every_matrix_of_several_is_rounded_by_itself():
    rng = np.random.default_rng(0)
    O = rng.normal(size=(4, 3, 9)) * 10.0 ** np.arange(4)[:, None, None]
    found = rounded_outputs(O, 4)
    for one, rounded in zip(O, found, strict=True):
        assert (rounded_outputs(one, 4) == rounded).all()
    assert np.abs(found / O - 1).max() < 1e-4  # the smallest of 36 numbers


def test_a_matrix_of_zeros_has_scores_of_zero():
    W, U = features(np.random.default_rng(0), 3, 5, 4)
    assert not scores_of(rounded_outputs(np.zeros((2, 8)), 3), W, U).any()
