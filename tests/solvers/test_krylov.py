from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.ball import solve_ball
from dssfn.config import Plan
from dssfn.errors import PlanError
from dssfn.lockstep import Workers, drive
from dssfn.problem import LayerProblem
from dssfn.shard import Shard, one_hot
from dssfn.simulator import simulate
from dssfn.solvers.krylov import Krylov, is_optimal, orthonormal
from dssfn.topology import build_topology
from tests.support.strategies import pooled, random_shards, seeds
from tests.support.trainings import (
    ALONE,
    assert_never_rises,
    plan_for,
    relative,
)


def alone(problem, *, radius, accuracy=1e-8):
    """Run the program on one node, which hears its own messages."""
    sent = []

    def answer(messages):
        sent.append(messages[0].make())
        return sent[-1:]

    with Workers(1) as workers:
        programs = [Krylov(accuracy).program(problem, radius)]
        (O,) = drive(programs, answer, workers)
    return O, len(sent)


@given(
    seeds, st.integers(1, 12), st.integers(1, 20), st.integers(1, 4),
    st.integers(1, 12), st.floats(0.01, 100),
)  # fmt: skip
def test_krylov_reaches_the_exact_optimum(seed, n, J, Q, rank, radius):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(n, min(n, rank))) @ rng.normal(size=(min(n, rank), J))
    p = LayerProblem(Y, rng.normal(size=(Q, J)))
    O, _ = alone(p, radius=radius)
    exact = solve_ball(p.Y @ p.Y.T, p.cross(), radius)
    assert np.linalg.norm(O) <= radius * (1 + 1e-12)
    # Both know the cost to rounding of ||T||^2, times the square of Y's condition.
    assert p.cost(O) <= p.cost(exact) + 1e-8 * np.sum(p.T**2)


@given(seeds, st.floats(0.05, 0.95), st.sampled_from([1e-2, 1e-5, 1e-8]))
def test_it_stops_no_sooner_than_the_accuracy_allows(seed, share, accuracy):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(40, 90)) * 10.0 ** rng.uniform(-2, 0, size=(40, 1))
    p = LayerProblem(Y, rng.normal(size=(2, 90)))
    radius = share * np.linalg.norm(solve_ball(p.Y @ p.Y.T, p.cross(), 1e9))
    O, _ = alone(p, radius=radius, accuracy=accuracy)
    exact = solve_ball(p.Y @ p.Y.T, p.cross(), radius)
    assert relative(O, exact) <= accuracy + 1e-9


def test_far_fewer_averagings_than_the_dimension():
    rng = np.random.default_rng(0)
    Y = np.maximum(rng.normal(size=(300, 1000)), 0)
    p = LayerProblem(Y, one_hot(rng.integers(3, size=1000), 3))
    O, n_averagings = alone(p, radius=0.5)
    assert n_averagings < 20
    assert relative(O, solve_ball(p.Y @ p.Y.T, p.cross(), 0.5)) < 1e-7


@given(seeds, st.integers(1, 6), st.integers(0, 6), st.integers(1, 5))
def test_new_directions_are_orthonormal_and_span_what_is_new(seed, n, k, Q):
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.normal(size=(n, min(n, k))))[0]
    block = rng.normal(size=(n, Q))
    block[:, Q // 2 :] = block[:, :1]  # rank loss
    B = orthonormal(block, V)
    whole = np.hstack([V, B])
    assert whole.shape[1] <= n
    np.testing.assert_allclose(whole.T @ whole, np.eye(whole.shape[1]), atol=1e-12)
    left = block - whole @ (whole.T @ block)
    np.testing.assert_allclose(left, 0, atol=1e-11 * np.linalg.norm(block))


def test_zero_targets_and_zero_features_end_at_once():
    zero, one = np.zeros((3, 4)), np.ones((3, 4))
    for Y, T in ((zero, one[:2]), (one, zero[:2])):
        O, n_averagings = alone(LayerProblem(Y, T), radius=1.0)
        assert not O.any()
        assert n_averagings <= 2


def test_the_bound_accepts_the_optimum_and_refuses_others():
    rng = np.random.default_rng(0)
    p = LayerProblem(rng.normal(size=(6, 30)), rng.normal(size=(2, 30)))
    G, C = p.Y @ p.Y.T, p.cross()
    for radius in (0.05, 10.0):
        O = solve_ball(G, C, radius)
        assert is_optimal(O, C, O @ G, 1e-10)
        worse = 0.9 * O + 0.001 * rng.normal(size=O.shape)
        assert not is_optimal(worse, C, worse @ G, 1e-6)


@pytest.mark.parametrize("consensus", ["auto", "tree"])
@pytest.mark.parametrize("partition", ["mixed", "one class per node"])
def test_krylov_over_a_network_is_the_centralised_model(consensus, partition):
    rng = np.random.default_rng(0)
    shards = random_shards(rng, sizes=[50] * 4, n_features=6, n_classes=4)
    data = pooled(shards)
    if partition != "mixed":
        codes = data.T.argmax(axis=0)
        shards = [Shard(data.X[:, codes == q], data.T[:, codes == q]) for q in range(4)]
    plan = plan_for(shards, width=60, alpha=1.0, units="dense")
    exact = simulate([data], plan, ALONE)
    ring = build_topology("circular", 4)
    found = simulate(shards, plan.replace(solver="krylov", consensus=consensus), ring)
    assert relative(found.networks[0].output, exact.networks[0].output) < 1e-6
    assert found.node_spread == 0
    for mine, best in zip(found.history, exact.history, strict=True):
        assert mine.cost == pytest.approx(best.cost, rel=1e-8)


def test_more_classes_than_features():
    rng = np.random.default_rng(0)
    shard = Shard(rng.normal(size=(2, 60)), one_hot(np.arange(60) % 5, 5))
    plan = Plan(
        n_features=2, classes=tuple(range(5)), n_layers=1, width=7, units="dense"
    )
    one = simulate([shard], plan, ALONE).history[-1].cost
    other = simulate([shard], plan.replace(solver="krylov"), ALONE).history[-1].cost
    assert other == pytest.approx(one, rel=1e-8)


@pytest.mark.parametrize("settings", [{"consensus": "exact"}, {"n_rounds": 9}])
def test_averages_that_differ_in_the_last_bit_are_refused(settings):
    shards = random_shards(
        np.random.default_rng(0), sizes=[9] * 4, n_features=6, n_classes=4
    )
    plan = plan_for(shards, solver="krylov", **settings)
    with pytest.raises(PlanError, match="tree"):
        simulate(shards, plan, build_topology("circular", 4))


def test_the_cost_never_rises_even_where_the_data_are_interpolated():
    rng = np.random.default_rng(0)
    shards = random_shards(rng, sizes=[30] * 3, n_features=6, n_classes=3)
    plan = plan_for(shards, solver="krylov", n_layers=12, width=120)
    result = simulate(shards, plan, build_topology("path", 3))
    assert result.history[-1].train_error_db < -60
    assert_never_rises(result.history)
