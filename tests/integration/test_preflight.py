"""What `dssfn node check` finds, and `federation init --like` refuses, in data."""

from __future__ import annotations

import json
import re
import shlex
import socket
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dssfn.federation import load_federation
from dssfn.node.few_rows import few_samples
from dssfn.node.preflight import checkpoints_of, samples_of
from dssfn.node.spec import load_node
from dssfn.planning import settle_federation
from dssfn.progress import Progress
from tests.support.commands import dssfn, wrong
from tests.support.federations import change_node, change_plan, init, refused

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
    assert (
        f"`{fed}` is the federation's folder. Give a node's folder: `{fed / 'a'}`, "
        f"`{fed / 'b'}`."
    ) in wrong("node", "check", fed)
    assert "node.toml" in wrong("node", "check", fed / "ca")


def test_a_node_that_others_call_must_listen(tmp_path):
    fed = tmp_path / "fed"
    init(fed, *DATA, nodes="a,b,c")
    for name in "abc":
        change_node(fed / name, "listen =", "# listen =")
    code, found = check(fed / "a", GOOD)
    assert code == 2
    assert found["port"] == (
        False,
        "`listen` is missing, but the plan gives this node the address "
        "127.0.0.1:7400, and b, c connect to it. Write `listen = "
        '"127.0.0.1:7400"` into node.toml.',
    )
    assert "`listen` is missing" in wrong("node", "run", fed / "a")
    _, found = check(fed / "b", GOOD)
    assert "and c connects to it" in found["port"][1]
    code, found = check(fed / "c", GOOD)  # which calls both
    assert code == 0
    assert "port" not in found


def test_the_port_of_the_metrics_must_be_free(fed):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        change_node(fed / "a", "# metrics =", f'metrics = "{address}"  #')
        code, found = check(fed / "a", GOOD)
        assert code == 2
        assert not found["metrics"][0]
        assert f"`metrics`: {address} cannot be opened" in found["metrics"][1]
    code, found = check(fed / "a", GOOD)
    assert code == 0
    assert found["metrics"] == (True, f"{address} is free")


def test_check_counts_the_samples_of_every_class_of_the_plan(fed):
    _, found = check(fed / "a", GOOD + "1,2,yes\n")
    assert found["classes"] == (True, "'no' 10, 'yes' 11")
    _, found = check(fed / "a", "age,bmi,outcome\n" + "61,22.5,yes\n" * 12)
    assert found["classes"] == (True, "'yes' 12; no sample of 'no'")


def test_check_tells_of_a_checkpoint_and_of_one_of_another_plan(fed):
    _, found = check(fed / "a", GOOD)
    assert "checkpoint" not in found
    spec, federation = load_node(fed / "a")
    plan, _ = settle_federation(federation)
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
        ("1,1e300,yes", "Column `bmi`: numbers must be below 2^127"),
        ("1,1,", "line 22: the target `outcome` is missing"),
        ("1,1,maybe", "line 22: label 'maybe' is not one of the known classes"),
    ],
)
def test_check_reads_all_that_a_training_would_read(fed, row, words):
    code, found = check(fed / "a", GOOD + row + "\n")
    assert code == 2
    is_good, text = found["data"]
    assert not is_good
    assert words in text


LOCAL = "patient;age;bmi;outcome\n" + "007;61;22,500;yes\n008;40;31,250;no\n" * 10


def set_read(folder, *lines, test=None):
    """Say in the node's file how its data are read."""
    path = folder / "node.toml"
    text = path.read_text().partition("\n[read]")[0]
    first = f'test = "{test}"\n' if test else ""
    path.write_text(first + text + "\n[read]\n" + "\n".join(lines) + "\n")


def test_a_node_s_file_says_how_its_data_are_read(fed):
    code, found = check(fed / "a", LOCAL)
    assert code == 2
    assert found["data"][1].endswith(
        'Give `decimal = ","` for a fraction; otherwise remove the separators. '
        "(`decimal` belongs to [read] in node.toml.)"
    )
    (fed / "a" / "test.csv").write_text(LOCAL.replace("61;", "62;"))
    set_read(fed / "a", 'decimal = ","', 'id = "patient"', test="test.csv")
    code, found = check(fed / "a", LOCAL)
    assert code == 0, found
    said = (
        "; semicolons, decimal commas, UTF-8; read as node.toml says "
        '(id = "patient", decimal = ",")'
    )
    assert found["data"] == (True, "20 samples, 2 features" + said)
    assert found["test"] == (True, "20 samples: 'no' 10, 'yes' 10" + said)
    spec, federation = load_node(fed / "a")
    plan, _ = settle_federation(federation)
    (rows,) = samples_of(spec, plan).chunks(20)
    assert rows.X[:, 0].tolist() == [61.0, 22.5]
    # The other node has another file, and the same plan.
    _, other = load_node(fed / "b")
    assert other.fingerprint() == federation.fingerprint()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['sep = "x"'], "node.toml`: `sep` under [read] must be one of"),
        (['separator = ";"'], "node.toml`: there is no setting `separator`"),
        (['drop = "note"'], "node.toml`: `drop` under [read] must be a list, got text"),
        (
            ['drop = ["a"]', 'id = "a"'],
            "`drop` under [read] must not name 'a', as `id`",
        ),
    ],
)
def test_a_wrong_setting_is_told_with_the_node_s_file(fed, lines, words):
    set_read(fed / "a", *lines)
    assert words in wrong("node", "check", fed / "a")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['drop = ["note"]'], "no column `note`, which `drop` names"),
        (['drop = ["age"]'], "column `age` is needed, but `drop` leaves it out"),
        (['id = "bmi"'], "column `bmi` is needed, but `id` leaves it out"),
        (['columns = ["bmi"]'], "column `age` is needed, but `columns` leaves it"),
        (['columns = ["outcome"]'], "`columns` must not name the target `outcome`"),
        (['sheet = "2024"'], "`sheet` must be left out: it is for .xlsx, got `"),
    ],
)
def test_settings_that_do_not_fit_the_file_are_named(fed, lines, words):
    set_read(fed / "a", *lines)
    code, found = check(fed / "a", GOOD)
    assert code == 2
    is_good, text = found["data"]
    assert not is_good
    assert words in text
    assert f"(`{lines[0].split()[0]}` belongs to [read] in node.toml.)" in text


@pytest.mark.parametrize(
    ("n_samples", "words"),
    [(1, "1 sample: this node's sums reveal it"), (9, "9 samples"), (10, None)],
)
def test_few_samples_are_told_of_and_no_mistake(fed, n_samples, words):
    change_plan(fed, min_rows=1)
    rows = GOOD.splitlines(keepends=True)[: n_samples + 1]
    code, found = check(fed / "a", "".join(rows))
    assert code == 0
    warnings = list(few_samples(n_samples))
    if words is None:
        assert "few samples" not in found
        assert not warnings
    else:
        is_good, text = found["few samples"]
        assert is_good is None
        assert text.startswith(words)
        assert warnings == [text]


SCHEMA = """
[target]
column = "outcome"
classes = ["yes", "no"]
[[columns]]
name = "sex"
kind = "category"
levels = ["f", "m"]
missing = true
[[columns]]
name = "bmi"
kind = "number"
missing = true
[[columns]]
name = "age"
kind = "number"
"""


@pytest.mark.parametrize(("n", "least"), [(0, 5), (1, 5), (4, 5), (5, 5), (1, 1)])
def test_a_node_with_few_numbers_in_a_column_takes_no_part(tmp_path, write, n, least):
    fed = tmp_path / "fed"
    init(fed, "--schema", write("schema.toml", SCHEMA), nodes="a,b")
    change_plan(fed, min_cell=least)
    rows = ["age,bmi,sex,outcome", *(f"{k + 20},{k}.5,f,yes" for k in range(n))]
    rows += ["40,,m,no"] * 30
    code, found = check(fed / "a", "\n".join(rows) + "\n")
    if n in (0, *range(least, 9)):
        assert code == 0, found
        return
    assert code == 2
    is_good, text = found["min_cell"]
    assert not is_good
    wanted = (
        f"`data.csv`, column `bmi`: either at least {least} rows (the plan's "
        "`min_cell`) must"
    )
    assert text.startswith(wanted)
    assert f"got {n}. A node sends" in text
    for command in ("node run", "federation statistics"):
        assert text in wrong(*command.split(), fed / "a")


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
    said = f"at least {min_rows} rows, the plan's `min_rows`, got "
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


def test_a_plan_is_no_node_s_file(tmp_path):
    fed = tmp_path / "fed"
    init(fed, *DATA, nodes="a,b,c")
    for command in (("node", "check"), ("node", "run"), ("federation", "statistics")):
        said = wrong(*command, fed / "plan.toml")
        assert "got a federation's plan. Give a node.toml" in said
