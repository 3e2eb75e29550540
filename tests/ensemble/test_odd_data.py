"""Data that leave folds empty, matrices without rank, or nothing to learn."""

from __future__ import annotations

import numpy as np
import pytest

from dssfn.config import Plan
from dssfn.ensemble.folds import folds_of
from dssfn.errors import DataError, NumericalError, PlanError
from dssfn.records import warning_about
from dssfn.shard import Shard, one_hot
from dssfn.simulator import simulate
from dssfn.topology import build_topology
from tests.support.ensembles import choices, draw, plan_of, same_bits, split
from tests.support.trainings import ALONE

RNG = np.random.default_rng(0)
J = 24
X = RNG.normal(size=(3, J))
CODES = (X[0] > 0).astype(int)
T = one_hot(CODES, 2)
THIRDS = np.arange(J) % 3

ODD = {
    "two samples, many times": (np.tile(X[:, :2], 12), np.tile(np.eye(2), 12), THIRDS),
    "one sample, many times": (np.tile(X[:, :1], 24), np.tile(T[:, :1], 24), THIRDS),
    "one sample with two labels": (
        np.tile(X[:, :1], 24), np.tile(np.eye(2), 12), THIRDS,
    ),
    "two samples at all": (X[:, :2], np.eye(2), np.arange(2)),
    "one sample at all": (X[:, :1], T[:, :1], np.arange(1)),
    "a node with one sample": (X, T, np.minimum(np.arange(J), 1)),
    "a node for every sample": (X[:, :8], T[:, :8], np.arange(8)),
    "a class with one sample": (X, one_hot((np.arange(J) == 5).astype(int), 2), THIRDS),
    "a class with no sample": (X, one_hot(CODES, 3), THIRDS),
    "one class": (X, one_hot(0 * CODES, 2), THIRDS),
    "one class per node": (X, T, CODES),
    "one node": (X, T, 0 * THIRDS),
    "two nodes": (X, T, THIRDS % 2),
    "a constant column": (np.vstack([X, np.full(J, 0.1)]), T, THIRDS),
    "constant columns": (np.full((3, J), 0.1), T, THIRDS),
    "columns of zeros": (np.zeros((3, J)), T, THIRDS),
    "copies of a column": (np.repeat(X, 4, axis=0), T, THIRDS),
    "more columns than samples": (RNG.normal(size=(60, J)), T, THIRDS),
    "large numbers": (1e35 * X, T, THIRDS),
    "small numbers": (1e-35 * X, T, THIRDS),
    "large and small numbers": (X * [[1e35], [1], [1e-35]], T, THIRDS),
    "huge numbers": (1e150 * X, T, THIRDS),
    "tiny numbers": (1e-150 * X, T, THIRDS),
    "huge and tiny numbers": (X * [[1e150], [1], [1e-150]], T, THIRDS),
    "a far mean": (1e9 + X, T, THIRDS),
    "an outlier": (np.where(np.arange(J) == 3, 1e12, X), T, THIRDS),
    "a constant target": (X, np.full((1, J), 7.0), THIRDS),
    "a large target": (X, 1e35 * X[:1], THIRDS),
    "a huge target": (X, 1e100 * X[:1], THIRDS),
    "a target without noise": (X, 3 * X[:2] - X[1:], THIRDS),
    "the target as a column": (np.vstack([X, T]), T, THIRDS),
}  # fmt: skip
# How data begin that must be standardised.
STANDARDISED = ("large", "huge", "a far mean", "an outlier")
DENSE = ("huge", "tiny", "a huge")  # how data begin whose sums are not exact
PLANS = {
    "defaults": {},
    "two members": {"members": 2},
    "twenty members": {"members": 20, "width": 10},
    "SSFN's rule": {"size": "ssfn", "width": 50, "n_layers": 3},
    "not standardised": {"standardize": False, "members": 3, "width": 10},
}


def _train(name, **settings):
    inputs, targets, owner = ODD[name]
    units = "dense" if name.startswith(DENSE) else "auto"
    plan = plan_of(inputs, targets, **{"n_layers": "auto", "units": units, **settings})
    shards = split(inputs, targets, None, owner)
    return simulate(shards, plan, build_topology("complete", len(shards)), apart=True)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        (name, settings)
        for name in ODD
        for settings, plan in PLANS.items()
        if settings != "not standardised" or not name.startswith(STANDARDISED)
        if plan.get("members", 1) <= ODD[name][0].shape[1]
    ],
)
def test_odd_data_give_a_model_that_all_nodes_share(name, settings):
    found = _train(name, **PLANS[settings])
    inputs, _, _ = ODD[name]
    model = found.networks[0]
    assert all(same_bits(other, model) for other in found.networks)
    assert np.isfinite(model.member_scores(inputs)).all()
    for record in found.history:
        assert np.isfinite(record.train_error_db)
        assert model.plan.is_regression or 0 <= record.train_accuracy <= 1
        if found.history[0].unvalidated == model.n_members:
            assert record.validation_error_db is record.validation_accuracy is None
        elif model.n_members > 1:
            assert np.isfinite(record.validation_error_db)
            is_share = 0 <= (record.validation_accuracy or 0) <= 1
            assert model.plan.is_regression or is_share


@pytest.mark.parametrize("name", ODD)
def test_odd_data_give_the_model_of_one_machine(name):
    inputs, targets, _ = ODD[name]
    for units in ("dense",) if name.startswith(DENSE) else ("integer", "dense"):
        plan = plan_of(inputs, targets, n_layers="auto", units=units)
        together = simulate([Shard(inputs, targets)], plan, ALONE)
        apart = _train(name, units=units)
        one, many = (s.networks[0].scores(inputs) for s in (together, apart))
        np.testing.assert_allclose(many, one, atol=1e-6 * np.abs(one).max())
        assert choices(apart) == choices(together)
        if units == "integer":
            assert same_bits(apart.networks[0], together.networks[0])


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("huge numbers", 1),
        ("tiny numbers", 1),
        ("huge and tiny numbers", 1),
        ("a huge target", 4),
    ],
)
def test_numbers_whose_sums_are_not_exact_are_refused_by_their_column(name, column):
    with pytest.raises(DataError, match=rf"Column {column}: .*2\^.*are exact.*dense"):
        _train(name, units="integer")


def test_what_is_the_same_for_all_samples_predicts_their_mean():
    for name in ("constant columns", "columns of zeros", "one sample with two labels"):
        model = _train(name).networks[0]
        inputs, _, _ = ODD[name]
        scores = model.scores(inputs)
        np.testing.assert_allclose(scores, np.tile(scores[:, :1], inputs.shape[1]))
        assert scores[:, 0].sum() == pytest.approx(1.0, abs=0.2)


def test_one_class_is_always_predicted():
    scores = _train("one class").networks[0].scores(X)
    np.testing.assert_array_equal(scores.argmax(axis=0), 0)


def test_a_target_without_noise_is_learned():
    inputs, targets, _ = ODD["a target without noise"]
    scores = _train("a target without noise").networks[0].scores(inputs)
    np.testing.assert_allclose(scores, targets, atol=1e-3)


def test_tiny_numbers_are_learned_as_well_without_standardising():
    plan = {"members": 5, "standardize": False, "n_layers": 0}
    usual, tiny = (
        simulate([Shard(scale * X, T)], plan_of(X, T, **plan), ALONE).networks[0]
        for scale in (1.0, 1e-100)
    )
    right = [
        (model.scores(scale * X).argmax(axis=0) == CODES).mean()
        for model, scale in ((usual, 1.0), (tiny, 1e-100))
    ]
    assert min(right) > 0.8


def test_numbers_whose_squares_overflow_are_named():
    for scale, settings in (
        (1e200, {"units": "dense"}),
        (1e160, {"standardize": False}),
    ):
        plan = plan_of(X, T, n_layers="auto", **settings)
        with pytest.raises(NumericalError, match="not finite"):
            simulate([Shard(scale * X, T)], plan, ALONE)


def test_weights_that_are_all_zero_are_refused():
    plan = plan_of(X, T, n_layers="auto")
    with pytest.raises(DataError, match="sample_weight"):
        simulate([Shard(X, T, np.zeros(J))], plan, ALONE)


def test_one_sample_with_weight_among_many_without_is_one_sample():
    plan = plan_of(X, T, n_layers="auto", members=3)
    weights = np.zeros(J)
    weights[4] = 1.0
    few = simulate([Shard(X, T, weights)], plan, ALONE).networks[0]
    often = np.full(3, 4)  # at least as many samples as members
    thirds = np.full(3, 1 / 3)
    one = simulate([Shard(X[:, often], T[:, often], thirds)], plan, ALONE).networks[0]
    np.testing.assert_allclose(few.scores(X), one.scores(X), atol=1e-9)


@pytest.mark.parametrize("memory", [1, "1kB"])
def test_little_memory_gives_the_same_choices(memory):
    inputs, targets, weights = draw(np.random.default_rng(1), J=150, weighted=True)
    shards = split(inputs, targets, weights, np.arange(150) % 3)
    plan = plan_of(inputs, targets, n_layers="auto", width=20)
    ring = build_topology("circular", 3)
    usual, tight = (
        simulate(shards, plan, ring, memory=m, apart=True) for m in (None, memory)
    )
    assert choices(tight) == choices(usual)
    one, other = (s.networks[0].scores(inputs) for s in (usual, tight))
    np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9)


CONTRADICTIONS = [
    ({"members": 1}, "`n_layers` must be a number with `members = 1`.*Give more"),
    ({"members": 1, "n_layers": 3}, "`width` must be a number with `members = 1`"),
    ({"size": "ssfn", "members": 5}, "`members` must be left out, got 5"),
    ({"solver": "admm"}, "gram. Leave `solver` out, or give"),
    ({"consensus": "gossip"}, "not with gossip. Leave it out, or give"),
    ({"n_rounds": 5}, "not with n_rounds. Leave it out, or give"),
    ({"precision": "float32"}, "needs float64, got float32. Leave it out"),
    ({"n_layers": 2, "width": 5, "ridge": 0.1}, "`ridge` = 0.1 needs `members`"),
    ({"n_layers": 2, "width": 5, "folds": "nodes"}, "`folds` = 'nodes' needs"),
    ({"n_layers": 2, "width": 5, "scale": "common"}, "`scale` = 'common' needs"),
    ({"n_layers": 2, "width": 5, "publish_scores": True}, "`publish_scores` = True"),
    ({"size": "ssfn", "publish_scores": True}, "2; `size`: ssfn leaves no samples"),
    ({"size": "ssfn", "folds": "nodes"}, "2; `size`: ssfn leaves no samples"),
    (
        {"scale": "common", "standardize": False},
        "leave it out with `standardize = false`",
    ),
    ({"ridge": -1.0}, "`ridge` must be a positive number"),
    ({"ridge": float("inf")}, "`ridge` must be a positive number"),
    ({"scale": "rows"}, "scale"),
    ({"folds": "columns"}, "folds"),
    ({"size": "big"}, "size"),
    ({"n_layers": "many"}, "`n_layers` must be a whole number"),
    ({"members": 0}, "`members` must be a whole number of at least 1"),
    ({"members": 101}, "`members` must be at most 100"),
    ({"class_weight": (1.0,)}, "positive number for each of the 2 classes"),
    ({"class_weight": (1.0, 0.0)}, "positive number for each of the 2 classes"),
    ({"class_weight": "even"}, "`class_weight` must be"),
]


@pytest.mark.parametrize(("given", "said"), CONTRADICTIONS, ids=str)
def test_settings_that_contradict_each_other_are_refused(given, said):
    with pytest.raises(PlanError, match=said):
        Plan(n_features=3, classes=("a", "b"), **given)


def test_folds_without_samples_are_told_of():
    rng = np.random.default_rng(0)
    X, T, _ = draw(rng, J=20)
    found = simulate([Shard(X, T)], plan_of(X, T, members=20, width=5), ALONE)
    folds = np.bincount(folds_of(X, 20, seed=0), minlength=20)
    assert found.history[0].unvalidated == np.count_nonzero(folds == 0) > 0
    assert all(record.unvalidated == 0 for record in found.history[1:])


def test_members_that_never_see_a_class_are_told_of():
    rng = np.random.default_rng(0)
    X, T, _ = draw(rng, Q=3, J=60)
    T[:, T[2] == 1] = np.array([[1.0], [0.0], [0.0]])
    T[:, 0] = [0, 0, 1]  # the only sample of its class
    found = simulate([Shard(X, T)], plan_of(X, T, members=5, width=5), ALONE)
    assert found.history[0].unaware == 1
    X, T, _ = draw(rng, Q=0, J=60)
    found = simulate([Shard(X, T)], plan_of(X, T, members=5, width=5), ALONE)
    assert found.history[0].unaware == 0


def test_samples_that_no_member_leaves_out_validate_nothing():
    X = np.repeat([[1.0], [2.0]], 40, axis=1)
    T = np.tile(np.eye(2), 20)
    for seed in range(20):  # until the fold of all samples is nobody's
        plan = plan_of(X, T, members=2, width=5, seed=seed)
        found = simulate([Shard(X, T)], plan, ALONE)
        if found.history[0].unvalidated == 2:
            break
    record = found.history[found.networks[0].plan.n_layers]
    assert record.validation_error_db is record.validation_accuracy is None
    assert "same for every sample" in warning_about(record)


@pytest.mark.parametrize("weight", [1e-60, 1e150])
def test_weights_whose_squares_cannot_be_added_up_are_refused(weight):
    plan = plan_of(X, T, n_layers="auto", units="integer")
    weights = weight * (1 + RNG.uniform(size=J))
    with pytest.raises(DataError, match="dense"):
        simulate([Shard(X, T, weights)], plan, ALONE)
