"""Networks of fixed size with integer units, against a slow one and its laws."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn import features, lockstep, simulator
from dssfn.config import Plan
from dssfn.integer_units import IntegerUnits
from dssfn.modelfile import save_network
from dssfn.network import standardise
from dssfn.shard import Shard, one_hot
from dssfn.simulator import simulate
from dssfn.topology import build_topology
from tests.support import slow_integers as slow
from tests.support.strategies import seeds
from tests.support.trainings import ALONE, relative


def problem(J, P, Q, *, regression=False, weighted=False):
    """Samples, one of which is far out, and their plan."""
    rng = np.random.default_rng([J, P, Q])
    X = rng.normal(rng.normal(size=(P, 1)), rng.uniform(0.1, 9, (P, 1)), size=(P, J))
    X[0, 0] += 400.0  # beyond all clips
    weights = rng.choice([0.0, 0.3, 1.0, 7.0], J) if weighted else None
    if regression:
        T = rng.normal(size=(Q, P)) @ X + rng.normal(size=(Q, J))
        names = {"targets": tuple(f"t{q}" for q in range(Q))}
    else:
        T = one_hot((rng.normal(size=(Q, P)) @ X).argmax(axis=0), Q)
        names = {"classes": tuple(range(Q))}
    return Shard(X, T, weights), Plan(n_features=P, **names, n_layers=3, width=12)


CASES = {
    "classes": ({"J": 150, "P": 4, "Q": 3}, {}),
    "the sphere binds": ({"J": 120, "P": 5, "Q": 4}, {"alpha": 0.1}),
    "no bias, small gain": ({"J": 90, "P": 3, "Q": 2}, {"bias": 0.0, "gain": 0.5}),
    "largest bias": ({"J": 90, "P": 3, "Q": 2}, {"bias": 7.0}),
    "several blocks of units": ({"J": 400, "P": 2, "Q": 2}, {"width": 150, "seed": 9}),
    "more inputs than 64": ({"J": 300, "P": 70, "Q": 2}, {"n_layers": 2}),
    "weights": ({"J": 150, "P": 4, "Q": 3, "weighted": True}, {}),
    "one number": ({"J": 120, "P": 4, "Q": 1, "regression": True}, {}),
    "numbers": ({"J": 150, "P": 4, "Q": 3, "regression": True}, {"n_layers": 2}),
    "weighted numbers": (
        {"J": 150, "P": 4, "Q": 2, "regression": True, "weighted": True},
        {},
    ),
}


@pytest.mark.parametrize(("data", "settings"), CASES.values(), ids=CASES)
def test_training_equals_the_formulas_written_out(data, settings):
    shard, plan = problem(**data)
    plan = plan.replace(**settings)
    result = simulate([shard], plan, ALONE)
    net = result.networks[0]
    mean = np.average(shard.X, axis=1, weights=shard.weights)
    spread = np.sqrt(
        np.average((shard.X - mean[:, None]) ** 2, axis=1, weights=shard.weights)
    )
    # Single precision of every sample, in units of the deviation.
    np.testing.assert_allclose(net.shift, mean, atol=1e-6 * spread.max())
    np.testing.assert_allclose(net.scale, spread, rtol=1e-6)

    layer = slow.first_layer(shard.X, net.shift, net.scale, plan.bias)
    T = shard.T
    if plan.is_regression:
        T = (T - net.target_shift[:, None]) / net.target_scale[:, None]
    units = IntegerUnits(plan)
    Y = units.first(standardise(shard.X, net.shift, net.scale))
    for number, O in enumerate(net.outputs):
        np.testing.assert_array_equal(units.wide(number, Y), layer.wide)
        np.testing.assert_array_equal(Y.units, layer.units)
        best = slow.solve(
            layer, T, shard.weights,
            is_first=number == 0, gain=plan.gain, radius=plan.radius,
        )  # fmt: skip
        # Normal equations in double precision, with conditions of up to 1e8.
        assert relative(O, best) < 1e-6
        scores = slow.scores_of(O, layer)
        np.testing.assert_array_equal(units.scores(number, O, Y) * 2**17, scores)
        expected = slow.cost_of(T, scores, shard.weights)
        assert result.history[number].cost == pytest.approx(expected, rel=1e-13)
        if number < plan.depth:
            layer = slow.next_layer(
                layer, scores,
                is_first=number == 0, seed=plan.seed, number=number + 1,
                width=plan.width,
            )  # fmt: skip
            Y = units.following(number, units.scores(number, O, Y), Y)


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "numbers"])
def test_predictions_equal_the_formulas_written_out(regression):
    shard, plan = problem(J=80, P=3, Q=2, regression=regression)
    net = simulate([shard], plan, ALONE).networks[0]
    X = shard.X[:, :40] * np.linspace(-3, 3, 40)
    X[:, 0] = net.shift  # nothing but the bias
    layer = slow.first_layer(X, net.shift, net.scale, plan.bias)
    for number, (O, staged) in enumerate(
        zip(net.outputs, net.staged_scores(X), strict=True)
    ):
        scores = slow.scores_of(O, layer)
        expected = (
            net.target_shift[:, None] + net.target_scale[:, None] * scores / 2**17
        )
        np.testing.assert_array_equal(staged, expected)
        if number < plan.depth:
            layer = slow.next_layer(
                layer, scores,
                is_first=number == 0, seed=plan.seed, number=number + 1,
                width=plan.width,
            )  # fmt: skip


@st.composite
def odd_problems(draw):
    """A few samples with columns of all kinds on nodes of all sizes, and their plan."""
    rng = np.random.default_rng(draw(seeds))
    J, P = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    X = rng.normal(size=(P, J)) * 10.0 ** rng.integers(-3, 4, (P, 1))
    for p in range(P):
        kind = draw(st.sampled_from(["as it is", "constant", "double", "outlier"]))
        if kind == "constant":
            X[p] = draw(st.sampled_from([0.0, 0.1, -7e5]))
        elif kind == "double":
            X[p] = X[0]
        elif kind == "outlier":
            X[p, 0] = 1e8
    Q = draw(st.sampled_from([1, 2, 3, 7]))
    if Q == 1 or draw(st.booleans()):
        T = rng.normal(size=(Q, J)) * draw(st.sampled_from([1e-3, 1.0, 1e6]))
        T += draw(st.sampled_from([0.0, 100.0]))
        names = {"targets": tuple(f"t{q}" for q in range(Q))}
    else:
        codes = np.sort(rng.integers(Q, size=J))  # so that nodes have few classes each
        T, names = one_hot(codes, Q), {"classes": tuple(range(Q))}
    weights = draw(st.none() | st.just(rng.choice([0.25, 1.0, 3.0], J)))
    plan = Plan(
        n_features=P,
        n_layers=draw(st.integers(1, 4)),
        width=draw(st.sampled_from([1, 5, 30, 90])),
        alpha=draw(st.sampled_from([1.0, 2.0, 50.0])),
        gain=draw(st.sampled_from([0.3, 3.0])),
        bias=draw(st.sampled_from([0.0, 3.0])),
        units="integer",
        seed=draw(st.integers(0, 3)),
        **names,
    )
    return Shard(X, T, weights), plan


def part(shard, columns):
    weights = None if shard.weights is None else shard.weights[columns]
    return Shard(shard.X[:, columns], shard.T[:, columns], weights)


def rounding(shard, plan, O):
    """How far a layer's roundings may move T - O Y, as a Frobenius norm at the most."""
    # Of scores, and of the targets of this layer and the one before: half a step each.
    each = np.full(plan.n_outputs, 3 * 2.0**-17)
    if shard.weights is not None:
        # Features and targets with weights have steps of 2^-14, units of 2^-13.
        wide, units = np.split(np.abs(O), [2 * plan.n_outputs], axis=1)
        each += 2.0**-15 * (wide.sum(axis=1) + 4) + 2.0**-14 * units.sum(axis=1)
    most = 1.0 if shard.weights is None else shard.weights.max()
    return math.sqrt(most * shard.n_samples) * np.linalg.norm(each)


@given(odd_problems())
def test_the_cost_never_rises_with_depth_but_for_rounding(problem):
    shard, plan = problem
    result = simulate([shard], plan, ALONE)
    costs = [layer.cost for layer in result.history]
    for O, before, after in zip(
        result.networks[0].outputs[1:], costs[:-1], costs[1:], strict=True
    ):
        most = math.sqrt(before) + rounding(shard, plan, O)
        # The multiplier of a layer is rounded up to 16 bits.
        assert after <= most**2 + 1e-6 * costs[0], costs


def all_of(shard):
    return [part(shard, np.arange(shard.n_samples))]


def by_class(shard):
    """Nodes of one class each; of a regression, of one range of the first target."""
    codes = shard.T.argmax(axis=0) if len(shard.T) > 1 else shard.T[0] > 0
    return [part(shard, codes == code) for code in np.unique(codes)]


def uneven(shard):
    """Some with one sample, one with nearly all, in another order."""
    order = np.random.default_rng(1).permutation(shard.n_samples)
    return [part(shard, some) for some in np.split(order, [1, 2, 30])]


TRAININGS = {
    "classes": ({"J": 700, "P": 4, "Q": 3}, {}),
    "many features": ({"J": 90, "P": 100, "Q": 3}, {"width": 130}),
    "weights": ({"J": 700, "P": 4, "Q": 3, "weighted": True}, {}),
    "balanced": ({"J": 700, "P": 4, "Q": 3}, {"class_weight": "balanced"}),
    "numbers": ({"J": 700, "P": 4, "Q": 9, "regression": True}, {}),
    "weighted numbers": (
        {"J": 700, "P": 4, "Q": 5, "regression": True, "weighted": True},
        {},
    ),
}


@pytest.mark.parametrize(("data", "settings"), TRAININGS.values(), ids=TRAININGS)
def test_the_file_is_the_same_however_it_is_trained(
    data, settings, tmp_path, monkeypatch
):
    shard, plan = problem(**data)
    plan = plan.replace(**settings)
    seen = []

    def train(shards, graph="path", *, cores=1, chunk=1040, memory=None):
        monkeypatch.setattr(lockstep, "usable_cores", lambda: cores)
        monkeypatch.setattr(features, "EXACT_CHUNK", chunk)
        topology = build_topology(graph, len(shards))
        result = simulate(shards, plan, topology, memory=memory)
        path = tmp_path / "model"
        for network in (result.networks[0], result.networks[-1]):
            save_network(network, path)
            seen.append(hashlib.sha256(path.read_bytes()).hexdigest())
        return result.history

    expected = train(all_of(shard))
    for divide in (by_class, uneven):
        assert train(divide(shard), "complete") == expected
    assert train(all_of(shard), cores=3, chunk=64) == expected
    for chunk in (1, 7, 333):
        assert train(all_of(shard), chunk=chunk) == expected
    least = features.least_memory(plan.replace(units="integer"), 2)
    assert train(all_of(shard), cores=2, memory=least) == expected
    # From here on every node has a program of its own, as it has in a real network.
    monkeypatch.setattr(simulator, "_hosted", lambda shards, plan: shards)
    for divide, graph in ((by_class, "path"), (uneven, "star"), (uneven, "path")):
        assert train(divide(shard), graph) == expected
    assert train(uneven(shard), cores=2, chunk=50, memory=4 * least) == expected
    assert len(set(seen)) == 1


def test_weights_of_one_are_none_and_any_power_of_two_is_a_unit_of_weights():
    shard, plan = problem(J=200, P=4, Q=3, weighted=True)

    def outputs(weights):
        network = simulate([Shard(shard.X, shard.T, weights)], plan, ALONE).networks[0]
        return [O.tobytes() for O in network.outputs]

    assert outputs(np.ones(200)) == outputs(None)
    assert outputs(shard.weights * 2.0**-20) == outputs(shard.weights)
    assert outputs(shard.weights * 8) == outputs(shard.weights)


def test_samples_of_no_weight_beside_others_with_weights_change_no_bit():
    shard, plan = problem(J=200, P=4, Q=3, weighted=True)
    heavy = part(shard, shard.weights > 0)
    assert heavy.n_samples < 200
    whole, without = (simulate([one], plan, ALONE) for one in (shard, heavy))
    assert whole.history == without.history
    pairs = [result.networks[0].outputs for result in (whole, without)]
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*pairs, strict=True))


def test_a_weight_of_two_is_about_a_sample_twice():
    shard, plan = problem(J=200, P=4, Q=3)
    weights = np.resize([1.0, 2.0], 200)
    twice = part(shard, np.repeat(np.arange(200), weights.astype(int)))
    one = simulate([Shard(shard.X, shard.T, weights)], plan, ALONE)
    two = simulate([twice], plan, ALONE)
    for mine, theirs in zip(one.history, two.history, strict=True):
        # Features with weights are rounded to 2^-14, those of no weights are not.
        assert mine.cost == pytest.approx(theirs.cost, rel=1e-4)
        assert mine.train_accuracy == theirs.train_accuracy
