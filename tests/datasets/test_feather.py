from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather

from dssfn.datasets import FileSamples, describe, read_labelled, sliced_file
from dssfn.errors import DataError


@pytest.mark.parametrize("suffix", [".feather", ".arrow", ".FEATHER"])
@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("n_rows", [1, 3, 2**16])
def test_a_table_comes_back_as_written(
    tmp_path, monkeypatch, suffix, compression, n_rows
):
    monkeypatch.setattr(sliced_file, "_MOST_ROWS", n_rows)
    path = tmp_path / f"t[1]{suffix}"
    frame = pl.DataFrame({"a": np.arange(7.0), "y": [*"uvuvuvu"], "b": range(7)})
    frame.write_ipc(path, compression=compression)
    table = read_labelled(path, "y")
    assert table.X.tolist() == [[k, k] for k in range(7)]
    assert table.y.tolist() == [*"uvuvuvu"]
    assert table.feature_names == ("a", "b")
    assert table.dialect == ""
    assert describe(path, "y").n_samples == 7
    samples = FileSamples(path, target="y", classes="uv", features=["b"], memory=0)
    for _ in range(2):
        chunks = [rows.X.tolist() for rows in samples.chunks(4)]
        assert chunks == [[[0, 1, 2, 3]], [[4, 5, 6]]]


@pytest.mark.parametrize("index", [None, "patient"])
def test_the_index_of_a_pandas_table_is_no_feature(tmp_path, index):
    path = tmp_path / "t.feather"
    rows = pd.Index([5, 6, 9], name=index)
    frame = pd.DataFrame({"a": [1.0, 2, 3], "y": [0, 1, 0]}, index=rows)
    feather.write_feather(pa.Table.from_pandas(frame), str(path))
    assert read_labelled(path, "y").feature_names == ("a",)
    name = index or "__index_level_0__"
    table = read_labelled(path, "y", features=[name, "a"])
    assert table.X.tolist() == [[5, 1], [6, 2], [9, 3]]


@pytest.mark.parametrize(
    "note", [b"nonsense", b'{"index_columns"', b'{"index_columns": 3}']
)
def test_a_damaged_note_of_pandas_is_no_matter(tmp_path, note):
    path = tmp_path / "t.feather"
    table = pa.table({"a": [1, 2], "y": [0, 1]})
    feather.write_feather(table.replace_schema_metadata({b"pandas": note}), str(path))
    assert read_labelled(path, "y").feature_names == ("a",)


def test_a_damaged_file_is_refused(write):
    whole = write("t.feather", {"a": range(2000), "y": [0, 1] * 1000}).read_bytes()
    for content in (b"ARROW1 nonsense", whole[:-6], whole[: len(whole) // 2], b"A"):
        path = write("t.feather", content)
        with pytest.raises(
            DataError, match=r"`t\.feather` is damaged or not a Feather"
        ):
            read_labelled(path, "y")


def test_a_bad_value_is_named_by_row_and_column(write):
    path = write("t.feather", {"a": [1.0, None, 2.0], "y": [0, 1, 0]})
    with pytest.raises(DataError, match="row 2, column `a`: the value is missing"):
        read_labelled(path, "y")


def test_a_file_that_has_changed_is_refused(write):
    path = write("t.feather", {"a": [1, 2], "y": [0, 1]})
    samples = FileSamples(path, target="y", classes=[0, 1], memory=0)
    write("t.feather", {"y": [0, 1], "a": [1, 2]})
    with pytest.raises(DataError, match="has changed since"):
        list(samples.chunks(1))
