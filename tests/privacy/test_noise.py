"""The budget against other ways to count it, and what a node may release."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from dssfn.errors import PlanError
from dssfn.privacy import RELEASES, Budget, NoiseSource

pytest.importorskip("dp_accounting")

BUDGET = Budget(1.0, 1e-5)
SUMS = np.arange(6).reshape(2, 3)


def gaussian_epsilon(factor, delta):
    """The epsilon of a Gaussian, exactly (Balle and Wang, 2018)."""

    def gap(epsilon):
        a = 1 / (2 * factor)
        b = epsilon * factor
        return norm.cdf(a - b) - math.exp(epsilon) * norm.cdf(-a - b) - delta

    return brentq(gap, 1e-9, 100)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 8.0])
@pytest.mark.parametrize("delta", [1e-4, 1e-7])
def test_the_noise_of_a_training_keeps_its_budget_with_little_to_spare(epsilon, delta):
    budget = Budget(epsilon, delta)
    factors = [budget.factor_of(release) for release in RELEASES]
    together = math.fsum(factor**-2 for factor in factors) ** -0.5
    exact = gaussian_epsilon(together, delta)
    assert 0.8 * epsilon < exact < epsilon
    assert budget.spent(factors) == pytest.approx(epsilon, rel=1e-3)
    assert budget.allows(factors)
    assert not budget.allows([*factors, factors[0]])


def test_nothing_costs_nothing():
    assert BUDGET.spent([]) == 0.0
    assert NoiseSource(BUDGET).spent == 0.0


def test_the_same_sums_get_the_same_noise_and_cost_once():
    saved = []
    source = NoiseSource(BUDGET, save=lambda one: saved.append(list(one.releases)))
    first = source.share("layer 1", SUMS, 10**8)
    again = source.share("layer 1", SUMS.copy(), 10**8)
    assert np.array_equal(first, again)
    assert first.shape == SUMS.shape
    assert len(source.releases) == 1
    assert saved == [source.releases]  # before it was sent


def test_nodes_with_the_same_sums_have_different_noise():
    one, other = (NoiseSource(BUDGET).share("scaling", SUMS, 10**8) for _ in range(2))
    assert not np.array_equal(one, other)


def test_other_sums_get_other_noise_if_the_budget_allows_it():
    """What differs by one must not differ by one after the noise."""
    source = NoiseSource(Budget(100.0, 1e-5))
    source.budget = Budget(1.0, 1e-5)
    first = source.share("training errors", SUMS, 10**8)
    second = source.share("training errors", SUMS + 1, 10**8)
    assert np.abs(first - second).max() > 10


def test_a_training_fits_its_budget_and_nothing_more_does():
    source = NoiseSource(BUDGET)
    for release in RELEASES:
        source.share(release, SUMS, 10**8)
    assert source.spent == pytest.approx(1.0, rel=1e-3)
    before = list(source.releases)
    with pytest.raises(PlanError, match=r"budget of 1 is spent.*would cost 1\.4"):
        source.share("layer 1", SUMS + 1, 10**8)
    assert source.releases == before


def test_without_the_package_the_message_names_the_extra(monkeypatch):
    import sys

    from dssfn.errors import InputError
    from dssfn.privacy import budget

    budget._factor.cache_clear()
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(InputError, match=r"pip install 'dssfn\[privacy\]'"):
        _ = BUDGET.factor
