"""Tables are read as a schema says, or refused with line and column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dssfn.datasets import ReadOptions
from dssfn.datasets.column_survey import survey_columns
from dssfn.datasets.contents import read_encoded
from dssfn.datasets.files import open_columns
from dssfn.datasets.table_samples import TableSamples
from dssfn.errors import DataError
from dssfn.schema import Column, Schema, Target

AGE = Column(name="age", kind="number", missing=True)
PAIN = Column(name="pain", kind="category", levels=(1, 2), missing=True)
SEX = Column(name="sex", kind="category", levels=("f", "m"), same={"M": "m"})
SMOKES = Column(name="smokes", kind="boolean", missing=True)
TARGET = Target(column="num", groups={"well": (0,), "sick": (1, 2)})
SCHEMA = Schema(columns=(AGE, PAIN, SEX, SMOKES), target=TARGET)
HEAD = "id,age,pain,sex,smokes,num\n"
ROWS = ["a,30,1,f,true,0\n", "b,,2,M,FALSE,2\n", "c,41.5,,m,,1\n"]


def read(path, schema=SCHEMA, *, is_labelled=True):
    samples = TableSamples(open_columns(path), schema, is_labelled=is_labelled)
    return list(samples.survey(None).blocks())


def written(folder, *rows, head=HEAD):
    path = folder / "t.csv"
    path.write_text(head + "".join(rows))
    return path


EXPECTED = [
    [30, np.nan, 41.5],
    [0, 1, 0],
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
    [1, 0, 0],
    [0, 1, 1],
    [1, 0, np.nan],
    [0, 0, 1],
]


def test_a_table_becomes_features_and_classes(tmp_path):
    (block,) = read(written(tmp_path, *ROWS))
    np.testing.assert_array_equal(block.X, EXPECTED)
    assert block.labels.tolist() == ["well", "sick", "sick"]
    (unlabelled,) = read(written(tmp_path, *ROWS), is_labelled=False)
    assert unlabelled.labels is None


def test_a_parquet_file_of_pandas_gives_the_same(tmp_path):
    frame = pd.DataFrame(
        {
            "age": [30, None, 41.5],
            "pain": pd.array([1, 2, None], dtype="Int64"),
            "sex": pd.Categorical(["f", "M", "m"]),
            "smokes": pd.array([True, False, None], dtype="boolean"),
            "num": [0, 2, 1],
        },
        index=[7, 8, 9],
    )
    frame.to_parquet(tmp_path / "t.parquet")
    (block,) = read(tmp_path / "t.parquet")
    np.testing.assert_array_equal(block.X, EXPECTED)
    assert block.labels.tolist() == ["well", "sick", "sick"]


def test_numbers_may_be_the_target(tmp_path):
    schema = SCHEMA.with_target(Target(column="num", kind="number"))
    (block,) = read(written(tmp_path, *ROWS), schema)
    assert block.labels.tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("d,x,1,f,1,0\n", r"line 5, column `age`: .* a number, got 'x'"),
        ("d,inf,1,f,1,0\n", r"line 5, column `age`: .* a number, got 'inf'"),
        (
            "d,3,7,f,1,0\n",
            r"line 5, column `pain`: '7' is not one of the levels `1`, `2`",
        ),
        ("d,3,1,,1,0\n", r"line 5, column `sex`: .* missing.*`missing = true`"),
        ("d,3,1,w,1,0\n", r"line 5, column `sex`: 'w' is not one of .*`other = true`"),
        ("d,3,1,f,maybe,0\n", r"line 5, column `smokes`: .*true or false, got 'maybe'"),
        ("d,3,1,f,1,\n", r"line 5, column `num`: the target is missing"),
        ("d,3,1,f,1,9\n", r"line 5, column `num`: '9' does not belong to a class"),
    ],
)
def test_what_the_schema_does_not_allow_is_refused(tmp_path, row, message):
    with pytest.raises(DataError, match=r"`t\.csv`, " + message):
        read(written(tmp_path, *ROWS, row))


def test_a_column_that_is_not_there_is_named(tmp_path):
    path = written(tmp_path, "30,1,f,true,0\n", head="age,pains,sex,smokes,num\n")
    with pytest.raises(DataError, match=r"no column `pain`.*Did you mean `pains`"):
        read(path)
    head = "age,sex,smokes,num\n"
    with pytest.raises(
        DataError,
        match=r"add the column with empty fields: the schema .*missing values",
    ):
        read(written(tmp_path, "30,f,true,0\n", head=head))
    with pytest.raises(DataError, match=r"only `age/pain`\. Is `sep` the right"):
        read(written(tmp_path, "30/1\n", head="age/pain\n"))
    with pytest.raises(DataError, match="no target column `num`"):
        read(written(tmp_path, "30,1,f,true\n", head="age,pain,sex,smokes\n"))
    with pytest.raises(DataError, match="the schema must have a target"):
        read(written(tmp_path, *ROWS), SCHEMA.with_target(None))


def test_a_feature_names_no_samples(tmp_path):
    file = open_columns(written(tmp_path, *ROWS))
    with pytest.raises(
        DataError, match="`id` must be a column that is not used as a feature"
    ):
        TableSamples(file, SCHEMA, is_labelled=True, id="age")


def test_values_that_are_no_level_may_be_others(tmp_path):
    sex = Column(name="sex", kind="category", levels=("f", "m"), other=True)
    (block,) = read(written(tmp_path, *ROWS), Schema(columns=(sex,)), is_labelled=False)
    assert block.X.tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_a_survey_sees_kinds_gaps_and_values(tmp_path):
    rows = [
        f"{k},{k / 4},{k % 2},{'ab'[k % 2]},{k % 3 == 0},,2024-01-{k + 1:02d}\n"
        for k in range(20)
    ]
    path = written(tmp_path, *rows, head="id,size,flag,kind,big,none,day\n")
    found = {one.name: one for one in survey_columns(path).columns}
    assert {name: one.kinds for name, one in found.items()} == {
        "id": {"whole"}, "size": {"number"}, "flag": {"whole"}, "kind": {"text"},
        "big": {"boolean"}, "none": set(), "day": {"date"},
    }  # fmt: skip
    assert found["id"].are_all_different
    assert found["none"].n_missing == found["none"].n_rows == 20
    assert found["kind"].counts == {"a": 10, "b": 10}


ARRAYS = {
    "age": np.array([30, np.nan, 41.5], dtype=">f4"),
    "pain": np.array([1, 2, np.nan]),
    "sex": np.array(["f", "M", "m"]),
    "smokes": np.array(["true", "FALSE", ""]),
    "num": np.array([0, 2, 1], dtype=">i2"),
    "id": np.array(["a", "b", "c"]),
}


@pytest.mark.parametrize("at_once", [1, 2**22])
def test_the_arrays_of_an_archive_are_columns(write, at_once, monkeypatch):
    monkeypatch.setattr("dssfn.datasets.npz_columns._BYTES", at_once)
    path = write("t.npz", ARRAYS)
    blocks = read(path)
    assert len(blocks) == (3 if at_once == 1 else 1)
    np.testing.assert_array_equal(np.hstack([one.X for one in blocks]), EXPECTED)
    labels = np.concatenate([one.labels for one in blocks])
    assert labels.tolist() == ["well", "sick", "sick"]
    options = ReadOptions(id="id")
    table = read_encoded(path, SCHEMA, is_labelled=True, options=options)
    np.testing.assert_array_equal(table.X.T, EXPECTED)
    assert table.ids == ("a", "b", "c")


def test_a_survey_sees_the_arrays_of_an_archive(write):
    assert [one.kinds for one in survey_columns(write("t.npz", ARRAYS)).columns] == [
        {"number"}, {"whole"}, {"text"}, {"text"}, {"whole"}, {"text"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.ones((3, 2))}, r"`X` of shape \(3, 2\). Save columns by their names"),
        ({"age": np.ones(4)}, "the same number of rows, got 4 in `age` and 3 in `id`"),
        ({"age": np.array([b"1"] * 3)}, "array `age` must hold numbers, text or true"),
        ({"age": np.array(["1", "x", "2"])}, "row 2, column `age`: .* got 'x'"),
        ({"sex": np.array(["f", "w", "m"])}, "row 2, column `sex`: 'w' is not one of"),
        ({"num": np.array([0, 9, 1])}, "row 2, column `num`: '9' does not belong to a"),
        ({"age": np.array(["x" * 1001] * 3)}, "at most 1000 characters"),
        ({"age": np.array([1, np.inf, 2])}, "row 2, column `age`: .* got 'inf'"),
    ],
)
def test_arrays_that_are_no_columns_of_the_schema_are_refused(write, change, message):
    with pytest.raises(DataError, match=r"`t\.npz`.*" + message):
        read(write("t.npz", ARRAYS | change))


def test_an_archive_of_a_matrix_is_no_table(write):
    path = write("t.npz", {"X": np.ones((3, 2)), "y": np.array([0, 1, 0])})
    for look in (survey_columns, read):
        with pytest.raises(DataError, match=r"numpy.savez.*or give a table such as"):
            look(path)
    others = {name: array for name, array in ARRAYS.items() if name != "age"}
    with pytest.raises(DataError, match="no column `age`, which the schema has"):
        read(write("t.npz", others))


def test_a_file_without_rows_is_refused(tmp_path):
    path = written(tmp_path)
    with pytest.raises(DataError, match="no rows"):
        survey_columns(path)
