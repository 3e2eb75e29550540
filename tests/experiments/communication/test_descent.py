import json

import numpy as np
import pytest

from dssfn.consensus import Tree, make_averaging
from dssfn.experiments.averages import average_together, scaling_of
from dssfn.experiments.communication import COMPARED, EtaCase
from dssfn.experiments.communication.descent import (
    STEPS,
    descent_of,
    descent_traffic,
    measure_eta,
    over_the_nodes,
    training_of,
)
from dssfn.experiments.communication.gradient import (
    Adam,
    Momentum,
    Shape,
    descend,
)
from dssfn.hosting import Traffic
from dssfn.shard import Shard
from dssfn.topology import build_topology

SMALL = EtaCase("iris", n_layers=2, width=10, steps="adam", cap=40, n_nodes=6, degree=1)


def _problem(rng, shape, n_samples):
    Y = rng.normal(size=(shape.n_inputs, n_samples))
    return Y, rng.normal(size=(shape.n_outputs, n_samples))


@pytest.mark.parametrize("step", [Adam, Momentum])
@pytest.mark.parametrize("scheme", ["gossip", "tree", "exact"])
def test_descent_over_the_nodes_equals_descent_in_one_place(step, scheme):
    shape = Shape(4, 8, 2, 3)
    rng = np.random.default_rng(0)
    sizes = [3, 9, 5, 1, 7]
    shards = [_problem(rng, shape, size) for size in sizes]
    graph = build_topology("circular", len(shards))
    averaging = make_averaging(graph, scheme, tol=1e-13)
    start, n_iter = shape.initial(0), 6

    def programs(shards):
        mean = sum(sizes) / len(shards)
        return [
            descend(shape, start, step(0.01), one, mean_samples=mean, n_iter=n_iter)
            for one in shards
        ]

    traffic = Traffic()
    nodes = average_together(programs(shards), averaging, traffic)
    pooled = tuple(np.hstack(parts) for parts in zip(*shards, strict=True))
    alone = Tree(build_topology("complete", 1))
    (central,) = average_together(programs([pooled]), alone, Traffic())
    for weights in nodes:  # Adam divides by the size of small gradients
        np.testing.assert_allclose(weights, central, rtol=1e-7, atol=1e-8)
    assert traffic.rounds == (n_iter + 1) * averaging.n_rounds


def test_the_charge_is_what_the_nodes_send():
    descent = descent_of(SMALL, 0, None)
    run = training_of(SMALL, "gram", 0, None)
    tree = Tree(run.topology)
    sent = Traffic()
    scaling_of(run.shards, tree, sent)
    mean = sum(Y.shape[1] for Y, _ in descent.shards) / len(descent.shards)
    programs = [
        descend(
            descent.shape, descent.start, Adam(0.01), one, mean_samples=mean, n_iter=4
        )
        for one in descent.shards
    ]
    average_together(programs, tree, sent)
    n_features = run.plan.n_features
    assert sent == descent_traffic(descent.shape, 4, tree, n_features)
    size = descent.shape.size
    n_numbers = 1 + 5 * n_features + 4 * (size + 1) + 1
    assert sent.bytes_total == 8 * tree.n_letters * n_numbers
    assert sent.scalars_per_node == tree.n_rounds * n_numbers


def test_descent_lowers_the_cost_and_tells_when_it_is_low_enough():
    descent = descent_of(SMALL, 0, None)
    target = descent.costs[0] / 3
    n_iter, reached = descent.reach(target)
    assert reached
    assert descent.costs[n_iter] <= target < min(descent.costs[:n_iter])
    assert descent.reach(target) == (n_iter, True)
    assert descent.reach(-1.0) == (SMALL.cap, False)
    assert descent.reach(target) == (n_iter, True)


def test_steps_that_are_too_large_end_the_descent(monkeypatch):
    monkeypatch.setitem(STEPS, "adam", (Momentum, (1e9,)))
    descent = descent_of.__wrapped__(SMALL, 0, None)
    n_iter, reached = descent.reach(0.0)
    assert not reached
    assert n_iter == len(descent.costs) - 1 < SMALL.cap
    assert np.isfinite(descent.costs).all()


@pytest.mark.parametrize("scheme", COMPARED)
def test_a_row_compares_what_both_methods_sent(scheme):
    row = measure_eta(SMALL, scheme, 0)
    again = measure_eta(SMALL, scheme, 0)
    assert row == again
    json.dumps(row, allow_nan=False)
    ratio = row["descent_scalars_per_node"] / row["dssfn_scalars_per_node"]
    assert row["eta_measured"] == ratio
    assert row["decentralised_difference"] < 1e-6
    assert row["dssfn_cost_scalars"][-1] == row["dssfn_scalars_per_node"]
    assert row["dssfn_cost"][-1] == row["target_cost"]
    if row["reached"]:
        assert row["descent_cost"][-1] <= row["target_cost"]
    assert row["descent_cost_iterations"][-1] == row["descent_iterations"]


def test_the_formula_is_the_measured_ratio_of_hidden_layers():
    # Of W_l alone, as the paper counts: n n numbers against Q n K.
    row = measure_eta(SMALL, "paper", 0)
    run = training_of(SMALL, "paper", 0, None)
    Q, n = run.plan.n_outputs, run.plan.n_units
    K = row["dssfn_iterations"][1]
    assert row["eta_formula"] == pytest.approx(n * row["descent_iterations"] / (Q * K))


def test_a_network_that_is_too_large_is_not_tried_over_the_nodes(monkeypatch):
    module = "dssfn.experiments.communication.descent"
    monkeypatch.setattr(f"{module}.LARGEST_CHECKED", 10)
    descent = descent_of(SMALL, 0, None)
    tree = Tree(build_topology("circular", SMALL.n_nodes))
    assert over_the_nodes(descent, tree) is None


def test_the_scaling_is_that_of_all_samples_together():
    rng = np.random.default_rng(0)
    shards = [Shard(rng.normal(3, 2, (4, size)), np.ones((1, size))) for size in (5, 2)]
    tree = Tree(build_topology("complete", 2))
    shift, scale = scaling_of(shards, tree, Traffic())
    X = np.hstack([shard.X for shard in shards])
    np.testing.assert_allclose(shift, X.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(scale, X.std(axis=1), rtol=1e-12)
