"""What is agreed on before the first layer, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from dssfn import Plan, Shard, build_topology, simulate
from dssfn.ensemble.basis import BasedSamples, agree_basis
from dssfn.errors import DataError, PlanError
from dssfn.shard import one_hot


def some_shard(J=30, *, Q=3, weights=None):
    rng = np.random.default_rng(J)
    return Shard(rng.normal(size=(2, J)), one_hot(np.arange(J) % Q, Q), weights)


def plan_of(**settings):
    return Plan(**{"n_features": 2, "classes": ("a", "b", "c"), **settings})


def alone(shard, plan):
    """Return the basis of a single node, whose messages are their own average."""
    program = agree_basis(shard, plan, n_nodes=1)
    message = next(program)
    while True:
        try:
            message = program.send(message.make())
        except StopIteration as stop:
            return stop.value


def test_targets_of_a_regression_have_mean_zero_and_deviation_one():
    rng = np.random.default_rng(0)
    T = np.vstack([rng.normal(5e4, 1e3, 50), rng.normal(-1e-3, 1e-5, 50)])
    weights = rng.random(50)
    shard = Shard(rng.normal(size=(2, 50)), T, weights)
    plan = Plan(n_features=2, targets=("price", "rate"))
    (rows,) = BasedSamples(shard, alone(shard, plan)).chunks(100)
    mean = np.average(rows.T, axis=1, weights=weights)
    # The first target's mean is fifty deviations away, which costs two digits.
    np.testing.assert_allclose(mean, 0, atol=1e-12)
    squares = np.average(rows.T**2, axis=1, weights=weights)
    np.testing.assert_allclose(squares, 1, rtol=1e-12)


def test_a_constant_target_is_only_shifted():
    shard = Shard(np.random.default_rng(0).normal(size=(2, 9)), np.full((1, 9), 7.0))
    (rows,) = BasedSamples(
        shard, alone(shard, Plan(n_features=2, targets=("y",)))
    ).chunks(9)
    assert rows.T.tolist() == [[0.0] * 9]


@pytest.mark.parametrize("weighted", [False, True])
def test_balanced_classes_weigh_the_same_together(weighted):
    weights = np.random.default_rng(1).random(31) if weighted else None
    shard = some_shard(31, weights=weights)
    basis = alone(shard, plan_of(class_weight="balanced"))
    (rows,) = BasedSamples(shard, basis).chunks(100)
    by_class = rows.T @ rows.weights
    np.testing.assert_allclose(by_class, shard.weight / 3, rtol=1e-12)


def test_given_class_weights_multiply_those_of_samples():
    weights = np.linspace(1, 2, 6)
    shard = some_shard(6, weights=weights)
    basis = alone(shard, plan_of(class_weight=(1.0, 10.0, 100.0)))
    (rows,) = BasedSamples(shard, basis).chunks(10)
    factors = np.array([1, 10, 100, 1, 10, 100])
    np.testing.assert_allclose(rows.weights, weights * factors, rtol=1e-15)


def test_the_number_of_members_follows_from_the_weight_and_not_from_the_rows():
    many, heavy = some_shard(3000), some_shard(3, weights=np.full(3, 1000.0))
    few = some_shard(3)
    counts = [alone(shard, plan_of()).n_members for shard in (many, heavy, few)]
    assert counts[0] == counts[1] < counts[2]


@pytest.mark.parametrize("n_nodes", [1, 3])
def test_more_members_than_samples_are_refused_wherever_these_are(n_nodes):
    graph = build_topology("path", n_nodes)
    shards = [some_shard(5) if node == 0 else some_shard(1) for node in range(n_nodes)]
    n_samples = 5 + n_nodes - 1
    simulate(shards, plan_of(members=n_samples, n_layers=0), graph)
    said = rf"`members` must not exceed .* got {n_samples + 1} for {n_samples}\."
    with pytest.raises(PlanError, match=said):
        simulate(shards, plan_of(members=n_samples + 1, n_layers=0), graph)


def test_a_node_with_enough_samples_does_not_tell_how_many():
    plan = plan_of(members=4)
    first = next(agree_basis(some_shard(30), plan, n_nodes=2)).make()
    assert first[-1] == 4


def test_samples_that_all_weigh_nothing_are_refused():
    with pytest.raises(DataError, match="`sample_weight` must be positive"):
        alone(some_shard(6, weights=np.zeros(6)), plan_of())


@pytest.mark.parametrize("members", [2, 3, 5, 7])
def test_validation_accuracy_is_that_of_samples_which_a_member_left_out(members):
    rng = np.random.default_rng(members)
    X, codes = rng.normal(size=(2, 200)), rng.integers(3, size=200)
    X += 2 * np.eye(2, 3)[:, codes]
    shards = [Shard(X[:, m::2], one_hot(codes[m::2], 3)) for m in range(2)]
    plan = plan_of(members=members, n_layers="auto", width=20)
    result = simulate(shards, plan, build_topology("path", 2))
    network = result.networks[0]
    scores = network.validation_scores(X)
    seen = np.isfinite(scores[0])
    right = (scores.argmax(axis=0) == codes)[seen].mean()
    record = result.history[network.plan.depth]
    # A count, so the two are equal, however it was summed.
    assert record.validation_accuracy == pytest.approx(right, rel=1e-12)
    error = np.sum((scores - one_hot(codes, 3))[:, seen] ** 2) / seen.sum()
    assert record.validation_error_db == pytest.approx(10 * np.log10(error), abs=1e-6)
