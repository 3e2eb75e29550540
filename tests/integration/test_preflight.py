"""What `dssfn node check` finds, and `federation init --like` refuses, in data."""

from __future__ import annotations

import json
import logging
import re
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dssfn.federation import load_federation
from dssfn.node.preflight import checkpoints_of, samples_of
from dssfn.node.runtime import settled
from dssfn.node.session import warn_of_few
from dssfn.node.spec import load_node
from dssfn.progress import Progress
from tests.support.commands import dssfn, wrong
from tests.support.federations import change_plan, init, refused

DATA = ("--classes", "yes,no", "--features", "age,bmi", "--target", "outcome")
GOOD = "age,bmi,outcome\n" + "61,22.5,yes\n40,31,no\n" * 10


@pytest.fixture
def fed(tmp_path):
    init(tmp_path / "fed", *DATA, nodes="a,b")
    return tmp_path / "fed"


def check(folder, text):
    """Exit code and findings, with this data in the node's folder."""
    (folder / "data.csv").write_text(text)
    done = dssfn("node", "check", folder, "--json")
    shown = json.loads(done.stdout)
    return done.exit_code, {
        one["what"]: (one["is_good"], one["text"]) for one in shown["findings"]
    }


def test_check_takes_the_folder_for_its_file(fed):
    code, found = check(fed / "a", GOOD)
    assert code == 0, found
    assert found["data"] == (True, "20 samples, 2 features")
    assert "node.toml" in wrong("node", "check", fed)


def test_check_counts_the_samples_of_every_class_of_the_plan(fed):
    _, found = check(fed / "a", GOOD + "1,2,yes\n")
    assert found["classes"] == (True, "'no' 10, 'yes' 11")
    _, found = check(fed / "a", "age,bmi,outcome\n" + "61,22.5,yes\n" * 12)
    assert found["classes"] == (True, "'yes' 12; no sample of 'no'")


def test_check_tells_of_a_checkpoint_and_of_one_of_another_plan(fed):
    _, found = check(fed / "a", GOOD)
    assert "checkpoint" not in found
    spec, federation = load_node(fed / "a")
    plan, _ = settled(federation)
    place = checkpoints_of(spec, federation, samples_of(spec, plan))
    place.path.write_bytes(b"no checkpoint")
    _, found = check(fed / "a", GOOD)
    assert found["checkpoint"][0]
    assert "from scratch" in found["checkpoint"][1]
    empty = Progress((), (), 0)
    replace(place, belongs_to={"plan": "f" * 64}).save(empty, ())
    code, found = check(fed / "a", GOOD)
    assert code == 2
    assert "plan was ffffffff…" in found["checkpoint"][1]


def test_the_largest_message_is_told_in_plain_digits(fed):
    _, found = check(fed / "a", GOOD)
    assert re.search(r"messages of at most [\d.,]+ MB$", found["plan"][1])


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("old,1,yes", "line 22, column `age`: features must be numbers, got 'old'"),
        (",1,yes", "line 22, column `age`: the value is missing"),
        ("1,nan,yes", "line 22, column `bmi`: features must be finite"),
        ("1,1,", "line 22: the target `outcome` is missing"),
        ("1,1,maybe", "line 22: label 'maybe' is not one of the classes"),
    ],
)
def test_check_reads_all_that_a_training_would_read(fed, row, words):
    code, found = check(fed / "a", GOOD + row + "\n")
    assert code == 2
    is_good, text = found["data"]
    assert not is_good
    assert words in text


@pytest.mark.parametrize(
    ("n_samples", "words"),
    [(1, "1 sample: what this node sends reveals it"), (9, "9 samples"), (10, None)],
)
def test_few_samples_are_told_of_and_no_mistake(fed, caplog, n_samples, words):
    change_plan(fed, min_rows=1)
    rows = GOOD.splitlines(keepends=True)[: n_samples + 1]
    code, found = check(fed / "a", "".join(rows))
    assert code == 0
    with caplog.at_level(logging.WARNING, "dssfn.node"):
        warn_of_few(n_samples)
    if words is None:
        assert "few samples" not in found
        assert not caplog.messages
    else:
        is_good, text = found["few samples"]
        assert is_good is None
        assert text.startswith(words)
        assert caplog.messages == [text]


@pytest.mark.parametrize("min_rows", [20, 7])
def test_a_node_with_fewer_rows_than_agreed_on_takes_no_part(fed, min_rows):
    change_plan(fed, min_rows=min_rows)
    rows = GOOD.splitlines(keepends=True)
    code, found = check(fed / "a", "".join(rows[: min_rows + 1]))
    assert code == 0
    assert "min_rows" not in found
    code, found = check(fed / "a", "".join(rows[:min_rows]))
    assert code == 2
    is_good, text = found["min_rows"]
    assert is_good is False
    said = f"at least {min_rows} rows, as `min_rows` of the plan says, got "
    assert f"{said}{min_rows - 1}. " in text
    for command in (("node", "run"), ("federation", "statistics")):
        assert wrong(*command, fed / "a") == f"Error: {text}\n"
        assert not (fed / "a" / "out" / "node.log").exists()


SAMPLE = (
    'id,age,"height, cm",sex,flag,outcome\n'
    "P-1,61,170,f,true,yes\nP-2,40,181,m,false,no\n"
)


def test_a_sample_with_columns_of_text_is_refused_with_the_option_that_works(
    tmp_path, write
):
    like = ("--like", write("sample.csv", SAMPLE), "--target", "outcome")
    error = refused(tmp_path / "fed", *like)
    assert "`id`, `sex`" in error
    (option,) = [word for word in error.split("`") if word.startswith("--features")]
    init(tmp_path / "fed", *like, *shlex.split(option))
    plan = load_federation(tmp_path / "fed" / "plan.toml").training
    assert plan.feature_names == ("age", "height, cm", "flag")
    named = refused(tmp_path / "no", *like, "--features", "age,sex")
    assert "`sex`" in named


def test_a_sample_of_text_alone_has_no_features(tmp_path, write):
    sample = write("sample.csv", "id,outcome\na,yes\nb,no\n")
    error = refused(tmp_path / "fed", "--like", sample, "--target", "outcome")
    assert "`id`" in error
    assert "--features" not in error


def test_numbers_written_as_text_are_numbers(tmp_path, write):
    sample = write("s.parquet", {"a": ["1.5", "2"], "y": ["no", "yes"]})
    init(tmp_path / "fed", "--like", sample, "--target", "y")
    plan = load_federation(tmp_path / "fed" / "plan.toml").training
    assert plan.feature_names == ("a",)


def test_the_index_of_a_pandas_table_is_no_feature(tmp_path):
    sample = tmp_path / "s.parquet"
    table = pd.DataFrame({"a": np.arange(4.0), "y": [0, 1, 0, 1]}, index=[5, 6, 8, 9])
    table.to_parquet(sample)
    init(tmp_path / "fed", "--like", sample, "--target", "y")
    plan = load_federation(tmp_path / "fed" / "plan.toml").training
    assert plan.feature_names == ("a",)
