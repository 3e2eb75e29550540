"""Schemas are united, and what contradicts is named."""

from __future__ import annotations

import re

import pytest

from dssfn.schema import Column, Schema, Target
from dssfn.schema.merge import merge


def united(*columns):
    """The merged column of as many nodes, and the conflicts."""
    other = Column(name="z", kind="number")
    found = merge({f"n{k}": Schema(columns=(c, other)) for k, c in enumerate(columns)})
    return found.schema.columns[0], tuple(map(str, found.conflicts))


def number(**more):
    return Column(name="a", kind="number", **more)


def category(*levels, **more):
    return Column(name="a", kind="category", levels=levels, **more)


BOOLEAN = Column(name="a", kind="boolean")
EMPTY = Column(name="a", kind="ignore", note="there are no values here")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ((number(), number(missing=True)), number(missing=True)),
        ((category("x", "10"), category("9")), category("9", "10", "x")),
        ((category("0"), number()), number()),  # constant here
        ((category("0", "1"), number()), number()),
        ((BOOLEAN, number()), number()),
        ((BOOLEAN, category("0", "1", "2")), category("0", "1", "2")),
        ((EMPTY, number()), number(missing=True)),
        ((category("x", other=True), category("y")), category("x", "y", other=True)),
        (
            (category("male", "female", same={"M": "male"}), category("M", "female")),
            category("female", "male", same={"M": "male"}),
        ),
        (
            (category("low", "high", same={"01": "low"}), category("1", "high")),
            category("high", "low", same={"01": "low"}),
        ),
        ((EMPTY, EMPTY), EMPTY),
    ],
)
def test_columns_are_united(columns, expected):
    found, conflicts = united(*columns)
    assert conflicts == ()
    assert found == expected


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((number(), category("x", "y")), "a number in n0, but a category in n1"),
        ((category("0", "1", "2"), number()), "a number in n1, but a category in n0"),
        ((category("Male"), category("male")), "are `Male` (n0) and `male` (n1)"),
        ((category("M"), category("male")), 'same = { "M" = "male" }'),
        (
            (
                category("male", "married", same={"M": "male"}),
                category("male", "married", same={"M": "married"}),
            ),
            "`M` is the same as `male`, but the same as `married` in n1",
        ),
    ],
)
def test_conflicts_are_named(columns, message):
    _, conflicts = united(*columns)
    assert len(conflicts) == 1
    assert "Column `a`" in conflicts[0]
    assert message in conflicts[0]


def test_levels_that_begin_alike_are_no_conflict():
    assert united(category("north"), category("northeast"))[1] == ()
    assert united(category("1"), category("10"))[1] == ()


def test_a_column_that_a_node_lacks_is_a_conflict_unless_it_is_ignored():
    one = Schema(columns=(number(), Column(name="b", kind="number")))
    other = Schema(columns=(number(),))
    (said,) = map(str, merge({"north": one, "south": other}).conflicts)
    assert "Column `b` is missing in south" in said
    ignored = Schema(columns=(number(), Column(name="b", kind="ignore")))
    assert merge({"north": ignored, "south": other}).conflicts == ()


def test_a_category_of_which_no_level_is_shown_is_no_number():
    rare = Column(name="a", kind="category", other=True)
    (said,) = united(number(), rare)[1]
    assert "is a number in n0, but a category in n1" in said


def of(target):
    return Schema(columns=(number(),), target=target)


def test_classes_are_those_of_all_nodes():
    made = [Target(column="y", classes=c) for c in ((3, 1), (1, 2))]
    found = merge({"n0": of(made[0]), "n1": of(made[1]), "n2": of(None)})
    assert found.conflicts == ()
    assert found.schema.target.classes == (1, 2, 3)


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ({"classes": (1, 2)}, {"kind": "number"}, "`kind` is `class` in n0, but"),
        ({"classes": (1, 2)}, {"classes": ("1", "2")}, "have several types: int, str"),
        (
            {"classes": (0, 1)},
            {"classes": (False, True)},
            "have several types: bool, int",
        ),
        (
            {"groups": {"a": (0,), "b": (1,)}},
            {"classes": ("a", "b")},
            "`groups` is .* in n0, but not given in n1",
        ),
    ],
)
def test_targets_that_differ_are_a_conflict(one, other, message):
    found = merge(
        {
            "n0": of(Target(column="y", **one)),
            "n1": of(Target(column="y", **other)),
        }
    )
    assert any(re.search(message, str(said)) for said in found.conflicts)


def test_a_target_that_is_a_feature_elsewhere_is_a_conflict():
    labelled = of(Target(column="y", kind="number"))
    other = Schema(columns=(number(), Column(name="y", kind="number")))
    found = merge({"n0": labelled, "n1": other})
    assert "`y` is the target elsewhere, but a feature in n1" in found.conflicts[0].what
