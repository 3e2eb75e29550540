"""What msgspec says about a file reaches users as a sentence about a setting."""

from __future__ import annotations

import re
import tomllib

import msgspec
import pytest

from dssfn.datasets.read_options import ReadOptions
from dssfn.errors import PlanError
from dssfn.federation import STRUCTS, Federation
from dssfn.node.spec import NodeSpec
from dssfn.schema import Column, Schema
from dssfn.toml_text import convert_toml

NODE = {
    "name": "a",
    "plan": "plan.toml",
    "data": "a.csv",
    "certificate": "c",
    "key": "k",
    "authorities": "ca",
}
PLAN = """
nodes = [{name = "a"}, {name = "b"}, {name = "c"}]
[graph]
kind = "path"
[training]
n_features = 2
classes = ["no", "yes"]
"""


def said(content, kind, kinds, under=()):
    with pytest.raises(PlanError) as error:
        convert_toml(content, kind, "f.toml", kinds, under)
    text = str(error.value)
    assert "Expected" not in text
    assert "$" not in text
    assert text.startswith("`f.toml`: ")
    return text.removeprefix("`f.toml`: ")


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("memory = 2", '`memory` must be text in quotes, such as "2GB", got a number.'),
        ("target = true", "`target` must be text in quotes, got true or false."),
        ("target = 2026-11-18", "`target` must be text in quotes, got a date."),
        ("out = {}", "`out` must be text in quotes, got a table."),
        ('threads = "4"', "`threads` must be a whole number, got text."),
        ("threads = 1.5", "`threads` must be a whole number, got a number with a fra"),
        ('start_deadline = "9"', "`start_deadline` must be a number, got text."),
        ('local_model = "no"', "`local_model` must be true or false, got text."),
        ("local_model = 0", "`local_model` must be true or false, got a number."),
        ("read = 3", "`read` must be a table, got a number."),
        ("peers = []", "`peers` must be a table, got a list."),
        ("[peers]\nb = 7400", "`peers` must hold text in quotes, got a number."),
        ('[read]\ndrop = "a"', "`drop` under [read] must be a list, got text."),
        ("[read]\ndrop = [1]", "`drop` under [read] must hold text in quotes, got a n"),
        ("[read]\ndorp = []", "there is no setting `dorp` under [read]. Did you mean"),
        ('[read]\nsep = "x"', "`sep` under [read] must be one of"),
        ("threads = 0", "`threads` must be at least 1, got 0."),
        ('listen = "x"', "An address must be host:port"),
    ],
)
def test_a_setting_of_a_node_is_told_in_words(setting, sentence):
    content = NODE | tomllib.loads(setting)
    assert said(content, NodeSpec, [NodeSpec, ReadOptions]).startswith(sentence)


def test_what_is_missing_is_named():
    content = {name: value for name, value in NODE.items() if name != "data"}
    assert said(content, NodeSpec, [NodeSpec]) == "`data` is missing."


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("nodes =", 'secure = "yes"\nnodes =', "`secure` must be true or false, got t"),
        ("nodes =", "min_rows = 2.5\nnodes =", "`min_rows` must be a whole number, go"),
        ('{name = "b"}', "3", "`nodes` must hold tables, got a number."),
        ('{name = "b"}', "{}", "`name` of entry 2 under [[nodes]] is missing."),
        (
            '{name = "b"}',
            '{name = "b", address = 7400}',
            "`address` of `b` under [[nodes]] must be text in quotes, such as",
        ),
        (
            '{name = "b"}',
            '{name = "b", address = "x"}',
            "of `b` under [[nodes]]: An address must be host:port",
        ),
        (
            'kind = "path"',
            'edges = [["a"]]',
            "`edges` under [graph] must hold lists of 2 values, got one of 1.",
        ),
        ('kind = "path"', "", "`graph` must have either a `kind`"),
        (
            "n_features = 2",
            "n_features = 2\nseed = -1",
            "`seed` under [training] must be a whole number of at least 0, got -1.",
        ),
        (
            "n_features = 2",
            "n_features = 2\nwidth = 1.5",
            "`width` under [training] must be a whole number or text in quotes, got",
        ),
        (
            "n_features = 2",
            "n_features = 2\nclass_weight = {}",
            "`class_weight` under [training] must be text in quotes or a list, got a",
        ),
        (
            "n_features = 2",
            'n_features = 2\nimage_shape = ["x"]',
            "`image_shape` under [training] must hold whole numbers, got text.",
        ),
        (
            "n_features = 2",
            "n_features = 2\nepsilon = 1",
            "`input_low` and `input_high` under [training] must be the range",
        ),
        ("n_features = 2", "", "`n_features` under [training] is missing."),
    ],
)
def test_a_setting_of_a_plan_is_told_with_its_table(old, new, sentence):
    assert old in PLAN
    content = tomllib.loads(PLAN.replace(old, new, 1))
    assert said(content, Federation, STRUCTS).startswith(sentence)


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (
            {"unit": 3},
            "`unit` of `age` under [[{}columns]] must be text in quotes, got",
        ),
        ({"knd": 3}, "there is no setting `knd` of `age` under [[{}columns]]. Did you"),
        ({"kind": "nunber"}, "Column `age`: `kind` must be one of"),
        ({"same": {"a": []}}, "`same` of `age` under [[{}columns]] must hold "),
    ],
)
def test_a_column_is_told_by_its_name_also_inside_a_plan(column, sentence):
    content = {"columns": [{"name": "age", "kind": "number"} | column]}
    kinds = (Schema, Column)
    assert said(content, Schema, kinds).startswith(sentence.format(""))
    inside = said(content, Schema, kinds, ("training", "schema"))
    assert inside.startswith(sentence.format("training.schema."))


def test_what_a_table_says_of_itself_needs_no_place():
    content = {"target": {"column": "y"}, "columns": [{"name": "x", "kind": "number"}]}
    assert said(content, Schema, [Schema]).startswith("Target `y`: `classes` must")


def test_a_schema_in_a_plan_must_be_a_table():
    text = said(3, Schema, [Schema], ("training", "schema"))
    assert text == "`schema` under [training] must be a table, got a number."


def test_no_sentence_of_msgspec_is_left_for_any_type_of_setting():
    """Every setting of every file, with a value of every other type."""
    wrong = [3, 1.5, True, "x", [], {}, [{}], [[]], ["x"], {"a": []}, {"a": {}}]
    texts = []
    for kind in (NodeSpec, Federation, Schema, *STRUCTS):
        for field in msgspec.structs.fields(kind):
            for value in wrong:
                try:
                    convert_toml({field.name: value}, kind, "f.toml", [kind])
                except PlanError as exc:
                    texts.append(str(exc))
    assert len(texts) > 300
    assert not [one for one in texts if re.search(r"Expected|\$|Object|null", one)]
