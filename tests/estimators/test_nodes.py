"""The nodes of samples, as names or numbers, and cross-validation with them."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score

from dssfn import DSSFNClassifier, DSSFNRegressor, build_topology
from dssfn.errors import InputError, PlanError, TopologyError

SMALL = {"n_layers": 2, "width": 30, "random_state": 0}
NAMES = np.array(["Basel", "Chur", "Genf"])[np.arange(150) % 3]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_a_name_is_as_good_as_a_number(iris):
    X, y = iris
    bits = set()
    for partition in (NAMES, np.arange(150) % 3, 10 * (np.arange(150) % 3) - 4):
        by_setting = DSSFNClassifier(partition=partition, **SMALL).fit(X, y)
        by_fit = DSSFNClassifier(**SMALL).fit(X, y, partition=partition)
        bits |= {fit.network_.output.tobytes() for fit in (by_setting, by_fit)}
    assert len(bits) == 1


@pytest.mark.parametrize("kind", [list, pd.Series, pd.Categorical])
def test_names_may_come_in_any_container(iris, kind):
    X, y = iris
    model = DSSFNClassifier(**SMALL).fit(X, y, partition=kind(NAMES))
    expected = DSSFNClassifier(partition=NAMES, **SMALL).fit(X, y)
    np.testing.assert_array_equal(model.network_.output, expected.network_.output)


def test_the_nodes_of_a_fit_take_the_place_of_the_setting(iris):
    X, y = iris
    model = DSSFNClassifier(partition="by-class", **SMALL)
    model.fit(X, y, partition=NAMES)
    assert model.partition == "by-class"
    three = DSSFNClassifier(3, partition=NAMES, **SMALL).fit(X, y)
    assert model.traffic_ == three.traffic_


def test_a_graph_of_names_says_who_talks_to_whom(iris):
    X, y = iris
    # Genf is in the middle of this path, although it comes last by name.
    graph = nx.path_graph(["Chur", "Genf", "Basel"])
    model = DSSFNClassifier(topology=graph, partition=NAMES, **SMALL).fit(X, y)
    middle = np.array([2, 0, 1])[np.arange(150) % 3]
    path = build_topology("path", 3)
    told = DSSFNClassifier(topology=path, partition=middle, **SMALL).fit(X, y)
    np.testing.assert_array_equal(model.network_.output, told.network_.output)


def test_cross_validation_divides_names_with_the_samples(iris, routing):
    X, y = iris
    model = DSSFNClassifier(**SMALL).set_fit_request(partition=True)
    scores = cross_val_score(model, X, y, cv=3, params={"partition": NAMES})
    assert scores.min() > 0.9


def test_a_node_may_be_missing_in_a_fold(iris, routing):
    X, y = iris
    names = np.array(["Basel", "Chur", "Genf"])[y]
    model = DSSFNClassifier(**SMALL).set_fit_request(partition=True)
    folds = [(np.flatnonzero(y != 2), np.flatnonzero(y == 0))]
    scores = cross_val_score(model, X, y, cv=folds, params={"partition": names})
    assert scores.tolist() == [1.0]


def test_weights_and_names_are_routed_together_through_a_search(iris, routing):
    X, y = iris
    model = DSSFNClassifier(**SMALL).set_fit_request(partition=True, sample_weight=True)
    model.set_score_request(sample_weight=False)
    search = GridSearchCV(model, {"width": [10, 40]}, cv=3)
    search.fit(X, y, partition=NAMES, sample_weight=np.ones(150))
    assert search.best_score_ > 0.9


def test_names_of_samples_without_weight_are_left_out(iris):
    X, y = iris
    weights = (NAMES != "Chur").astype(float)
    model = DSSFNClassifier(**SMALL).fit(X, y, weights, NAMES)
    keep = NAMES != "Chur"
    two = DSSFNClassifier(2, **SMALL).fit(X[keep], y[keep], partition=NAMES[keep])
    assert model.traffic_ == two.traffic_


def test_regressors_take_names_too(iris):
    X, _ = iris
    model = DSSFNRegressor(**SMALL).fit(X, X[:, 0], partition=NAMES)
    assert model.score(X, X[:, 0]) > 0.99


@pytest.mark.parametrize(
    ("settings", "partition", "error", "said"),
    [
        (
            {"n_nodes": 4},
            NAMES,
            PlanError,
            "as many nodes as the graph has, 4; got only `Basel`, `Chur`, `Genf`",
        ),
        (
            {"topology": nx.path_graph(4)},
            NAMES,
            PlanError,
            "as many nodes as the graph has, 4; got only",
        ),
        (
            {"n_nodes": 3},
            np.full(150, 9),
            PlanError,
            "must use every node from 0 to 2; got only `9`",
        ),
        ({"n_nodes": 2}, np.arange(150) % 3, PlanError, "0 to 1; got `0`, `1`, `2`"),
        (
            {"topology": nx.path_graph(["Chur", "Basel", "Genf"])},
            np.char.replace(NAMES, "Basel", "basel"),
            PlanError,
            "must name nodes of the graph, .*; got 'basel'",
        ),
        ({}, NAMES[:9], PlanError, r"each of the 150 samples, got shape \(9,\)"),
        ({}, NAMES[:, None], PlanError, r"got shape \(150, 1\)"),
        ({}, [[1, 2], [3]], PlanError, "the node of every sample"),
        ({}, np.arange(150) / 2, PlanError, "names or whole numbers"),
        ({}, [None, "a"] * 75, PlanError, "names of one type"),
        ({}, "by_class", PlanError, "by-class"),
        ({"n_nodes": 4, "topology": nx.path_graph(3)}, NAMES, TopologyError, "n_nodes"),
    ],
)
def test_a_partition_that_cannot_be_used_is_refused(
    iris, settings, partition, error, said
):
    X, y = iris
    with pytest.raises(error, match=said) as caught:
        DSSFNClassifier(**settings, **SMALL).fit(X, y, partition=partition)
    assert isinstance(caught.value, InputError)


def test_fewer_samples_than_ten_are_a_node_each(iris):
    X, y = iris
    few = np.r_[0:3, 50:53, 100:102]
    model = DSSFNClassifier(**SMALL).fit(X[few], y[few])
    eight = DSSFNClassifier(8, **SMALL).fit(X[few], y[few])
    assert model.traffic_ == eight.traffic_
