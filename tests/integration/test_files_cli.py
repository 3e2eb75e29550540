"""Data files of every kind on the command line."""

from __future__ import annotations

import csv
import gzip
import io
import json

import numpy as np
import pytest

from dssfn.modelfile import load_network
from tests.support.commands import dssfn, wrong
from tests.support.workbooks import write_workbook

SMALL = ["--layers", "2", "--width", "30", "--quiet"]
IDS = ["007", "+1+1", "-3", "@b", *(f"p{k}" for k in range(36))]
HEADER = ["patient", "day", "a", "b", "label"]


def rows():
    rng = np.random.default_rng(0)
    for k, name in enumerate(IDS):
        a, b = rng.normal(size=2).round(3)
        yield [
            name,
            f"2024-01-{k % 28 + 1:02}",
            float(a),
            float(b),
            "no" if k % 3 else "é",
        ]


def european(path):
    """Write the table as a European spreadsheet does."""
    lines = [";".join(HEADER)]
    for name, day, a, b, label in rows():
        numbers = (str(x).replace(".", ",") for x in (a, b))
        lines.append(";".join([name, day, *numbers, label]))
    content = "\r\n".join(lines).encode("utf-16")
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    data = european(folder / "t.csv")
    result = dssfn("simulate", "--data", data, "--target", "label", "--nodes", 3,
                   "--drop", "day", "--id", "patient", "--out", folder / "run",
                   *SMALL)  # fmt: skip
    assert result.exit_code == 0, result.output
    return folder / "run" / "model.safetensors", data


def test_a_training_takes_the_columns_that_are_chosen(trained, tmp_path):
    model, data = trained
    assert load_network(model).plan.feature_names == ("a", "b")
    result = dssfn("simulate", "--data", data, "--target", "label", "--nodes", 3,
                   "--columns", "b,a", "--json", *SMALL)  # fmt: skip
    assert result.exit_code == 0, result.output
    shards = dssfn("simulate", "--shard", data, "--shard", data, "--target", "label",
                   "--columns", "b", "--topology", "complete", "--out", tmp_path,
                   "--layers", 1, "--width", 10)  # fmt: skip
    assert shards.exit_code == 0, shards.output
    of_shards = load_network(tmp_path / "model.safetensors").plan
    assert of_shards.feature_names == ("b",)
    assert "t.csv: semicolons, decimal commas, UTF-16." in shards.stderr


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.xlsx"])
def test_predictions_come_with_the_names_of_the_samples(trained, tmp_path, name):
    model, _ = trained
    data = tmp_path / name
    if name == "t.xlsx":
        write_workbook(data, {"Notes": [["x"]], "Data": [HEADER, *rows()]})
    else:
        european(data)
    options = ["--id", "patient", *(["--sheet", "Data"] if "xlsx" in name else [])]
    result = dssfn("predict", model, data, *options)
    assert result.exit_code == 0, result.output
    table = list(csv.reader(io.StringIO(result.stdout)))
    assert table[0] == ["patient", "prediction"]
    names = [row[0] for row in table[1:]]
    assert names == ["007", "'+1+1", "-3", "'@b", *IDS[4:]]
    said = "sheet `Data`" if name == "t.xlsx" else "semicolons, decimal commas, UTF-16"
    assert f"{name}: {said}" in result.stderr
    listed = json.loads(dssfn("predict", model, data, *options, "--json").stdout)
    assert list(listed) == ["patient", "prediction"]
    assert listed["patient"] == IDS
    assert listed["prediction"] == [row[1] for row in table[1:]]


def test_an_evaluation_reads_what_a_training_reads(trained):
    model, data = trained
    result = dssfn("evaluate", model, data, "--target", "label", "--json",
                   "--sep", ";", "--decimal", ",", "--encoding", "utf-16")  # fmt: skip
    assert json.loads(result.stdout)["n_samples"] == len(IDS)
    assert "t.csv: semicolons, decimal commas, UTF-16." in result.stderr


def test_wrong_options_are_told_by_their_names(trained, tmp_path):
    model, data = trained
    for options, words in (
        (["--sep", "x"], "`--sep` must be one of"),
        (["--decimal", "x"], "`--decimal` must be one of"),
        (["--encoding", "utf-99"], "`--encoding` must be one of"),
        (["--encoding", "latin-1"], "begins with the byte order mark of UTF-16"),
        (["--columns", "a,,b"], "`--columns` must not have empty words between commas"),
        (["--columns", "a,c"], "no column `c`"),
        (["--columns", "a"], "column `b` is needed"),
        (["--drop", "a"], "column `a` is needed"),
        (["--id", "patients"], "Did you mean `patient`?"),
        (["--id", "a"], "column `a` is needed"),
    ):
        assert words in wrong("predict", model, data, *options)
    data = tmp_path / "p.csv"
    data.write_text("prediction,a,b\n1,2,3\n")
    assert "`--id` must not be" in wrong("predict", model, data, "--id", "prediction")


def test_a_file_that_can_be_read_in_two_ways_is_refused(trained, tmp_path):
    model, _ = trained
    data = tmp_path / "t.csv"
    data.write_text("a;b\n1,234;2,345\n")
    assert "line 2, column `a`" in wrong("predict", model, data)
    assert dssfn("predict", model, data, "--decimal", ",").exit_code == 0
