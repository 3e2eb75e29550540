"""Whoever watches learns how far a file is read, and nothing else changes."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from dssfn.datasets import FileSamples, csv_file, npz_samples, read_table, sliced_file
from dssfn.datasets.watching import LETTERS, TYPES, VALUES, watch

N_ROWS = 300
COLUMNS = {"a": np.arange(N_ROWS), "b": np.arange(N_ROWS) / 4, "y": [0, 1, 2] * 100}


@pytest.fixture
def small(monkeypatch):
    """Small files are read in many pieces, as large ones are."""
    monkeypatch.setattr(csv_file, "_CSV_BYTES", 256)
    monkeypatch.setattr(sliced_file, "_MOST_ROWS", 50)
    monkeypatch.setattr(npz_samples, "_NPZ_BYTES", 512)


def passes(path):
    """What is told of a file that is not kept, in all and of every pass over it."""
    told = []
    with watch(told.append):
        samples = FileSamples(path, target="y", classes=(0, 1, 2), memory=0)
        assert sum(rows.X.shape[1] for rows in samples.chunks(7)) == N_ROWS
    steps = (LETTERS, TYPES, VALUES)
    return told, {what: [one for one in told if one.what == what] for what in steps}


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather", "t.npz"])
def test_rows_and_shares_grow_until_all_is_read(write, small, name):
    content = COLUMNS
    if name.endswith("npz"):
        content = {"X": np.c_[COLUMNS["a"], COLUMNS["b"]], "y": COLUMNS["y"]}
    told, found = passes(write(name, content))
    assert {one.path.name for one in told} == {name}
    assert bool(found[TYPES]) == bool(found[LETTERS]) == (name == "t.csv")
    for what in (TYPES, VALUES) if name == "t.csv" else (VALUES,):
        rows = [one.n_rows for one in found[what]]
        shares = [one.share for one in found[what]]
        assert len(rows) > 3
        assert rows == sorted(rows)
        assert shares == sorted(shares)
        assert (rows[-1], shares[-1]) == (N_ROWS, 1.0)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.xlsx", "t.utf-16.csv"])
def test_where_the_length_is_not_known_rows_are_told(write, small, name):
    text = "a;b;y\n" + "".join(f"{k};{k};{k % 3}\n" for k in range(N_ROWS))
    content = {
        "t.csv.gz": gzip.compress(text.encode()),
        "t.utf-16.csv": text.encode("utf-16"),
        "t.xlsx": COLUMNS,
    }
    told, found = passes(write(name, content[name]))
    assert {one.share for one in told} == {None}
    assert found[VALUES][-1].n_rows == N_ROWS


def test_nobody_is_told_before_or_after(write):
    path = write("t.csv", COLUMNS)
    outer, inner = [], []
    with watch(outer.append):
        with watch(inner.append):
            read_table(path)
        n_inner = len(inner)
        read_table(path)
    read_table(path)
    assert len(inner) == n_inner == len(outer) > 0
