"""A level is one text, whatever file it came from."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dssfn.datasets.contents import read_encoded
from dssfn.schema.text import load_schema
from dssfn.schema.values import level_text, spellings
from tests.support.commands import dssfn


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((1, 1.0, "1", " 1", "1.", "1.0", "01", "+1", "1e0"), "1"),
        ((0, -0.0, "-0", "00", ".0"), "0"),
        ((0.5, ".5", "0.50", "5e-1"), "0.5"),
        ((-3, "-03.0"), "-3"),
        ((1000.0, "1E3"), "1000"),
        (("\u00e9", "e\u0301 "), "\u00e9"),
        (("1_000",), "1_000"),
        (("1,5",), "1,5"),
        (("\u0661",), "\u0661"),  # a digit, but no number that files are read with
        (("1e999",), "1e999"),
        (("nan",), "nan"),
        ((5000 * "9",), 5000 * "9"),
    ],
)
def test_numbers_and_accents_are_written_in_one_way(values, text):
    assert {level_text(value) for value in values} == {text}


@given(st.text() | st.floats(allow_nan=False, allow_infinity=False) | st.integers())
@example("-0.0")
@example("00")
def test_the_text_of_a_level_is_its_own_text(value):
    assert level_text(level_text(value)) == level_text(value)


@given(st.integers(-(10**6), 10**6).map(str) | st.sampled_from(["\u00e9", "M", "0.5"]))
def test_all_spellings_are_the_level(text):
    assert {level_text(one) for one in spellings(text)} == {text}


def test_a_field_is_the_same_level_whether_other_rows_are_text_or_not(tmp_path):
    ends = ["01,yes\n", "1.0,yes\n", "02,no\n"] * 6
    mixed, plain = tmp_path / "mixed.csv", tmp_path / "plain.csv"
    mixed.write_text("ward,y\n" + "".join([*ends, *["B,no\n"] * 6]))
    plain.write_text("ward,y\n" + "".join(ends))
    schemas = []
    for path in (mixed, plain):
        schemas.append(path.with_suffix(".toml"))
        made = dssfn("schema", path, "--target", "y", "--out", schemas[-1])
        assert made.exit_code == 0, made.output
    united = tmp_path / "united.toml"
    assert dssfn("schema", "merge", *schemas, "--out", united).exit_code == 0
    schema = load_schema(united)
    assert schema.column("ward").levels == ("1", "2", "B")
    both = [read_encoded(path, schema).X[:18].tolist() for path in (mixed, plain)]
    assert both[0] == both[1] == [[1, 0, 0], [1, 0, 0], [0, 1, 0]] * 6
