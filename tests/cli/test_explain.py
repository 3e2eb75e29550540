"""`dssfn predict --explain`: a table, files beside the predictions, and mistakes."""

from __future__ import annotations

import json
import sys

import numpy as np
import polars as pl
import pytest

from dssfn import save_network
from dssfn.config import Plan
from dssfn.network import Network
from dssfn.schema import Column, Schema, Target
from tests.support.commands import dssfn, wrong
from tests.support.networks import network

ROWS = 60


def linear(path, weights, **settings):
    """Save a model without hidden layers."""
    O = np.atleast_2d(np.array(weights, dtype=float))
    P = O.shape[1]
    plan = Plan(
        **{"n_features": P, "n_layers": 0, "width": 1, "members": 1, "bias": 0.0}
        | settings
    )
    save_network(Network(plan, (O,), np.zeros(P), np.ones(P)), path)
    return path


@pytest.fixture
def model(tmp_path):
    """A model of two named features, of which the second says nothing."""
    return linear(
        tmp_path / "model.safetensors", [[1, 0], [-1, 0]],
        classes=("up", "down"), feature_names=("height", "colour"),
    )  # fmt: skip


@pytest.fixture
def data(tmp_path):
    x = np.random.default_rng(0).normal(size=(2, ROWS))
    columns = {"who": [f"p{k}" for k in range(ROWS)], "height": x[0], "colour": x[1]}
    labels = {"way": np.where(x[0] > 0, "up", "down")}
    pl.DataFrame(columns | labels).write_csv(tmp_path / "new.csv")
    return tmp_path / "new.csv"


def explained(*args):
    shown = dssfn("predict", *args, "--explain", "--json")
    assert shown.exit_code == 0, shown.output
    return json.loads(shown.stdout)


def test_a_table_shows_what_matters_first(model, data):
    shown = dssfn("predict", model, data, "--explain", "--target", "way")
    assert shown.exit_code == 0, shown.output
    assert "How much worse `way` is predicted" in shown.stdout
    assert "accuracy 100.00 %" in shown.stdout
    rows = [line for line in shown.stdout.splitlines() if "│" in line]
    assert ["height" in rows[0], "colour" in rows[1]] == [True, True]
    assert "0.00 ± 0.00 %" in rows[1]
    assert "prediction\n" not in shown.stdout


def test_without_labels_it_is_shown_how_predictions_move(model, data):
    found = explained(model, data)
    assert found["targets"] == []
    assert found["baseline"] == {}
    first, second = found["columns"]
    assert first["name"] == "height"
    assert first["figures"]["classes_changed"]["mean"] > 0.3
    assert second["figures"]["probability_moved"] == {"mean": 0.0, "std": 0.0}
    assert "no labels given" in dssfn("predict", model, data, "--explain").stdout


def test_files_lie_beside_the_predictions(model, data, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "said.csv"
    found = explained(model, data, "--target", "way", "--out", out, "--id", "who")
    assert len(json.loads(out.read_text())["prediction"]) == ROWS
    assert json.loads((tmp_path / "said.importance.json").read_text()) == found
    assert (tmp_path / "said.importance.png").read_bytes().startswith(b"\x89PNG")
    assert "height" in (tmp_path / "said.importance.svg").read_text()
    plain = tmp_path / "plain.csv"
    dssfn("predict", model, data, "--out", plain, "--id", "who", "--json")
    assert plain.read_bytes() == out.read_bytes()


def test_without_matplotlib_all_but_the_figure_is_made(
    model, data, tmp_path, monkeypatch
):
    old = tmp_path / "said.importance.png"
    old.write_bytes(b"of other predictions")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in ("dssfn.report.canvas", "dssfn.report.importance.figure"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    shown = dssfn("predict", model, data, "--explain", "--out", tmp_path / "said.csv")
    assert shown.exit_code == 0, shown.output
    assert "pip install 'dssfn[report]'" in shown.stderr
    assert (tmp_path / "said.importance.json").exists()
    assert not old.exists()


def test_settings_are_told_and_the_seed_decides(model, data):
    given = ("--target", "way", "--repeats", "7", "--rows", "20", "--seed", "3")
    found = explained(model, data, *given)
    told = {name: found[name] for name in ("n_repeats", "n_used", "n_samples", "seed")}
    assert told == {"n_repeats": 7, "n_used": 20, "n_samples": ROWS, "seed": 3}
    assert explained(model, data, *given) == found
    assert explained(model, data, *given[:-1], "4")["columns"] != found["columns"]


def test_the_target_of_a_schema_is_taken_if_the_file_has_it(data, tmp_path):
    schema = Schema(
        columns=(
            Column(name="height", kind="number", missing=True),
            Column(name="colour", kind="number"),
        ),
        target=Target(column="way", classes=("up", "down")),
    )
    path = tmp_path / "table.safetensors"
    linear(path, [[1, 0, 0], [-1, 0, 0]], **schema.settings())
    found = explained(path, data)
    assert found["targets"] == ["way"]
    assert found["baseline"]["accuracy"] == 1.0
    assert [one["n_features"] for one in found["columns"]] == [2, 1]
    frame = pl.read_csv(data)
    frame.drop("way").write_csv(tmp_path / "bare.csv")
    assert explained(path, tmp_path / "bare.csv")["targets"] == []
    gap = pl.when(pl.col("height") > 0).then(pl.col("way"))
    frame.with_columns(way=gap).write_csv(tmp_path / "gaps.csv")
    said = wrong("predict", path, tmp_path / "gaps.csv", "--explain")
    assert "`gaps.csv`, line" in said
    assert "Or explain a file without `way`" in said
    frame.rename({"way": "other"}).write_csv(tmp_path / "renamed.csv")
    found = explained(path, tmp_path / "renamed.csv", "--target", "other")
    assert found["baseline"]["accuracy"] == 1.0


@pytest.mark.parametrize("has_schema", [True, False])
def test_numbers_are_explained_by_their_targets(data, tmp_path, has_schema):
    columns = tuple(Column(name=one, kind="number") for one in ("height", "colour"))
    schema = Schema(columns=columns, target=Target(column="weight", kind="number"))
    settings = schema.settings()
    if not has_schema:
        del settings["schema"]
    path = tmp_path / "numbers.safetensors"
    linear(path, [2, 0], units="dense", **settings)
    frame = pl.read_csv(data).with_columns(weight=2 * pl.col("height"))
    frame.write_csv(tmp_path / "weights.csv")
    found = explained(path, tmp_path / "weights.csv")
    assert found["targets"] == ["weight"]
    assert found["figures"] == ["r2_lost", "rmse_added"]
    assert found["baseline"]["r2"] == pytest.approx(1.0)
    assert found["columns"][0]["name"] == "height"
    assert explained(path, data)["figures"] == ["prediction_moved"]
    shown = dssfn("predict", path, tmp_path / "weights.csv", "--explain").stdout
    assert "R2 1" in shown


def test_features_without_names_have_numbers(tmp_path):
    save_network(network(), tmp_path / "m.safetensors")
    X = np.random.default_rng(0).normal(size=(20, 3))
    np.savez(tmp_path / "d.npz", X=X, y=np.array(["a", "b"] * 10))
    found = explained(tmp_path / "m.safetensors", tmp_path / "d.npz")
    assert found["targets"] == ["y"]
    assert {one["name"] for one in found["columns"]} == {
        "feature 1", "feature 2", "feature 3",
    }  # fmt: skip
    np.savez(tmp_path / "bare.npz", X=X)
    found = explained(tmp_path / "m.safetensors", tmp_path / "bare.npz")
    assert found["targets"] == []


def test_mistakes_are_explained_and_nothing_is_written(model, data, tmp_path):
    said = wrong("predict", model, data, "--target", "way")
    assert "`--target` must be left out without `--explain`" in said
    assert "`--repeats` must be left out" in wrong(
        "predict", model, data, "--repeats", 3
    )
    out = ("--explain", "--out", tmp_path / "p.csv")
    said = wrong("predict", model, data, *out, "--repeats", 1)
    assert "`--repeats` must lie in 2..1000" in said
    assert "`--rows` must be at least 2" in wrong(
        "predict", model, data, *out, "--rows", 0
    )
    assert "`--seed` must be at least 0" in wrong(
        "predict", model, data, *out, "--seed", -1
    )
    said = wrong("predict", model, data, *out, "--target", "wy")
    assert "Did you mean `way`" in said
    pl.read_csv(data).head(1).write_csv(tmp_path / "one.csv")
    said = wrong("predict", model, tmp_path / "one.csv", *out)
    assert "`one.csv`: Columns are shuffled among samples" in said
    assert "got 1" in said
    frame = pl.read_csv(data).with_columns(way=pl.lit("sideways"))
    frame.write_csv(tmp_path / "odd.csv")
    said = wrong("predict", model, tmp_path / "odd.csv", *out, "--target", "way")
    assert "sideways" in said
    assert not list(tmp_path.glob("p.*"))
