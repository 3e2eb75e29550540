"""`dssfn predict`: where predictions may be written."""

from __future__ import annotations

import os

import pytest

from dssfn.modelfile import save_network
from tests.support.commands import dssfn, wrong
from tests.support.networks import network


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.safetensors"
    save_network(network(), path)
    return path


@pytest.fixture
def data(tmp_path, model):
    """Samples without labels, as many features as the model has."""
    n_features = network().plan.n_features
    path = tmp_path / "t.csv"
    names = [f"x{k}" for k in range(n_features)]
    rows = [",".join(names), *(",".join(["1"] * n_features) for _ in range(3))]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".XLSX", ".feather", ".npz", ".gz"])
def test_text_goes_to_no_file_that_is_called_another_format(model, data, suffix):
    out = data.with_name(f"p{suffix}")
    said = wrong("predict", model, data, "--out", out)
    assert f"`--out` must not end in {suffix}, since predictions are written" in said
    assert "such as `p.csv`" in said
    assert not out.exists()


@pytest.mark.parametrize("name", ["none/p.csv", "."])
def test_the_place_of_predictions_is_checked_first(model, data, name):
    out = data.parent / name
    said = wrong("predict", data.with_name("no.safetensors"), data, "--out", out)
    assert f"`--out` must be a file in an existing folder, got `{out}`" in said


def test_predictions_go_through_a_link_and_into_a_pipe(model, data):
    printed = dssfn("predict", model, data).stdout
    target, link = data.with_name("target.csv"), data.with_name("link.csv")
    target.write_text("old")
    link.symlink_to(target.name)
    assert dssfn("predict", model, data, "--out", link).exit_code == 0
    assert link.is_symlink()
    assert target.read_text() == printed
    pipe = data.with_name("pipe")
    os.mkfifo(pipe)
    with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "r") as reader:
        assert dssfn("predict", model, data, "--out", pipe).exit_code == 0
        assert reader.read() == printed
    assert pipe.is_fifo()
