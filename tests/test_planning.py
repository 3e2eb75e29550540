"""What "auto" settles on."""

from __future__ import annotations

import numpy as np
import pytest

from dssfn.config import Plan
from dssfn.consensus import seconds
from dssfn.consensus.tree import Tree
from dssfn.errors import PlanError
from dssfn.planning import USUAL, choose_parties, settle
from dssfn.simulator import simulate
from dssfn.solvers.gram import Gram
from dssfn.topology import build_topology
from tests.support.strategies import pooled, random_shards

RING = build_topology("circular", 20, degree=4)
MNIST = Plan(n_features=784, classes=tuple(range(10)), n_layers=20, width=1000)
DENSE = MNIST.replace(units="dense")  # small integers are always solved by gram


def test_a_fast_network_sends_the_gram_matrix_and_a_slow_one_many_small_messages():
    assert settle(DENSE.replace(bandwidth=1e10), RING)[0].solver == "gram"
    slow, averaging = settle(DENSE.replace(bandwidth=1e6), RING)
    assert (slow.solver, averaging.name, slow.consensus) == ("krylov", "tree", "tree")


def test_patience_ends_when_the_gram_matrix_would_have_arrived():
    plan, tree = settle(DENSE.replace(bandwidth=1e6), RING)
    for layer, n in ((0, 784), (1, 1020)):
        hint = {"latency": plan.latency, "bandwidth": plan.bandwidth}
        once = seconds(tree, 8 * Gram().message_size(10, n), **hint)
        again = seconds(tree, 8 * 10 * n, **hint)
        assert plan.patience(layer) == np.ceil(once / again) > USUAL


def test_few_inputs_are_solved_by_gram_even_where_the_hidden_layers_are_not():
    plan, _ = settle(DENSE.replace(n_features=5, bandwidth=1e6), RING)
    assert plan.solver == "krylov"
    assert plan.patience_input == 0
    assert plan.patience_hidden > USUAL


@pytest.mark.parametrize(
    "fixed", [{"consensus": "exact"}, {"consensus": "gossip"}, {"n_rounds": 30}]
)
def test_averages_that_differ_between_nodes_leave_gram_alone(fixed):
    plan, averaging = settle(MNIST.replace(bandwidth=1e6, **fixed), RING)
    assert plan.solver == "gram"
    assert averaging.name == fixed.get("consensus", "gossip")


def test_one_node_needs_no_network():
    plan, averaging = settle(MNIST, build_topology("complete", 1))
    assert (plan.solver, averaging.n_rounds) == ("gram", 0)


@pytest.mark.parametrize("bandwidth", [1e6, 1e10])
def test_integers_take_gram_and_a_tree_however_slow_the_network(bandwidth):
    plan, averaging = settle(MNIST.replace(bandwidth=bandwidth), RING)
    assert (plan.units, plan.solver, averaging.name) == ("integer", "gram", "tree")


@pytest.mark.parametrize("open_plan", [MNIST, DENSE], ids=["integer", "dense"])
def test_a_settled_plan_stays_as_it_is(open_plan):
    plan, _ = settle(open_plan.replace(bandwidth=1e6), RING)
    assert settle(plan, RING)[0] == plan


@pytest.mark.parametrize("patience", [0, 1, 2, 5])
def test_a_solver_that_loses_patience_ends_with_the_same_network(patience):
    shards = random_shards(
        np.random.default_rng(0), sizes=[30] * 4, n_features=5, n_classes=3
    )
    plan = Plan(n_features=5, classes=(0, 1, 2), n_layers=3, width=30, units="dense")
    exact = simulate([pooled(shards)], plan, build_topology("complete", 1))
    hasty = plan.replace(
        solver="krylov", patience_input=patience, patience_hidden=patience
    )
    result = simulate(shards, hasty, build_topology("path", 4))
    for mine, best in zip(result.history, exact.history, strict=True):
        assert mine.cost == pytest.approx(best.cost, rel=1e-9)
        assert mine.iterations <= patience + 1


@pytest.mark.parametrize("adaptive", [{"balance_mu": True}, {"residual_tol": 1e-3}])
def test_an_admm_that_decides_needs_equal_bits(adaptive):
    plan = MNIST.replace(solver="admm", **adaptive)
    assert settle(plan, RING)[1].name == "tree"
    with pytest.raises(PlanError, match="equal on all of them"):
        settle(plan.replace(consensus="gossip"), RING)


@pytest.mark.parametrize("loss", [0.0, 0.3, 0.9, 0.99])
@pytest.mark.parametrize("kind", ["circular", "complete", "star", "regular"])
def test_letters_are_sent_again_wherever_links_go_both_ways(kind, loss):
    topology = build_topology(kind, 12)
    averaging = Tree(topology)
    arcs = [(i, j) for i in range(12) for j in topology.neighbours(i)]
    assert choose_parties(topology, averaging, dict.fromkeys(arcs, loss)) is None


def test_a_link_that_carries_letters_one_way_takes_push_sum():
    topology = build_topology("circular", 4)
    arcs = [(i, j) for i in range(4) for j in topology.neighbours(i)]
    losses = {**dict.fromkeys(arcs, 0.1), (1, 0): 1.0}
    assert choose_parties(topology, Tree(topology), losses) == "push-sum"
