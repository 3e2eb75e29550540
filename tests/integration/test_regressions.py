"""Numbers are predicted from tables: in one process, by real nodes, and from files."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import r2_score, root_mean_squared_error

from dssfn.datasets import FileSamples
from dssfn.results import read_result
from dssfn.schema import Column, Schema, Target
from tests.support.commands import dssfn, wrong
from tests.support.federations import run_all
from tests.support.lab import free_port

SIZE = ("--members", 2, "--layers", 1, "--width", 30)


@pytest.fixture
def tables(tmp_path):
    """A table of every node and one to test on, with categories, gaps and prices."""
    rng = np.random.default_rng(5)
    n = 160
    area, kind = rng.uniform(20, 200, n), rng.choice(["flat", "house"], n)
    price = 3.25 * area + 100.5 * (kind == "house") + rng.normal(size=n)
    age = np.where(rng.random(n) < 0.2, np.nan, area)
    columns = {"area": area, "kind": kind, "age": age, "price": price}
    table = pl.DataFrame(columns).fill_nan(None)
    paths = {name: tmp_path / f"{name}.csv" for name in ("a", "b", "c", "test")}
    for k, path in enumerate(paths.values()):
        table[k::4].write_csv(path)
    return paths


@pytest.fixture
def schema(tables, tmp_path):
    path = tmp_path / "schema.toml"
    files = [tables[name] for name in "abc"]
    made = dssfn("schema", *files, "--target", "price", "--number", "--out", path)
    assert made.exit_code == 0, made.output
    return path


def simulated(schema, tables, out, *more):
    shards = [arg for name in "abc" for arg in ("--shard", tables[name])]
    args = ("simulate", "--schema", schema, *shards, "--test", tables["test"], *SIZE)
    result = dssfn(*args, "--quiet", "--out", out, *more)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_simulation_evaluates_what_it_predicts(schema, tables, tmp_path):
    shown = simulated(schema, tables, tmp_path / "out", "--check-equivalence")
    assert "test R2" in shown
    assert "accuracy" not in shown
    result = read_result(tmp_path / "out")
    assert result.equivalence.central_difference == 0.0
    assert result.train_accuracy is result.test_accuracy is result.held is None
    assert result.n_test == 40
    model = tmp_path / "out" / "model.safetensors"
    predicted = json.loads(dssfn("predict", model, tables["test"], "--json").stdout)
    truth = pl.read_csv(tables["test"])["price"].to_numpy()
    assert result.test_scores.r2 == pytest.approx(
        r2_score(truth, predicted["prediction"]), abs=1e-12
    )
    assert result.test_scores.r2 > 0.9
    figures = json.loads(dssfn("evaluate", model, tables["test"], "--json").stdout)
    assert figures["rmse"] == pytest.approx(
        root_mean_squared_error(truth, predicted["prediction"]), rel=1e-12
    )
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Test R²" in page
    assert "ccuracy" not in page.replace("accuracy of an average", "")


@pytest.mark.grpc
def test_real_nodes_learn_the_simulation_s_model(schema, tables, tmp_path):
    simulated(schema, tables, tmp_path / "out", "--seed", 7, "--consensus", "tree")
    fed = tmp_path / "fed"
    made = dssfn(
        "federation", "init", fed, "--nodes", "a,b,c", "--schema", schema, *SIZE,
        "--seed", 7, "--edges", "a-b,b-c", "--address", f"b=127.0.0.1:{free_port()}",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    assert "Numbers to predict: `price`" in made.stdout
    for name in "abc":
        (fed / name / "data.csv").write_bytes(tables[name].read_bytes())
        (fed / name / "test.csv").write_bytes(tables["test"].read_bytes())
        node = fed / name / "node.toml"
        text = node.read_text()
        node.write_text(text.replace('# test = "test.csv"', 'test = "test.csv"'))
    checked = dssfn("node", "check", fed / "a" / "node.toml")
    assert "data: 40 samples, 5 features" in checked.stdout
    run_all(fed, "abc", "node run")
    models = {(fed / name / "out" / "model.safetensors").read_bytes() for name in "abc"}
    models.add((tmp_path / "out" / "model.safetensors").read_bytes())
    assert len(models) == 1
    result, alone = read_result(fed / "b" / "out"), read_result(tmp_path / "out")
    assert result.here.model.r2 == alone.test_scores.r2
    assert result.here.baseline.r2 < 0.1
    assert result.scores.total == alone.scores.total
    assert result.test_accuracy is None


def test_bad_targets_are_named(schema, tables, tmp_path):
    bad = tmp_path / "bad.csv"
    head, first, *rows = tables["a"].read_text().splitlines()
    for value, message in (("much", "got 'much'"), ("", "is missing"), ("inf", "inf")):
        broken = ",".join([*first.split(",")[:-1], value])
        bad.write_text("\n".join([head, *rows[:5], broken, *rows[5:]]) + "\n")
        said = wrong("simulate", "--schema", schema, "--shard", bad)
        assert "`bad.csv`, line 7" in said
        assert "`price`" in said
        assert message in said


def test_numbers_without_a_schema_are_told_the_way(tables, tmp_path):
    said = wrong("simulate", "--data", tables["a"], "--target", "price")
    assert "--number" in said


def test_numbers_come_in_chunks_of_any_size(tmp_path):
    columns = (Column(name="x", kind="number"),)
    schema = Schema(columns=columns, target=Target(column="y", kind="number"))
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{k},{k / 4}\n" for k in range(10)))
    for memory in (None, 8):  # kept, or read again in every pass
        samples = FileSamples.of_schema(path, schema, memory=memory)
        assert (samples.n_outputs, samples.n_samples) == (1, 10)
        for size in (3, 10, 11):
            for _ in range(2):
                chunks = list(samples.chunks(size))
                T = np.concatenate([rows.T for rows in chunks], axis=1)
                assert T.tolist() == [[k / 4 for k in range(10)]]
