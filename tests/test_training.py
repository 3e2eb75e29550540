"""Laws of the whole training, driven by the simulator."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.ball import project_ball, solve_ball
from dssfn.config import Plan
from dssfn.datasets import load
from dssfn.errors import DataError, NumericalError, PlanError, TopologyError
from dssfn.events.simulation import simulate_events
from dssfn.lockstep import Workers, drive
from dssfn.network import random_matrix
from dssfn.programs import INPUTS, Agreed
from dssfn.scaling import agree_scaling
from dssfn.shard import Shard, one_hot
from dssfn.simulator import simulate
from dssfn.topology import build_topology
from dssfn.training import train_node
from tests.support.strategies import pooled, random_shards, seeds
from tests.support.trainings import (
    ALONE,
    DATA,
    assert_never_rises,
    plan_for,
    relative,
)


@settings(max_examples=40)
@given(
    seeds,
    st.lists(st.integers(1, 25), min_size=1, max_size=5),
    st.integers(1, 6),
    st.integers(2, 4),
    st.floats(1, 3),
    st.booleans(),
)
def test_cost_never_rises_with_depth(seed, sizes, P, Q, alpha, standardize):
    shards = random_shards(
        np.random.default_rng(seed), sizes=sizes, n_features=P, n_classes=Q
    )
    plan = plan_for(shards, alpha=alpha, standardize=standardize, n_layers=4, seed=seed)
    result = simulate([pooled(shards)], plan, ALONE)
    assert_never_rises(result.history)


@settings(max_examples=30)
@given(
    seeds,
    st.lists(st.integers(1, 20), min_size=2, max_size=6),
    st.sampled_from(["circular", "path", "star", "complete"]),
)
def test_sharded_equals_one_node_holding_all_the_data(seed, sizes, kind):
    shards = random_shards(
        np.random.default_rng(seed), sizes=sizes, n_features=4, n_classes=3
    )
    plan = plan_for(shards, alpha=1.0, seed=seed)
    together = simulate([pooled(shards)], plan, ALONE)
    apart = simulate(shards, plan, build_topology(kind, len(shards)))
    # Costs are well determined even where the output matrix is not.
    for one, many in zip(together.history, apart.history, strict=True):
        assert many.cost == pytest.approx(one.cost, abs=1e-7 * sum(sizes))
        assert many.iterations == 1


@pytest.mark.parametrize("partition", ["mixed", "one class per node"])
def test_admm_approaches_the_exact_model_as_k_grows(partition):
    rng = np.random.default_rng(0)
    shards = random_shards(rng, sizes=[40, 40, 40], n_features=5, n_classes=3)
    data = pooled(shards)
    if partition != "mixed":
        codes = data.T.argmax(axis=0)
        shards = [Shard(data.X[:, codes == q], data.T[:, codes == q]) for q in range(3)]
    plan = plan_for(shards, alpha=1.0, n_layers=2, units="dense")
    exact = simulate([data], plan, ALONE).networks[0].output
    ring = build_topology("circular", 3)
    gaps = [
        relative(
            simulate(shards, plan.replace(solver="admm", n_iter=K), ring)
            .networks[0]
            .output,
            exact,
        )
        for K in (20, 200, 1000)
    ]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-4


def test_admm_solves_one_layer_to_the_exact_answer():
    rng = np.random.default_rng(1)
    Y, T = rng.normal(size=(6, 50)), rng.normal(size=(2, 50))
    shards = [Shard(Y[:, m::5], T[:, m::5]) for m in range(5)]
    for radius_scale in (0.05, 1.0, 100.0):
        plan = Plan(
            n_features=6, classes=(0, 1), n_layers=0, alpha=radius_scale,
            standardize=False, bias=0.0, solver="admm", n_iter=400, mu_input=0.1,
            tol=1e-13,
        )  # fmt: skip
        O = simulate(shards, plan, build_topology("path", 5)).networks[3].output
        exact = solve_ball(Y @ Y.T, T @ Y.T, plan.radius)
        assert relative(O, exact) < 1e-9
        if radius_scale == 100.0:
            assert relative(O, np.linalg.lstsq(Y.T, T.T)[0].T) < 1e-9


def test_admm_follows_the_papers_iteration_step_by_step():
    rng = np.random.default_rng(2)
    Y = [rng.normal(size=(4, J)) for J in (3, 9, 6)]  # both forms of the O-update
    T = [rng.normal(size=(2, y.shape[1])) for y in Y]
    mu, radius, K = 0.7, 0.9, 7
    Z, Lam = np.zeros((2, 4)), [np.zeros((2, 4))] * 3
    for _ in range(K):  # the paper's equations, with the inverse it prints
        O = [
            (t @ y.T + (Z - lam) / mu) @ np.linalg.inv(y @ y.T + np.eye(4) / mu)
            for y, t, lam in zip(Y, T, Lam, strict=True)
        ]
        Z = project_ball(
            sum(o + lam for o, lam in zip(O, Lam, strict=True)) / 3, radius
        )
        Lam = [lam + o - Z for o, lam in zip(O, Lam, strict=True)]
    plan = Plan(
        n_features=4, classes=(0, 1), n_layers=0, alpha=radius / 2, solver="admm",
        standardize=False, bias=0.0, n_iter=K, mu_input=mu,
    )  # fmt: skip
    shards = [Shard(y, t) for y, t in zip(Y, T, strict=True)]
    result = simulate(shards, plan, build_topology("complete", 3))
    np.testing.assert_allclose(result.networks[0].output, Z, rtol=1e-10)


ADMM_OPTIONS = {
    "warm_start": {"warm_start": True},
    "relaxation": {"relaxation": 1.6},
    "balance_mu": {"balance_mu": True},
    "all": {"warm_start": True, "relaxation": 1.6, "balance_mu": True},
}


@pytest.mark.parametrize("options", ADMM_OPTIONS.values(), ids=ADMM_OPTIONS)
@pytest.mark.parametrize("sizes", [[60, 50, 70], [8, 9, 120]], ids=["even", "uneven"])
def test_every_option_of_admm_still_ends_at_the_optimum(options, sizes):
    rng = np.random.default_rng(0)
    shards = random_shards(rng, sizes=sizes, n_features=5, n_classes=3)
    plan = plan_for(shards, alpha=1.0, n_layers=2, units="dense")
    exact = simulate([pooled(shards)], plan, ALONE).networks[0].output
    admm = plan.replace(solver="admm", n_iter=1000, **options)
    apart = simulate(shards, admm, build_topology("circular", 3))
    assert relative(apart.networks[0].output, exact) < 1e-4


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_balancing_recovers_from_a_badly_chosen_mu(scale):
    rng = np.random.default_rng(0)
    shards = random_shards(rng, sizes=[60, 50, 70], n_features=5, n_classes=3)
    plan = plan_for(shards, alpha=1.0, n_layers=0, solver="admm", mu_input=scale)
    exact = simulate([pooled(shards)], plan.replace(solver="gram"), ALONE)
    ring = build_topology("circular", 3)
    gaps = [
        simulate(shards, plan.replace(balance_mu=balance), ring).history[0].cost
        / exact.history[0].cost
        - 1
        for balance in (False, True)
    ]
    assert gaps[1] < 1e-6
    assert scale == 1.0 or gaps[0] > 10 * gaps[1]


def test_admm_stops_when_its_residuals_are_small():
    rng = np.random.default_rng(0)
    shards = random_shards(rng, sizes=[60, 50, 70], n_features=5, n_classes=3)
    plan = plan_for(shards, alpha=1.0, n_layers=2, solver="admm", n_iter=2000)
    exact = simulate([pooled(shards)], plan.replace(solver="gram"), ALONE)
    ring = build_topology("circular", 3)
    taken, gaps = [], []
    for residual_tol in (1e-3, 1e-6):
        result = simulate(shards, plan.replace(residual_tol=residual_tol), ring)
        taken.append(max(record.iterations for record in result.history))
        gaps.append(
            relative(result.networks[0].outputs[0], exact.networks[0].outputs[0])
        )
    assert taken[0] < taken[1] < 2000
    assert gaps[1] < 1e-4 < gaps[0] < 0.1


def test_same_seed_same_bits():
    shards = random_shards(
        np.random.default_rng(0), sizes=[9] * 6, n_features=4, n_classes=3
    )
    ring = build_topology("circular", 6)
    for solver in ("gram", "admm"):
        plan = plan_for(shards, solver=solver, n_iter=20, seed=7)
        first, second = (simulate(shards, plan, ring) for _ in range(2))
        for a, b in zip(first.networks, second.networks, strict=True):
            assert a.output.tobytes() == b.output.tobytes()
        assert first.history == second.history


@pytest.mark.parametrize(("consensus", "times"), [("tree", 1), ("gossip", 6)])
def test_what_all_nodes_do_alike_is_done_once(monkeypatch, consensus, times):
    calls = []

    def counted(*args):
        calls.append(1)
        return solve_ball(*args)

    monkeypatch.setattr("dssfn.solvers.gram.solve_ball", counted)
    shards = random_shards(
        np.random.default_rng(0), sizes=[9] * 6, n_features=4, n_classes=3
    )
    plan = plan_for(shards, consensus=consensus, units="dense")
    simulate(shards, plan, build_topology("circular", 6))
    assert len(calls) == times * 4  # a tree gives all nodes the same bits


def test_another_number_of_nodes_gets_the_same_random_matrices():
    shards = random_shards(
        np.random.default_rng(0), sizes=[12] * 4, n_features=4, n_classes=3
    )
    plan = plan_for(shards, seed=7)
    few = simulate([pooled(shards[:2]), pooled(shards[2:])], plan,
                   build_topology("path", 2))  # fmt: skip
    many = simulate(shards, plan, build_topology("path", 4))
    R = random_matrix(plan.seed, 1, plan.width, 4)
    np.testing.assert_array_equal(R, random_matrix(7, 1, 15, 4))
    assert relative(many.networks[0].output, few.networks[0].output) < 1e-6


def test_agreed_scaling_is_that_of_the_pooled_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 30)) * [[1], [1e-3], [50]] + [[1e4], [0], [-7]]
    parts = [X[:, :1], X[:, 1:12], X[:, 12:]]
    programs = [agree_scaling(lambda x=x: [(x, None)], x.shape[1]) for x in parts]

    def answer(messages):
        return [np.mean([one.make() for one in messages], axis=0)] * len(messages)

    with Workers(len(parts)) as workers:
        scalings = drive(programs, answer, workers)
    for _, shift, scale, _ in scalings:
        np.testing.assert_allclose(shift, X.mean(axis=1), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(scale, X.std(axis=1), rtol=1e-9)


def in_one_place_and_apart(X, codes, n_nodes, **settings):
    Q = codes.max() + 1
    plan = Plan(n_features=len(X), classes=tuple(range(Q)), **settings)
    together = simulate([Shard(X, one_hot(codes, Q))], plan, ALONE)
    shards = [
        Shard(X[:, m::n_nodes], one_hot(codes[m::n_nodes], Q)) for m in range(n_nodes)
    ]
    return together, simulate(shards, plan, build_topology("circular", n_nodes))


def test_more_features_than_samples_gain_no_false_directions():
    # Centred data have rank J - 1; scaled differently per node they would have more.
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(80, 40)), rng.integers(3, size=40)
    one, many = in_one_place_and_apart(X, codes, 10, n_layers=2, width=60)
    for mine, theirs in zip(many.networks[0].outputs, one.networks[0].outputs,
                            strict=True):  # fmt: skip
        assert relative(mine, theirs) < 1e-6
    fresh = rng.normal(size=(80, 200))
    agree = one.networks[0].scores(fresh).argmax(0) == many.networks[0].scores(
        fresh
    ).argmax(0)
    assert agree.all()


def test_samples_at_the_very_mean_are_the_same_on_every_node():
    v = np.tile([5.0, 6.0, 7.0], 40)[None]
    one, many = in_one_place_and_apart(v, (v[0] == 6).astype(int), 7, n_layers=2,
                                       width=20)  # fmt: skip
    for mine, theirs in zip(many.history, one.history, strict=True):
        assert mine.cost == pytest.approx(theirs.cost, abs=1e-9 * 120)


def test_a_feature_with_a_huge_mean_is_scaled_all_the_same():
    rng = np.random.default_rng(0)
    X = np.vstack([1.7e18 + 4e9 * rng.normal(size=60), np.full(60, 3.25)])
    plan = Plan(n_features=2, classes=(0, 1), n_layers=0, n_rounds=2)
    shards = [Shard(X[:, m::3], one_hot(np.arange(20) % 2, 2)) for m in range(3)]
    network = simulate(shards, plan, build_topology("complete", 3)).networks[0]
    np.testing.assert_allclose(network.scale, [X[0].std(), 1.0], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.int64, bool])
def test_bytes_and_halves_do_not_wrap_around(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2 if dtype is bool else 200, size=(3, 30)).astype(dtype)
    T = one_hot(np.arange(30) % 2, 2)
    plan = Plan(n_features=3, classes=(0, 1), n_layers=1, width=5, standardize=False)
    costs = [
        simulate([Shard(x, t)], plan, ALONE).history[-1].cost
        for x, t in ((X, T.astype(dtype)), (X.astype(float), T))
    ]
    assert costs[0] == costs[1]


def test_traffic_is_the_papers_count():
    shards = random_shards(
        np.random.default_rng(0), sizes=[9] * 5, n_features=4, n_classes=3
    )
    plan = plan_for(
        shards, solver="admm", mu_input=1.0, mu_hidden=1.0, n_iter=10, n_rounds=6,
        standardize=False, n_layers=2,
    )  # fmt: skip
    result = simulate(shards, plan, build_topology("circular", 5))
    Q, P, n, B, K, riders = 3, 4, plan.n_units, 6, 10, 4
    layers = Q * P * B * K + 2 * Q * n * B * K
    assert result.traffic.scalars_per_node == layers + 3 * riders * B
    assert result.traffic.rounds == (3 * K + 1) * B
    assert result.traffic.bytes_total == result.traffic.scalars_per_node * 8 * 10
    assert [result.traffic_by_layer[l].rounds for l in range(3)] == [60, 60, 66]


def test_nothing_but_averages_leaves_a_node():
    shard = random_shards(
        np.random.default_rng(0), sizes=[8], n_features=4, n_classes=3
    )[0]
    program = train_node(
        shard, plan_for([shard], solver="gram", units="dense"), n_nodes=1
    )
    message = next(program)
    assert message.layer == INPUTS
    sizes = []
    with contextlib.suppress(StopIteration):
        while True:
            if isinstance(message, Agreed):
                message = program.send(message.run())
                continue
            values = message.make()
            assert values.size == message.size
            sizes.append(message.size)
            message = program.send(values)
    n, P, Q = 21, 4, 3
    gram = [m * (m + 1) // 2 + Q * m for m in (P, n, n, n)]
    assert sizes == [P + 1, 2 * P, 2 * P, gram[0], *(g + 4 for g in gram[1:]), 4]


def test_numbers_that_overflow_are_reported():
    shard = Shard(np.full((2, 4), 1e200), one_hot(np.array([0, 1, 0, 1]), 2))
    plan = Plan(n_features=2, classes=(0, 1), standardize=False, n_layers=1, width=4)
    with np.errstate(all="ignore"), pytest.raises(NumericalError, match="standardize"):
        simulate([shard], plan, ALONE)


def test_a_shard_must_fit_the_plan():
    shard = Shard(np.ones((2, 4)), one_hot(np.array([0, 1, 0, 1]), 2))
    plan = Plan(n_features=3, classes=(0, 1))
    with pytest.raises(DataError, match="3 features"):
        simulate([shard], plan, ALONE)
    with pytest.raises(DataError, match="1 nodes, got 2"):
        simulate([shard, shard], plan, ALONE)


@pytest.mark.parametrize("train", [simulate, simulate_events])
def test_arguments_of_another_type_are_named(train):
    shard = Shard(np.ones((2, 4)), one_hot(np.array([0, 1, 0, 1]), 2))
    plan = Plan(n_features=2, classes=(0, 1))
    with pytest.raises(TopologyError, match="`topology` must be a Topology, got str"):
        train([shard], plan, "circular")
    with pytest.raises(PlanError, match="`plan` must be a Plan, got dict"):
        train([shard], {"n_features": 2}, ALONE)
    with pytest.raises(DataError, match="`shards` must hold Shard objects, got nda"):
        train([shard.X], plan, ALONE)
    with pytest.raises(DataError, match="a list with one Shard for each node, got S"):
        train(shard, plan, ALONE)


BUILTIN = ("digits", "wine", "breast_cancer", "iris")
STORED = ("vowel", "satimage", "letter")
LARGE = ("mnist", "norb_subset3", "caltech101_spm")


@pytest.mark.parametrize(
    "name",
    [*BUILTIN, *STORED, *(pytest.param(n, marks=pytest.mark.slow) for n in LARGE)],
)
@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_cost_never_rises_on_real_data(name, alpha):
    if name not in BUILTIN and not (DATA / f"{name}.npz").is_file():
        pytest.skip(f"{name}.npz is not in the data folder (DSSFN_DATA_DIR)")
    data = load(name, data_dir=DATA if DATA.is_dir() else None)
    _, codes = np.unique(data.y_train, return_inverse=True)
    shard = Shard(np.ascontiguousarray(data.X_train.T), one_hot(codes, codes.max() + 1))
    for standardize in (True, False):
        plan = plan_for(
            [shard], n_layers=8, width=100, alpha=alpha, standardize=standardize
        )
        assert_never_rises(simulate([shard], plan, ALONE).history)
