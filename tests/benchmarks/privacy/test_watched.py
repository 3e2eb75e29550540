"""The attack on noisy totals: it finds rows where there is little noise."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.privacy.budgets import RANGES, private
from benchmarks.privacy.epsilon import epsilon_lower_bound
from benchmarks.privacy.sets import LabelledRows
from benchmarks.privacy.watched import odd_row, watch
from dssfn.config import Plan

pytest.importorskip("dp_accounting")

RNG = np.random.default_rng(0)
ROWS = LabelledRows("made up", RNG.uniform(0, 16, size=(40, 6)), np.arange(40) % 3)


def watched(epsilon, n):
    plan = Plan(
        n_features=6,
        classes=(0, 1, 2),
        epsilon=epsilon,
        input_low=0.0,
        input_high=16.0,
        width=20,
    )
    return watch(plan, ROWS, odd_row(0.0, 16.0, 6), n, seed=0)


def test_with_next_to_no_noise_the_row_is_always_found():
    found = watched(1000.0, 120)  # how many are members is chance
    assert ((found.scores > 0) == found.is_member).all()
    assert epsilon_lower_bound(found.scores, found.is_member, 1e-5) > 0.9


def test_the_proved_epsilon_stays_below_that_of_the_plan():
    """With a chance of one in twenty that it does not; noise has no seed."""
    found = [watched(1.0, 150) for _ in range(2)]
    proved = [epsilon_lower_bound(one.scores, one.is_member, 1e-5) for one in found]
    assert min(proved) < 1
    right = np.mean([(one.scores > 0) == one.is_member for one in found])
    assert right < np.e / (1 + np.e) + 0.12  # what epsilon 1 allows, and chance


def test_settings_without_a_budget_are_none():
    assert private("digits", None, 1e-5) == {}
    given = private("four hospitals", 1.0, 1e-4)
    assert len(given["input_low"]) == len(given["input_high"]) == 13
    assert all(low < high for low, high in zip(*RANGES["four hospitals"], strict=True))
