"""Rows become a grid of data sets and models."""

from __future__ import annotations

import pytest

from benchmarks.accuracy.grid import grid_of
from tests.support.accuracy_sample import row

MODELS = ("ssfn", "dssfn", "forest")


def made(data, model, *values):
    return [
        row("sets", data, model, seed, accuracy=value)
        for seed, value in enumerate(values)
    ]


def test_a_grid_has_the_means_over_the_seeds():
    grid = grid_of(made("iris", "ssfn", 0.5, 0.7), "accuracy", MODELS)
    assert grid.mean("ssfn") == pytest.approx(0.6)


def test_sets_that_not_all_models_have_are_left_out_and_models_without_rows_too():
    rows = [*made("iris", "ssfn", 0.5), *made("iris", "forest", 0.6)]
    rows += made("wine", "ssfn", 0.9)
    grid = grid_of(rows, "accuracy", MODELS)
    assert grid.sets == ("iris",)
    assert grid.models == ("ssfn", "forest")


def test_dssfn_is_ranked_in_the_place_of_ssfn():
    rows = [*made("iris", "ssfn", 0.5), *made("iris", "dssfn", 0.7)]
    rows += made("iris", "forest", 0.6)
    ranks = grid_of(rows, "accuracy", MODELS).ranks()
    assert ranks == {"ssfn": 2, "dssfn": 1, "forest": 1}


def test_a_grid_of_nothing_is_empty():
    assert grid_of([], "accuracy", MODELS).values.shape == (0, 0)


def test_models_that_share_no_set_are_not_compared():
    rows = [*made("iris", "ssfn", 0.5), *made("wine", "forest", 0.6)]
    assert grid_of(rows, "accuracy", MODELS).models == ()
