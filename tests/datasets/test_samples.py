from __future__ import annotations

import gzip
import subprocess
import sys
import textwrap
from contextlib import ExitStack, contextmanager
from datetime import date
from decimal import Decimal
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.datasets import (
    SUFFIXES,
    FileSamples,
    csv_file,
    csv_text,
    describe,
    files,
    npz_samples,
    read_labelled,
    sliced_file,
)
from dssfn.errors import DataError, PlanError
from dssfn.shard import one_hot
from tests.support.data_sets import BAD_CELLS

X = np.array([[1.5, -2.0], [0.1, 3e-9], [7.0, 1e12], [0.0, 4.0], [2.0, 0.5]])
TEXT = np.array(["b c", "a", "é", "a", "a"])


@contextmanager
def small_blocks(size):
    """Blocks of a few lines, so that small files have many."""
    with ExitStack() as stack:
        for module, name in (
            (csv_file, "_CSV_BYTES"),
            (sliced_file, "_MOST_ROWS"),
            (npz_samples, "_NPZ_BYTES"),
        ):
            stack.enter_context(mock.patch.object(module, name, size))
        yield


@pytest.fixture(params=[1, 16, 2**21])
def block(request):
    with small_blocks(request.param):
        yield


def assert_same_in_any_blocks(path, target=None, *, size=2, features=None):
    """What is read does not depend on blocks and chunks, nor on what is kept."""
    with small_blocks(2**21):
        table = read_labelled(path, target, features=features)
    in_blocks = read_labelled(path, target, features=features)
    # Bytes, not values: -0.0 is not 0.0.
    assert in_blocks.X.tobytes() == table.X.tobytes()
    assert in_blocks.y.dtype == table.y.dtype
    assert np.array_equal(in_blocks.y, table.y)

    classes, codes = np.unique(table.y, return_inverse=True)
    found = describe(path, target)
    assert found.n_samples == len(table.y)
    assert found.classes == tuple(classes.tolist())
    assert [type(label) for label in found.classes] == [
        type(label) for label in classes.tolist()
    ]
    if features is None:
        assert found.feature_names == table.feature_names
        assert found.n_features == table.X.shape[1]

    for memory in (None, 0):
        samples = FileSamples(
            path,
            target=target,
            classes=found.classes,
            features=features,
            memory=memory,
        )
        assert samples.n_samples == samples.weight == len(table.y)
        assert samples.n_features == table.X.shape[1]
        assert samples.n_outputs == len(classes)
        for _ in range(2):  # a pass leaves nothing behind
            chunks = list(samples.chunks(size))
            widths = [rows.X.shape[1] for rows in chunks]
            assert widths[:-1] == [size] * (len(widths) - 1)
            assert 0 < widths[-1] <= size
            for rows in chunks:
                assert rows.X.dtype == np.float64
                assert rows.X.flags.c_contiguous
                assert rows.weights is None
            together = np.hstack([rows.X for rows in chunks])
            assert together.tobytes() == np.ascontiguousarray(table.X.T).tobytes()
            targets = np.hstack([rows.T for rows in chunks])
            assert np.array_equal(targets, one_hot(codes, len(classes)))


def read_through(path, target=None, *, classes=None, memory=None, **options):
    """Everything a user of the file would do."""
    classes = describe(path, target).classes if classes is None else classes
    samples = FileSamples(
        path, target=target, classes=classes, memory=memory, **options
    )
    list(samples.chunks(2))


def assert_refused(pattern, path, target=None, **options):
    """The message matches, on one line, names the file, and is always the same."""
    said = set()
    for memory in (None, 0):
        with pytest.raises(DataError, match=pattern) as caught:
            read_through(path, target, memory=memory, **options)
        said.add(str(caught.value))
    (text,) = said
    assert "\n" not in text
    assert path.name in text


# The law: what is read does not depend on how

numbers = st.one_of(
    st.integers(-(10**19), 10**19).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(str),
    st.sampled_from(["01", " 7", "8 ", '"5"', '" 6"', "+4", "1.", ".5", "-0", "1E5"]),
)
blanks = st.sampled_from(["1", "", " ", '""', "nan", "x"])
truths = st.sampled_from(["true", "false", "True"])
# Each kind alone is one type; together they are others.
LABELS = {
    "whole": ["0", "1", "10", "-2"],
    "float": ["0.0", "1.0", "2"],
    "quoted": ['"1"', "2", " 3"],
    "text": ["a", " a ", "b c", '"x,y"', '"q""q"', '"l\nm"', "é"],
    "bool": ["true", "false"],
    "padded": ["true", " true", '"false"'],
}


@st.composite
def csv_texts(draw):
    """Text of a file whose last labels may be of another kind than the first."""
    # A file with blanks is refused, mostly, so that not all files should have them.
    kinds = draw(st.sampled_from([[numbers], [numbers, truths], [numbers, blanks]]))
    columns = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
    first, last = draw(st.tuples(*[st.sampled_from(sorted(LABELS))] * 2))
    lines = [",".join([*(f"f{place}" for place in range(len(columns))), "y"])]
    for kind in [first] * draw(st.integers(1, 6)) + [last] * draw(st.integers(0, 6)):
        cells = [draw(column) for column in columns]
        lines.append(",".join([*cells, draw(st.sampled_from(LABELS[kind]))]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    tail = draw(st.sampled_from(["", end, end * 3, f"{end},{end}  {end}"]))
    return end.join(lines) + tail


@settings(max_examples=80)
@given(text=csv_texts(), block=st.sampled_from([1, 20, 100]), size=st.integers(1, 13))
def test_any_csv_is_the_same_in_any_blocks(tmp_path_factory, text, block, size):
    path = tmp_path_factory.mktemp("laws") / "t.csv"
    path.write_bytes(text.encode())
    try:
        read_labelled(path, "y")
    except DataError:
        with small_blocks(block):
            assert_refused("t.csv", path, "y")
    else:
        with small_blocks(block):
            assert_same_in_any_blocks(path, "y", size=size)


@settings(max_examples=40)
@given(
    rows=st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False),
            st.integers(-(2**63), 2**63 - 1),
            st.booleans(),
            st.sampled_from(["x", "y z", "1", "ü"]),
        ),
        min_size=1,
        max_size=12,
    ),
    block=st.integers(1, 13),
    size=st.integers(1, 13),
    group=st.integers(1, 13),
    target=st.sampled_from(["i", "b", "s"]),
)
def test_any_parquet_is_the_same_in_any_blocks(
    tmp_path_factory, rows, block, size, group, target
):
    path = tmp_path_factory.mktemp("laws") / "t.parquet"
    frame = pl.DataFrame(rows, schema=["f", "i", "b", "s"], orient="row")
    frame.write_parquet(path, row_group_size=group)
    features = [name for name in ("b", "i", "f") if name != target]
    with small_blocks(block):
        assert_same_in_any_blocks(path, target, size=size, features=features)


@settings(max_examples=40)
@given(
    values=st.lists(st.integers(0, 100), min_size=2, max_size=30),
    width=st.integers(1, 2),
    kinds=st.tuples(*[st.sampled_from(["u1", "i8", ">f4", "f8", "f2", "?"])] * 2),
    as_text=st.booleans(),
    save=st.sampled_from([np.savez, np.savez_compressed]),
    block=st.sampled_from([1, 16, 50, 2**22]),
    size=st.integers(1, 20),
)
def test_any_npz_is_the_same_in_any_blocks(
    tmp_path_factory, values, width, kinds, as_text, save, block, size
):
    path = tmp_path_factory.mktemp("laws") / "t.npz"
    J = len(values) // width
    features = np.array(values[: J * width]).reshape(J, width).astype(kinds[0])
    labels = np.array(values[:J]).astype(kinds[1])
    save(path, X=features, y=labels.astype(str) if as_text else labels)
    with small_blocks(block):
        assert_same_in_any_blocks(path, size=size)


# The same by example


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".CSV"])
@pytest.mark.parametrize(
    "labels",
    [TEXT.tolist(), [3, -1, 3, 0, 0], [True, False, True, True, True], [2.0, 1.0] * 2],
)
def test_a_table_comes_back_as_written(write, block, suffix, labels):
    rows = len(labels)
    columns = {"u": X[:rows, 0], "label": labels, "v": X[:rows, 1]}
    path = write(f"t{suffix}", columns)
    assert_same_in_any_blocks(path, "label")
    assert_same_in_any_blocks(path, "label", features=["v", "u"], size=100)
    assert_same_in_any_blocks(path, "label", features=["v"], size=1)


@pytest.mark.parametrize(
    ("cells", "classes"),
    [
        (["1", "2", "x"], ("1", "2", "x")),  # numbers turn out to be text
        (["1", "1.0", "x"], ("1", "1.0", "x")),
        (["1", "2", "3.0"], (1, 2, 3)),  # whole numbers, then floats
        (["true", "false", "1"], ("1", "false", "true")),
        (["true", "false", "True"], (False, True)),
        (['"1"', "2", " 3 "], (1, 2, 3)),
        (["x", "1", "2"], ("1", "2", "x")),
    ],
)
def test_a_label_has_the_type_of_its_whole_column(write, block, cells, classes):
    text = "a,y\n" + "".join(f"1,{cell}\n" for cell in cells)
    path = write("t.csv", text)
    assert describe(path, "y").classes == classes
    assert [type(label) for label in describe(path, "y").classes] == [
        type(label) for label in classes
    ]
    assert_same_in_any_blocks(path, "y")


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffa,y\n1,2\n3,4\n",  # byte order mark
        "a,y\r\n1,2\r\n3,4\r\n",  # Windows
        "a,y\n1,2\n3,4",  # no end of line
        "a,y\n1,2\n3,4\n\n\n",  # blank end
        "a,y\n1,2\n3,4\n,\n  ,\n",  # blank cells at the end
        "\n\r\na,y\n1,2\n3,4\n",  # blank start
        " a , y\n1 , 2 \n3 , 4 \n",  # blanks
        '"a","y"\n"1","2"\n"3","4"\n',  # quotes
        'note,a,y\n"\n",1,2\n"""\n,",3,4\n',  # quoted ends of line
    ],
)
def test_csv_dialects_that_mean_the_same_read_the_same(write, block, text):
    path = write("t.csv", text)
    assert describe(path, "y").classes == (2, 4)
    samples = FileSamples(path, target="y", classes=[4, 2], features=["a"])
    ((x, targets, _),) = samples.chunks(9)
    assert x.tolist() == [[1, 3]]
    assert targets.tolist() == [[0, 1], [1, 0]]


def test_a_column_of_whole_numbers_may_turn_into_floats(write, block):
    assert_same_in_any_blocks(write("t.csv", "a,y\n1,u\n2,v\n0.5,u\n"), "y")


def test_categories_and_decimals_in_parquet_are_labels_and_numbers(write, block):
    frame = pl.DataFrame(
        {
            "a": [Decimal("1.50"), Decimal("2.25"), Decimal("-1.00")],
            "c": pl.Series(["u", "v", "u"], dtype=pl.Categorical),
            "d": [Decimal("1.0"), Decimal("2.0"), Decimal("1.0")],
            "e": pl.Series(["u", "v", "u"], dtype=pl.Enum(["v", "u"])),
            "s": ["1", "2.5", "3"],
        }
    )
    path = write("t.parquet", frame)
    for target in ("c", "d", "e"):
        assert_same_in_any_blocks(path, target, features=["a", "d", "s"])


def test_a_parquet_column_may_have_any_name(write, block):
    path = write("t.parquet", {"^a.*$": [1, 2], " ab ": [3, 4], "*": ["u", "v"]})
    assert_same_in_any_blocks(path, "*", features=["ab", "^a.*$"])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_npz_member_is_read_whether_compressed_or_not(tmp_path, block, save):
    path = tmp_path / "t.npz"
    save(path, X=X.astype(np.float32), y=TEXT, target=TEXT == "a")
    assert_same_in_any_blocks(path)
    assert_same_in_any_blocks(path, "target")


def test_the_file_may_lack_classes(write):
    path = write("t.npz", {"X": X, "y": TEXT})
    samples = FileSamples(path, classes=["z", "a", "b c", "é"])
    ((_, targets, _),) = samples.chunks(5)
    assert targets.sum(axis=1).tolist() == [0, 3, 1, 1]


def test_chunks_may_be_kept_and_changed(write):
    samples = FileSamples(write("t.npz", {"X": X, "y": TEXT}), classes=set(TEXT))
    first, second = samples.chunks(2), samples.chunks(2)
    next(first).X[:] = 0
    assert np.array_equal(next(second).X, X[:2].T)
    assert np.array_equal(next(first).X, X[2:4].T)


# What is refused


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz"])
def test_an_unknown_label_is_named_with_its_place_and_the_classes(write, block, suffix):
    labels = np.array(["a", "b", "c", "b"])
    content = {"f": X[:4, 0], "y": labels}
    path = write(f"t{suffix}", {"X": X[:4], "y": labels} if "z" in suffix else content)
    where = "line 4" if suffix == ".csv" else "row 3"
    pattern = f"{where}: label 'c' is not one of the known classes 'a', 'b'"
    assert_refused(pattern, path, "y", classes=["a", "b"])


@pytest.mark.parametrize(("cells", "line", "rule"), BAD_CELLS)
def test_a_bad_csv_value_is_named_by_line_and_column(write, block, cells, line, rule):
    text = "ok,bad\n" + "".join(f"1,{cell}\n" for cell in cells)
    path = write("t.csv", text)
    assert_refused(f"line {line}, column `bad`: .*{rule}", path, "ok")


def test_a_blank_line_between_samples_is_a_missing_value(write, block):
    path = write("t.csv", "a,b\n1,2\n\n3,4\n")
    assert_refused("line 3: the target `b` is missing", path, "b")
    path = write("t.csv", "a,b\n1,2\n,3\n3,4\n")
    assert_refused("line 3, column `a`", path, "b")


@pytest.mark.parametrize(
    ("values", "row", "rule"),
    [
        ([1, None, 2], 2, "the value is missing"),
        ([1.0, 2.0, float("inf")], 3, "must be finite, got inf"),
        (["1", "2", "x"], 3, "must be numbers, got 'x'"),
        ([None, None, None], 1, "the value is missing"),
        ([date(2024, 1, 1)] * 3, 1, "must be numbers, got '2024-01-01'"),
    ],
)
def test_a_bad_parquet_value_is_named_by_row_and_column(
    write, block, values, row, rule
):
    path = write("t.parquet", {"ok": [1, 2, 3], "bad": values})
    assert_refused(f"row {row}, column `bad`: .*{rule}", path, "ok")


def test_a_bad_npz_value_is_named_by_row_and_column(write, block):
    bad = X.copy()
    bad[2, 1] = np.nan
    path = write("t.npz", {"X": bad, "y": TEXT})
    assert_refused("row 3, column 2 of `X`.*got nan", path)


@pytest.mark.parametrize("labels", [["u", "u", None], [1, 2, None], [None, True, True]])
def test_a_missing_label_is_named_by_row(write, block, labels):
    content = {"a": [1, 2, 3], "y": labels}
    row = labels.index(None) + 1
    csv, parquet = write("t.csv", content), write("t.parquet", content)
    assert_refused(f"line {row + 1}: the target `y` is missing", csv, "y")
    assert_refused(f"row {row}: the target `y` is missing", parquet, "y")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_target_without_values_is_refused(write, block, suffix):
    path = write(f"t{suffix}", {"a": [1, 2], "y": [None, None]})
    assert_refused("target column `y` has no values", path, "y")


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz"])
def test_a_fractional_target_asks_for_class_labels(write, block, suffix):
    y = np.array([1.0, 2.0, 1.5])
    content = {"X": X[:3], "y": y} if suffix == ".npz" else {"a": X[:3, 0], "y": y}
    where = "line 4" if suffix == ".csv" else "row 3"
    path = write(f"t{suffix}", content)
    assert_refused(f"{where}: classification needs class labels", path, "y")


def test_names_are_checked(write):
    path = write("t.csv", {"widht": [1], "b": [2]})
    with pytest.raises(DataError, match=r"`target` must name.*`t.csv`.*`widht`, `b`"):
        describe(path)
    assert_refused("no target column `c`, only `widht`, `b`", path, "c")
    given = {"classes": [2], "features": ["width"]}
    assert_refused("no column `width`.*Did you mean `widht`", path, "b", **given)
    only = write("only.csv", {"b": [2]})
    assert_refused("no feature columns, only the target `b`", only, "b")
    npz = write("t.npz", {"X": X})
    assert_refused("no array `y`, only `X`. It must hold `X`, `y`", npz)


def test_the_number_of_features_must_fit(write):
    npz = write("t.npz", {"X": X, "y": TEXT})
    csv = write("t.csv", {"a": [1], "b": [2], "y": [3]})
    for path, options in (
        (npz, {"n_features": 3}),
        (npz, {"features": ["a", "b", "c"]}),
        (csv, {"n_features": 3}),
    ):
        pattern = f"trained on 3 features, `{path.name}` has 2"
        assert_refused(pattern, path, "y", classes=[0], **options)


@pytest.mark.parametrize("classes", [[], ["a", "a"]])
def test_classes_must_be_given_and_differ(write, classes):
    with pytest.raises(PlanError, match="`classes` must be given and differ"):
        FileSamples(write("t.npz", {"X": X, "y": TEXT}), classes=classes)


def test_a_chunk_holds_at_least_one_sample(write):
    samples = FileSamples(write("t.npz", {"X": X, "y": TEXT}), classes=TEXT[:3])
    with pytest.raises(PlanError, match="`size` must be at least 1, got 0"):
        samples.chunks(0)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_or_missing_file_is_refused(write, suffix):
    path = write(f"t{suffix}", b"")
    assert_refused("is empty", path, "y")
    assert_refused("does not exist", path.with_name(f"other{suffix}"), "y")


@pytest.mark.parametrize("text", ["a,b\n", "a,b", "a,b\n\n\n"])
def test_a_header_alone_is_refused(write, block, text):
    assert_refused("no rows", write("t.csv", text), "a")


def test_a_parquet_file_without_rows_is_refused(write):
    assert_refused("no rows", write("t.parquet", {"a": [], "y": []}), "y")


def test_a_damaged_csv_file_is_refused(write, block):
    many = write("t.csv", "a,y\n1,2\n1,2,3\n")
    assert_refused("line 3: expected 2 fields.*got 3", many, "y")
    mixed = write("t.csv", "a,y\n1,é\n".encode() + "1,é\n".encode("latin-1"))
    assert_refused("line 3: the text is not UTF-8, but line 2 is", mixed, "y")
    returns = write("t.csv", "a,y\r1,2\r3,4\r")
    assert_refused("must end in a line feed", returns, "y")
    unclosed = write("t.csv", 'a,y\n"1,2\n3,4\n')
    assert_refused("`t.csv`, line 2: a quotation mark is opened", unclosed, "y")
    several = write("t.csv", 'a,y\n"1\n",2\n"3,4\n5,6\n')
    assert_refused("`t.csv`: a quotation mark is opened and never", several, "y")


def test_a_quotation_mark_without_partner_does_not_fill_the_memory(write, monkeypatch):
    monkeypatch.setattr(csv_text, "_LONGEST_RECORD", 100)
    with small_blocks(50):
        unclosed = write("t.csv", 'a,y\n"1,2\n' + "3,4\n" * 100)
        assert_refused("begins with '\"1,2 3,4.*quotation mark that", unclosed, "y")
        endless = write("t.csv", "a,y\n" + "1" * 500)
        assert_refused("must end in a line feed", endless, "y")


def test_a_damaged_parquet_file_is_refused(write):
    values = np.random.default_rng(0).normal(size=2000)
    whole = write("t.parquet", {"a": values, "y": [0, 1] * 1000}).read_bytes()
    assert_refused(
        "damaged or not a Parquet", write("t.parquet", b"PAR1 nonsense"), "y"
    )
    assert_refused("damaged or not a Parquet", write("t.parquet", whole[:-6]), "y")
    broken = whole[:40] + bytes(200) + whole[240:]  # the first page of `a`
    assert_refused("damaged or not a Parquet", write("t.parquet", broken), "y")


def test_a_damaged_npz_file_is_refused(write):
    arrays = {"X": np.arange(4000.0).reshape(40, 100), "y": np.arange(40)}
    whole = write("t.npz", arrays).read_bytes()
    broken = bytearray(whole)
    broken[len(whole) // 2] ^= 0xFF
    assert_refused("damaged or not an NPZ", write("t.npz", b"nonsense"))
    assert_refused("damaged or not an NPZ", write("t.npz", whole[: len(whole) // 2]))
    assert_refused("damaged or not an NPZ", write("t.npz", bytes(broken)))


def test_an_npz_array_that_promises_more_than_it_holds_is_refused(write):
    raw = write("t.npz", {"X": np.ones((4, 2)), "y": np.arange(4)}).read_bytes()
    # Longer by a lie in the header; checksums are those of the file, so mind them not.
    lie = raw.replace(b"'shape': (4, 2)", b"'shape': (9, 2)").replace(
        b"'shape': (4,)", b"'shape': (9,)"
    )
    assert_refused("damaged or not an NPZ", write("t.npz", lie))


def test_pickled_objects_are_never_read(write):
    objects = np.array([[object()]], dtype=object)
    assert_refused("could run code", write("t.npz", {"X": objects, "y": np.ones(1)}))


def test_npz_arrays_must_fit_each_other(write):
    short = {"X": X, "y": np.arange(3)}
    assert_refused("the same number of rows, got 5 and 3", write("t.npz", short))
    one_hots = {"X": X, "y": np.eye(5)}
    assert_refused("one label per sample, got shape", write("t.npz", one_hots))
    flat = {"X": X[:, 0], "y": TEXT}
    assert_refused(r"must be a matrix.*got shape \(5,\)", write("t.npz", flat))
    words = {"X": TEXT[:, None], "y": TEXT}
    assert_refused("must hold numbers, got dtype <U3", write("t.npz", words))


def test_an_npz_in_fortran_order_is_read_if_all_of_it_may_be_held(write):
    path = write("t.npz", {"X": np.asfortranarray(X), "y": TEXT})
    with pytest.raises(DataError, match=r"row by row.*ascontiguousarray"):
        read_through(path, memory=0)
    assert np.array_equal(read_labelled(path).X, X)
    ((x, _, _),) = FileSamples(path, classes=set(TEXT)).chunks(9)
    assert np.array_equal(x, X.T)
    one_column = {"X": np.asfortranarray(X[:, :1]), "y": TEXT}
    assert_same_in_any_blocks(write("t.npz", one_column))


# A file that changes


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz"])
@pytest.mark.parametrize("n_later", [3, 4, 6, 9])
@pytest.mark.parametrize("size", [2, 5, 100])
def test_a_file_that_grows_or_shrinks_between_passes_is_refused(
    write, block, suffix, n_later, size
):
    def content(n):
        values, labels = np.arange(n) * 1.0, np.arange(n) % 2
        if suffix == ".npz":
            return {"X": values[:, None], "y": labels}
        return {"a": values, "y": labels}

    path = write(f"t{suffix}", content(5))
    samples = FileSamples(path, target="y", classes=[0, 1], memory=0)
    kept = FileSamples(path, target="y", classes=[0, 1])
    list(samples.chunks(size))
    list(kept.chunks(size))
    write(f"t{suffix}", content(n_later))
    with pytest.raises(DataError, match=f"`t{suffix}` has changed since"):
        list(samples.chunks(size))
    assert np.hstack([x for x, _, _ in kept.chunks(size)]).tolist() == [[0, 1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("t.csv", "b,y\n1,0\n2,1\n", "has changed"),
        ("t.csv", "a,y\n1,0\n2,x\n", "could not parse `x`"),
        ("t.parquet", {"y": [0, 1], "a": [1, 2]}, "has changed"),
        ("t.npz", {"X": np.ones((2, 2)), "y": np.arange(2)}, "has changed"),
    ],
)
def test_a_file_with_other_columns_or_types_is_refused(write, name, content, rule):
    first = {"a": [1, 2], "y": [0, 1]}
    if name == "t.npz":
        first = {"X": np.ones((2, 1)), "y": np.arange(2)}
    samples = FileSamples(write(name, first), target="y", classes=[0, 1], memory=0)
    path = write(name, content)
    with pytest.raises(DataError, match=rule):
        list(samples.chunks(1))
    path.unlink()
    with pytest.raises(DataError, match=name):
        list(samples.chunks(1))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz"])
def test_a_file_that_changes_while_it_is_described_is_refused(write, block, suffix):
    labels = np.arange(3)
    content = (
        {"X": X[:3], "y": labels} if "z" in suffix else {"a": X[:3, 0], "y": labels}
    )
    path = write(f"t{suffix}", content)
    file = files.open_labelled(path, "y")
    file.n_samples += 1  # as if a line had gone after the first pass
    with (
        mock.patch("dssfn.datasets.contents.open_labelled", return_value=file),
        pytest.raises(DataError, match="has changed since"),
    ):
        describe(path, "y")


# Memory

MEASURE = """
    import resource, sys
    from dssfn.datasets import FileSamples, csv_file, describe, npz_samples, sliced_file

    # Smaller blocks, as the files are smaller than those this is for.
    csv_file._CSV_BYTES = 2**17
    sliced_file._SLICE_BYTES = 2**20
    npz_samples._NPZ_BYTES = 2**20
    for path in sys.argv[1:]:
        classes = describe(path, "y").classes
        samples = FileSamples(path, target="y", classes=classes, memory=10**7)
        assert sum(X.shape[1] for X, _, _ in samples.chunks(1000)) == samples.n_samples
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.parametrize(
    "suffix", [".csv", ".csv.gz", ".utf-16.csv", ".parquet", ".feather", ".npz"]
)
def test_memory_does_not_grow_with_the_file(tmp_path, suffix):
    rng = np.random.default_rng(0)
    paths = []
    for n in (25_000, 250_000):  # as float64 the larger has 20 MB
        digits = rng.integers(0, 10, size=(n, 10), dtype=np.uint8)
        paths.append(tmp_path / f"{n}{suffix}")
        if suffix == ".npz":
            np.savez_compressed(paths[-1], X=digits, y=digits[:, 0])
            continue
        frame = pl.DataFrame(digits, schema=[*"abcdefghi", "y"])
        if suffix == ".csv":
            frame.write_csv(paths[-1])
        elif suffix == ".csv.gz":
            paths[-1].write_bytes(gzip.compress(frame.write_csv().encode(), 1))
        elif suffix == ".utf-16.csv":
            paths[-1].write_bytes(frame.write_csv(separator=";").encode("utf-16"))
        elif suffix == ".feather":
            frame.write_ipc(paths[-1], record_batch_size=5_000)
        else:
            frame.write_parquet(paths[-1], row_group_size=5_000)
    # The allocator keeps some freed blocks per thread; how many is chance, which only
    # adds, so that the least of three growths counts. Had the larger file been read
    # whole, each would be 20 to 50 %.
    assert min(growth(paths) for _ in range(3)) < 1.1


def growth(paths):
    """How much more memory a process takes for the second file than for the first."""
    # A process starts with the peak of the one that started it: a shell has a low one.
    shell = ["sh", "-c", '"$@"; exit $?', "sh"]
    done = subprocess.run(
        [*shell, sys.executable, "-c", textwrap.dedent(MEASURE), *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
    )
    small, large = map(int, done.stdout.split())
    return large / small


WHOLE = """
    import resource, sys
    from dssfn.datasets import FileSamples, describe

    classes = describe(sys.argv[1], "y").classes
    samples = FileSamples(sys.argv[1], target="y", classes=classes, memory=2**28)
    print(sum(X.shape[1] for X, _, _ in samples.chunks(10_000)))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["plain", "latin-1"])
def test_a_large_file_is_read_within_half_a_gigabyte(tmp_path, dialect):
    n_columns, n_rows = 50, 2_000
    path = tmp_path / "large.csv"
    rng = np.random.default_rng(0)
    separator, label = (",", "u") if dialect == "plain" else (";", "é")
    lines = [
        separator.join([*(f"{x:.5f}" for x in row), label])
        for row in rng.normal(size=(n_rows, n_columns))
    ]
    block = ("\n".join(lines) + "\n").encode("latin-1")
    n_blocks = 300 * 10**6 // len(block)
    with path.open("wb") as file:
        file.write(separator.join([*map(str, range(n_columns)), "y"]).encode() + b"\n")
        for _ in range(n_blocks):
            file.write(block)
    done = subprocess.run(
        ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c",
         textwrap.dedent(WHOLE), str(path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    n_samples, peak = map(int, done.stdout.split())
    assert n_samples == n_blocks * n_rows
    assert peak < 500_000  # kilobytes
