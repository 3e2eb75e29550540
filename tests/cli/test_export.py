"""`dssfn export` writes a file, or says in one line why not."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from dssfn import save_network
from dssfn.export import to_onnx
from dssfn.schema import Column, Schema
from tests.support.commands import dssfn, wrong
from tests.support.networks import ensemble, network
from tests.support.onnx_runs import answers


@pytest.fixture
def model(tmp_path):
    save_network(network(), tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def test_the_file_is_that_of_to_onnx_and_its_size_is_told(model, tmp_path):
    out = tmp_path / "model.onnx"
    shown = dssfn("export", model, out)
    assert shown.exit_code == 0, shown.output
    assert out.read_bytes() == to_onnx(network())
    assert "3 features" in shown.stdout
    assert "label, probabilities, scores" in shown.stdout
    assert "kB" in shown.stdout
    shown = dssfn("export", model, out, "--json")
    told = json.loads(shown.stdout)
    assert (told["file"], told["file_bytes"]) == (str(out), out.stat().st_size)
    assert told["inputs"] == [{"name": "X", "type": "float64", "columns": 3}]
    assert told["outputs"][0] == {"name": "label", "type": "string", "columns": None}


def test_a_regressor_gives_predictions(tmp_path):
    save_network(ensemble(targets=("x",)), tmp_path / "m.safetensors")
    shown = dssfn("export", tmp_path / "m.safetensors", tmp_path / "m.ONNX")
    assert "prediction" in shown.stdout
    content = (tmp_path / "m.ONNX").read_bytes()
    assert list(answers(content, np.zeros((1, 2)))) == ["prediction"]


COLUMNS = (
    Column(name="label", kind="number", missing=True),
    Column(name="note", kind="ignore"),
    Column(name="sex", kind="category", levels=("f", "m"), same={"M": "m"}),
    Column(name="pain", kind="category", levels=tuple(range(10)), other=True),
    Column(name="any", kind="category", other=True, missing=True),
    Column(name="old", kind="boolean", missing=True),
)


def with_columns(path):
    schema = Schema(columns=COLUMNS)
    names = schema.feature_names
    model = ensemble(P=len(names), schema=schema, feature_names=names)
    save_network(model, path)
    return model


def test_the_columns_of_a_schema_are_shown_as_the_inputs(tmp_path):
    model, out = with_columns(tmp_path / "m.safetensors"), tmp_path / "m.onnx"
    shown = dssfn("export", tmp_path / "m.safetensors", out)
    assert shown.exit_code == 0, shown.output
    assert out.read_bytes() == to_onnx(model)
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert lines[-7:] == [
        "inputs 5 columns, each of shape (N, 1)",
        "label float64, NaN where missing",
        "sex text: `f`, `m`",
        "pain text: `0`, `1`, `2`, `3`, `4`, `5`, `6`, `7` and 2 more or any other",
        'any text: any other, "" where missing',
        'old text: `true` or `false`, "" where missing',
        "outputs label_, probabilities, scores",
    ]
    shown = dssfn("export", tmp_path / "m.safetensors", out, "--json")
    told = json.loads(shown.stdout)["inputs"]
    kinds = [(one["name"], one["type"], one["columns"]) for one in told]
    assert kinds[:2] == [("label", "float64", 1), ("sex", "string", 1)]


def test_encoded_features_are_one_input(tmp_path):
    model, out = with_columns(tmp_path / "m.safetensors"), tmp_path / "m.onnx"
    shown = dssfn("export", tmp_path / "m.safetensors", out, "--encoded")
    assert f"X, float64, one row of {model.plan.n_features} features" in shown.stdout
    assert out.read_bytes() == to_onnx(model, encoded=True)


def test_a_file_that_exists_is_replaced_whole(model, tmp_path):
    out = tmp_path / "model.onnx"
    out.write_bytes(b"another file")
    linked = tmp_path / "link"
    linked.hardlink_to(out)  # still the old file when a new one takes its place
    assert dssfn("export", model, out).exit_code == 0
    assert out.read_bytes() == to_onnx(network())
    assert linked.read_bytes() == b"another file"
    names = {one.name for one in tmp_path.iterdir()}
    assert names == {"model.safetensors", "model.onnx", "link"}


def test_what_cannot_be_exported_leaves_the_file_as_it_was(
    model, tmp_path, monkeypatch
):
    out = tmp_path / "model.onnx"
    out.write_bytes(b"another file")
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert 'pip install "dssfn[onnx]"' in wrong("export", model, out)
    assert "is not a model file" in wrong("export", out, tmp_path / "two.onnx")
    assert out.read_bytes() == b"another file"
    assert not (tmp_path / "two.onnx").exists()


def test_the_name_of_the_file_is_checked_first(model, tmp_path):
    said = wrong("export", model, tmp_path / "model.txt")
    assert "`out` must end in .onnx" in said
    assert "The model comes first" in wrong("export", tmp_path / "a.onnx", model)
    said = wrong("export", model, tmp_path / "none" / "model.onnx")
    assert "`out` must be a file in an existing folder" in said
    (tmp_path / "folder.onnx").mkdir()
    assert "existing folder" in wrong("export", model, tmp_path / "folder.onnx")


def test_the_model_itself_is_never_replaced(model):
    odd = model.rename(model.with_suffix(".onnx"))
    before = odd.read_bytes()
    assert "`out` must not be the model itself" in wrong("export", odd, odd)
    assert odd.read_bytes() == before


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_folder_that_cannot_be_written_to_is_told(model):
    said = wrong("export", model, "/proc/model.onnx")
    assert "must be a file that can be written" in said
    assert "another folder" in said


def test_help_says_what_comes_in_and_out():
    shown = dssfn("export", "--help").output
    words = " ".join(shown.split())
    for word in ("float64", "onnxruntime", "label", "prediction", "extra `onnx`"):
        assert word in words
