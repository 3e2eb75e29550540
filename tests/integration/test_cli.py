from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dssfn.cli.predict import for_spreadsheet
from dssfn.config import UNITS, Plan
from dssfn.datasets import load, read_table
from dssfn.modelfile import load_network, save_network
from dssfn.shard import Shard
from dssfn.simulator import simulate
from dssfn.topology import build_topology
from tests.support.commands import dssfn, wrong

SMALL = ["--layers", "2", "--width", "30", "--quiet"]
LARGE = ["--layers", "20", "--width", "1000"]  # takes a while, also on small data


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    result = dssfn("demo", "--out", folder, "--json")
    assert result.exit_code == 0, result.output
    return folder, json.loads(result.stdout)


def write_csv(path, n=40, **changes):
    rng = np.random.default_rng(0)
    columns = {
        "a": rng.normal(size=n),
        "b": rng.normal(size=n),
        "label": ["yes" if i % 3 else "no" for i in range(n)],
    }
    pl.DataFrame(columns | changes).write_csv(path)
    return path


def test_the_demo_shows_that_decentralised_equals_centralised(trained):
    _, figures = trained
    assert figures["equivalence"]["central_difference"] < 1e-9
    assert figures["equivalence"]["node_spread"] < 1e-9
    assert figures["equivalence"]["prediction_agreement"] == 1.0
    assert figures["test_accuracy"] > 0.97


def test_the_demo_leaves_what_it_says(trained):
    folder, figures = trained
    rows = [json.loads(r) for r in (folder / "layers.jsonl").read_text().splitlines()]
    assert rows == figures["layers"]
    assert json.loads((folder / "result.json").read_text()) == figures
    names = {"model.safetensors", "layers.jsonl", "result.json", "test.csv"}
    names |= {"report.html", "figures"}
    assert {path.name for path in folder.iterdir()} == names


def test_a_person_sees_tables_and_the_next_commands(tmp_path):
    result = dssfn("demo", "--out", tmp_path / "d")
    assert result.exit_code == 0
    for words in ("layer by layer", "test %", "same prediction as one machine"):
        assert words in result.stdout
    assert "dssfn evaluate" in result.stdout
    assert re.search(r"layer 1  \d+ units  ridge .* validation .* dB", result.stderr)


def test_the_rounds_of_all_layers_and_those_beside_them_are_the_total(trained):
    _, figures = trained
    total = figures["communication"]
    beside = [total[when]["rounds"] for when in ("before_layers", "after_layers")]
    layers = [row["rounds"] for row in figures["layers"]]
    assert sum(layers) + sum(beside) == total["rounds"]
    assert min(beside) > 0


def test_a_layer_is_told_with_the_rounds_that_its_row_has(tmp_path):
    run = dssfn("simulate", "--data", "iris", "--nodes", 3, "--json")
    rows = json.loads(run.stdout)["layers"]
    told = re.findall(r"(\d+) rounds", run.stderr)
    assert [int(n) for n in told] == [row["rounds"] for row in rows]


def test_evaluate_agrees_with_the_training_report(trained):
    folder, figures = trained
    model, data = folder / "model.safetensors", folder / "test.csv"
    result = dssfn("evaluate", model, data, "--target", "digit", "--json")
    shown = json.loads(result.stdout)
    assert shown["accuracy"] == pytest.approx(figures["test_accuracy"])
    assert np.sum(shown["confusion"]) == shown["n_samples"] == figures["n_test"]
    assert "accuracy" in dssfn("evaluate", model, data, "--target", "digit").stdout


def test_predict_writes_one_line_per_sample(trained, tmp_path):
    folder, figures = trained
    model, data = folder / "model.safetensors", folder / "test.csv"
    lines = dssfn("predict", model, data, "--proba").stdout.splitlines()
    assert lines[0].startswith("prediction,p(0)")
    assert len(lines) == figures["n_test"] + 1
    dssfn("predict", model, data, "--out", tmp_path / "p.csv")
    written = (tmp_path / "p.csv").read_text().splitlines()
    assert written[1:] == [line.split(",")[0] for line in lines[1:]]
    listed = json.loads(dssfn("predict", model, data, "--json").stdout)["prediction"]
    assert [str(label) for label in listed] == written[1:]


def test_the_spread_is_that_of_the_members_probability_of_the_predicted_class(trained):
    folder, figures = trained
    model, data = folder / "model.safetensors", folder / "test.csv"
    shown = json.loads(dssfn("predict", model, data, "--proba", "--json").stdout)
    network, table = load_network(model), read_table(data)
    X = table.X[:, [table.feature_names.index(n) for n in network.plan.feature_names]]
    members = [network.probabilities(S) for S in network.member_scores(X.T)]
    for sample in (0, 7, 100):
        of_class = [P[shown["prediction"][sample], sample] for P in members]
        assert shown["spread"][sample] == pytest.approx(np.std(of_class), abs=1e-12)
    assert list(shown)[-1] == "spread"
    assert len(shown["spread"]) == figures["n_test"]


def test_one_network_has_no_spread(tmp_path):
    data = write_csv(tmp_path / "mine.csv")
    dssfn("simulate", "--data", data, "--target", "label", "--nodes", 3,
          "--out", tmp_path / "m", *SMALL)  # fmt: skip
    model = tmp_path / "m" / "model.safetensors"
    lines = dssfn("predict", model, data, "--proba").stdout.splitlines()
    assert lines[0] == "prediction,p(no),p(yes)"
    assert "one network with 2 hidden layers of 30 random units" in " ".join(
        (shown := dssfn("info", model).stdout).split()
    )
    assert "auto" not in shown  # what finds sizes means nothing here


@pytest.fixture(scope="module", params=[("y",), ("y", "z")], ids="-".join)
def numbers(request, tmp_path_factory):
    """A network that predicts numbers, and the file that it was trained on."""
    folder, targets = tmp_path_factory.mktemp("numbers"), request.param
    X = np.random.default_rng(0).normal(size=(2, 60))
    T = np.array([3.0 + X[0], 5.0 * X[1]])[: len(targets)]
    plan = Plan(n_features=2, feature_names=("a", "b"), targets=targets, seed=1)
    (network,) = simulate([Shard(X, T)], plan, build_topology("complete", 1)).networks
    model, data = folder / "model.safetensors", folder / "data.csv"
    save_network(network, model)
    columns = dict(zip(("a", "b", *targets), [*X, *T], strict=True))
    pl.DataFrame(columns).write_csv(data)
    return model, data, network.member_scores(X)


def test_numbers_are_predicted_with_the_spread_of_the_members(numbers):
    model, data, members = numbers
    shown = json.loads(dssfn("predict", model, data, "--proba", "--json").stdout)
    expected = {
        "prediction": members[:, 0].mean(axis=0), "spread": members[:, 0].std(axis=0),
    }  # fmt: skip
    of = "(y)" if members.shape[1] > 1 else ""
    for name, values in expected.items():
        np.testing.assert_allclose(shown[name + of], values, rtol=1e-12, atol=1e-12)
    assert len(shown) == 2 * members.shape[1]
    plain = json.loads(dssfn("predict", model, data, "--json").stdout)
    assert set(plain) == {name for name in shown if name.startswith("prediction")}


def test_numbers_are_evaluated_and_told(numbers):
    model, data, members = numbers
    shown = json.loads(dssfn("evaluate", model, data, "--json").stdout)
    assert shown["n_samples"] == 60
    assert shown["r2"] > 0.99  # the targets are linear, without noise
    assert "R2" in dssfn("evaluate", model, data).stdout
    assert "targets" in dssfn("info", model).stdout
    if members.shape[1] == 1:
        other = dssfn("evaluate", model, data, "--target", "a", "--json").stdout
        assert json.loads(other)["r2"] < shown["r2"]
        assert "nowhere" in wrong("evaluate", model, data, "--target", "nowhere")
    else:
        error = wrong("evaluate", model, data, "--target", "a")
        assert "`--target` must be left out" in error


def test_numbers_in_an_archive_are_evaluated_though_its_columns_have_no_names(
    numbers, tmp_path
):
    model, data, members = numbers
    table = pl.read_csv(data).to_numpy()
    X, T = table[:, :2], table[:, 2:]
    np.savez(tmp_path / "d.npz", X=X, y=T[:, 0] if T.shape[1] == 1 else T)
    shown = json.loads(dssfn("evaluate", model, tmp_path / "d.npz", "--json").stdout)
    error = members.mean(axis=0).T - T
    expected = {
        "r2": np.mean(1 - (error**2).mean(axis=0) / T.var(axis=0)),
        "mae": np.abs(error).mean(),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(shown[name], value, rtol=1e-6)  # of tiny errors
    np.savez(tmp_path / "short.npz", X=X, y=T[1:])
    assert "a row for every sample" in wrong("evaluate", model, tmp_path / "short.npz")


def test_there_is_no_r2_of_targets_that_are_all_equal(numbers, tmp_path):
    model, data, _ = numbers
    table = pl.read_csv(data)
    equal = [pl.lit(0.1).alias(name) for name in table.columns[2:]]
    table.with_columns(equal).write_csv(tmp_path / "equal.csv")
    shown = json.loads(
        dssfn("evaluate", model, tmp_path / "equal.csv", "--json").stdout
    )
    assert shown["r2"] is None
    assert shown["missing"] == {"r2": "all targets are equal"}
    assert shown["mae"] > 0
    told = dssfn("evaluate", model, tmp_path / "equal.csv").stdout
    assert "not known: all targets are equal" in told


def test_info_shows_the_settings(trained):
    folder, figures = trained
    model = folder / "model.safetensors"
    shown = json.loads(dssfn("info", model, "--json").stdout)
    for name in ("n_layers", "width", "members", "scale"):
        assert shown[name] == figures["settings"][name] != "auto"
    assert "pixel_0_0" in dssfn("info", model).stdout


def test_topology_counts_rounds():
    shown = json.loads(dssfn("topology", "--nodes", 20, "--degree", 4, "--json").stdout)
    rounds = {name: cost["rounds"] for name, cost in shown["consensus"].items()}
    assert rounds == {"gossip": 65, "chebyshev": 22, "exact": 6, "tree": 6}
    assert shown["edges"] == 80
    drawn = dssfn("topology", "--nodes", 6).stdout
    assert "◆ ● · · · ●" in drawn


def test_topology_of_a_large_graph_says_that_its_spectrum_is_left_out():
    ask = ("topology", "--topology", "star", "--nodes", 3001)
    assert "spectrum left out above 3,000 nodes" in " ".join(dssfn(*ask).stdout.split())
    shown = json.loads(dssfn(*ask, "--json").stdout)
    nothing = dict.fromkeys(("contraction", "spectral_gap", "eigenvalues"))
    assert shown.items() >= {**nothing, "edges": 3000, "diameter": 2}.items()
    assert shown["consensus"] == {"tree": {"rounds": 2, "messages": 6000}}


def test_simulate_reports_what_the_design_promises():
    result = dssfn("simulate", "--data", "iris", "--nodes", 5, "--check-equivalence",
                   "--json", *SMALL)  # fmt: skip
    shown = json.loads(result.stdout)
    assert {"train_accuracy", "test_accuracy", "train_error_db"} <= shown.keys()
    assert shown["layers"][2].keys() >= {
        "layer", "cost", "train_error_db", "iterations", "rounds",
    }  # fmt: skip
    assert shown["communication"].keys() >= {
        "rounds", "scalars_per_node", "bytes_total",
    }  # fmt: skip
    assert shown["equivalence"]["central_difference"] < 1e-7
    assert shown["seconds"]["total"] > 0


def test_the_metrics_of_a_found_network_are_those_of_the_layer_that_is_kept():
    result = dssfn("simulate", "--data", "wine", "--nodes", 4, "--check-equivalence",
                   "--json", "--quiet")  # fmt: skip
    shown = json.loads(result.stdout)
    depth = shown["settings"]["n_layers"]
    kept = shown["layers"][depth]
    assert kept["validation_error_db"] == min(
        row["validation_error_db"] for row in shown["layers"]
    )
    for name in ("train_accuracy", "train_error_db"):
        assert shown[name] == kept[name]
    assert shown["settings"]["found"] == ["n_layers", "width", "members", "scale"]
    assert shown["equivalence"]["same_choices"] is True


def test_central_difference_falls_as_k_grows():
    gaps = []
    for K in (10, 100, 1000):
        result = dssfn(
            "simulate", "--data", "iris", "--nodes", 3, "--solver", "admm", "--json",
            "--iterations", K, "--check-equivalence", "--alpha", 1, *SMALL,
        )  # fmt: skip
        equal = json.loads(result.stdout)["equivalence"]
        assert equal["node_spread"] <= 1e-9
        gaps.append(equal["central_difference"])
    assert gaps[0] > gaps[1] > gaps[2]


def test_a_csv_file_of_ones_own(tmp_path):
    data = write_csv(tmp_path / "mine.csv")
    out = tmp_path / "out"
    result = dssfn("simulate", "--data", data, "--target", "label", "--nodes", 3,
                   "--out", out, *SMALL)  # fmt: skip
    assert result.exit_code == 0, result.output
    result = dssfn("predict", out / "model.safetensors", data)
    assert set(result.stdout.split()[1:]) <= {"yes", "no"}


def test_same_seed_same_model_file(tmp_path):
    for name in ("one", "two"):
        dssfn("simulate", "--data", "wine", "--nodes", 4, "--out", tmp_path / name,
              *SMALL)  # fmt: skip
    one, two = (tmp_path / n / "model.safetensors" for n in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("units", UNITS)
def test_units_are_those_that_were_asked_for(units, tmp_path):
    out = tmp_path / "out"
    done = dssfn("simulate", "--data", "iris", "--nodes", 4, "--units", units,
                 "--out", out, "--quiet", *SMALL)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert load_network(out / "model.safetensors").plan.units == units


def test_an_image_shape_that_dense_units_cannot_have_is_refused():
    ask = ["simulate", "--data", "digits", "--nodes", 2, "--image-shape", "8x8"]
    assert "needs integer units" in wrong(*ask, "--units", "dense", *SMALL)
    assert "needs integer units" in wrong(*ask, "--solver", "krylov", *SMALL)


def test_wrong_data_is_refused_and_leaves_nothing(tmp_path):
    out = tmp_path / "out"

    def refused(path, *args):
        error = wrong("simulate", "--data", path, "--nodes", 2, "--out", out, *args,
                      *SMALL)  # fmt: skip
        assert not out.exists()
        return error

    good = write_csv(tmp_path / "good.csv")
    label = ("--target", "label")
    assert "godo.csv" in refused(tmp_path / "godo.csv", *label)
    assert "lable" in refused(good, "--target", "lable")
    assert "target" in refused(good)
    one = write_csv(tmp_path / "one.csv", label=["same"] * 40)
    assert "two classes" in refused(one, *label)
    empty = write_csv(tmp_path / "empty.csv", label=[None] * 40)
    assert "label" in refused(empty, *label)
    text = write_csv(tmp_path / "text.csv", b=["1"] * 39 + ["much"])
    assert "`b`" in (error := refused(text, *label))
    assert "line 41" in error
    gap = write_csv(tmp_path / "gap.csv", a=[1.0, None] + [2.0] * 38)
    assert "line 3" in refused(gap, *label)
    assert "31 nodes for 30 samples" in refused(good, *label, "--nodes", 31)
    assert "dirichlet" in refused(good, *label, "--partition", "dirichlet")
    unseen = write_csv(tmp_path / "unseen.csv", label=["no"] * 39 + ["maybe"])
    assert "maybe" in refused(good, *label, "--test", unseen)


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("--nodes", 0, "`--nodes` must"), ("--nodes", -3, "`--nodes` must"),
        ("--degree", 9, "`--degree` must"), ("--degree", 0, "`--degree` must"),
        ("--layers", -1, "`--layers` must"), ("--width", 0, "width"),
        ("--alpha", 0, "alpha"), ("--gain", -1, "gain"), ("--tol", 0, "tol"),
        ("--rounds", 0, "`--rounds` must"),
        ("--iterations", 0, "`--iterations` must"),
        ("--mu-input", -1, "`--mu-input` must"), ("--seed", -1, "seed"),
        ("--solver", "magic", "solver"), ("--consensus", "magic", "consensus"),
        ("--preset", "papr", "preset"),
        ("--topology", "rind", "`--topology` must be one of"),
        ("--partition", "by_class", "by-class"),
        ("--test-size", 1.5, "`--test-size` must"),
        ("--data-dir", "nowhere", "`--data-dir` must"),
        ("--layers", "five", "`--layers` must be a whole number or auto"),
        ("--width", "1.5", "`--width` must be a whole number or auto"),
        ("--members", "few", "`--members` must be a whole number or auto"),
        ("--members", 0, "`--members` must be a whole number of at least 1"),
        ("--ridge", "much", "`--ridge` must be a number or auto"),
        ("--ridge", "nan", "`--ridge` must be a positive number"),
        ("--ridge", 0.1, "needs `--members`"),
        ("--folds", "nodes", "needs `--members`"),
        ("--scale", "commn", "`common`"), ("--folds", "node", "`nodes`"),
        ("--size", "sfn", "`ssfn`"),
        ("--class-weight", "even", "`--class-weight` must"),
        ("--units", "whole", "`--units` must"),
        ("--image-shape", "28", "height and width of the images"),
        ("--image-shape", "2x3", "6 numbers, but there are 4 features"),
        ("--image-shape", "2xtwo", "`--image-shape` must be like 28x28"),
        ("--image-shape", "", "`--image-shape` must be like 28x28"),
        ("--image-shape", "0x4", "height and width of the images"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_named(option, value, word):
    base = ["--data", "iris", "--nodes", 5, *SMALL]
    assert word in wrong("simulate", *base, option, value)


@pytest.mark.parametrize(
    ("command", "near"),
    [
        ("simulate --data iris --solver grm", "`gram`"),
        ("simulate --data iris --consensus three", "`tree`"),
        ("simulate --data iris --preset papr", "`paper`"),
        ("simulate --data iris --precision flaot32", "`float32`"),
        ("simulate --data iris --units intger", "`integer`"),
        ("simulate --data iris --units dens", "`dense`"),
        ("simulate --data iris --partition by_class", "`by-class`"),
        ("simulate --data iris --topology circuler", "`circular`"),
        ("simulate --data iris --topology ring", "`circular` with degree=1"),
        ("simulate --data digit", "`digits`"),
        ("topology --topology line", "`path`"),
        ("reproduce tabel2", "`table2`"),
        ("reproduce table2 --data vowl", "`vowel`"),
        ("reproduce al", "`all`"),
    ],
)
def test_a_mistyped_name_is_answered_by_the_nearest_one(command, near, offline):
    assert f"Did you mean {near}" in wrong(*command.split())


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ("0 1\n2 3\n", "connected"),
        ("0 1\n1 2\n2 3\n3 9\n", "9"),
        ("0 1\n1 1\n1 2\n2 3\n", "line 2"),
        ("0 1\n1 2\n2 three\n", "line 3"),
    ],
)
def test_a_wrong_edge_list_is_refused(tmp_path, edges, words):
    path = tmp_path / "edges.txt"
    path.write_text(edges)
    assert words in wrong("simulate", "--data", "iris", "--nodes", 4, "--topology",
                          path, *SMALL)  # fmt: skip


def test_a_mixing_matrix_of_ones_own(tmp_path):
    path = tmp_path / "H.npy"
    np.save(path, [[0.5, 0.5, 0], [0.5, 0.25, 0.25], [0, 0.25, 0.75]])
    ask = ("topology", "--nodes", 3, "--topology", path)
    assert json.loads(dssfn(*ask, "--json").stdout)["edges"] == 2
    assert "degree" in wrong(*ask, "--degree", 1)
    assert "`--nodes`=4" in wrong("topology", "--nodes", 4, "--topology", path)
    np.save(path, [[0.5, 0.4, 0], [0.4, 0.25, 0.25], [0, 0.25, 0.75]])
    assert "sum to 1" in wrong(*ask)
    np.save(path, [[0.5, 0.5, 0], [0.4, 0.35, 0.25], [0.1, 0.15, 0.75]])
    assert "symmetric" in wrong(*ask)
    path.write_bytes(b"no array")
    assert ".npy" in wrong(*ask)
    path.unlink()
    assert "H.npy" in wrong(*ask)


def test_an_edge_list_makes_a_graph(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text("# a square\n0 1\n1 2\n2 3\n3 0\n")
    shown = json.loads(
        dssfn("topology", "--nodes", 4, "--topology", path, "--json").stdout
    )
    assert shown["edges"] == 4


def test_the_file_of_a_graph_decides_how_many_nodes_there_are(tmp_path):
    edges, matrix = tmp_path / "edges.txt", tmp_path / "H.npy"
    edges.write_text("0 1\n1 2\n")
    np.save(matrix, np.full((3, 3), 1 / 3))
    for path in (edges, matrix):
        shown = dssfn("topology", "--topology", path, "--json")
        assert json.loads(shown.stdout)["n_nodes"] == 3
        shown = dssfn(
            "simulate", "--data", "iris", "--topology", path, "--json", *SMALL
        )
        assert json.loads(shown.stdout)["settings"]["n_nodes"] == 3
    assert "Did you mean `edges.txt`" in wrong("topology", "--topology",
                                               tmp_path / "egdes.txt")  # fmt: skip
    assert "is a folder" in wrong("topology", "--topology", tmp_path)


def test_a_mistyped_file_is_answered_by_the_nearest_one(tmp_path, monkeypatch, offline):
    write_csv(tmp_path / "patients.csv")
    monkeypatch.chdir(tmp_path)
    assert "Did you mean `patients.csv`?" in wrong("simulate", "--data", "patients")


@pytest.mark.parametrize("folder", [".", "..", "/", "mine"])
def test_a_folder_is_no_data(folder, tmp_path, monkeypatch, offline):
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    error = wrong("simulate", "--data", folder, "--nodes", 3)
    assert f"`{folder}` is a folder; give a file" in error


def test_a_file_whose_suffix_alone_is_similar_was_not_meant(tmp_path):
    write_csv(tmp_path / "south.csv")
    for name in ("nothere.csv", "b.csv"):
        assert "mean" not in wrong("simulate", "--data", tmp_path / name)
    error = wrong("simulate", "--data", tmp_path / "suoth.tsv")
    assert "Did you mean `south.csv`?" in error


def test_data_in_the_place_of_the_model_are_told_of(trained, tmp_path):
    model, data = trained[0] / "model.safetensors", trained[0] / "test.csv"
    for command in ("predict", "evaluate"):
        assert "model comes first, then the data" in wrong(command, data, model)


def test_a_model_that_is_replaced_is_told_of_and_the_same_one_is_not(tmp_path):
    data, out = write_csv(tmp_path / "mine.csv"), tmp_path / "out"
    run = ["--nodes", 3, "--out", out, *SMALL]
    first = ["simulate", "--data", data, "--target", "label", *run]
    assert "replaced" not in dssfn(*first).stderr
    assert "replaced" not in dssfn(*first).stderr
    said = dssfn("simulate", "--data", "iris", *run).stderr
    assert said == f"{out} held a model trained on mine.csv; it was replaced.\n"
    assert load_network(out / "model.safetensors").plan.n_features == 4


def test_a_model_that_does_not_fit_is_refused(trained, tmp_path):
    folder, _ = trained
    model = folder / "model.safetensors"
    other = write_csv(tmp_path / "other.csv")
    assert "pixel_0_0" in wrong("predict", model, other)
    np.savez(tmp_path / "few.npz", X=np.ones((3, 63)))
    assert "64 features" in wrong("predict", model, tmp_path / "few.npz")
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(model.read_bytes()[:-100])
    for command in (["info", cut], ["predict", cut, folder / "test.csv"]):
        assert "damaged" in wrong(*command)
    assert "no model file" in wrong("info", tmp_path / "none.safetensors")


def test_an_unknown_label_in_evaluate_is_named(trained, tmp_path):
    folder, _ = trained
    text = (folder / "test.csv").read_text().replace("\n", "\n", 1)
    lines = text.splitlines()
    lines[1] = ",".join([*lines[1].split(",")[:-1], "77"])
    (tmp_path / "odd.csv").write_text("\n".join(lines))
    error = wrong("evaluate", folder / "model.safetensors", tmp_path / "odd.csv",
                  "--target", "digit")  # fmt: skip
    assert "77" in error


def test_an_unwritable_out_folder_is_noticed_before_training(tmp_path):
    (tmp_path / "file").write_text("")
    start = time.perf_counter()
    error = wrong("simulate", "--data", "digits", "--out", tmp_path / "file", *LARGE)
    assert "--out" in error
    assert time.perf_counter() - start < 10  # twenty layers of it would take longer


def test_the_demo_says_nothing_before_it_knows_where_to_write(tmp_path):
    (tmp_path / "file").write_text("")
    assert "--out" in wrong("demo", "--out", tmp_path / "file")


def test_predictions_go_to_a_file_in_either_form(trained, tmp_path):
    folder, figures = trained
    model, data = folder / "model.safetensors", folder / "test.csv"
    result = dssfn("predict", model, data, "--json", "--out", tmp_path / "p.json")
    assert result.stdout == ""
    listed = json.loads((tmp_path / "p.json").read_text())["prediction"]
    assert len(listed) == figures["n_test"]
    assert "--out" in wrong("predict", model, data, "--out", tmp_path)
    assert "--out" in wrong("predict", model, data, "--out", tmp_path / "no" / "p.csv")


def test_data_without_information_are_no_accident(tmp_path):
    data = write_csv(tmp_path / "flat.csv", a=[1.5] * 40, b=[0] * 40)
    result = dssfn("simulate", "--data", data, "--target", "label", "--nodes", 3,
                   "--check-equivalence", "--json", *SMALL)  # fmt: skip
    assert json.loads(result.stdout)["equivalence"]["central_difference"] < 1e-14


def test_a_value_far_out_of_range_is_named(tmp_path):
    data = write_csv(tmp_path / "ok.csv")
    dssfn("simulate", "--data", data, "--target", "label", "--nodes", 3, "--out",
          tmp_path / "m", *SMALL)  # fmt: skip
    (tmp_path / "far.csv").write_text("a,b\n1,2\n1,1e300\n")
    error = wrong("predict", tmp_path / "m" / "model.safetensors", tmp_path / "far.csv")
    assert "Sample 2, feature 2" in error
    (tmp_path / "far.csv").write_text("a,b\n1,2\n1,1e308\n")  # no warning beside it
    error = wrong("predict", tmp_path / "m" / "model.safetensors", tmp_path / "far.csv")
    assert "1e+308" in error


def test_names_are_shown_as_they_are(tmp_path):
    labels = ["[/x]" if i % 3 else "[red]" for i in range(40)]
    data = write_csv(tmp_path / "a[red].csv", label=labels)
    out = tmp_path / "o[/y]"
    result = dssfn("simulate", "--data", data, "--target", "label", "--nodes", 3,
                   "--out", out, *SMALL)  # fmt: skip
    assert "a[red].csv" in result.stdout
    model = out / "model.safetensors"
    assert "[/x]" in dssfn("info", model).stdout
    assert "[red]" in dssfn("evaluate", model, data, "--target", "label").stdout


HOSTILE = "\x1b[2J\x9b31m\u202eyes\nforged"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A model and its data, in whose names somebody has hidden commands."""
    folder = tmp_path_factory.mktemp("hostile")
    labels = [HOSTILE if i % 3 else "=1+1" for i in range(40)]
    columns = {"a\x1b[2J": [float(i % 3) for i in range(40)], "label": labels}
    data = folder / "a\x1b[2Jb.parquet"
    pl.DataFrame(columns).write_parquet(data)
    result = dssfn("simulate", "--data", data, "--target", "label", "--nodes", 3,
                   "--out", folder / "run", *SMALL)  # fmt: skip
    assert result.exit_code == 0, result.output
    return folder / "run" / "model.safetensors", data, result


def assert_harmless(text):
    assert all(line.isprintable() for line in text.splitlines()), ascii(text)
    assert not any(line.startswith("forged") for line in text.splitlines())


def test_names_from_a_file_cannot_steer_a_terminal(hostile):
    model, data, trained = hostile
    assert_harmless(trained.output)
    assert_harmless(dssfn("info", model).output)
    assert_harmless(dssfn("evaluate", model, data, "--target", "label").output)
    assert_harmless(
        dssfn("evaluate", model, data, "--target", "label", "--json").output
    )
    assert_harmless(wrong("evaluate", model, data, "--target", "\x1b[2J"))
    assert_harmless(wrong("predict", model, data.with_name("\x1b[2J.csv")))


def test_predictions_are_as_they_are_in_a_file_and_harmless_on_a_terminal(
    hostile, monkeypatch
):
    model, data, _ = hostile
    piped = dssfn("predict", model, data)
    assert HOSTILE in piped.stdout
    monkeypatch.setattr("dssfn.cli.predict._is_terminal", lambda: True)
    shown = dssfn("predict", model, data)
    assert_harmless(shown.stdout)
    assert len(shown.stdout.splitlines()) == 41


def test_a_label_that_a_spreadsheet_would_run_is_quoted_in_csv_and_not_in_json(hostile):
    model, data, _ = hostile
    rows = list(csv.reader(io.StringIO(dssfn("predict", model, data).stdout)))
    assert ["'=1+1"] in rows
    assert ["=1+1"] not in rows
    listed = json.loads(dssfn("predict", model, data, "--json").stdout)["prediction"]
    assert "=1+1" in listed


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"), ("+a", "'+a"), ("-a", "'-a"), ("@a", "'@a"),
        ("\ta", "'\ta"), ("\ra", "'\ra"), ("\uff1d1", "'\uff1d1"),
        ("-1", "-1"), ("+1.5", "+1.5"), ("-1e-3", "-1e-3"), ("a=1", "a=1"), ("", ""),
        (-1, -1), (-1.5, -1.5), (True, True),
    ],
)  # fmt: skip
def test_numbers_stay_numbers_for_a_spreadsheet(cell, written):
    assert for_spreadsheet(cell) == written


def test_a_refused_run_leaves_no_folder_at_any_depth(tmp_path):
    wrong("simulate", "--data", "iris", "--out", tmp_path / "a" / "b" / "c",
          "--partition", "nope", *SMALL)  # fmt: skip
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_full_disk_is_one_line_and_exit_code_1(form):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        shown = subprocess.run(
            [sys.executable, "-m", "dssfn", "topology", "--nodes", "4", *form],
            stdout=full, stderr=subprocess.PIPE, text=True,
            env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"},
        )  # fmt: skip
    assert shown.returncode == 1
    assert len(shown.stderr.splitlines()) == 1
    assert "space" in shown.stderr


def test_a_closed_pipe_is_no_error(trained):
    folder, _ = trained
    command = f"{sys.executable} -m dssfn predict model.safetensors test.csv | head -1"
    shown = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=folder, capture_output=True
    )
    assert shown.stdout == b"prediction\n"
    assert shown.stderr == b""


@pytest.mark.skipif(os.name == "nt", reason="signals are a POSIX matter")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_an_interrupted_run_ends_cleanly(tmp_path, number, code):
    command = [sys.executable, "-m", "dssfn", "simulate", "--data", "digits",
               *LARGE, "--out", str(tmp_path / "out")]  # fmt: skip
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    line = process.stderr.readline()  # the first layer is done
    assert line.startswith("layer 0/20")
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=600)
    assert process.returncode == code
    assert stdout == ""
    if number == signal.SIGINT:
        assert stderr.splitlines()[-1] == "Interrupted."
    assert "Traceback" not in stderr
    assert not (tmp_path / "out").exists()


def test_help_and_version_are_there():
    for command in ("demo", "simulate", "topology", "predict", "evaluate", "info"):
        result = dssfn(command, "--help")
        assert result.exit_code == 0
        assert "Example: dssfn" in " ".join(result.stdout.split())
    assert dssfn("--version").stdout.startswith("dssfn 0.")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("simulat", "'simulate'"),
        ("node chek", "'check'"),
        ("federation innit", "'init'"),
        ("simulate --dta iris", "--data"),
        ("simulate --data iris --nodes three", "--nodes"),
        ("simulate --data", "--data"),
        ("predict model.safetensors", "data"),
        ("info one two", "two"),
        ("--verson", "--version"),
    ],
)
def test_a_command_line_that_is_not_understood_gets_one_line(command, said):
    error = wrong(*command.split())
    assert error.startswith("Error: ")
    assert said.lower() in error.lower()
    assert "--help`." in error


@pytest.mark.parametrize("group", [[], ["node"], ["federation"]])
def test_a_group_of_commands_alone_shows_its_help(group):
    shown = dssfn(*group)
    assert "Usage: " in shown.output
    assert "Error" not in shown.output


def test_runs_without_a_terminal_or_standard_input():
    shown = subprocess.run(
        [sys.executable, "-m", "dssfn", "topology", "--nodes", "4", "--json"],
        stdin=subprocess.DEVNULL, capture_output=True, cwd=Path("/"),
    )  # fmt: skip
    assert json.loads(shown.stdout)["n_nodes"] == 4


def test_shard_files_are_nodes_within_a_memory_budget(tmp_path):
    data = load("wine")
    for k in range(3):
        np.savez(tmp_path / f"{k}.npz", X=data.X_train[k::3], y=data.y_train[k::3])
    np.savez(tmp_path / "test.npz", X=data.X_test, y=data.y_test)
    shards = [part for k in range(3) for part in ("--shard", f"{tmp_path}/{k}.npz")]
    options = ["--layers", "2", "--width", "60", "--json", "--quiet"]
    whole = dssfn("simulate", *shards, *options, "--check-equivalence")
    small = dssfn("simulate", *shards, "--test", f"{tmp_path}/test.npz", "--memory",
                  "6MB", *options)  # fmt: skip
    first, second = (json.loads(run.stdout) for run in (whole, small))
    assert first["settings"]["n_nodes"] == second["settings"]["n_nodes"] == 3
    assert first["test_accuracy"] is None
    assert "prediction_agreement" not in first["equivalence"]
    assert first["equivalence"]["layer_cost_gap"] < 1e-8
    assert second["test_accuracy"] > 0.9
    costs = [[layer["cost"] for layer in run["layers"]] for run in (first, second)]
    np.testing.assert_allclose(costs[0], costs[1], rtol=1e-8)
    shown = dssfn("simulate", *shards, "--layers", "1", "--width", "20").stdout
    assert "no test samples" in shown
    assert "test acc." not in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give either `--data`, or `--shard`"),
        (["--data", "wine", "--shard", "x.npz"], "Give either `--data`, or `--shard`"),
        (["--shard", "no.npz"], "does not exist"),
        (["--data", "wine", "--memory", "lots"], "such as 500MB or 2GB, got 'lots'"),
        (["--data", "wine", "--memory", "2"], "got 2 bytes. Did you mean 2GB?"),
        (["--data", "wine", "--memory", "2", *LARGE], "got 2 bytes. Did you mean 2GB?"),
        (["--data", "wine", "--memory", "1MB", *LARGE], "must be at least"),
        (["--data", "wine", "--preset", "paper", "--layers", "auto"],
         "`--layers` must be a number with the preset paper"),
        (["--data", "wine", "--members", "1"], "`--layers` must be a number"),
        (["--data", "wine", "--size", "ssfn", "--members", "3"], "ssfn grows one"),
        (["--data", "wine", "--precision", "half"], "`--precision` must be one of"),
        (["--data", "wine", "--bias", "-1"], "`--bias` must be a number of at least 0"),
        (["--data", "wine", "--relaxation", "2"], "`--relaxation` must be below 2"),
        (["--data", "wine", "--latency", "0"], "`--latency` must be a positive number"),
        (["--data", "wine", "--solver", "admm", "--consensus", "gossip",
          "--balance-mu", *LARGE], "equal on all of them to the last bit"),
    ],
)  # fmt: skip
def test_wrong_options_are_named(arguments, message):
    assert message in wrong("simulate", *arguments, "--quiet")


@pytest.mark.parametrize("file", ["result.json", "rows.jsonl"])
def test_a_report_of_figures_nested_without_end_is_refused(tmp_path, file):
    (tmp_path / file).write_text("[" * 100_000)
    assert file in wrong("report", tmp_path)


def test_predictions_never_replace_the_data_or_the_model(trained):
    model, data = trained[0] / "model.safetensors", trained[0] / "test.csv"
    for target in (data, model):
        before = target.read_bytes()
        result = dssfn("predict", model, data, "--out", target)
        assert result.exit_code == 2
        assert "must not overwrite the model or the data" in result.stderr
        assert target.read_bytes() == before
