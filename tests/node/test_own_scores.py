"""How good the model is for one node, where no socket is needed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from dssfn import Plan, Shard, build_topology, simulate
from dssfn.errors import NumericalError
from dssfn.node import own_scores as module
from dssfn.node.own_scores import (
    NO_SAMPLES,
    NOT_FINITE,
    NOT_WANTED,
    TOO_FAR,
    TOO_FEW,
    TOO_MANY,
    OwnSamples,
)
from dssfn.scores import ONE_CLASS
from dssfn.scoring import validated
from dssfn.shard import one_hot

PLAN = Plan(n_features=3, classes=("no", "yes"), n_layers="auto", width=20, members=3)


def samples(n_samples, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3, n_samples))
    codes = (X[0] + X[1] ** 2 + 0.3 * rng.normal(size=n_samples) > 0.5).astype(np.intp)
    return Shard(X, one_hot(codes, 2))


SHARDS = [samples(n, seed) for seed, n in enumerate((120, 60, 90))]
TEST = samples(70, seed=9)


def train(shards=SHARDS, plan=PLAN):
    return simulate(shards, plan, build_topology("path", len(shards))).networks[0]


@pytest.fixture(scope="module")
def network():
    return train()


def assert_alike(found, expected):
    for name in ("n", "accuracy", "auc", "log_loss"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12)


def test_without_a_test_file_a_node_takes_what_members_have_left_out(network):
    own = OwnSamples(1, SHARDS[1]).scored(network, PLAN)
    assert own.samples == "validation"
    assert own.missing == {}
    assert_alike(own.model, validated(network, SHARDS[1], 1))
    assert 0 < own.model.n < 60  # two folds of five are left out by nobody
    assert own.model.n == own.local.n == own.baseline.n


def test_a_local_model_that_leaves_out_less_is_scored_on_less():
    plan = PLAN.replace(folds="nodes")
    network = train(plan=plan)
    own = OwnSamples(0, SHARDS[0]).scored(network, plan)
    assert own.model.n == own.baseline.n == 120
    assert 0 < own.local.n < 120  # two folds of five are left out by nobody


def test_the_samples_of_a_test_file_are_predicted_by_all_members(network):
    own = OwnSamples(1, SHARDS[1], TEST).scored(network, PLAN)
    truth = TEST.T.argmax(axis=0)
    scores = network.scores(TEST.X)
    assert own.samples == "test"
    assert own.model.n == own.local.n == 70
    assert own.model.accuracy == np.mean(scores.argmax(axis=0) == truth)
    area = metrics.roc_auc_score(truth, network.probabilities(scores)[1])
    assert own.model.auc == pytest.approx(area, rel=1e-12)


def test_the_local_model_is_that_of_one_node_with_these_samples(network):
    alone = train([SHARDS[1]])
    own = OwnSamples(1, SHARDS[1], TEST).scored(network, PLAN)
    says = alone.scores(TEST.X).argmax(axis=0)
    assert own.local.accuracy == np.mean(says == TEST.T.argmax(axis=0))
    by_validation = OwnSamples(1, SHARDS[1]).scored(network, PLAN)
    assert_alike(by_validation.local, validated(alone, SHARDS[1], 0))


def test_the_baseline_is_the_most_frequent_class_of_the_node(network):
    own = OwnSamples(0, SHARDS[0], TEST).scored(network, PLAN)
    shares = SHARDS[0].T.mean(axis=1)
    truth = TEST.T.argmax(axis=0)
    assert own.baseline.accuracy == np.mean(truth == shares.argmax())
    assert own.baseline.auc == own.baseline.balanced_accuracy == 0.5
    assert own.baseline.log_loss == pytest.approx(-np.log(shares[truth]).mean())


def test_with_nodes_left_out_a_node_is_scored_by_the_member_that_never_saw_it():
    plan = PLAN.replace(folds="nodes", members="auto")
    network = train(plan=plan)
    own = OwnSamples(2, SHARDS[2]).scored(network, plan)
    says = network.member_scores(SHARDS[2].X)[2].argmax(axis=0)
    right = says == SHARDS[2].T.argmax(axis=0)
    assert own.model.n == own.local.n == 90
    assert own.model.accuracy == np.mean(right)


@pytest.mark.parametrize("wanted", [None, True, False])
def test_many_samples_are_not_trained_on_alone_unless_asked_for(
    network, wanted, monkeypatch
):
    monkeypatch.setattr(module, "MOST_SAMPLES", 50)
    own = OwnSamples(1, SHARDS[1], local_model=wanted).scored(network, PLAN)
    assert (own.local is not None) == (wanted is True)
    why = {None: {"local": TOO_MANY}, True: {}, False: {"local": NOT_WANTED}}[wanted]
    assert own.missing == why
    assert own.model is not None
    assert own.baseline is not None


def test_a_local_model_that_fails_is_missing_and_the_rest_is_there(
    network, monkeypatch
):
    def fail(self, plan):
        raise NumericalError("a number that is not finite")

    monkeypatch.setattr(OwnSamples, "_trained_alone", fail)
    own = OwnSamples(1, SHARDS[1]).scored(network, PLAN)
    assert own.missing == {"local": NOT_FINITE}
    assert own.model.n > 0


def test_a_network_of_fixed_size_needs_a_test_file():
    plan = Plan(n_features=3, classes=("no", "yes"), n_layers=2, width=20)
    network = train(plan=plan)
    own = OwnSamples(0, SHARDS[0]).scored(network, plan)
    assert own.missing == {"model": NO_SAMPLES}
    assert own.model is own.local is own.baseline is None
    tested = OwnSamples(0, SHARDS[0], TEST).scored(network, plan)
    assert tested.model.n == tested.local.n == 70


def test_a_test_sample_that_cannot_be_predicted_costs_the_figures_only(network, caplog):
    X = TEST.X.copy()
    X[1, 4] = 1e300
    own = OwnSamples(0, SHARDS[0], Shard(X, TEST.T)).scored(network, PLAN)
    assert own.missing == {"model": TOO_FAR}
    assert own.model is None
    assert "Sample 5, feature 2" in caplog.text


@pytest.mark.parametrize("n_samples", [1, 2, 30])
def test_a_node_of_one_class_or_one_sample_has_scores_and_says_what_is_missing(
    n_samples,
):
    X = SHARDS[0].X[:, :n_samples]
    lonely = Shard(X, one_hot(np.ones(n_samples, dtype=np.intp), 2))
    plan = PLAN.replace(members=5)
    network = train([SHARDS[1], lonely, SHARDS[2]], plan)
    own = OwnSamples(1, lonely).scored(network, plan)
    # A model of these samples alone needs as many of them as it has members.
    assert own.missing == ({"local": TOO_FEW} if n_samples < 5 else {})
    assert (own.local is None) == (n_samples < 5)
    for scores in filter(None, (own.model, own.local, own.baseline)):
        assert scores.n == n_samples
        assert scores.auc is None
        assert scores.missing["auc"] == ONE_CLASS
        assert scores.specificity is None
    assert own.baseline.accuracy == 1.0


def test_a_regression_has_errors_and_the_mean_beside_them():
    rng = np.random.default_rng(3)

    def numbers(n_samples):
        X = rng.normal(size=(3, n_samples))
        return Shard(X, 100 + 7 * X[:1] + rng.normal(size=(1, n_samples)))

    shards, test = [numbers(80), numbers(50)], numbers(40)
    plan = Plan(n_features=3, targets=("dose",), width=20, members=5)
    network = train(shards, plan)
    own = OwnSamples(0, shards[0], test).scored(network, plan)
    expected = metrics.r2_score(test.T[0], network.scores(test.X)[0])
    assert own.model.r2 == pytest.approx(expected, rel=1e-9)
    assert own.model.mae < own.baseline.mae
    assert own.baseline.r2 <= 0  # on other samples than those of the mean
    assert own.local.rmse > 0
    assert own.model.accuracy is own.model.auc is None
