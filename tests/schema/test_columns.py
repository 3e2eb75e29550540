"""A schema says what columns become, and what is wrong with it."""

from __future__ import annotations

import msgspec
import pytest

from dssfn.config import Plan
from dssfn.errors import PlanError
from dssfn.schema import Column, Schema, Target

AGE = Column(name="age", kind="number", missing=True, unit="years")
PAIN = Column(name="pain", kind="category", levels=(1, 2.0, "3"), missing=True)
SEX = Column(
    name="sex",
    kind="category",
    levels=("f", "m"),
    same={"M": "m", "w": "f"},
    other=True,
)
SMOKES = Column(name="smokes", kind="boolean")
ID = Column(name="id", kind="ignore", note="numbers the rows")
TARGET = Target(column="num", groups={"healthy": (0,), "sick": (1, 2, 3)})
SCHEMA = Schema(columns=(ID, AGE, PAIN, SEX, SMOKES), target=TARGET)


def test_columns_become_features_in_their_order():
    assert SCHEMA.feature_names == (
        "age", "age missing", "pain=1", "pain=2", "pain=3", "pain missing",
        "sex=f", "sex=m", "sex other", "smokes",
    )  # fmt: skip
    assert SCHEMA.used == (AGE, PAIN, SEX, SMOKES)
    assert SCHEMA.has_gaps
    assert not Schema(columns=(PAIN, SMOKES)).has_gaps  # a level of its own


def test_texts_lead_to_levels_and_classes():
    assert SEX.codes() == {"f": 0, "m": 1, "M": 1, "w": 0}
    assert PAIN.codes() == {"1": 0, "2": 1, "3": 2}
    assert TARGET.classes == ("healthy", "sick")
    assert TARGET.codes() == {"0": 0, "1": 1, "2": 1, "3": 1}
    assert Target(column="y", classes=(True, False)).codes() == {"true": 0, "false": 1}


def test_a_schema_survives_json_and_a_plan():
    plan = Plan(**SCHEMA.settings())
    assert (plan.n_features, plan.classes) == (10, ("healthy", "sick"))
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan
    numbers = Schema(columns=(AGE,), target=Target(column="cost", kind="number"))
    assert Plan(**numbers.settings()).targets == ("cost",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_features": 9}, "`n_features` must be as in the schema, 10, got 9"),
        ({"classes": ("a", "b")}, "`classes` must be .* `healthy`, `sick`, got `a`"),
        ({"feature_names": None}, "`feature_names` must be as in the schema"),
    ],
)
def test_a_plan_must_agree_with_its_schema(change, message):
    with pytest.raises(PlanError, match=message):
        Plan(**SCHEMA.settings() | change)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Column(name="", kind="number"), "must not be empty"),
        (lambda: Column(name=" a", kind="number"), "or end in spaces"),
        (lambda: Column(name="a", kind="nunber"), "`a`.*Did you mean `number`"),
        (lambda: Column(name="a", kind="category"), "`a`.*must have `levels`"),
        (lambda: Column(name="a", kind="number", levels=(1,)), "are for a category"),
        (
            lambda: Column(name="a", kind="category", levels=(1, "1.0")),
            "must differ, got '1' twice",
        ),
        (
            lambda: Column(name="a", kind="category", levels=range(1001)),
            "at most 1000, got 1001",
        ),
        (
            lambda: Column(name="a", kind="category", levels=("x",), same={"y": "z"}),
            "must lead to one of the levels `x`, got 'z' for 'y'",
        ),
        (
            lambda: Column(
                name="a", kind="category", levels=("x", "y"), same={"y": "x"}
            ),
            "is a level itself",
        ),
        (lambda: Target(column="y", kind="clas"), "Did you mean `class`"),
        (lambda: Target(column="y"), "at least two classes"),
        (lambda: Target(column="y", kind="number", classes=(1, 2)), "for a class"),
        (
            lambda: Target(column="y", classes=("a", "b"), groups={"a": (1,)}),
            "for all of the classes `a`, `b`",
        ),
        (
            lambda: Target(column="y", groups={"a": (1,), "b": (1.0,)}),
            "got '1' twice",
        ),
        (lambda: Target(column="y", groups={"a": (1,), "b": ()}), "none for a class"),
        (lambda: Target(column="y", classes=(1, "1.0")), "`classes` must differ"),
        (
            lambda: Column(name="a", kind="category", levels=("x", "y"),
                           same={"1": "x", "01": "y"}),
            "what is the `same` must differ, got '1' twice",
        ),
        (lambda: Schema(columns=(AGE, AGE)), "every column once, got `age`"),
        (lambda: Schema(columns=(AGE,), target=Target(column="age", kind="number")),
         "every column once, got `age`"),
        (lambda: Schema(columns=(ID,)), "a column that is not ignored"),
        (
            lambda: Schema(
                columns=(AGE, Column(name="age missing", kind="number")),
            ),
            "features of the same name, got `age missing`",
        ),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(PlanError, match=message):
        make()
