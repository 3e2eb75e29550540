"""Noise against its exact distribution, and decisions against exact arithmetic."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from dssfn.errors import NumericalError
from dssfn.privacy import discrete_gaussian as module
from dssfn.privacy.discrete_gaussian import (
    WIDEST,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    is_below,
    uniform_below,
)
from dssfn.privacy.random_words import RandomWords

KEY = bytes(range(32))
# Good noise fails once in a million; keys are fixed, so that it does not at all.
NEVER = 1e-6


def probabilities(numbers, exponents):
    weights = np.exp(-exponents(numbers.astype(float)))
    return weights / weights.sum()


def fits(found, weights, numbers):
    """Whether numbers are distributed so, the rare ones taken together."""
    counts = np.array([(found == k).sum() for k in numbers])
    expected = weights * len(found)
    often = expected >= 10
    seen = [*counts[often], len(found) - counts[often].sum()]
    wanted = [*expected[often], len(found) - expected[often].sum()]
    return chisquare(seen, wanted).pvalue > NEVER


@pytest.mark.parametrize("variance", [1, 2, 9, 100])
def test_numbers_have_the_probabilities_of_the_discrete_gaussian(variance):
    found = discrete_gaussian(variance, 200_000, RandomWords(KEY))
    numbers = np.arange(-100, 101)
    weights = probabilities(numbers, lambda k: k**2 / (2 * variance))
    assert len(found) == 200_000
    assert fits(found, weights, numbers)


def test_the_laplace_numbers_under_it_have_theirs():
    found = discrete_laplace(3, 200_000, RandomWords(KEY))
    numbers = np.arange(-80, 81)
    assert fits(found, probabilities(numbers, lambda k: np.abs(k) / 3), numbers)


@pytest.mark.parametrize("variance", [10**12, 10**17 + 1, 10**24, WIDEST])
def test_wide_noise_is_gaussian(variance):
    found = discrete_gaussian(variance, 50_000, RandomWords(KEY))
    assert kstest(found / np.sqrt(float(variance)), "norm").pvalue > NEVER
    assert np.unique(found % 7).size == 7  # no grid


@pytest.mark.parametrize("variance", [5, 10**9])
def test_floating_point_decides_as_exact_arithmetic_does(variance, monkeypatch):
    quickly = discrete_gaussian(variance, 300, RandomWords(KEY))
    monkeypatch.setattr(module, "NEAR", 2.0)  # so that nothing is left to rounding
    exactly = discrete_gaussian(variance, 300, RandomWords(KEY))
    assert np.array_equal(quickly, exactly)


@given(st.fractions(0, 50), st.integers(0, 2**64 - 1))
def test_a_word_is_compared_as_a_number_of_many_digits_would_be(gamma, word):
    with localcontext() as context:
        context.prec = 60
        border = (Decimal(-gamma.numerator) / gamma.denominator).exp() * 2**64
    if not word < border < word + 1:
        assert is_below(word, gamma, RandomWords(KEY)) == (word < border)


def test_where_one_word_is_not_enough_more_are_taken():
    """The border exp(-1) lies inside of this word: further ones decide, both ways."""
    with localcontext() as context:
        context.prec = 60
        word = int(Decimal(-1).exp() * 2**64)
    keys = (bytes([number]) * 32 for number in range(40))
    found = {is_below(word, Fraction(1), RandomWords(key)) for key in keys}
    assert found == {True, False}


def test_an_exponent_of_zero_is_always_true():
    words = RandomWords(KEY)
    assert bernoulli_exp(np.zeros(1000), lambda number: Fraction(0), words).all()


def test_numbers_below_a_limit_are_equally_likely():
    for limit in (1, 3, 1000):
        found = uniform_below(limit, 100_000, RandomWords(KEY))
        assert 0 <= found.min() <= found.max() < limit
        if limit > 1:
            assert chisquare(np.bincount(found, minlength=limit)).pvalue > NEVER
    # Of the words at the top, which would favour small numbers, none is taken.
    most = 2**63 + 1
    assert len(uniform_below(most, 1000, RandomWords(KEY))) < 700


@pytest.mark.parametrize("variance", [0, -1, WIDEST + 1])
def test_another_variance_is_refused(variance):
    with pytest.raises(NumericalError, match="between 1 and 2"):
        discrete_gaussian(variance, 3, RandomWords(KEY))


def test_no_numbers_are_no_numbers():
    assert discrete_gaussian(9, 0, RandomWords(KEY)).size == 0


def test_one_key_gives_one_noise_and_another_another():
    one, same, other = (
        discrete_gaussian(10**6, 100, RandomWords(key)) for key in (KEY, KEY, bytes(32))
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
