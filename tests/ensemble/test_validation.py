"""What nodes agree on about validation samples."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dssfn import Plan, Shard, build_topology, simulate
from dssfn.driver import drive
from dssfn.ensemble import largest_found, scores_of
from dssfn.ensemble.validation import BY_NODE, SUMS
from dssfn.errors import PlanError
from dssfn.exact.limbs import N_LIMBS
from dssfn.hosting import Book
from dssfn.lockstep import Workers
from dssfn.planning import settle
from dssfn.scores import Tally
from dssfn.scoring import measure_for, predictions, validated
from dssfn.shard import one_hot
from dssfn.simulator import run_programs
from dssfn.training import train_node
from dssfn.transports import memory_network
from tests.support.totals import all_sums
from tests.support.trainings import ALONE

SMALL = {"n_layers": 2, "width": 20, "members": 5}


def samples(n_samples=150, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4, n_samples))
    codes = np.digitize(X[0] + X[1] ** 2 + 0.3 * rng.normal(size=n_samples), [0.3, 1.3])
    return X, np.minimum(codes, n_classes - 1)


def shards_of(X, T, n_nodes, weights=None):
    """Nodes with different numbers of samples."""
    parts = np.split(np.arange(X.shape[1]), [10, 45, 80, 120][: n_nodes - 1])
    return [
        Shard(X[:, rows], T[:, rows], None if weights is None else weights[rows])
        for rows in parts
    ]


def plan_of(n_classes=3, **settings):
    return Plan(n_features=4, classes=tuple(range(n_classes)), **SMALL | settings)


def trained(n_nodes=4, *, weights=None, **settings):
    X, codes = samples()
    shards = shards_of(X, one_hot(codes, 3), n_nodes, weights)
    return shards, simulate(
        shards, plan_of(**settings), build_topology("path", n_nodes)
    )


def by_hand(network, shards):
    """Score each sample with the model itself, by the member that left it out."""
    tallies = []
    for node, shard in enumerate(shards):
        tally = Tally(measure_for(network))
        scores = network.validation_scores(shard.X, node=node)
        known = np.isfinite(scores[0])
        weights = None if shard.weights is None else shard.weights[known]
        predicted = predictions(network, scores[:, known])
        tally.add(predicted, shard.T[:, known], weights)
        tallies.append(tally)
    return tallies


def assert_equal_scores(found, expected, names, tolerance=1e-9):
    for name in names:
        # The training's own scores and the model's differ by rounding.
        said = pytest.approx(getattr(expected, name), abs=tolerance)
        assert getattr(found, name) == said


FIGURES = ("n", "accuracy", "balanced_accuracy", "log_loss", "calibration_error")


@pytest.mark.parametrize("folds", ["rows", "nodes"])
@pytest.mark.parametrize("members", [3, 5])
def test_agreed_scores_are_those_of_the_members_that_left_samples_out(folds, members):
    shards, simulation = trained(folds=folds, members=members)
    tallies = by_hand(simulation.networks[0], shards)
    total = sum(tally.sums for tally in tallies)
    expected = tallies[0].measure.scores(total)
    assert_equal_scores(simulation.scores.total, expected, FIGURES)
    if folds == "rows" and members == 3:  # two folds of five are left out by nobody
        assert 0 < expected.n < 150
    else:
        assert expected.n == 150
    assert simulation.scores.by_node == ()


@pytest.mark.parametrize("folds", ["rows", "nodes"])
def test_published_scores_have_a_row_for_every_node(folds):
    shards, simulation = trained(folds=folds, publish_scores=True)
    found = simulation.scores.by_node
    tallies = by_hand(simulation.networks[0], shards)
    assert len(found) == 4
    for one, tally in zip(found, tallies, strict=True):
        assert_equal_scores(one, tally.scores(), (*FIGURES, "auc"))


def test_the_row_of_a_node_is_by_the_member_that_was_not_trained_on_it():
    shards, simulation = trained(
        folds="nodes", members="auto", n_layers="auto", publish_scores=True
    )
    network = simulation.networks[0]
    assert network.n_members == 4
    for node, (shard, row) in enumerate(
        zip(shards, simulation.scores.by_node, strict=True)
    ):
        says = network.member_scores(shard.X)[node].argmax(axis=0)
        assert row.n == shard.n_samples
        assert row.accuracy == pytest.approx(
            np.mean(says == shard.T.argmax(axis=0)), abs=1e-12
        )


def test_class_weights_change_the_model_but_not_how_samples_count():
    shards, simulation = trained(class_weight="balanced")
    tallies = by_hand(simulation.networks[0], shards)
    expected = tallies[0].measure.scores(sum(tally.sums for tally in tallies))
    assert simulation.scores.total.n == 150
    assert_equal_scores(simulation.scores.total, expected, FIGURES)


def test_a_weight_counts_as_so_many_samples():
    X, codes = samples()
    T = one_hot(codes, 3)
    weights = 1.0 + np.arange(150) % 3
    weighted = simulate([Shard(X, T, weights)], plan_of(), ALONE)
    often = np.repeat(np.arange(150), weights.astype(int))
    repeated = simulate([Shard(X[:, often], T[:, often])], plan_of(), ALONE)
    assert weighted.scores.total.n == 300
    assert_equal_scores(weighted.scores.total, repeated.scores.total, FIGURES)


@pytest.mark.parametrize("units", ["integer", "dense"])
def test_scores_of_a_regression_are_in_the_units_of_its_targets(units):
    X, _ = samples()
    noise = np.random.default_rng(5).normal(size=150)
    T = np.stack([1000 + 50 * (X[0] + 0.1 * noise), -3 + X[1] ** 2])
    settings = SMALL | {"publish_scores": True, "units": units}
    plan = Plan(n_features=4, targets=("a", "b"), **settings)
    shards = shards_of(X, T, 4)
    simulation = simulate(shards, plan, build_topology("path", 4))
    tallies = by_hand(simulation.networks[0], shards)
    expected = tallies[0].measure.scores(sum(tally.sums for tally in tallies))
    assert simulation.scores.total.r2 > 0.7
    assert simulation.scores.total.rmse > 2  # half of 50 times the noise
    # Integers have targets that are rounded to 2^-17 of a deviation, which is 50.
    tolerance = 50 * 2.0**-17 if units == "integer" else 1e-9
    figures = ("n", "r2", "mae", "rmse"), tolerance
    assert_equal_scores(simulation.scores.total, expected, *figures)
    for one, tally in zip(simulation.scores.by_node, tallies, strict=True):
        assert_equal_scores(one, tally.scores(), *figures)


def test_many_classes_send_right_answers_instead_of_a_matrix():
    rng = np.random.default_rng(1)
    n_classes = 130
    X = rng.normal(size=(4, 260))
    T = one_hot(np.arange(260) % n_classes, n_classes)
    plan = plan_of(n_classes, n_layers=0, publish_scores=True)
    shards = [Shard(X[:, m::2], T[:, m::2]) for m in range(2)]
    simulation = simulate(shards, plan, build_topology("path", 2))
    tallies = by_hand(simulation.networks[0], shards)
    assert len(tallies[0].sums) == 2 * n_classes + 1 + 45
    expected = tallies[0].measure.scores(sum(tally.sums for tally in tallies))
    assert_equal_scores(simulation.scores.total, expected, FIGURES)


@pytest.mark.parametrize("settings", [{"members": 1}, {"size": "ssfn", "members": 1}])
def test_one_network_has_no_validation_samples_and_agrees_on_nothing(settings):
    _, simulation = trained(**settings)
    assert simulation.scores is None


def messages_of(monkeypatch, **settings):
    sizes = []
    account = Book.account

    def spy(self, averaging, message):
        sizes.append(message.size)
        account(self, averaging, message)

    monkeypatch.setattr(Book, "account", spy)
    trained(**settings)
    return sizes


@pytest.mark.parametrize("publish_scores", [False, True])
def test_a_message_has_a_row_per_node_only_if_the_plan_publishes_them(
    monkeypatch, publish_scores
):
    sizes = messages_of(monkeypatch, publish_scores=publish_scores)
    rows = 4 * (1 + 2 * 5) if publish_scores else 0
    assert sizes[-1] == N_LIMBS * (9 + 1 + 45 + rows)
    plan = plan_of(publish_scores=publish_scores)
    assert max(sizes) <= largest_found(plan, 4)


class Recorded:
    """A transport that keeps the letters of its host by their arc."""

    def __init__(self, transport, kept):
        self.transport, self.kept = transport, kept

    def exchange(self, tag, letters, expected):
        for arc, values in letters.items():
            self.kept.setdefault(arc, []).append(values.copy())
        return self.transport.exchange(tag, letters, expected)


def letters_of(shards, plan):
    """All letters of a training on a path, by arc, and a model."""
    path = build_topology("path", len(shards))
    plan, averaging = settle(plan, path)
    nodes, kept = range(len(shards)), {}
    arcs = [(i, j) for i in nodes for j in path.neighbours(i)]

    def run(node, transport):
        program = train_node(shards[node], plan, n_nodes=len(shards), node=node)
        return drive({node: program}, averaging, Recorded(transport, kept))[node]

    with ThreadPoolExecutor(len(shards)) as pool:
        transports = memory_network([[node] for node in nodes], arcs)
        networks = list(pool.map(run, nodes, transports))
    return kept, networks[0]


@pytest.mark.parametrize("publish_scores", [False, True])
def test_no_letter_passes_on_what_a_neighbour_scored_unless_it_is_published(
    publish_scores,
):
    X, codes = samples()
    shards = shards_of(X, one_hot(codes, 3), 3)  # the second is the root of the tree
    kept, network = letters_of(shards, plan_of(publish_scores=publish_scores))
    own = validated(network, shards[0], 0)
    figures = (own.accuracy, own.balanced_accuracy, own.auc, own.log_loss)
    passed_on = np.concatenate([all_sums(one) for one in kept[1, 2]])
    assert passed_on.size > 1000
    for figure in figures:
        # The training's own scores and the model's differ by rounding.
        is_there = bool(np.isclose(passed_on, figure, rtol=1e-9, atol=0).any())
        assert is_there == publish_scores
    values = set(X.ravel().tolist())
    for letters in kept.values():
        assert not any(values & set(all_sums(one).tolist()) for one in letters)


def test_a_federation_of_many_small_models_can_send_its_scores():
    plan = plan_of(n_layers=0, members=2, publish_scores=True)
    assert largest_found(plan, 2000) >= 2000 * (1 + 2 * 5) + 9 + 1 + 45


def test_a_training_that_goes_on_after_its_last_layer_agrees_on_the_same_scores():
    X, codes = samples()
    (shard,) = shards_of(X, one_hot(codes, 3), 1)
    plan, averaging = settle(plan_of(publish_scores=True), ALONE)
    seen = []

    def run(start=None):
        program = train_node(
            shard, plan, n_nodes=1, start=start, on_progress=seen.append
        )
        with Workers(1) as workers:
            run_programs([program], averaging, workers)
        return seen[-1]

    whole = run()
    assert set(whole.stages[-1]) == {"slope", SUMS, BY_NODE}
    for n_stages in range(1, len(whole.stages)):
        again = run(whole.first(n_stages))
        assert again.flat().tobytes() == whole.flat().tobytes()
        assert scores_of(plan, again) == scores_of(plan, whole)


def test_of_one_node_nobody_is_left_to_train_on():
    X, codes = samples()
    shards = shards_of(X, one_hot(codes, 3), 1)
    with pytest.raises(PlanError, match="nothing is left to train on"):
        simulate(shards, plan_of(folds="nodes"), ALONE)


@pytest.mark.parametrize("members", ["auto", 2, 5])
def test_two_nodes_can_be_left_out_in_turn(members):
    X, codes = samples()
    shards = shards_of(X, one_hot(codes, 3), 2)
    plan = plan_of(folds="nodes", members=members, n_layers="auto", publish_scores=True)
    simulation = simulate(shards, plan, build_topology("path", 2))
    assert [row.n for row in simulation.scores.by_node] == [10, 140]


def test_nodes_of_one_class_each_can_be_left_out_in_turn():
    X, codes = samples()
    shards = [Shard(X[:, codes == q], one_hot(codes[codes == q], 3)) for q in range(3)]
    plan = plan_of(folds="nodes", members="auto", n_layers="auto", publish_scores=True)
    simulation = simulate(shards, plan, build_topology("path", 3))
    rows = simulation.scores.by_node
    assert [row.n for row in rows] == np.bincount(codes).tolist()
    # A member that never saw a class does not predict it.
    assert all(row.accuracy < 0.5 for row in rows)
    assert all(row.auc is None for row in rows)


def test_more_than_twenty_nodes_are_left_out_several_at_a_time():
    X, codes = samples()
    T = one_hot(codes, 3)
    shards = [Shard(X[:, m::25], T[:, m::25]) for m in range(25)]
    plan = plan_of(folds="nodes", members="auto", n_layers="auto", publish_scores=True)
    simulation = simulate(shards, plan, build_topology("circular", 25))
    assert simulation.networks[0].n_members == 20
    assert len(simulation.scores.by_node) == 25
    assert simulation.scores.total.n == 150


def test_without_hidden_layers_the_scale_is_chosen_all_the_same():
    shards, simulation = trained(n_layers=0)
    tallies = by_hand(simulation.networks[0], shards)
    expected = tallies[0].measure.scores(sum(tally.sums for tally in tallies))
    assert_equal_scores(simulation.scores.total, expected, FIGURES)


@pytest.mark.parametrize("members", [2, 3, 5, 7])
def test_the_record_of_a_layer_counts_validation_samples_alone(members):
    """With fewer members than folds, some samples are left out by nobody."""
    _, simulation = trained(members=members)
    best = simulation.history[simulation.networks[0].plan.depth]
    found = simulation.scores.total.accuracy
    assert best.validation_accuracy == pytest.approx(found, rel=1e-12)
    assert best.validation_error_db <= simulation.history[0].validation_error_db < 0
