"""`dssfn export` writes a file, or says in one line why not."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from dssfn import save_network
from dssfn.export import to_onnx
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
    assert told == {"file": str(out), "file_bytes": out.stat().st_size}


def test_a_regressor_gives_predictions(tmp_path):
    save_network(ensemble(targets=("x",)), tmp_path / "m.safetensors")
    shown = dssfn("export", tmp_path / "m.safetensors", tmp_path / "m.ONNX")
    assert "prediction" in shown.stdout
    content = (tmp_path / "m.ONNX").read_bytes()
    assert list(answers(content, np.zeros((1, 2)))) == ["prediction"]


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
    assert "not a safetensors file" in wrong("export", out, tmp_path / "two.onnx")
    assert out.read_bytes() == b"another file"
    assert not (tmp_path / "two.onnx").exists()


def test_the_name_of_the_file_is_checked_first(model, tmp_path):
    said = wrong("export", model, tmp_path / "model.txt")
    assert "`out` must have a name that ends in .onnx" in said
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
