"""A schema file is read back as it was written, and mistakes are named."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.errors import PlanError
from dssfn.schema import Column, Schema, Target
from dssfn.schema.text import load_schema, schema_text

names = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=12
).filter(lambda text: text == text.strip())
texts = st.text(st.characters(codec="utf-8"), max_size=9)
levels = st.lists(texts, min_size=1, max_size=4, unique_by=lambda t: t.strip()).map(
    tuple
)


@st.composite
def schemas(draw):
    chosen = draw(st.lists(names, min_size=2, max_size=5, unique=True))
    columns = []
    for k, name in enumerate(chosen[1:]):
        kind = draw(st.sampled_from(["number", "category", "boolean", "ignore"]))
        kind = "number" if k == 0 else kind
        more = {"note": draw(texts), "missing": draw(st.booleans())}
        if kind == "category":
            more |= {"levels": draw(levels), "other": draw(st.booleans())}
        columns.append(Column(name=name, kind=kind, **more))
    target = draw(
        st.sampled_from(
            [
                None,
                Target(column=chosen[0], kind="number"),
                Target(column=chosen[0], classes=(1, 2)),
                Target(column=chosen[0], groups={"a": (0,), "b": ("x", 2.5, True)}),
            ]
        )
    )
    try:
        return Schema(columns=tuple(columns), target=target)
    except PlanError:  # "a" may be missing, and another column is "a missing"
        return Schema(columns=(Column(name="x", kind="number"),))


@given(schemas(), texts)
def test_a_schema_is_read_back_as_it_was(tmp_path_factory, schema, remark):
    path = tmp_path_factory.mktemp("schema") / "schema.toml"
    remarks = {schema.columns[0].name: [" ".join(remark.split())]}
    path.write_text(schema_text(schema, remarks), encoding="utf-8", newline="")
    assert load_schema(path) == schema


def test_what_is_as_by_default_is_left_out():
    text = schema_text(Schema(columns=(Column(name="age", kind="number"),)))
    assert tomllib.loads(text) == {"columns": [{"name": "age", "kind": "number"}]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("columns = 3", r"schema\.toml.*`columns` must be a list"),
        (
            '[[columns]]\nname = "a"\nknd = "number"',
            "no setting `knd`.*of `a`.*`kind`",
        ),
        ('[[columns]]\nname = "a"\nkind = "nunber"', "Did you mean `number`"),
        ("[[columns]", "is not a TOML file"),
    ],
)
def test_mistakes_are_named(tmp_path, text, message):
    path = tmp_path / "schema.toml"
    path.write_text(text)
    with pytest.raises(PlanError, match=message):
        load_schema(path)
    with pytest.raises(PlanError, match="`dssfn schema FILE` writes a schema"):
        load_schema(tmp_path / "none.toml")
