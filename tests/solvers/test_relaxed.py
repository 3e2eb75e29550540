"""Relaxed ADMM: it finds the layer's optimum, slowly, whatever is lost."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from dssfn.ball import solve_ball
from dssfn.config import Plan
from dssfn.errors import PlanError
from dssfn.events import Independent, LinkModel, Lognormal, simulate_events
from dssfn.problem import LayerProblem
from dssfn.shard import Shard, one_hot
from dssfn.simulator import simulate
from dssfn.solvers.relaxed import SHARE, Relaxed, ball_proximal
from dssfn.topology import build_topology
from tests.support.bad_links import BadLinks

RING = build_topology("circular", 6)


def samples(rng, n=5, n_samples=120):
    Y = rng.normal(size=(n, n_samples))
    codes = (Y[0] + 0.3 * Y[1] > 0).astype(int)
    return Y, one_hot(codes, 2), codes


def gaps(parts, Y, T, *, radius, n_iter, share=SHARE, **links):
    """Return the relative cost gap of every node's matrix."""
    rho = share * np.mean([np.sum(Y[:, part] ** 2) for part in parts]) / len(Y)
    parties = {}
    for node, part in enumerate(parts):
        mine = LayerProblem(Y[:, part], T[:, part])
        make = Relaxed(n_iter).party
        parties[node] = make(mine, radius, rho, node, 0, RING.neighbours(node))
    BadLinks(**links).run(parties)
    together = LayerProblem(Y, T)
    best = together.cost(solve_ball(Y @ Y.T, T @ Y.T, radius))
    return [together.cost(one.result) / best - 1 for one in parties.values()]


@pytest.mark.parametrize("loss", [0.0, 0.3])
@pytest.mark.parametrize("radius", [0.3, 5.0])  # on the sphere, and inside the ball
def test_it_converges_to_the_centralised_optimum(loss, radius):
    Y, T, _ = samples(np.random.default_rng(0))
    parts = np.array_split(np.arange(120), 6)
    found = gaps(parts, Y, T, radius=radius, n_iter=600, loss=loss, jitter=0.02)
    assert np.abs(found).max() < 1e-9  # the rate is that of this problem


def test_samples_divided_by_class_take_longer():
    X, codes = load_digits(return_X_y=True)
    Y, T = X.T / 16, one_hot(codes, 10)
    orders = np.arange(len(codes)), np.argsort(codes, kind="stable")
    alike, apart = (
        max(gaps(np.array_split(order, 6), Y, T, radius=9.0, n_iter=100, share=1.0))
        for order in orders
    )
    assert apart > 3 * alike  # with the rho that is best for samples that are alike


def test_the_proximal_step_is_the_minimiser_in_the_ball():
    rng = np.random.default_rng(1)
    Y, T, _ = samples(rng)
    z, weight, radius = rng.normal(size=(2, 5)), 7.0, 0.4
    x = ball_proximal(LayerProblem(Y, T), radius, weight)(z)
    G, C = Y @ Y.T + weight * np.eye(5), T @ Y.T + z / 2
    np.testing.assert_allclose(x, solve_ball(G, C, radius), atol=1e-12)


def training(solver):
    rng = np.random.default_rng(2)
    X, T, _ = samples(rng)
    shards = [Shard(X[:, m::6], T[:, m::6]) for m in range(6)]
    sizes = {"n_features": 5, "n_layers": 1, "width": 10, "n_iter": 60}
    return shards, Plan(classes=("a", "b"), solver=solver, **sizes)


def test_a_training_by_relaxed_admm_says_how_far_nodes_are_apart():
    shards, plan = training("relaxed")
    links = LinkModel(loss=Independent(0.2), delay=Lognormal(0.02))
    result = simulate_events(shards, plan, RING, links=links, scheme="push-sum")
    assert 0 < result.training.node_spread < 0.5
    dense = plan.replace(solver="gram", units="dense")
    best = simulate(shards, dense, RING).history[-1].cost
    # It is slow; what matters is that nobody takes it for the optimum.
    assert 0 < result.training.history[-1].cost / best - 1 < 0.5


def test_nodes_that_walk_in_step_refuse_it_with_the_way_out():
    shards, plan = training("relaxed")
    with pytest.raises(PlanError, match="dssfn simulate --loss"):
        simulate(shards, plan, RING)
