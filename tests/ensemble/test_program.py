from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dssfn.calibration import probabilities
from dssfn.config import Plan
from dssfn.ensemble import choices as rules
from dssfn.errors import PlanError
from dssfn.exact.outputs import rounded_outputs
from dssfn.shard import Shard, one_hot
from dssfn.simulator import simulate
from dssfn.topology import build_topology
from tests.support.dense_ensemble import grow
from tests.support.ensembles import (
    choices,
    draw,
    errors,
    plan_of,
    same_bits,
    split,
    stages_of,
)
from tests.support.strategies import seeds
from tests.support.trainings import ALONE

UNITS = ("integer", "dense")
GRAPHS = ("circular", "path", "star", "complete")

sizes = st.fixed_dictionaries(
    {
        "P": st.integers(1, 6),
        "Q": st.sampled_from([0, 2, 3, 4]),
        "J": st.integers(5, 80),
        "kind": st.sampled_from(["continuous", "whole", "binary"]),
        "weighted": st.booleans(),
    }
)
plans = st.fixed_dictionaries(
    {
        "members": st.integers(2, 5),
        "n_layers": st.sampled_from(["auto", 0, 2]),
        "width": st.sampled_from(["auto", 5]),
        "scale": st.sampled_from(["auto", "columns", "common"]),
        "standardize": st.booleans(),
        "ridge": st.sampled_from(["auto", "auto", 0.1]),
        "units": st.sampled_from(["auto", "dense"]),
    }
).filter(lambda plan: plan["standardize"] or plan["scale"] == "auto")


@pytest.fixture(autouse=True, scope="module")
def narrow():
    """Widths as they would be tried, but small enough for many trainings."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (rules, "tests.support.dense_ensemble"):
            name = module if isinstance(module, str) else module.__name__
            patch.setattr(f"{name}.widths_for", lambda weight: (8, 16, 32))
        yield


@settings(max_examples=60)
@given(seeds, sizes, plans, st.sampled_from([None, "balanced"]))
def test_a_training_is_that_of_dense_arrays_in_one_place(seed, size, plan, balanced):
    rng = np.random.default_rng(seed)
    X, T, weights = draw(rng, **size)
    plan = plan_of(X, T, seed=seed, **plan | {"units": "dense"})
    if plan.classes:
        plan = plan.replace(class_weight=balanced)
    fresh = rng.normal(size=(len(X), 9))
    dense = grow(X, T, plan, weights, fresh)
    assume(not dense.is_close)  # a choice that rounding decides is nobody's law
    simulation = simulate([Shard(X, T, weights)], plan, ALONE)
    model = simulation.networks[0]
    ridges = [
        (afresh, None if math.isinf(ridge) else ridge) for afresh, ridge in dense.ridges
    ]
    scale = dense.scale if plan.standardize else model.plan.scale
    said = ridges, [None, *dense.widths], dense.depth, scale, dense.members
    assert choices(simulation) == said
    scores = model.member_scores(np.hstack([X, fresh]))
    # Normal equations with a condition of up to 40 units / 1e-6, through some layers;
    # scores of other samples extrapolate, which multiplies rounding once more.
    J = X.shape[1]
    for samples, share in ((np.s_[..., :J], 1e-7), (np.s_[..., J:], 1e-5)):
        found, expected = scores[samples], dense.scores[samples]
        tolerance = share * np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=share, atol=tolerance)
    if plan.classes:
        assert model.slope == pytest.approx(dense.slope, rel=1e-4)


@settings(max_examples=50)
@given(seeds, sizes, plans, st.integers(1, 6), st.sampled_from(GRAPHS))
def test_a_split_training_is_the_centralised_one(seed, size, plan, M, kind):
    rng = np.random.default_rng(seed)
    X, T, weights = draw(rng, **size | {"kind": "continuous"})
    plan = plan_of(X, T, seed=seed, **plan)
    shards = split(X, T, weights, rng.integers(M, size=X.shape[1]))
    graph = build_topology(kind, len(shards))
    together = simulate([Shard(X, T, weights)], plan, ALONE)
    apart = simulate(shards, plan, graph, apart=True)
    assert choices(apart) == choices(together)
    fresh = np.hstack([X, rng.normal(size=(len(X), 9))])
    one, many = (s.networks[0].member_scores(fresh) for s in (together, apart))
    np.testing.assert_allclose(many, one, atol=1e-7 * np.abs(one).max())
    expected = (together if plan.is_exact else apart).networks[0]
    for model in apart.networks:
        assert same_bits(model, expected)


@settings(max_examples=40)
@given(seeds, sizes, plans, st.integers(2, 6))
def test_few_different_samples_validate_alike_however_they_are_split(
    seed, size, plan, M
):
    """Where samples are often equal, so are errors, and rounding may choose a ridge."""
    rng = np.random.default_rng(seed)
    X, T, weights = draw(rng, **size | {"kind": "binary"})
    plan = plan_of(X, T, seed=seed, **plan)
    shards = split(X, T, weights, rng.integers(M, size=X.shape[1]))
    together = simulate([Shard(X, T, weights)], plan, ALONE)
    apart = simulate(shards, plan, build_topology("path", len(shards)), apart=True)
    assume(together.history[0].unvalidated < plan.members)
    lowest = [min(errors(s)) for s in (together, apart)]
    if max(lowest) > -100:  # not zero but for rounding
        assert lowest[0] == pytest.approx(lowest[1], abs=1e-4)


@settings(max_examples=40)
@given(seeds, sizes, plans)
def test_the_validation_error_never_rises_with_depth(seed, size, plan):
    X, T, weights = draw(np.random.default_rng(seed), **size)
    plan = plan_of(X, T, seed=seed, **plan | {"ridge": "auto"})
    simulation = simulate([Shard(X, T, weights)], plan, ALONE)
    assume(simulation.history[0].unvalidated < plan.members)
    found = errors(simulation)
    if plan.is_exact:
        # The scores of both layers, and the mean that an infinite ridge corrects, are
        # rounded to 2^-17 of a deviation, and those of few samples not to their means.
        assert (np.diff(10 ** (found / 20)) <= 2.0**-13).all(), found
        return
    # An infinite ridge gives the layer before, but for the rounding of its mean.
    assert (np.diff(found)[found[1:] > -200] <= 1e-9).all(), found


RESTARTS = {
    "defaults": {},
    "fixed depth": {"n_layers": 3},
    "no hidden layer": {"n_layers": 0, "members": 3},
    "one scale": {"scale": "common", "width": 7},
    "whole nodes left out": {"folds": "nodes"},
    "SSFN's rule": {"size": "ssfn", "width": 150, "n_layers": 4},
    "balanced": {"class_weight": "balanced", "members": 2},
}


@pytest.mark.parametrize("kind", RESTARTS)
@pytest.mark.parametrize("settings", [{}, {"memory": 1}], ids=["kept", "made again"])
def test_a_training_that_goes_on_ends_as_if_it_had_never_stopped(kind, settings):
    rng = np.random.default_rng(5)
    X, T, weights = draw(rng, J=83, weighted=kind == "balanced")
    shards = split(X, T, weights, rng.integers(3, size=83))
    plan = plan_of(X, T, seed=3, **RESTARTS[kind])
    graph = build_topology("path", 3)
    models, seen, history = stages_of(shards, plan, graph, **settings)
    assert len(seen) == len(history) + 1
    for progress in seen:
        again, later, records = stages_of(
            shards, plan, graph, start=progress, **settings
        )
        assert same_bits(again[1], models[0])
        assert records == history[len(progress.stages) - 1 :]
        assert len(progress.stages) + len(later) == len(seen)


def test_a_training_that_changed_its_hands_goes_on_from_numbers_in_a_file():
    """What is written of a progress, and read again, is all that it needs."""
    rng = np.random.default_rng(5)
    X, T, _ = draw(rng)
    shards, plan = [Shard(X, T)], plan_of(X, T)
    models, seen, _ = stages_of(shards, plan, ALONE)
    for progress in seen:
        copied = progress.with_tensors(
            {name: A.copy() for name, A in progress.tensors().items()}
        )
        assert same_bits(stages_of(shards, plan, ALONE, start=copied)[0][0], models[0])
        flat = progress.with_flat(progress.flat())
        assert same_bits(stages_of(shards, plan, ALONE, start=flat)[0][0], models[0])


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("K", [2, 3, 4, 5, 7])
def test_validation_counts_the_samples_that_are_left_out(K, units):
    rng = np.random.default_rng(0)
    X, T, weights = draw(rng, J=200, weighted=True)
    plan = plan_of(X, T, members=K, n_layers=1, width=6, units=units)
    simulation = simulate([Shard(X, T, weights)], plan, ALONE)
    scores = simulation.networks[0].validation_scores(X)
    seen = np.isfinite(scores[0])
    right = (scores.argmax(axis=0) == T.argmax(axis=0))[seen]
    record, w = simulation.history[-1], weights[seen]
    assert record.validation_accuracy == pytest.approx(right @ w / w.sum())
    cost = ((T - scores)[:, seen] ** 2).sum(axis=0) @ w
    of_zero = (T[:, seen] ** 2).sum(axis=0) @ w
    said = 10 * math.log10(cost / of_zero)
    # Layers are tried with output matrices of fewer bits, by which some scores are
    # rounded to another multiple of 2^-17 than those of the model.
    tolerance = 1e-4 if plan.is_exact else 1e-9
    assert record.validation_error_db == pytest.approx(said, abs=tolerance)


def test_a_record_of_layer_0_is_that_of_the_scale_which_was_picked():
    picked = set()
    for seed in range(12):
        X, T, _ = draw(np.random.default_rng(seed), J=40)
        plan = plan_of(X, T, members=5, n_layers=1, width=5, seed=seed)
        both = simulate([Shard(X, T)], plan, ALONE)
        scale = both.networks[0].plan.scale
        one = simulate([Shard(X, T)], plan.replace(scale=scale), ALONE)
        picked.add(scale)
        for mine, theirs in zip(both.history, one.history, strict=True):
            assert mine.ridge == theirs.ridge
            # sums are scaled after they were made, or before
            assert mine.validation_error_db == pytest.approx(
                theirs.validation_error_db, abs=1e-9
            )
            assert mine.cost == pytest.approx(theirs.cost, rel=1e-9)
    assert picked == {"columns", "common"}


def test_the_number_of_members_does_not_depend_on_the_number_of_nodes():
    X = np.random.default_rng(0).normal(size=(1, 1000))
    T = one_hot((X[0] > 0).astype(int), 2)
    plan = Plan(n_features=1, classes=(0, 1), n_layers=1, width=1, scale="columns")
    plan = plan.replace(n_layers="auto")
    together = simulate([Shard(X, T)], plan, ALONE)
    # 19 * (1000 / 19) < 1000 in floating point
    shards = split(X, T, None, np.arange(1000) % 19)
    apart = simulate(shards, plan, build_topology("star", 19), apart=True)
    assert choices(apart) == choices(together)


@pytest.mark.parametrize(
    ("units", "scales"),
    [
        ("integer", (1e15, 1, 1)),
        ("integer", (1e35, 1e-35, 1)),
        ("integer", (1e-35,) * 3),
        ("integer", (1e35,) * 3),
        ("dense", (1e15, 1, 1)),
        ("dense", (1e150, 1e-150, 1)),
        ("dense", (1e-150,) * 3),
        ("dense", (1e150,) * 3),
    ],
)
def test_columns_of_very_different_scales_all_count(units, scales):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 200)) * np.array(scales)[:, None]
    T = one_hot((X[1] > 0).astype(int), 2)
    plan = plan_of(X, T, members=5, n_layers=1, width=5, units=units)
    both = simulate([Shard(X, T)], plan, ALONE)
    scale = both.networks[0].plan.scale
    assert scale == "columns" or len(set(scales)) == 1
    one = simulate([Shard(X, T)], plan.replace(scale=scale), ALONE)
    assert errors(both) == pytest.approx(errors(one), abs=1e-6)
    assert both.history[0].validation_accuracy > 0.9


def costs(simulation):
    return np.array([record.cost for record in simulation.history])


ssfn_sizes = st.fixed_dictionaries(
    {"P": st.integers(1, 6), "Q": st.sampled_from([0, 2, 3]), "J": st.integers(20, 80)}
)


@settings(max_examples=25)
@given(
    seeds,
    ssfn_sizes,
    st.integers(1, 130),
    st.sampled_from(["auto", 0, 1, 3]),
    st.sampled_from(UNITS),
)
def test_ssfns_rule_grows_within_its_limits_and_never_raises_the_training_error(
    seed, size, width, n_layers, units
):
    X, T, weights = draw(np.random.default_rng(seed), **size)
    sizes = {"size": "ssfn", "width": width, "n_layers": n_layers}
    plan = plan_of(X, T, **sizes, seed=seed, units=units)
    found = simulate([Shard(X, T, weights)], plan, ALONE)
    # Scores of integers are rounded to 2^-17, before and after a layer, and so are
    # their targets.
    rounding = 2.0**-15 * math.sqrt(T.size) if units == "integer" else 0.0
    roots = np.sqrt(costs(found))
    assert (np.diff(roots) <= 1e-9 * roots[0] + rounding).all()
    model = found.networks[0]
    assert model.n_members == 1
    assert model.plan.n_layers <= (20 if n_layers == "auto" else n_layers)
    for record in found.history[1:]:
        assert record.width <= width
        assert record.width % 50 == 0 or record.width == width < 50
    last = model.plan.n_layers
    cost = ((T - model.scores(X)) / model.target_scale[:, None]) ** 2
    root = math.sqrt(found.history[last].cost)
    assert root == pytest.approx(math.sqrt(cost.sum()), rel=1e-6, abs=1e-9 + rounding)


def test_a_step_of_ssfns_rule_that_does_not_help_is_taken_back():
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(1, 250)).astype(float)
    T = np.abs(X) + 0.1 * rng.normal(size=(1, 250))  # soon learned, but for the noise
    found = simulate([Shard(X, T)], plan_of(X, T, size="ssfn"), ALONE)
    records = found.history[1:]
    for record in records:
        decibels = [tried.error_db for tried in record.tried]
        widths = [tried.width for tried in record.tried]
        assert widths == [50 * k for k in range(1, len(widths) + 1)]
        helped = -np.diff(decibels) >= 0.005
        assert helped[:-1].all()
        assert not helped[-1]
        assert record.width == widths[-2]
        assert record.train_error_db == pytest.approx(decibels[-2], abs=1e-6)
    # and so is a layer that does not help
    by_layer = [record.train_error_db for record in found.history]
    depth = found.networks[0].plan.n_layers
    helped = -np.diff(by_layer) >= 0.1
    assert helped[:depth].all()
    assert depth >= 1
    assert not helped[depth]
    assert len(records) == depth + 1


def test_one_member_has_the_probabilities_of_one_network():
    X, T, _ = draw(np.random.default_rng(0))
    plan = plan_of(X, T, size="ssfn", n_layers=1, width=5)
    model = simulate([Shard(X, T)], plan, ALONE).networks[0]
    scores = model.scores(X)
    np.testing.assert_array_equal(
        model.probabilities(scores).T, probabilities(scores.T)
    )
    assert np.isnan(model.validation_scores(X)).all()


@pytest.mark.parametrize("kind", ["classes", "regression"])
def test_ssfns_rule_finds_the_same_sizes_however_samples_are_split(kind):
    rng = np.random.default_rng(2)
    X, T, weights = draw(rng, Q=3 if kind == "classes" else 0, J=300, weighted=True)
    plan = plan_of(X, T, size="ssfn", width=100, n_layers=6)
    together = simulate([Shard(X, T, weights)], plan, ALONE)
    for M, graph in ((2, "path"), (5, "circular"), (6, "star")):
        shards = split(X, T, weights, rng.integers(M, size=300))
        apart = simulate(shards, plan, build_topology(graph, M), apart=True)
        assert choices(apart) == choices(together)
        one, many = (s.networks[0].scores(X) for s in (together, apart))
        np.testing.assert_allclose(many, one, atol=1e-6 * np.abs(one).max())
        assert all(same_bits(net, apart.networks[0]) for net in apart.networks)


def test_one_node_has_no_other_to_be_left_out():
    X, T, _ = draw(np.random.default_rng(0))
    with pytest.raises(PlanError, match="nothing is left to train on"):
        simulate([Shard(X, T)], plan_of(X, T, folds="nodes"), ALONE)


def test_whole_nodes_are_left_out_in_turn():
    rng = np.random.default_rng(0)
    X, T, _ = draw(rng, J=90)
    owner = np.arange(90) % 3
    plan = plan_of(X, T, folds="nodes", n_layers="auto", width=5)
    simulation = simulate(split(X, T, None, owner), plan, build_topology("path", 3))
    model = simulation.networks[0]
    assert model.n_members == 3
    scores = model.member_scores(X)
    right = [
        (scores[k].argmax(axis=0) == T.argmax(axis=0))[owner == k] for k in range(3)
    ]
    accuracy = np.concatenate(right).mean()
    assert simulation.history[-1].validation_accuracy == pytest.approx(accuracy)
    # a member without one node is that of the others alone, but for the scaling
    raw = plan.replace(standardize=False, members=4)
    shards = split(X, T, None, owner)
    outputs = [
        simulate(group, raw.replace(ridge=0.1), build_topology("path", len(group)))
        .networks[0]
        .outputs[0]
        for group in (shards, shards[:2])
    ]
    np.testing.assert_allclose(outputs[0][2], outputs[1][3], rtol=1e-9)


def test_a_hidden_layer_as_wide_as_the_inputs_is_rounded_as_a_hidden_one():
    rng = np.random.default_rng(0)
    X, T, _ = draw(rng, P=16, Q=3, J=200)
    plan = plan_of(X, T, n_layers=2, width=10, members=2, units="integer")
    model = simulate([Shard(X, T)], plan, ALONE).networks[0]
    for outputs in model.outputs[1:]:
        assert outputs.shape[-1] == 1 + 16
        for O in outputs:
            assert (rounded_outputs(O, 1 + 2 * 3) == O).all()
