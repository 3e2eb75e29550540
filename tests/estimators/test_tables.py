"""Estimators take tables with gaps and categories as they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dssfn import (
    DSSFNClassifier,
    SSFNClassifier,
    SSFNRegressor,
    load_network,
    save_network,
)
from dssfn.datasets import open_tables
from dssfn.datasets.contents import read_encoded
from dssfn.errors import DataError, PlanError
from dssfn.runs import make_plan
from dssfn.schema import Column, Schema, Target
from dssfn.simulator import simulate
from dssfn.topology import build_topology

SMALL = {"members": 3, "n_layers": 1, "width": 20, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    """A class that hangs on a category, on a gap and on a number."""
    rng = np.random.default_rng(0)
    n = 300
    kind = rng.choice(["ash", "oak", "elm"], n)
    height, width = rng.normal(size=(2, n))
    is_gap = rng.random(n) < 0.3
    score = 2.0 * (kind == "oak") + height - 2.0 * is_gap + 0.3 * rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "kind": pd.Categorical(kind),
            "height": height,
            "width": np.where(is_gap, np.nan, width),
            "old": rng.random(n) < 0.5,
        }
    )
    return frame, np.where(score > 0, "tall", "low")


def test_categories_and_gaps_are_learned_from(table):
    X, y = table
    model = SSFNClassifier(**SMALL).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.85
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == list(X)
    assert model.network_.plan.feature_names == (
        "kind=ash", "kind=elm", "kind=oak", "height", "width", "width missing", "old",
    )  # fmt: skip


def test_the_same_table_of_polars_gives_the_same_model(table):
    X, y = table
    other = pl.DataFrame(
        {
            "kind": pl.Series(X["kind"].tolist(), dtype=pl.Categorical),
            "height": X["height"].to_numpy(),
            "width": [None if np.isnan(v) else v for v in X["width"]],
            "old": X["old"].tolist(),
        }
    )
    one, two = SSFNClassifier(**SMALL).fit(X, y), SSFNClassifier(**SMALL).fit(other, y)
    assert one.network_.plan == two.network_.plan
    assert one.decision_function(X).tobytes() == two.decision_function(other).tobytes()


@pytest.mark.parametrize("chosen", [[0], [True, False], ["kind"]])
def test_strings_are_categories_by_request(table, chosen):
    X, y = table
    text = pd.DataFrame({"kind": X["kind"].astype(str), "height": X["height"]})
    with pytest.raises(ValueError, match="Column `kind` of `X` holds text"):
        SSFNClassifier(**SMALL).fit(text, y)
    model = SSFNClassifier(**SMALL, categorical_features=chosen).fit(text, y)
    assert model.network_.plan.feature_names[:2] == ("kind=ash", "kind=elm")
    array = text.to_numpy(dtype=object)
    if chosen != ["kind"]:
        plain = SSFNClassifier(**SMALL, categorical_features=chosen).fit(array, y)
        assert (plain.predict(array) == model.predict(text)).all()


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("from_types", "must be \"from_dtype\", None"),
        (["kinds"], "must be columns of `X`.*Did you mean `kind`"),
        ([4], "from 0 to 3, got 4"),
        ([True], "each of the 4 columns"),
    ],
)  # fmt: skip
def test_columns_that_are_not_there_are_refused(table, chosen, message):
    X, y = table
    with pytest.raises(PlanError, match=message):
        SSFNClassifier(**SMALL, categorical_features=chosen).fit(X, y)


def test_names_are_needed_to_choose_columns_by_name(table):
    X, y = table
    with pytest.raises(PlanError, match="has no names"):
        SSFNClassifier(categorical_features=["kind"]).fit(X[["height"]].to_numpy(), y)


def test_values_that_are_no_category_are_refused(table):
    X, y = table
    odd = X.assign(kind=pd.Series([(1, 2)] * len(X), dtype="object"))
    with pytest.raises(DataError, match=r"`kind`: categories must be text.*tuple"):
        SSFNClassifier(**SMALL, categorical_features=["kind"]).fit(odd, y)


def test_what_was_never_seen_counts_as_missing(table):
    X, y = table
    X = X.assign(kind=X["kind"].where(X.index % 7 > 0))
    model = SSFNClassifier(**SMALL).fit(X, y)
    gone = X.assign(kind=pd.Categorical([None] * len(X)))
    new = X.assign(kind=pd.Categorical(["pine"] * len(X)))
    assert "kind missing" in model.network_.plan.feature_names
    assert (model.decision_function(gone) == model.decision_function(new)).all()


def test_a_gap_where_there_was_none_takes_the_mean(table):
    X, y = table
    model = SSFNClassifier(**SMALL).fit(X, y)
    at_mean = X.assign(height=X["height"].mean())
    gone = X.assign(height=np.nan)
    found, expected = model.decision_function(gone), model.decision_function(at_mean)
    np.testing.assert_allclose(found, expected, atol=1e-3)  # units are in levels


@pytest.mark.parametrize("partition", ["iid", "by-class"])
@pytest.mark.parametrize("n_nodes", [2, 7])
def test_nodes_learn_the_same_from_categories_and_gaps(
    table, n_nodes, partition, tmp_path
):
    X, y = table
    alone = SSFNClassifier(**SMALL).fit(X, y)
    nodes = DSSFNClassifier(n_nodes, partition=partition, **SMALL).fit(X, y)
    for name, model in (("alone", alone), ("nodes", nodes)):
        save_network(model, tmp_path / name)
    assert (tmp_path / "alone").read_bytes() == (tmp_path / "nodes").read_bytes()
    again = SSFNClassifier.from_network(load_network(tmp_path / "nodes"))
    assert again.n_features_in_ == 4
    assert again.decision_function(X).tobytes() == alone.decision_function(X).tobytes()


@pytest.mark.parametrize("settings", [{"preset": "paper", "n_layers": 1, "width": 9},
                                      {"units": "dense"}])  # fmt: skip
def test_gaps_are_filled_in_every_arithmetic(settings):
    rng = np.random.default_rng(1)
    X = rng.normal(5.0, 1.0, size=(120, 3))
    y = (X[:, 0] > 5).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    alone = SSFNClassifier(**settings, random_state=0).fit(X, y)
    nodes = DSSFNClassifier(3, **settings, random_state=0).fit(X, y)
    assert alone.score(X, y) > 0.7
    assert not hasattr(alone, "feature_names_in_")
    assert alone.network_.plan.schema.columns[2].name == "x2"
    np.testing.assert_allclose(
        nodes.network_.shift, np.nanmean(alone_features(X), axis=0), rtol=1e-9
    )


def alone_features(X):
    """Numbers, each with its indicator beside it."""
    pairs = ((column, np.isnan(column)) for column in X.T)
    return np.stack([row for pair in pairs for row in pair], axis=1).astype(float)


def test_numbers_are_predicted_from_gaps(table):
    X, _ = table
    y = X["height"].to_numpy() + X["width"].isna()
    model = SSFNRegressor(**SMALL).fit(X, y)
    assert model.score(X, y) > 0.8


def test_infinity_is_no_gap():
    X, y = np.array([[1.0], [np.inf], [np.nan], [2.0]]), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="infinity"):
        SSFNClassifier().fit(X, y)


def test_what_was_never_seen_is_another_if_the_schema_has_others(table, tmp_path):
    """An estimator of a model that files were trained by predicts as the files do."""
    X, y = table
    path, model = tmp_path / "t.csv", tmp_path / "model.safetensors"
    X.assign(y=y).to_csv(path, index=False)
    kind = Column(name="kind", kind="category", levels=("ash", "oak"), other=True)
    width = Column(name="width", kind="number", missing=True)
    target = Target(column="y", classes=("low", "tall"))
    schema = Schema(columns=(kind, width), target=target)
    files = open_tables([path], schema)
    plan = make_plan(files, members=2, n_layers=1, width=10)
    trained = simulate(files.shards, plan, build_topology("complete", 1))
    save_network(trained.networks[0], model)
    estimator = SSFNClassifier.from_network(load_network(model))
    predicted = estimator.predict_proba(X[["kind", "width"]])
    encoded = read_encoded(path, schema).X.T
    network = estimator.network_
    expected = network.probabilities(network.scores(encoded)).T
    np.testing.assert_array_equal(predicted, expected)


def _unfit_tables():
    """Tables with a column of text or dates, and how the error ends."""
    text, days = ["a", "b"] * 10, pd.date_range("2026-01-01", periods=20)
    number = np.arange(20.0)
    as_category = 'holds text. Convert it with `X.astype({"seen": "category"})`.'
    as_numbers = "holds dates. Convert it to numbers."
    kinds = pd.Categorical(text)
    return {
        "text": (pd.DataFrame({"n": number, "seen": text}), as_category),
        "beside a category": (pd.DataFrame({"n": kinds, "seen": text}), as_category),
        "dates": (pd.DataFrame({"n": number, "seen": days}), as_numbers),
        "dates as objects": (
            pd.DataFrame({"n": number, "seen": [day.date() for day in days]}),
            as_numbers,
        ),
        "polars": (
            pl.DataFrame({"n": number, "seen": text}),
            'holds text. Convert it with `X.with_columns(pl.col("seen").cast('
            "pl.Categorical))`.",
        ),
    }


@pytest.mark.parametrize("case", _unfit_tables())
def test_a_column_of_text_or_dates_is_named_with_the_way_out(case):
    X, said = _unfit_tables()[case]
    with pytest.raises(DataError) as error:
        SSFNClassifier(**SMALL).fit(X, [0, 1] * 10)
    assert str(error.value) == f"Column `seen` of `X` {said}"


def test_text_where_categories_are_listed_must_be_listed_too():
    X, _ = _unfit_tables()["text"]
    model = SSFNClassifier(**SMALL, categorical_features=None)
    with pytest.raises(DataError, match="Name it in `categorical_features`"):
        model.fit(X, [0, 1] * 10)


def test_text_where_there_were_numbers_in_training_is_named():
    X, _ = _unfit_tables()["text"]
    for numbers in (X.assign(seen=1.0), X.assign(seen=[np.nan, 1.0] * 10)):
        model = SSFNClassifier(**SMALL).fit(numbers, [0, 1] * 10)
        with pytest.raises(
            DataError, match=r"`seen` of `X` holds text\. The model was"
        ):
            model.predict(X)
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(X.rename(columns={"seen": "strange"}))
