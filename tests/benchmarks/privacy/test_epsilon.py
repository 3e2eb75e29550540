"""A lower bound on epsilon lies below what is known, and comes close to it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom, norm

from benchmarks.privacy.epsilon import epsilon_lower_bound, rate_bounds
from dssfn.errors import DataError


def gaussian_epsilon(sigma, delta):
    """The epsilon of a number with noise, whose sensitivity is one (Balle and Wang)."""

    def excess(epsilon):
        above = norm.cdf(0.5 / sigma - epsilon * sigma)
        return above - math.exp(epsilon) * norm.cdf(-0.5 / sigma - epsilon * sigma)

    return brentq(lambda epsilon: excess(epsilon) - delta, 0, 50)


def noisy(rng, n_trials, sigma):
    truth = rng.random(n_trials) < 0.5
    return truth + sigma * rng.normal(size=n_trials), truth


@pytest.mark.parametrize(
    ("sigma", "delta"),
    [(0.5, 1e-2), (1.0, 1e-2), (1.0, 1e-3), (2.0, 1e-2), (2.0, 1e-3)],
)
def test_with_many_trials_the_bound_is_close_to_a_known_epsilon(sigma, delta):
    rng = np.random.default_rng(1)
    known = gaussian_epsilon(sigma, delta)
    bound = epsilon_lower_bound(*noisy(rng, 1_000_000, sigma), delta)
    assert 0.8 * known < bound < known


def test_the_bound_is_too_high_no_more_often_than_it_says():
    """At 80 % confidence, in at most 60 of 200 cases (one in 3,000 by bad luck)."""
    rng = np.random.default_rng(2)
    known = gaussian_epsilon(1.0, 0.05)
    bounds = [
        epsilon_lower_bound(*noisy(rng, 400, 1.0), 0.05, confidence=0.8)
        for _ in range(200)
    ]
    assert binom.sf(60, 200, 0.2) < 1 / 3000
    assert np.sum(np.array(bounds) > known) <= 60


def test_a_perfect_attack_is_bounded_by_its_trials_alone():
    """Half of 200 members judge: the rates are at least and at most 0.025^(1/100)."""
    truth = np.arange(400) < 200
    rate = 0.025 ** (1 / 100)
    bound = epsilon_lower_bound(truth, truth, 0.0)
    assert bound == pytest.approx(math.log(rate / (1 - rate)), rel=1e-9)
    assert epsilon_lower_bound(truth, truth, 0.5) < bound


def test_finding_others_for_certain_counts_as_well():
    """A tenth of the others is recognised, and no member is ever taken for one."""
    rng = np.random.default_rng(3)
    truth = np.arange(20_000) < 10_000
    scores = np.where(truth, 1.0, rng.random(20_000) < 0.9)
    bound = epsilon_lower_bound(scores, truth, 0.0)
    rate = 1 - 0.025 ** (1 / 5000)
    assert bound == pytest.approx(math.log(0.1 / rate), abs=0.2)


@given(st.integers(0, 2**32), st.integers(4, 60))
@settings(max_examples=25)
def test_what_says_nothing_bounds_nothing_much(seed, n_trials):
    rng = np.random.default_rng(seed)
    truth = np.arange(2 * n_trials) % 2 == 0
    assert epsilon_lower_bound(np.zeros(2 * n_trials), truth, 0.0) == 0.0
    assert epsilon_lower_bound(rng.normal(size=2 * n_trials), truth, 0.0) < 2


@given(st.integers(1, 200), st.data())
def test_bounds_of_rates_are_those_that_would_be_seen_with_their_risk(n, data):
    hits = data.draw(st.integers(0, n))
    low, high = rate_bounds(hits, n, risk=0.025)
    assert 0 <= low <= hits / n <= high <= 1
    if hits > 0:
        assert binom.sf(hits - 1, n, low) == pytest.approx(0.025)
    if hits < n:
        assert binom.cdf(hits, n, high) == pytest.approx(0.025)


@pytest.mark.parametrize(
    ("scores", "truth", "settings", "said"),
    [
        ([1, 2, 3], [True, False], {"delta": 0.0}, "one length"),
        ([1, 2, np.nan, 4], [1, 1, 0, 0], {"delta": 0.0}, "NaN"),
        ([1, 2, 3, 4], [1, 1, 1, 0], {"delta": 0.0}, "got 3 and 1"),
        ([1, 2, 3, 4], [1, 1, 0, 0], {"delta": 1.0}, "`delta`"),
        ([1, 2, 3, 4], [1, 1, 0, 0], {"delta": 0, "confidence": 1}, "`confidence`"),
    ],
)
def test_what_cannot_be_judged_is_refused(scores, truth, settings, said):
    with pytest.raises(DataError, match=said):
        epsilon_lower_bound(scores, truth, **settings)
