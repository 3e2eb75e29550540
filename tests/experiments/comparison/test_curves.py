import json

import numpy as np
import pytest

from dssfn.consensus import Tree
from dssfn.experiments.comparison import ComparisonCase
from dssfn.experiments.comparison.curves import (
    dpsgd_curve,
    dssfn_curve,
    fedavg_curve,
)
from dssfn.topology import build_topology

SMALL = ComparisonCase(
    "iris",
    (("small", 2, 20, "tree"),),
    hidden=10,
    n_averages=6,
    n_mixings=8,
    n_nodes=6,
    degree=1,
)
SPLITS = ("iid", "by-class", "dirichlet:0.5")


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("method", ["fedavg", "dpsgd"])
def test_a_curve_grows_in_bytes_by_what_an_average_sends(method, split):
    graph = build_topology("circular", 6, degree=1)
    if method == "fedavg":
        row = fedavg_curve(SMALL, split, 0, None, rate=0.1, epochs=2)
        n_letters = Tree(graph).n_letters
    else:
        row = dpsgd_curve(SMALL, split, 0, None, rate=0.1, steps=1)
        n_letters = graph.n_links
    size = 4 * 10 + 10 + 10 * 3 + 3
    sent = row["bytes_total"]
    scaling = 8 * Tree(graph).n_letters * (1 + 5 * 4)
    # decentralised SGD ends with one average of the nodes' weights
    at_the_end = 8 * Tree(graph).n_letters * size * (method == "dpsgd")
    assert sent[0] == scaling + at_the_end + 8 * n_letters * size
    assert set(np.diff(sent)) == {8 * n_letters * size}
    assert len(row["test_accuracy"]) == len(row["worst_node_accuracy"]) == len(sent)
    assert row["best_accuracy"] == max(row["test_accuracy"])
    json.dumps(row, allow_nan=False)


def test_steps_that_are_too_large_end_a_curve():
    row = fedavg_curve(SMALL, "iid", 0, None, rate=1e80, epochs=5)
    assert row["last_accuracy"] is None
    assert row["bytes_total"] == []


def test_a_seed_fixes_a_curve():
    once, twice = (
        dpsgd_curve(SMALL, "iid", 3, None, rate=0.1, steps=2) for _ in range(2)
    )
    assert once == twice


def test_the_curve_of_dssfn_is_the_same_for_every_split():
    settings = {"n_layers": 2, "width": 20, "consensus": "tree"}
    rows = [dssfn_curve(SMALL, split, 0, None, **settings) for split in SPLITS]
    for row in rows:
        assert row["test_accuracy"] == rows[0]["test_accuracy"]
        assert row["bytes_total"] == rows[0]["bytes_total"]
        assert row["predictions_sha256"] == rows[0]["predictions_sha256"]
        assert row["prediction_agreement"] == 1.0
        assert np.diff(row["bytes_total"]).min() > 0
        assert len(row["test_accuracy"]) == 3
