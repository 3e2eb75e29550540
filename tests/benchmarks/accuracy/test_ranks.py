"""Ranks and critical differences, against published and hand-computed values."""

from __future__ import annotations

import pytest

from benchmarks.accuracy.ranks import alike, chance, critical_difference, mean_ranks


def test_equal_scores_share_their_ranks():
    scores = [[0.9, 0.8, 0.9], [0.5, 0.5, 0.5]]
    assert mean_ranks(scores).tolist() == [1.75, 2.5, 1.75]


def test_the_last_bits_of_a_mean_decide_nothing():
    assert mean_ranks([[0.1 + 0.2, 0.3]]).tolist() == [1.5, 1.5]


@pytest.mark.parametrize(
    ("n_models", "q"), [(2, 1.960), (4, 2.569), (6, 2.850), (10, 3.164)]
)
def test_the_critical_difference_has_the_published_quantiles(n_models, q):
    n_sets = 16
    published = q * (n_models * (n_models + 1) / (6 * n_sets)) ** 0.5
    # Demsar's Table 5 has three decimals.
    assert critical_difference(n_models, n_sets) == pytest.approx(published, rel=3e-4)


def test_groups_that_lie_within_others_are_left_out():
    assert alike([3.0, 1.0, 1.5, 4.2], 2.1) == [(1.0, 3.0), (3.0, 4.2)]
    assert alike([1.0, 1.0, 5.0], 0.5) == []
    assert alike([1.0, 9.0], 10) == [(1.0, 9.0)]


def test_models_that_always_come_in_the_same_order_are_not_equally_good():
    assert chance([[3, 2, 1]] * 10) < 1e-4
