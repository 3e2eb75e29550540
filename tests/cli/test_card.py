"""`dssfn card`: from what a training leaves to a text that anybody may read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dssfn import load_network
from tests.support.commands import dssfn, wrong

SUPPORT = Path(__file__).parents[1] / "support"
ROWS = 40
SCHEMA = """
[target]
column = "outcome"
classes = ["no", "yes"]

[[columns]]
name = "age"
kind = "number"
unit = "years"
missing = true

[[columns]]
name = "pain"
kind = "category"
levels = ["a", "b"]
other = true
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A training by two nodes, whose rows have values that nobody else may see."""
    folder = tmp_path_factory.mktemp("card")
    for node in ("secretnorth", "secretsouth"):
        rows = ["patient,age,pain,outcome"]
        for k in range(ROWS):
            pain = "Rarepain" if k == 3 else "ab"[k % 2]
            age = 98765.25 if k == 5 else 20 + k
            rows.append(f"Ms-{node}-{k},{age},{pain},{'no' if k % 3 else 'yes'}")
        (folder / f"{node}.csv").write_text("\n".join(rows) + "\n")
    (folder / "schema.toml").write_text(SCHEMA)
    shards = [
        ("--shard", folder / f"{one}.csv") for one in ("secretnorth", "secretsouth")
    ]
    shown = dssfn(
        "simulate", "--schema", folder / "schema.toml", *shards[0], *shards[1],
        "--topology", "complete", "--members", "2", "--check-equivalence",
        "--out", folder / "run", "--quiet",
    )  # fmt: skip
    assert shown.exit_code == 0, shown.output
    return folder


@pytest.fixture
def model(folder):
    return folder / "run" / "model.safetensors"


def test_a_card_tells_of_the_training_and_of_no_row_and_no_file(model):
    shown = dssfn("card", model)
    assert shown.exit_code == 0, shown.output
    text = shown.stdout
    assert "| age | number | years | yes |" in text
    assert f"The nodes trained on {2 * ROWS} rows in all." in text
    assert "95 % interval" in text
    assert "0, to the last bit" in text
    assert "exact integers" in text
    for private in (
        "Rarepain",
        "98765",
        "98,765",
        "Ms-",
        "secret",
        ".csv,",
        "result.js",
    ):
        assert private not in text


def test_the_card_of_a_file_is_the_one_that_is_printed(model, tmp_path):
    out = tmp_path / "CARD.md"
    shown = dssfn("card", model, "--out", out)
    assert "4 chapters are left for you to fill in" in shown.stdout
    assert out.read_text() == dssfn("card", model).stdout
    assert dssfn("card", model, "--out", tmp_path / "CARD.html").exit_code == 0
    page = (tmp_path / "CARD.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<h2>Intended use</h2>" in page
    assert "secret" not in page


def test_the_date_is_that_of_the_file(model, folder, tmp_path):
    copy = tmp_path / "m.safetensors"
    copy.write_bytes(model.read_bytes())
    os.utime(copy, (86400.0 * 365, 86400.0 * 365))
    assert (
        "| date | 1971-01-01 (UTC), when the file of the model"
        in dssfn("card", copy).stdout
    )
    result = tmp_path / "r.json"
    result.write_bytes((folder / "run" / "result.json").read_bytes())
    os.utime(result, (86400.0 * 730, 86400.0 * 730))
    assert (
        "| date | 1972-01-01 (UTC), when the file of the result"
        in dssfn("card", copy, "--result", result).stdout
    )


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_model_of_an_old_format_has_a_card(version):
    path = SUPPORT / f"version_{version}.safetensors"
    shown = dssfn("card", path)
    assert shown.exit_code == 0, shown.output
    assert "The result of the training was not given" in shown.stdout
    assert str(load_network(path).plan.depth) in shown.stdout


def test_a_result_of_another_training_is_not_taken(model, folder, tmp_path):
    result = json.loads((folder / "run" / "result.json").read_text())
    other = tmp_path / "result.json"
    other.write_text(json.dumps(result | {"sha256": "0" * 64}))
    said = wrong("card", model, "--result", other)
    assert "its sha256 differs from the model's" in said
    result["settings"]["seed"] += 1
    other.write_text(json.dumps(result))
    assert "its `seed` differs from the model's" in wrong(
        "card", model, "--result", other
    )
    copy = tmp_path / "model.safetensors"
    copy.write_bytes(model.read_bytes())
    shown = dssfn("card", copy)
    assert shown.exit_code == 0
    assert "no metrics of the training" in shown.stderr
    assert "The result of the training was not given" in shown.stdout


def test_mistakes_are_explained(model, folder, tmp_path):
    assert "end in .md or .html" in wrong("card", model, "--out", tmp_path / "c.txt")
    assert "existing folder" in wrong("card", model, "--out", tmp_path / "no" / "c.md")
    assert "cannot be read" in wrong("card", model, "--result", tmp_path / "r.json")
    (tmp_path / "r.json").write_text("{")
    assert "must be a file that this version" in wrong(
        "card", model, "--result", tmp_path / "r.json"
    )
    odd = tmp_path / "m.md"
    odd.write_bytes(model.read_bytes())
    assert "must not overwrite the model" in wrong("card", odd, "--out", odd)
    assert "There is no model file" in wrong("card", tmp_path / "none.safetensors")
