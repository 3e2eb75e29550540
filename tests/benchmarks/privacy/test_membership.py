"""Attacks on membership find what is there, and nothing where nothing is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score, roc_curve

from benchmarks.privacy.membership import (
    ATTACKS,
    Trials,
    attack,
    likelihood_ratio,
    measure,
    offline_ratio,
    train_models,
)
from dssfn.errors import DataError

N = 300  # candidates


def speaker(gap, seed=0, *, d=1, base=0.0):
    """A training whose model says more of its rows, by a gap, with noise of one."""
    rng = np.random.default_rng(seed)

    def train(rows):
        said = rng.normal(size=(N, d))
        said[rows] += gap
        return said + base

    return train


def test_the_ratio_reaches_what_is_known_of_two_normal_distributions():
    """But for a little: their means are guessed from some thirty models each."""
    scores, truth = attack(speaker(2.0), N, 64, seed=1)
    found = measure(scores, truth, seed=0)
    assert found.auc == pytest.approx(norm.cdf(2 / np.sqrt(2)), abs=0.01)
    assert found.accuracy == pytest.approx(norm.cdf(1), abs=0.01)
    assert found.tpr == pytest.approx(norm.cdf(2 - norm.ppf(0.99)), abs=0.06)
    assert found.n_trials == 64 * N


def test_several_numbers_tell_more_than_one():
    one, several = (
        measure(*attack(speaker(1.0, d=d), N, 64, seed=1), seed=0) for d in (1, 4)
    )
    assert one.auc == pytest.approx(norm.cdf(1 / np.sqrt(2)), abs=0.03)
    assert several.auc == pytest.approx(norm.cdf(2 / np.sqrt(2)), abs=0.03)


def test_the_ratio_allows_for_rows_that_are_easy_to_learn():
    """One threshold for all cannot: what models say differs more by row."""
    base = 20 * np.random.default_rng(5).normal(size=(N, 1))
    trials = train_models(speaker(2.0, base=base), N, 64, seed=1)
    found = {
        name: measure(one(trials), trials.is_member, seed=0).auc
        for name, one in ATTACKS.items()
    }
    assert found["likelihood ratio"] > 0.9
    assert found["likelihood ratio, offline"] > 0.88
    assert found["threshold"] < 0.6


def test_a_model_that_keeps_nothing_is_attacked_in_vain():
    trials = train_models(speaker(0.0), N, 32, seed=1)
    for one in ATTACKS.values():
        found = measure(one(trials), trials.is_member, seed=0)
        assert found.auc_interval[0] < 0.5 < found.auc_interval[1]
        assert found.tpr < 0.02
        assert abs(found.accuracy - 0.5) < 0.02


def test_the_attacked_model_does_not_help_to_attack_itself():
    """What is said of a candidate changes no score but its own in that model."""
    trials = train_models(speaker(1.0), N, 16, seed=3)
    said = trials.said.copy()
    said[4] = -said[4]
    changed = Trials(said, trials.is_member)
    truth = trials.is_member.copy()
    truth[4] = ~truth[4]
    renamed = Trials(trials.said, truth)
    for one in (likelihood_ratio, offline_ratio):
        assert np.allclose(one(trials)[4], one(renamed)[4], rtol=1e-6, atol=1e-8)
        assert not np.allclose(one(trials)[5], one(changed)[5])


def test_a_candidate_that_no_other_model_has_seen_says_nothing():
    trials = train_models(speaker(1.0), N, 8, seed=3)
    truth = trials.is_member.copy()
    truth[:, 0], truth[:, 1] = False, True
    scores = likelihood_ratio(Trials(trials.said, truth))
    assert not scores[:, :2].any()
    assert np.isfinite(scores).all()


def test_rates_are_those_of_scikit_learn():
    rng = np.random.default_rng(7)
    truth = rng.random((16, 40)) < 0.5
    scores = np.round(rng.normal(size=truth.shape) + truth, 1)  # with ties
    found = measure(scores, truth, seed=0, false_positives=0.1)
    assert found.auc == pytest.approx(roc_auc_score(truth.ravel(), scores.ravel()))
    fpr, tpr, _ = roc_curve(truth.ravel(), scores.ravel(), drop_intermediate=False)
    assert found.tpr == pytest.approx(tpr[fpr <= 0.1].max())
    assert found.auc_interval[0] < found.auc < found.auc_interval[1]
    assert found.tpr_interval[0] <= found.tpr <= found.tpr_interval[1]


def test_too_few_models_are_refused():
    with pytest.raises(DataError, match="`n_models` must be at least 8"):
        train_models(speaker(1.0), N, 7, seed=0)
