"""Targets and weights of a network of fixed size; test_training has the algorithm."""

from __future__ import annotations

import numpy as np
import pytest

from dssfn import Plan, Shard, SSFNRegressor, build_topology, simulate
from dssfn.fixed_size import check_stages, network_of, train_fixed
from dssfn.programs import Agreed
from dssfn.scoring import measure_for
from dssfn.shard import Pooled, one_hot
from tests.support.trainings import ALONE, relative

RNG = np.random.default_rng(0)
X = RNG.normal(2, 3, size=(3, 90))
CODES = RNG.integers(3, size=90)
NUMBERS = np.vstack([1e3 + X[0] * X[1], 1e-2 * X[2] ** 2])
PLAN = Plan(n_features=3, classes=("a", "b", "c"), n_layers=2, width=15)
REGRESSION = PLAN.replace(classes=(), targets=("mass", "age"))
BALANCED = PLAN.replace(class_weight="balanced")
PLANS = {
    "plain": PLAN,
    "balanced": BALANCED,
    "weights": PLAN.replace(class_weight=(1.0, 2.0, 0.5)),
    "numbers": REGRESSION,
    "dense": PLAN.replace(units="dense"),
    "dense numbers": REGRESSION.replace(units="dense"),
    "raw": REGRESSION.replace(standardize=False),
    "raw balanced": BALANCED.replace(standardize=False),
}
EACH = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)


def shards_for(plan, parts, *, weights=None):
    T = NUMBERS if plan.is_regression else one_hot(CODES, 3)
    return [
        Shard(X[:, part], T[:, part], None if weights is None else weights[part])
        for part in parts
    ]


UNEVEN = np.split(np.argsort(CODES, kind="stable"), [10, 50, 51])


@EACH
@pytest.mark.parametrize("weighted", [False, True])
def test_nodes_learn_what_one_machine_learns(plan, weighted):
    weights = np.random.default_rng(1).random(90) if weighted else None
    shards = shards_for(plan, UNEVEN, weights=weights)
    many = simulate(shards, plan, build_topology("path", 4))
    one = simulate([Pooled(shards)], plan, ALONE)
    # Averages to 1e-12, amplified by the layers' condition; totals of integers to none.
    most = 0.0 if plan.is_exact else 1e-8
    assert relative(many.networks[2].output, one.networks[0].output) <= most
    scores = [result.networks[0].scores(X) for result in (many, one)]
    assert relative(*scores) <= most


def run_alone(program):
    """Run the program of a single node, whose messages are their own average."""
    request, n_averagings = next(program), 0
    while True:
        reply = request.run() if isinstance(request, Agreed) else request.make()
        n_averagings += not isinstance(request, Agreed)
        try:
            request = program.send(reply)
        except StopIteration as stop:
            return stop.value, n_averagings


@EACH
def test_a_training_goes_on_from_every_stage_with_the_same_targets(plan):
    plan = plan.replace(solver="gram")
    (shard,) = shards_for(plan, [np.arange(90)])
    seen = []
    whole, _ = run_alone(train_fixed(shard, plan, n_nodes=1, on_progress=seen.append))
    for progress in seen:
        check_stages(plan, progress)
        again, _ = run_alone(train_fixed(shard, plan, n_nodes=1, start=progress))
        assert again.scores(X).tobytes() == whole.scores(X).tobytes()
    assert network_of(plan, seen[-1]).scores(X).tobytes() == whole.scores(X).tobytes()


@EACH
def test_stages_without_their_targets_are_refused(plan):
    plan = plan.replace(solver="gram")
    (shard,) = shards_for(plan, [np.arange(90)])
    seen = []
    run_alone(train_fixed(shard, plan, n_nodes=1, on_progress=seen.append))
    other = REGRESSION if not plan.is_regression else PLAN
    with pytest.raises(ValueError, match="matrices"):
        check_stages(other, seen[-1])


@EACH
def test_moments_of_targets_cost_no_averaging_of_their_own(plan):
    plan = plan.replace(solver="gram")
    (shard,) = shards_for(plan, [np.arange(90)])
    _, n_averagings = run_alone(train_fixed(shard, plan, n_nodes=1))
    # Three for all moments, one for each layer, and one for the record of the last.
    assert n_averagings == 3 + 3 + 1


def test_nothing_is_agreed_on_that_nobody_needs():
    plan = PLAN.replace(solver="gram", standardize=False, class_weight=(1.0, 2.0, 3.0))
    (shard,) = shards_for(plan, [np.arange(90)])
    _, n_averagings = run_alone(train_fixed(shard, plan, n_nodes=1))
    assert n_averagings == 3 + 1


def test_class_weights_are_weights_of_the_samples():
    factors = np.array([1.0, 2.0, 0.5])
    # Raw inputs, because their scale follows from the weights of samples alone.
    plan = PLAN.replace(standardize=False)
    weighted = shards_for(plan, [np.arange(90)], weights=factors[CODES])
    by_sample = simulate(weighted, plan, ALONE)
    by_class = simulate(
        shards_for(plan, [np.arange(90)]),
        plan.replace(class_weight=tuple(factors.tolist())),
        ALONE,
    )
    assert relative(by_class.networks[0].output, by_sample.networks[0].output) < 1e-10


def test_predictions_come_in_the_unit_of_the_targets_after_every_layer():
    (shard,) = shards_for(REGRESSION, [np.arange(90)])
    result = simulate([shard], REGRESSION, ALONE)
    staged = list(result.networks[0].staged_scores(X))
    scale = NUMBERS.std(axis=1, keepdims=True)
    for record, scores in zip(result.history, staged, strict=True):
        cost = np.sum(((NUMBERS - scores) / scale) ** 2)
        # The deviation of the targets is agreed on to seven digits.
        assert record.cost == pytest.approx(cost, rel=1e-7)
        assert record.train_accuracy is None


def test_targets_far_from_zero_have_an_r2():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = 1e7 + X @ [1.0, 2.0, 3.0]
    model = SSFNRegressor(n_layers=1, width=20, random_state=0).fit(X, y)
    measure = measure_for(model.network_)
    scores = measure.scores(measure.sums(model.predict(X)[None], y[None], None))
    assert scores.r2 == pytest.approx(model.score(X, y), abs=1e-6)
