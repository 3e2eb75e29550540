from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from dssfn import DSSFNClassifier, SSFNClassifier
from dssfn.errors import DataError, InputError, PlanError, TopologyError
from dssfn.topology import build_topology, metropolis

SMALL = {"n_layers": 2, "width": 30, "random_state": 0}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, random_state=0, stratify=y)


@pytest.mark.parametrize("partition", ["iid", "by-class", "dirichlet:0.1"])
def test_decentralised_model_is_the_centralised_one_however_split(digits, partition):
    X, X_test, y, _ = digits
    settings = {"n_layers": 3, "width": 200, "random_state": 1}
    one = SSFNClassifier(**settings).fit(X, y)
    many = DSSFNClassifier(n_nodes=7, partition=partition, **settings).fit(X, y)
    difference = np.linalg.norm(one.network_.output - many.network_.output)
    # Averages to 1e-12, amplified by the layers' condition.
    assert difference <= 1e-8 * np.linalg.norm(one.network_.output)
    assert many.node_spread_ <= 1e-9
    np.testing.assert_array_equal(one.predict(X_test), many.predict(X_test))


def test_digits_are_learned(digits):
    X, X_test, y, y_test = digits
    model = DSSFNClassifier(n_nodes=5, n_layers=3, width=300, random_state=0)
    assert model.fit(X, y).score(X_test, y_test) > 0.96


def test_same_seed_same_bits_and_another_seed_another_network(digits):
    X, _, y, _ = digits
    fits = [
        DSSFNClassifier(n_nodes=5, n_layers=2, width=100, random_state=s).fit(X, y)
        for s in (3, 3, 4)
    ]
    bits = [fit.network_.output.tobytes() for fit in fits]
    assert bits[0] == bits[1] != bits[2]


def test_probabilities_follow_the_predictions_and_are_calibrated_enough(digits):
    X, X_test, y, y_test = digits
    model = SSFNClassifier(n_layers=3, width=300, random_state=0).fit(X, y)
    P = model.predict_proba(X_test)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    assert P.min() > 0
    np.testing.assert_array_equal(model.classes_[P.argmax(1)], model.predict(X_test))
    assert log_loss(y_test, P) < 0.25


def test_two_classes_have_one_decision_value():
    X, y = load_breast_cancer(return_X_y=True)
    model = SSFNClassifier(**SMALL).fit(X, y)
    decision = model.decision_function(X)
    assert decision.shape == (len(y),)
    np.testing.assert_array_equal(model.predict(X), (decision > 0).astype(int))


def test_grid_search_over_a_pipeline():
    X, y = load_iris(return_X_y=True)
    pipe = make_pipeline(MinMaxScaler(), DSSFNClassifier(n_nodes=3, **SMALL))
    grid = {
        "dssfnclassifier__width": np.array([10, 40]),
        "dssfnclassifier__alpha": [1, 2],
    }
    search = GridSearchCV(pipe, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.9


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_keep_their_column_names(frame):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = frame({name.split(" (")[0]: X[name].to_numpy() for name in X.columns})
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    model = SSFNClassifier(**SMALL).fit(X, labels)
    assert model.network_.plan.feature_names[0] == "sepal length"
    assert set(model.predict(X)) == set(labels)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[list(X.columns)[::-1]])


def test_any_networkx_graph_serves_as_topology():
    X, y = load_iris(return_X_y=True)
    graph = nx.petersen_graph()
    model = DSSFNClassifier(n_nodes=10, topology=graph, **SMALL).fit(X, y)
    assert model.score(X, y) > 0.9
    with pytest.raises(TopologyError, match="n_nodes"):
        DSSFNClassifier(n_nodes=9, topology=graph, **SMALL).fit(X, y)


@pytest.mark.parametrize(
    "graph", [nx.cubical_graph(), metropolis(nx.cubical_graph())], ids=["graph", "H"]
)
def test_a_graph_decides_how_many_nodes_there_are_unless_told_otherwise(graph):
    X, y = load_iris(return_X_y=True)
    nodes = np.arange(150) % 8
    for n_nodes in (None, 8, np.int64(8)):
        model = DSSFNClassifier(n_nodes, topology=graph, partition=nodes, **SMALL)
        assert model.fit(X, y).node_spread_ < 1e-9
    with pytest.raises(
        TopologyError, match="must be 8, as in `topology`, or left out, got 5"
    ):
        DSSFNClassifier(n_nodes=5, topology=graph, **SMALL).fit(X, y)


def test_a_named_graph_has_ten_nodes_unless_told_otherwise():
    X, y = load_iris(return_X_y=True)
    left_open, ten = (
        DSSFNClassifier(*told, partition=np.arange(150) % 10, **SMALL).fit(X, y)
        for told in ([], [10])
    )
    assert left_open.traffic_ == ten.traffic_
    np.testing.assert_array_equal(left_open.network_.output, ten.network_.output)


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (nx.to_numpy_array(nx.cubical_graph()), "positive diagonal"),
        (["circular"], "`topology` must be the name of a graph"),
        (7, "`topology` must be the name of a graph"),
        (nx.DiGraph([(0, 1)]), "undirected"),
    ],
)
def test_a_topology_that_is_no_graph_is_refused(graph, said):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TopologyError, match=said):
        DSSFNClassifier(topology=graph, **SMALL).fit(X, y)


def test_paper_preset_leaves_explicit_settings_alone():
    X, y = load_iris(return_X_y=True)
    model = DSSFNClassifier(n_nodes=3, preset="paper", gain=2.0, **SMALL).fit(X, y)
    plan = model.network_.plan
    assert (plan.solver, plan.standardize, plan.gain) == ("admm", False, 2.0)
    assert model.history_[-1].iterations == 100 + 1  # one more to agree on mu


def test_history_and_traffic_are_reported():
    X, y = load_iris(return_X_y=True)
    model = DSSFNClassifier(n_nodes=4, n_rounds=5, **SMALL).fit(X, y)
    assert [record.layer for record in model.history_] == [0, 1, 2]
    # Three averagings for the scaling, one per layer, one for the last layer's cost.
    assert model.traffic_.rounds == 5 * (3 + 3 + 1)


def test_constant_columns_and_zero_samples_work():
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.full((150, 1), 7.25), np.zeros((150, 1))])
    X[0] = 0
    for preset in (None, "paper"):
        model = DSSFNClassifier(n_nodes=3, preset=preset, **SMALL).fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
        assert model.node_spread_ < 1e-9


def test_a_node_may_hold_one_sample_of_one_class():
    X, y = load_iris(return_X_y=True)
    nodes = np.zeros(150, dtype=int)
    nodes[0] = 1
    model = DSSFNClassifier(n_nodes=2, partition=nodes, **SMALL).fit(X, y)
    one = SSFNClassifier(**SMALL).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), one.predict(X))


def test_an_estimator_from_a_network_predicts_the_same():
    X, y = load_iris(return_X_y=True)
    model = DSSFNClassifier(n_nodes=3, **SMALL).fit(X, y)
    again = DSSFNClassifier.from_network(model.network_)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.get_params()["width"] == 30


@pytest.mark.parametrize(
    ("settings", "error", "word"),
    [
        ({"width": 0}, PlanError, "width"),
        ({"n_layers": -1}, PlanError, "n_layers"),
        ({"alpha": 0.0}, PlanError, "alpha"),
        ({"gain": -1.0}, PlanError, "gain"),
        ({"solver": "magic"}, PlanError, "solver"),
        ({"consensus": "magic"}, PlanError, "consensus"),
        ({"tol": 2.0}, PlanError, "tol"),
        ({"n_rounds": 0}, PlanError, "n_rounds"),
        ({"n_iter": 1.5}, PlanError, "n_iter"),
        ({"mu_input": float("nan")}, PlanError, "mu_input"),
        ({"preset": "papper"}, PlanError, "preset"),
        ({"random_state": -1}, PlanError, "^`random_state` must be .* got -1"),
        ({"image_shape": 28}, PlanError, r"a tuple such as \(28, 28\), got 28"),
        ({"n_nodes": 0}, TopologyError, "n_nodes"),
        ({"n_nodes": 151}, DataError, "151 nodes for 150 samples"),
        ({"degree": 3}, TopologyError, "degree"),
        ({"topology": "ring"}, TopologyError, "circular"),
        ({"partition": "by_class"}, PlanError, "by-class"),
    ],
)
def test_wrong_settings_are_named(settings, error, word):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(error, match=word):
        DSSFNClassifier(**{"n_nodes": 4, **SMALL, **settings}).fit(X, y)


def test_a_path_is_not_a_network():
    with pytest.raises(InputError, match=r"got str\. `dssfn\.load_network` reads"):
        SSFNClassifier.from_network("model.safetensors")


def test_a_single_class_is_refused():
    with pytest.raises(DataError, match=r"two classes, got one class: 1\.$"):
        SSFNClassifier(**SMALL).fit(np.ones((4, 2)), [1, 1, 1, 1])


def test_a_failed_fit_leaves_the_estimator_as_it_was():
    X, y = load_iris(return_X_y=True)
    model = DSSFNClassifier(3, **SMALL).fit(X, y)
    before = model.predict(X)
    with pytest.raises(PlanError):
        model.set_params(partition="zz").fit(X, y > 0)
    np.testing.assert_array_equal(model.predict(X), before)


def test_labels_must_be_what_a_model_file_can_hold():
    X, y = load_iris(return_X_y=True)
    days = np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="datetime64[D]")
    with pytest.raises(DataError, match="astype"):
        SSFNClassifier(**SMALL).fit(X, days[y])


@pytest.mark.parametrize(
    "settings",
    [
        {"n_layers": -1}, {"width": "much"}, {"members": 1, "width": "auto"},
        {"n_layers": "auto", "preset": "paper"}, {"preset": [1, 2]}, {"preset": 0},
        {"gain": np.array([1.0, 2.0])}, {"partition": [[1, 2], [3]]},
        {"topology": nx.path_graph(4), "degree": 2},
    ],
)  # fmt: skip
def test_odd_settings_are_input_errors_too(settings):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError):
        DSSFNClassifier(**{"n_nodes": 4, **SMALL, **settings}).fit(X, y)


def test_a_prepared_topology_is_taken_as_it_is():
    X, y = load_iris(return_X_y=True)
    star = build_topology("star", 4)
    assert DSSFNClassifier(4, topology=star, **SMALL).fit(X, y).score(X, y) > 0.9


def test_a_memory_budget_does_not_change_the_predictions():
    X, y = load_iris(return_X_y=True)
    settings = {"n_layers": 2, "width": 60, "random_state": 0}
    free = SSFNClassifier(**settings).fit(X, y)
    for memory in (4_000_000, "4MB"):
        bounded = SSFNClassifier(**settings, memory=memory).fit(X, y)
        np.testing.assert_allclose(
            bounded.decision_function(X), free.decision_function(X), atol=1e-6
        )
    with pytest.raises(ValueError, match="`memory`"):
        SSFNClassifier(**settings, memory=10).fit(X, y)
