"""The largest sums that are promised to be exact, added up by BLAS itself."""

from __future__ import annotations

import numpy as np
import pytest

from dssfn._rank_update import add_gram
from dssfn.errors import DataError
from dssfn.exact import bounds


def by_rank_update(row):
    upper = np.zeros((2, 2), order="F")
    add_gram(upper, np.stack([row, row]))
    return upper[0, 1]


def by_product(row):
    return (row[None] @ np.stack([row, row], axis=1))[0, 1]


@pytest.mark.parametrize("add", [by_rank_update, by_product])
def test_a_chunk_of_the_largest_units_is_exact_in_single_precision(add):
    full = np.full(bounds.CHUNK, bounds.TOP, dtype=np.float32)
    assert int(add(full)) == bounds.CHUNK * bounds.TOP**2
    longer = np.full(bounds.CHUNK + 1, bounds.TOP, dtype=np.float32)
    assert int(add(longer)) != (bounds.CHUNK + 1) * bounds.TOP**2


def test_a_chunk_of_the_largest_wide_numbers_is_exact_in_double_precision():
    # One less than the largest, so that the sum is odd and needs all of its bits.
    full = np.full((1, bounds.WIDE_CHUNK + 1), float(bounds.WIDE - 1))
    full[0, -1] = 1.0
    total = bounds.WIDE_CHUNK * (bounds.WIDE - 1) ** 2 + 1
    assert int((full @ full.T)[0, 0]) == total
    assert total < bounds.FLOAT64


def test_digits_times_the_largest_units_are_exact_in_single_precision():
    units = np.full((bounds.ROWS, 1), bounds.TOP, dtype=np.float32)
    for digit in (bounds.HALF_DIGIT, -bounds.HALF_DIGIT, bounds.HALF_DIGIT - 1):
        digits = np.full((1, bounds.ROWS), digit, dtype=np.float32)
        assert int((digits @ units)[0, 0]) == bounds.ROWS * digit * bounds.TOP


@pytest.mark.parametrize("n", [*range(1, 70), 127, 128, 129, 1023, 1024, 2**14, 2**20])
def test_a_digit_that_meets_wide_numbers_has_all_the_bits_that_fit(n):
    bits = bounds.digit_bits(n)
    assert n * bounds.WIDE * 2**bits <= bounds.FLOAT64
    assert n * bounds.WIDE * 2 ** (bits + 2) > bounds.FLOAT64
    if n < 2**14:
        # One product is odd, so that a bit too few would be seen.
        W = np.full((n, 1), float(bounds.WIDE))
        O = np.full((1, n), float(2**bits))
        W[0], O[0, 0] = W[0] - 1, O[0, 0] - 1
        total = (n - 1) * bounds.WIDE * 2**bits + (bounds.WIDE - 1) * (2**bits - 1)
        assert int((O @ W)[0, 0]) == total


@pytest.mark.parametrize("n", [1, 63, 64, 65, 100, 1024, 1025])
def test_places_are_the_smallest_power_of_two_that_has_room(n):
    N = bounds.places(n)
    assert n <= N
    assert N & (N - 1) == 0
    assert bounds.FEWEST_PLACES == N or 2 * n > N


def test_more_samples_than_the_proof_holds_for_are_refused():
    bounds.check_node_samples(bounds.MOST_NODE_SAMPLES)
    bounds.check_samples(bounds.MOST_SAMPLES)
    with pytest.raises(DataError, match=r"A node must have at most .*several nodes"):
        bounds.check_node_samples(bounds.MOST_NODE_SAMPLES + 1)
    with pytest.raises(DataError, match="All nodes together must have at most"):
        bounds.check_samples(bounds.MOST_SAMPLES + 1)


def test_digits_of_exact_sums_of_all_samples_fit_into_their_words():
    """A sample adds at most one digit of 28 bits to a word."""
    assert bounds.MOST_SAMPLES * (bounds.WORD - 1) < 2**63
