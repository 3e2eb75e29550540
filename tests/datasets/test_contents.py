from __future__ import annotations

import subprocess
import sys
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.datasets import SUFFIXES, load, openml, read_labelled, read_table
from dssfn.errors import DataError
from tests.support.data_sets import BAD_CELLS

X = np.array([[1.5, -2.0], [0.1, 3e-9], [7.0, 1e12], [0.0, 4.0]])
LABELS = {
    "text": ["a", "b c", "a", "é"],
    "whole": [3, -1, 3, 0],
    "bool": [True, False, True, True],
}


def assert_refused(pattern, path, **options):
    """The message matches, on one line, and names the file."""
    with pytest.raises(DataError, match=pattern) as caught:
        read_table(path, **options)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)


# What can be read


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".CSV"])
@pytest.mark.parametrize("kind", LABELS)
def test_a_table_comes_back_as_written(write, suffix, kind):
    labels = LABELS[kind]
    columns = {"u": X[:, 0], "label": labels, "v": X[:, 1]}
    table = read_table(write(f"t{suffix}", columns), target="label")
    assert np.array_equal(table.X, X)
    assert table.X.dtype == np.float64
    assert table.X.flags.c_contiguous
    assert table.y.tolist() == labels
    assert table.feature_names == ("u", "v")
    assert table.target == "label"


@pytest.mark.parametrize("kind", LABELS)
def test_an_npz_comes_back_as_written(write, kind):
    path = write("t.npz", {"X": X.astype(np.float32), "y": np.array(LABELS[kind])})
    table = read_table(path, target="y")
    assert np.array_equal(table.X, X.astype(np.float32))
    assert table.X.dtype == np.float64
    assert table.y.tolist() == LABELS[kind]
    assert table.feature_names is None


@settings(derandomize=True, max_examples=25)
@given(
    rows=st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False),
            st.integers(-(2**53), 2**53),
            st.sampled_from(["x", "y z", 'q"q', "a,b", "ü"]),
        ),
        min_size=1,
        max_size=8,
    )
)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_any_finite_numbers_and_labels_survive(tmp_path_factory, suffix, rows):
    path = tmp_path_factory.mktemp("laws") / f"t{suffix}"
    frame = pl.DataFrame(rows, schema=["f", "i", "y"], orient="row")
    frame.write_csv(path) if suffix == ".csv" else frame.write_parquet(path)
    table = read_table(path, target="y")
    assert np.array_equal(table.X, [[f, i] for f, i, _ in rows])
    assert table.y.tolist() == [label for *_, label in rows]


def test_without_a_target_every_column_is_a_feature(write):
    table = read_table(write("t.csv", {"a": [1], "b": [2]}))
    assert table.X.tolist() == [[1, 2]]
    assert table.y is None
    assert table.target is None


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffa,y\n1,2\n",  # byte order mark
        "a,y\r\n1,2\r\n",  # Windows
        "a,y\n1,2",  # no end of line
        "a,y\n1,2\n\n\n",  # blank end
        "a,y\n1,2\n,\n  ,\n",  # blank cells at the end
        "\na,y\n1,2\n",  # blank start
        " a , y\n1 , 2 \n",  # blanks
        '"a","y"\n"1","2"\n',  # quotes
    ],
)
def test_csv_dialects_that_mean_the_same_read_the_same(write, text):
    table = read_table(write("t.csv", text), target="y")
    assert table.X.tolist() == [[1]]
    assert table.y.tolist() == [2]
    assert table.feature_names == ("a",)


def test_text_labels_lose_the_blanks_around_them(write):
    table = read_table(write("t.csv", "a,y\n1, one \n2,two\n"), target="y")
    assert table.y.tolist() == ["one", "two"]


@pytest.mark.parametrize("words", [("true", "false"), ("True", "False")])
def test_boolean_features_are_one_and_zero(write, words):
    table = read_table(write("t.csv", "a\n{}\n{}\n".format(*words)))
    assert table.X.tolist() == [[1], [0]]
    assert read_table(write("t.parquet", {"a": [True, False]})).X.sum() == 1


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_whole_float_labels_become_ints(write, suffix):
    path = write(f"t{suffix}", {"a": [1, 2], "y": [0.0, 2.0]})
    labels = read_table(path, target="y").y
    assert labels.dtype == np.int64
    assert labels.tolist() == [0, 2]


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32])
def test_whole_labels_of_any_width_become_int64(write, dtype):
    path = write("t.npz", {"X": X, "y": np.array([0, 1, 2, 1], dtype=dtype)})
    assert read_table(path, target="y").y.dtype == np.int64


def test_categories_and_decimals_in_parquet_are_labels_and_numbers(write):
    frame = pl.DataFrame({"a": ["1.50", "2.25"], "c": ["u", "v"], "d": ["1.0", "2.0"]})
    frame = frame.with_columns(
        pl.col("a").cast(pl.Decimal(10, 2)),
        pl.col("c").cast(pl.Categorical),
        pl.col("d").cast(pl.Decimal(10, 1)),
    )
    path = write("t.parquet", frame)
    by_category = read_table(path, target="c", features=["a"])
    assert by_category.y.tolist() == ["u", "v"]
    assert by_category.X.tolist() == [[1.5], [2.25]]
    assert read_table(path, target="d", features=["a"]).y.tolist() == [1, 2]


def test_a_name_with_a_wildcard_is_one_file(write):
    write("t1.csv", "a\n9\n")
    assert read_table(write("t[1].csv", "a\n1\n")).X.tolist() == [[1]]


def test_numbered_columns_are_names(write):
    assert read_table(write("t.csv", "0,1\n5,6\n")).feature_names == ("0", "1")


# Columns a model was trained on


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_features_are_taken_by_name_whatever_else_the_file_has(write, suffix):
    path = write(f"t{suffix}", {"note": ["x"], "b": [2], "y": ["yes"], "a": [1]})
    table = read_table(path, features=("a", "b"), n_features=2)
    assert table.X.tolist() == [[1, 2]]
    assert table.feature_names == ("a", "b")
    assert read_table(path, features=("a", "b"), target="y").y.tolist() == ["yes"]


def test_a_missing_feature_is_named_with_the_near_one(write):
    path = write("t.csv", {"widht": [1], "b": [2]})
    assert_refused(
        r"no column `width`.*Did you mean `widht`", path, features=("b", "width")
    )


@pytest.mark.parametrize("name", ["t.csv", "t.npz"])
def test_without_names_the_number_of_features_must_fit(write, name):
    content = {"X": np.ones((2, 63))}
    if name == "t.csv":
        content = {f"c{column}": [1.0, 2.0] for column in range(63)}
    path = write(name, content)
    with pytest.raises(DataError) as caught:
        read_table(path, n_features=64)
    message = f"The model was trained on 64 features, `{name}` has 63."
    assert str(caught.value) == message
    assert read_table(path, n_features=63).X.shape == (2, 63)


def test_an_npz_is_checked_by_number_when_the_model_has_names(write):
    path = write("t.npz", {"X": X})
    assert read_table(path, features=("a", "b")).X.shape == (4, 2)
    assert_refused("trained on 3 features", path, features=("a", "b", "c"))


def test_labels_default_to_y_for_npz_and_must_be_named_for_csv(write):
    npz = write("t.npz", {"X": X, "y": np.array(LABELS["text"])})
    assert read_labelled(npz).y.tolist() == LABELS["text"]
    csv = write("t.csv", {"a": [1], "b": [2]})
    with pytest.raises(DataError, match=r"`target` must name.*`t.csv`.*`a`, `b`"):
        read_labelled(csv)
    assert read_labelled(csv, "b").y.tolist() == [2]


# The file itself


def test_only_data_are_offered_for_data_that_are_not_there(write):
    path = write("measured.toml", "")
    for name in ("measured.key", "measured.safetensors", "measured"):
        path.with_name(name).touch()
    assert_refused("does not exist. Check the path", path.with_name("measurd.csv"))
    write("measured.TSV", "a\n1\n")
    assert_refused("Did you mean `measured.TSV`", path.with_name("measurd.csv"))


@pytest.mark.parametrize(
    ("name", "what"),
    [("m.safetensors", "a model"), ("m.ONNX", "a model"), ("m.toml", "a schema or a")],
)
def test_what_is_no_data_is_called_what_it_is(write, name, what):
    rule = f"`{name}` is {what}.*, not data. Give a CSV, TSV, Parquet, Feather, XLSX or"
    assert_refused(rule, write(name, "text"))


def test_a_missing_file_is_named_with_the_near_one(write):
    path = write("measured.csv", "a\n1\n")
    missing = path.with_name("measurd.csv")
    assert_refused("does not exist. Did you mean `measured.csv`", missing)
    assert_refused("does not exist. Check the path", path.with_name("zzz.npz"))
    assert_refused("nor does its folder", path.parent / "no" / "t.csv")


def test_a_folder_is_no_file(tmp_path):
    assert_refused("is a folder", tmp_path)


@pytest.mark.parametrize("name", ["t.xls", "t", "t.txt", "t.csv.bz2"])
def test_an_unknown_suffix_lists_the_known_ones(write, name):
    assert_refused(r"one of \.csv, .*\.parquet, .*\.npz", write(name, "a\n1\n"))


@pytest.mark.parametrize("name", ["t.parquet.gz", "t.NPZ.GZ"])
def test_only_text_may_be_packed(write, name):
    assert_refused("must be decompressed first", write(name, "a\n1\n"))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_file_is_refused(write, suffix):
    assert_refused("is empty", write(f"t{suffix}", b""))


def test_a_file_of_blank_lines_is_empty(write):
    assert_refused("is empty", write("t.csv", "\n\n"))


@pytest.mark.parametrize("text", ["a,b\n", "a,b", "a,b\n\n\n"])
def test_a_header_alone_is_refused(write, text):
    assert_refused("no rows", write("t.csv", text))


def test_a_parquet_file_without_rows_is_refused(write):
    assert_refused("no rows", write("t.parquet", {"a": []}))


def test_a_damaged_parquet_file_is_refused(write):
    whole = write("t.parquet", {"a": [1, 2]}).read_bytes()
    assert_refused("damaged or not a Parquet", write("t.parquet", b"PAR1 nonsense"))
    assert_refused("damaged or not a Parquet", write("t.parquet", whole[:-6]))


def test_a_damaged_npz_file_is_refused(write):
    whole = write("t.npz", {"X": np.arange(4000.0).reshape(40, 100)}).read_bytes()
    broken = bytearray(whole)
    broken[len(whole) // 2] ^= 0xFF
    assert_refused("damaged or not an NPZ", write("t.npz", b"nonsense"))
    assert_refused("damaged or not an NPZ", write("t.npz", whole[: len(whole) // 2]))
    assert_refused("damaged or not an NPZ", write("t.npz", bytes(broken)))


def test_an_npz_of_a_later_version_is_refused(write):
    whole = bytearray(write("t.npz", {"X": X, "y": np.arange(4)}).read_bytes())
    entry = whole.index(b"PK\x01\x02")  # in the table of contents
    whole[entry + 6] = 99  # the version that is needed to read it
    assert_refused("damaged or not an NPZ", write("t.npz", bytes(whole)))


def test_pickled_objects_are_never_read(write):
    path = write("t.npz", {"X": np.array([[object()]], dtype=object)})
    assert_refused("could run code", path)


def test_a_bare_array_is_no_npz(tmp_path):
    path = tmp_path / "t.npz"
    with path.open("wb") as file:
        np.save(file, X)
    assert_refused("one bare array", path)


def test_a_line_with_too_many_fields_is_named(write):
    path = write("t.csv", 'a,b\n1,2\n"1\n",2\n1,2,3\n')
    assert_refused(r"line 5: expected 2 fields.*got 3", path)


def test_a_line_with_too_few_fields_has_a_missing_value(write):
    assert_refused(
        "line 3, column `b`: the value is missing", write("t.csv", "a,b\n1,2\n1\n")
    )


def test_other_broken_csv_gives_the_readers_reason(write):
    assert_refused("cannot be read as CSV", write("t.csv", 'a,b\n"1"x,2\n3,4\n'))


def test_a_quotation_mark_that_is_never_closed_is_found(write):
    path = write("t.csv", 'a,b\n"1","2"\n"3,4\n5,6\n')
    assert_refused("`t.csv`, line 3: a quotation mark is opened and never", path)


def test_a_carriage_return_alone_does_not_end_a_line(write):
    assert_refused("must end in a line feed", write("t.csv", "a,b\r1,2\r3,4\r"))


# Columns


def test_a_line_of_numbers_is_no_header(write):
    path = write("t.csv", "5.1,3.5\n4.9,3.0\n")
    assert_refused(r"line 1: the first line must hold the column names", path)


def test_duplicate_column_names_are_refused(write):
    assert_refused("`a` occurs 2 times", write("t.csv", "a,b,a \n1,2,3\n"))
    assert_refused("`a` occurs 2 times", write("t.parquet", {"a": [1], "a ": [2]}))


def test_a_column_without_a_name_is_refused(write):
    assert_refused(r"column 1 has no name.*index=False", write("t.csv", ",b\n0,2\n"))


def test_a_missing_target_lists_the_columns_and_the_near_one(write):
    path = write("t.csv", {f"c{column}": [1] for column in range(12)})
    assert_refused(
        r"no target column `c_3`, only `c0`, .*`c7` and 4 more, the last of which is "
        r"`c11`\. Did you mean `c3`",
        path,
        target="c_3",
    )
    assert_refused(
        r"no array `labels`, only `X`", write("t.npz", {"X": X}), target="labels"
    )


def test_an_npz_without_features_lists_what_it_has(write):
    assert_refused("no array `X`, only `data`", write("t.npz", {"data": X}))


def test_no_feature_columns_left_is_refused(write):
    assert_refused("no feature columns", write("t.csv", {"y": [1, 2]}), target="y")


# Values


@pytest.mark.parametrize(("cells", "line", "rule"), BAD_CELLS)
def test_a_bad_csv_value_is_named_by_line_and_column(write, cells, line, rule):
    text = "ok,bad\n" + "".join(f"1,{cell}\n" for cell in cells)
    assert_refused(f"line {line}, column `bad`: .*{rule}", write("t.csv", text))


def test_a_blank_line_between_samples_is_a_missing_value(write):
    assert_refused("line 3, column `a`", write("t.csv", "a,b\n1,2\n\n3,4\n"))


@pytest.mark.parametrize(
    ("values", "row", "rule"),
    [
        ([1, None, 2], 2, "the value is missing"),
        ([1.0, 2.0, float("inf")], 3, "must be finite, got inf"),
        (["1", "2", "x"], 3, "must be numbers, got 'x'"),
        ([None, None, None], 1, "the value is missing"),
        ([[1], [2], [3]], 1, "must be numbers"),
        ([date(2024, 1, 1)] * 3, 1, "must be numbers, got '2024-01-01'"),
    ],
)
def test_a_bad_parquet_value_is_named_by_row_and_column(write, values, row, rule):
    path = write("t.parquet", {"ok": [1, 2, 3], "bad": values})
    assert_refused(f"row {row}, column `bad`: .*{rule}", path)


def test_a_bad_npz_value_is_named_by_row_and_column(write):
    bad = X.copy()
    bad[2, 1] = np.nan
    assert_refused("row 3, column 2 of `X`.*got nan", write("t.npz", {"X": bad}))


@pytest.mark.parametrize("shape", [(4,), (2, 2, 2), (0, 3), (3, 0)])
def test_npz_features_must_be_a_matrix(write, shape):
    assert_refused("must be a matrix", write("t.npz", {"X": np.zeros(shape)}))


def test_npz_features_must_be_numbers(write):
    assert_refused("must hold numbers", write("t.npz", {"X": np.array([["a"]])}))


def test_npz_labels_must_fit_the_features(write):
    short = write("t.npz", {"X": X, "y": np.arange(3)})
    assert_refused("the same number of rows, got 4 and 3", short, target="y")
    one_hot = write("t.npz", {"X": X, "y": np.eye(4)})
    assert_refused("one label per sample", one_hot, target="y")
    complex_labels = write("t.npz", {"X": X, "y": np.ones(4, dtype=complex)})
    assert_refused("must hold class labels", complex_labels, target="y")
    huge = write("t.npz", {"X": X, "y": np.full(4, 2**63, dtype=np.uint64)})
    assert_refused(r"below 2\*\*63", huge, target="y")


# The target


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_an_empty_target_column_is_refused(write, suffix):
    path = write(f"t{suffix}", {"a": [1, 2], "y": [None, None]})
    assert_refused("target column `y` has no values", path, target="y")


@pytest.mark.parametrize("labels", [["u", None], [1, None], [1.0, None], [True, None]])
def test_a_missing_label_is_named_by_row(write, labels):
    content = {"a": [1, 2], "y": labels}
    csv, parquet = write("t.csv", content), write("t.parquet", content)
    assert_refused("line 3: the target `y` is missing", csv, target="y")
    assert_refused("row 2: the target `y` is missing", parquet, target="y")


def test_a_nan_label_is_missing(write):
    path = write("t.npz", {"X": X, "y": np.array([0, 1, np.nan, 0])})
    assert_refused("row 3: the target `y` is missing", path, target="y")


@pytest.mark.parametrize("value", [1.5, float("inf")])
def test_a_fractional_target_asks_for_class_labels(write, value):
    path = write("t.parquet", {"a": [1, 2], "y": [1.0, value]})
    assert_refused(
        r"row 2: classification needs class labels.*--number",
        path,
        target="y",
    )


def test_labels_of_other_types_are_refused(write):
    days = [date(2024, 1, 1), date(2024, 1, 2)]
    path = write("t.parquet", {"a": [1, 2], "y": days})
    assert_refused("must hold class labels", path, target="y")
    path = write("t.csv", f"a,y\n1,{10**30}\n2,3\n")
    assert_refused("must hold class labels", path, target="y")


# The index of a pandas table


def feature_names(path, **given):
    """The features that are taken from a file."""
    return read_labelled(path, "y", **given).feature_names


@pytest.mark.parametrize("index", [None, "patient"])
def test_the_index_of_a_pandas_table_is_no_feature(tmp_path, index):
    path = tmp_path / "t.parquet"
    rows = pd.Index([5, 6, 9], name=index)
    pd.DataFrame({"a": [1.0, 2, 3], "y": [0, 1, 0]}, index=rows).to_parquet(path)
    assert feature_names(path) == ("a",)
    by_name = index or "__index_level_0__"
    assert feature_names(path, features=(by_name, "a")) == (by_name, "a")


def test_an_index_column_is_known_by_its_name_where_nothing_else_tells(write):
    columns = {"__index_level_0__": [7, 8], "a": [1, 2], "y": [0, 1]}
    assert feature_names(write("t.parquet", columns)) == ("a",)
    assert feature_names(write("t.csv", columns)) == ("__index_level_0__", "a")


def test_an_index_may_be_the_target(tmp_path):
    path = tmp_path / "t.parquet"
    rows = pd.Index([0, 1, 0], name="y")
    pd.DataFrame({"a": [1.0, 2, 3]}, index=rows).to_parquet(path)
    assert feature_names(path) == ("a",)


@pytest.mark.parametrize("note", ["nonsense", "[]", '{"index_columns": 3}', "[" * 9999])
def test_a_damaged_note_of_pandas_is_no_matter(tmp_path, note):
    path = tmp_path / "t.parquet"
    table = pl.DataFrame({"a": [1, 2], "y": [0, 1]})
    table.write_parquet(path, metadata={"pandas": note})
    assert feature_names(path) == ("a",)


# What is imported


def test_no_library_is_imported_before_a_file_needs_it(write):
    path = write("t.npz", {"X": X})
    code = (
        "import sys; from dssfn.datasets import read_table; read_table(sys.argv[1]); "
        "print({'pandas', 'polars', 'sklearn'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


# A forgotten suffix


@pytest.mark.parametrize("stem", ["f", "patients"])
def test_a_forgotten_suffix_is_asked_for(write, monkeypatch, stem):
    path = write(f"{stem}.csv", "a,y\n1,0\n2,1\n")
    with pytest.raises(DataError, match=rf"Did you mean `{stem}.csv`\?"):
        read_labelled(path.with_suffix(""), "y")
    monkeypatch.chdir(path.parent)
    monkeypatch.setattr(openml, "download", None)  # nobody is asked for it
    with pytest.raises(DataError, match=rf"Did you mean `{stem}.csv`\?"):
        load(stem, target="y")


def test_a_cell_that_cannot_be_parsed_is_told_with_the_columns_own_name(write):
    path = write("t.csv", 'age,bmi,y\n1,2,a\n3,"1" ,b\n4,5,a\n')
    with pytest.raises(DataError, match="at column 'bmi'"):
        read_table(path)
