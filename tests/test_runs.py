from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dssfn import DSSFNClassifier, build_topology
from dssfn.datasets import Dataset
from dssfn.errors import PlanError
from dssfn.runs import divided, execute, make_plan
from dssfn.topology import LARGEST_SPECTRUM


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 4)), np.array(["no", "yes"])[rng.integers(2, size=60)]
    return Dataset("made up", X[:45], y[:45], X[45:], y[45:])


@pytest.mark.parametrize("how", ["iid", "by-class", "dirichlet:1"])
def test_an_estimator_and_an_experiment_learn_the_same_bits(data, how):
    plan = make_plan(data, n_layers=2, width=10, seed=3)
    run = divided(data, plan, build_topology("path", 3), how)
    outcome = execute(run, check_equivalence=False, on_layer=None)
    model = DSSFNClassifier(
        3, topology="path", partition=how, n_layers=2, width=10, random_state=3
    ).fit(data.X_train, data.y_train)
    for mine, theirs in zip(
        outcome.network.outputs, model.network_.outputs, strict=True
    ):
        assert mine.tobytes() == theirs.tobytes()
    predicted = model.classes_[outcome.tested.predicted]
    assert (model.predict(data.X_test) == predicted).all()


def test_a_large_network_is_trained_and_summed_up_without_a_spectrum():
    rng, M = np.random.default_rng(0), LARGEST_SPECTRUM + 1
    X, y = rng.normal(size=(M + 10, 2)), np.arange(M + 10) % 2
    data = Dataset("made up", X[:M], y[:M], X[M:], y[M:])
    plan = make_plan(data, n_layers=1, width=5)
    graph = build_topology("star", M)
    run = divided(data, plan, graph, "iid")
    result = execute(run, check_equivalence=False, on_layer=None).result
    assert result.communication.consensus == "tree"
    assert (result.graph.n_edges, result.graph.contraction) == (M - 1, None)
    assert not {"H", "eigenvalues"} & vars(graph).keys()


@pytest.fixture
def numbers():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(50, 4)), rng.normal(size=(50, 2))
    names = ("mass", "age")
    return Dataset("made up", X[:40], y[:40], X[40:], y[40:], targets=names)


def test_a_regression_divides_rows_of_numbers_into_targets_in_columns(numbers):
    plan = make_plan(numbers, n_layers=1, width=5)
    assert (plan.classes, plan.targets) == ((), ("mass", "age"))
    nodes = np.arange(40) % 3
    run = divided(numbers, plan, build_topology("path", 3), nodes)
    for node, shard in enumerate(run.shards):
        assert np.array_equal(shard.T, numbers.y_train[nodes == node].T)
    assert np.array_equal(run.test.T, numbers.y_test.T)


@pytest.mark.parametrize("how", ["by-class", "dirichlet:0.1"])
def test_a_regression_has_no_classes_to_divide_by(numbers, how):
    plan = make_plan(numbers, n_layers=1, width=5)
    with pytest.raises(PlanError, match=f"`partition`: {how} divides .* by class"):
        divided(numbers, plan, build_topology("path", 3), how)


def test_weights_go_with_their_samples(data):
    weights = np.arange(45.0)
    weighted = replace(data, weights=weights)
    plan = make_plan(weighted, n_layers=1, width=5, seed=3)
    run = divided(weighted, plan, build_topology("path", 3), "iid")
    at = {
        row.tobytes(): weight for row, weight in zip(data.X_train, weights, strict=True)
    }
    for shard in run.shards:
        columns = np.ascontiguousarray(shard.X.T)
        assert shard.weights.tolist() == [at[row.tobytes()] for row in columns]


@pytest.mark.parametrize("folds", ["rows", "nodes"])
def test_a_simulation_knows_every_nodes_scores_whatever_the_plan_publishes(data, folds):
    graph, rows = build_topology("path", 3), []
    for published in (False, True):
        plan = make_plan(data, width=10, folds=folds, publish_scores=published)
        run = divided(data, plan, graph, "iid")
        result = execute(run, check_equivalence=False, on_layer=None).result
        assert [row.node for row in result.scores.nodes] == ["0", "1", "2"]
        rows.append([row.scores for row in result.scores.nodes])
        assert sum(row.n for row in rows[-1]) == result.scores.total.n == 45
        assert result.here is None
    for mine, published in zip(*rows, strict=True):
        # The model's scores and those of the training differ by rounding.
        assert mine.log_loss == pytest.approx(published.log_loss, rel=1e-9)
        assert mine.accuracy == published.accuracy


def test_a_network_of_fixed_size_has_no_validation_scores(data):
    plan = make_plan(data, n_layers=2, width=10)
    run = divided(data, plan, build_topology("path", 3), "iid")
    assert execute(run, check_equivalence=False, on_layer=None).result.scores is None


def test_nodes_that_are_left_out_cannot_be_compared_with_one_machine(data):
    plan = make_plan(data, width=10, folds="nodes")
    run = divided(data, plan, build_topology("path", 3), "iid")
    with pytest.raises(PlanError, match="one machine cannot do"):
        execute(run, check_equivalence=True, on_layer=None)
