"""One file per node: how often a training reads them."""

from __future__ import annotations

from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest

from dssfn import Plan, simulate
from dssfn.datasets import FileSamples, csv_file, npz_samples, open_shards
from dssfn.topology import build_topology

X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.arange(30) % 2


@contextmanager
def counted(module, name):
    """Collect the path of every call of a function that reads a file."""
    read = []
    function = getattr(module, name)

    def count(file, *args):
        read.append(getattr(file, "path", file).name)
        return function(file, *args)

    with mock.patch.object(module, name, count):
        yield read


def columns(order="abcy"):
    values = dict(zip("abcy", [*X.T, Y], strict=True))
    return {name: values[name] for name in order}


def train(files, **options):
    plan = Plan(
        n_features=files.n_features,
        classes=files.classes,
        feature_names=files.feature_names,
        n_layers=2,
        width=10,
    )
    ring = build_topology("path", len(files.shards))
    return simulate(files.shards, plan, ring, **options)


@pytest.fixture
def paths(write):
    return [write("one.csv", columns()), write("two.csv", columns("ycab"))]


def test_a_training_parses_every_csv_file_once(paths, write):
    # The names in the first line are read before that; they cost nothing.
    with counted(csv_file, "record_blocks") as read:
        test = write("test.csv", columns("caby"))
        files = open_shards(paths, "y", test=test)
        train(files)
        for _ in range(2):
            assert sum(rows.T.shape[1] for rows in files.test.chunks(7)) == len(Y)
    assert sorted(read) == ["one.csv", "test.csv", "two.csv"]


def test_a_file_that_does_not_fit_is_read_with_every_pass(paths):
    with counted(csv_file, "record_blocks") as read:
        files = open_shards(paths, "y", memory=0)
        n_before = len(read)
        once = [rows.X for rows in files.shards[1].chunks(7)]
        assert len(read) == n_before + 1
        again = [rows.X for rows in files.shards[1].chunks(7)]
        assert len(read) == n_before + 2
    assert np.hstack(once).tobytes() == np.hstack(again).tobytes()


def test_keeping_samples_changes_no_number_of_a_training(paths):
    kept, read_again = (
        train(open_shards(paths, "y", memory=memory)) for memory in (None, 0)
    )
    for mine, theirs in zip(
        kept.networks[0].outputs, read_again.networks[0].outputs, strict=True
    ):
        assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_samples_are_kept_if_they_fit_an_eighth_of_the_budget(write, suffix):
    content = {"X": X, "y": Y} if suffix == ".npz" else columns()
    path = write(f"t{suffix}", content)
    needed = 30 * (3 + 1) * 8 * 8
    where = (npz_samples, "npz_rows") if "z" in suffix else (csv_file, "record_blocks")
    for memory, is_kept in ((needed, True), (needed - 1, False)):
        samples = FileSamples(path, target="y", classes=[0, 1], memory=memory)
        list(samples.chunks(7))
        with counted(*where) as read:
            list(samples.chunks(7))
        assert bool(read) != is_kept


def test_a_column_that_is_whole_in_some_blocks_only_is_read_twice(write):
    path = write("t.csv", "a,y\n" + "-0,u\n" * 9 + "0.5,v\n")
    with (
        mock.patch.object(csv_file, "_CSV_BYTES", 20),
        counted(csv_file, "record_blocks") as read,
    ):
        samples = FileSamples(path, target="y", classes=["u", "v"])
        for _ in range(3):
            ((x, _, _),) = samples.chunks(10)
            assert np.signbit(x[0]).tolist() == [True] * 9 + [False]
    assert len(read) == 2
