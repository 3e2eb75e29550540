"""Small files with large claims are refused before memory is taken for them."""

from __future__ import annotations

import gzip
import io
import zipfile

import numpy as np
import polars as pl
import pytest

from dssfn.datasets import FileSamples, describe, read_labelled
from dssfn.errors import DataError
from tests.support.tight_memory import needs_rlimit, refusal, refusals

pytestmark = needs_rlimit

IMPORTS = """
import numpy, polars
from dssfn.datasets import FileSamples, describe, load, read_labelled
def in_chunks(path):
    for _ in FileSamples(path, target="y", classes=("0", "1")).chunks(100):
        pass
"""
READERS = [
    'read_labelled(sys.argv[1], "y")',
    'describe(sys.argv[1], "y")',
    "in_chunks(sys.argv[1])",
]


def assert_refused(path, words=""):
    """Every way of reading a file must refuse it within 200 MB."""
    for said in refusals(IMPORTS, READERS, path):
        assert said.startswith("DataError")
        assert path.name in said
        assert words in said


def npy(shape, descr="<f8", data=b"", padding=0):
    """An array as numpy writes it, with a header of one's own."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}"
    text = header.encode() + b" " * padding + b"\n"
    return b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text + data


def write_npz(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


LABELS = npy((4,), "<i8", np.array([0, 1, 0, 1]).tobytes())
FEATURES = npy((4, 1), "<f8", np.arange(4.0).tobytes())


def test_the_arrays_of_these_tests_are_good_without_the_claims(tmp_path):
    path = write_npz(tmp_path / "good.npz", X=FEATURES, y=LABELS)
    assert read_labelled(path).X.shape == (4, 1)


def test_an_array_header_without_end_is_not_read(tmp_path):
    endless = npy((4, 1), padding=250_000_000)
    path = write_npz(tmp_path / "header.npz", X=endless, y=endless)
    assert path.stat().st_size < 2_000_000
    assert_refused(path, "header")


@pytest.mark.parametrize("shape", [(10**9, 4), (4, 10**9), (4, 2**60)])
def test_an_array_that_promises_more_than_it_holds_is_not_made(tmp_path, shape):
    labels = npy(shape[:1], "<i8", b"\0" * 64)
    path = write_npz(tmp_path / "a.npz", X=npy(shape, data=b"\0" * 64), y=labels)
    assert_refused(path)


@pytest.mark.parametrize(
    "source", ["X_train", "bare"], ids=["a set with its own split", "a bare array"]
)
def test_other_archives_are_checked_alike(tmp_path, source):
    path = tmp_path / "b.npz"
    claim = npy((10**9, 4), data=b"\0" * 64)
    if source == "bare":
        path.write_bytes(claim)
    else:
        names = ("X_train", "y_train", "X_test", "y_test")
        write_npz(path, **dict.fromkeys(names, claim))
    said = refusal(IMPORTS, "load(sys.argv[1])", path)
    assert said.startswith("DataError")


def test_a_label_as_long_as_a_book_is_refused(tmp_path):
    n_rows, n_letters = 75, 10**6
    book = npy((n_rows,), f"<U{n_letters}", b"\0" * (4 * n_rows * n_letters))
    X = npy((n_rows, 1), data=b"\0" * (8 * n_rows))
    assert_refused(
        write_npz(tmp_path / "book.npz", X=X, y=book), "at most 1000 characters"
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_one_long_label_among_many_is_refused(tmp_path, suffix):
    path = tmp_path / f"long{suffix}"
    frame = pl.DataFrame(
        {"x": range(20_001), "y": ["0", "1"] * 10_000 + ["a" * 100_000]}
    )
    frame.write_csv(path) if suffix == ".csv" else frame.write_parquet(path)
    assert_refused(path, "at most 1000 characters")


def test_more_arrays_than_anybody_names_are_refused(tmp_path):
    path = write_npz(tmp_path / "many.npz", **{f"a{k}": b"" for k in range(1001)})
    with pytest.raises(DataError, match="at most 1000 arrays, got 1001"):
        read_labelled(path)


def test_more_features_than_a_plan_may_have_are_refused(tmp_path):
    X = npy((1, 10**6 + 1), "|u1", b"\0" * (10**6 + 1))
    path = write_npz(tmp_path / "wide.npz", X=X, y=npy((1,), "<i8", b"\0" * 8))
    for read in (read_labelled, describe):
        with pytest.raises(DataError, match="at most 1000000 features, got 1000001"):
            read(path)


@pytest.mark.parametrize("quote", ["", '"'])
def test_millions_of_columns_are_not_parsed(tmp_path, quote):
    names = ",".join(f"{quote}c{k}{quote}" for k in range(2_000_000))
    path = tmp_path / "wide.csv"
    path.write_text(f"{names},y\n" + "1," * 2_000_000 + "1\n")
    assert_refused(path, "at most 100000 columns, got 2000001")


def test_a_row_of_millions_of_values_below_a_short_header_is_not_parsed(tmp_path):
    path = tmp_path / "ragged.csv"
    path.write_text("a,y\n1,0\n" + ",".join(map(str, range(3_000_000))) + "\n")
    assert_refused(path, "line 3: expected at most 100000 fields, got 3000000")


def test_the_first_row_of_millions_of_values_is_not_parsed_either(tmp_path):
    path = tmp_path / "ragged.csv"
    path.write_text("a,y\n" + ",".join(map(str, range(3_000_000))) + "\n")
    assert_refused(path, "line 2: expected at most 100000 fields, got 3000000")


@pytest.mark.parametrize(
    ("line", "words"), [(b"1" * 2**20, "line feed"), (b'"\n' * 2**19, "NUL")]
)
def test_a_packed_line_without_end_is_not_held(tmp_path, line, words):
    path = tmp_path / "endless.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"a,y\n")
        for _ in range(200):
            file.write(line)
        file.write(b"\0" if words == "NUL" else b"")
    assert path.stat().st_size < 3_000_000
    assert_refused(path, words)


def test_a_header_with_many_separators_inside_of_quotes_is_read(tmp_path):
    path = tmp_path / "quoted.csv"
    path.write_text('"' + "," * 120_000 + '",y\n1,0\n2,1\n')
    assert describe(path, "y").n_features == 1
    samples = FileSamples(path, target="y", classes=(0, 1))
    assert sum(X.shape[1] for X, _, _ in samples.chunks(1)) == 2


def test_a_parquet_file_of_too_many_columns_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("dssfn.datasets.columns.MOST_COLUMNS", 3)
    path = tmp_path / "wide.parquet"
    pl.DataFrame({name: [0, 1] for name in "abcy"}).write_parquet(path)
    for read in (read_labelled, describe):
        with pytest.raises(DataError, match="at most 3 columns, got 4"):
            read(path, "y")


def test_what_numpy_writes_is_read_whatever_its_header(tmp_path):
    X, y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])
    for version in ((1, 0), (2, 0), (3, 0)):
        members = {}
        for name, array in (("X", X), ("y", y)):
            stream = io.BytesIO()
            np.lib.format.write_array(stream, array, version=version)
            members[name] = stream.getvalue()
        path = write_npz(tmp_path / f"v{version[0]}.npz", **members)
        np.testing.assert_array_equal(read_labelled(path).X, X)
        assert describe(path).n_samples == 4


def test_a_mixing_matrix_that_promises_more_than_it_holds_is_not_made(tmp_path):
    path = tmp_path / "H.npy"
    path.write_bytes(npy((40_000, 40_000), data=b"\0" * 64))
    imports = "from dssfn.topology import read_matrix"
    said = refusal(imports, "read_matrix(sys.argv[1], 40_000)", path)
    assert said.startswith("TopologyError")
    assert "H.npy" in said
