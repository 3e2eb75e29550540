"""Tables larger than the memory that they may take."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import polars as pl
import pytest

from dssfn.datasets.proposals import propose_schema
from dssfn.schema.text import schema_text

# A process starts with the peak of the one that started it: a shell has a low one.
SHELL = ["sh", "-c", '"$@"; exit $?', "sh"]


def write_table(path, n_rows, n_numbers):
    """Write numbers, some of them missing, four categories and a class."""
    rng = np.random.default_rng(0)
    n = min(n_rows, 10_000)  # repeated: a file need not be random to be long
    columns = {
        f"x{k}": pl.Series(rng.normal(size=n).round(4)) for k in range(n_numbers)
    }
    columns |= {f"c{k}": pl.Series(rng.choice([*"abcd"], n)) for k in range(4)}
    for name in ("x0", "c0"):
        columns[name] = columns[name].set(pl.Series(rng.random(n) < 0.05), None)
    columns["y"] = rng.choice(["no", "yes"], n)
    block = pl.DataFrame(columns)
    with path.open("wb") as file:
        for start in range(0, n_rows, n):
            file.write(block.write_csv(include_header=start == 0).encode())
    return path


def schema_of(path, folder):
    schema = propose_schema(path, "y").schema
    out = folder / "schema.toml"
    out.write_text(schema_text(schema))
    return out


def measured(code, *args):
    """The numbers that lines of Python print, in a process of their own."""
    done = subprocess.run(
        [*SHELL, sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


READ = """
    import resource, sys
    from pathlib import Path
    from dssfn.datasets import csv_file, open_tables
    from dssfn.schema.text import load_schema

    schema, memory, csv_file._CSV_BYTES, *paths = sys.argv[1:]
    csv_file._CSV_BYTES = int(csv_file._CSV_BYTES)
    for path in paths:
        (samples,) = open_tables(
            [path], load_schema(Path(schema)), memory=int(memory)
        ).shards
        assert sum(rows.X.shape[1] for rows in samples.chunks(1000)) > 0
        print(samples.n_samples)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_table(tmp_path):
    paths = [write_table(tmp_path / f"{n}.csv", n, 5) for n in (10_000, 200_000)]
    schema = schema_of(paths[0], tmp_path)
    # Smaller blocks, as the files are smaller than those this is for.
    found = measured(READ, schema, 10**6, 2**17, *paths)
    assert found[::2] == [10_000, 200_000]
    assert found[3] < 1.1 * found[1]  # as numbers the larger would be 20 to 50 % more


@pytest.mark.slow
def test_a_million_rows_of_fifty_columns_are_read_within_a_quarter_gigabyte(tmp_path):
    path = write_table(tmp_path / "million.csv", 10**6, 45)
    assert path.stat().st_size > 250 * 10**6
    schema = schema_of(write_table(tmp_path / "start.csv", 10_000, 45), tmp_path)
    n_samples, peak = measured(READ, schema, 2 * 10**8, 2**21, path)
    assert n_samples == 10**6
    assert peak < 250_000  # kilobytes


TRAIN = """
    import resource, sys
    from typer.testing import CliRunner
    from dssfn.cli.main import app

    done = CliRunner().invoke(app, sys.argv[1:])
    assert done.exit_code == 0, done.output
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_a_training_on_a_long_table_keeps_within_its_budget(tmp_path):
    path = write_table(tmp_path / "long.csv", 200_000, 45)
    schema = schema_of(path, tmp_path)
    common = ("--schema", schema, "--members", 2, "--layers", 1, "--width", 20)
    small = write_table(tmp_path / "small.csv", 10_000, 45)
    (without,) = measured(TRAIN, "simulate", "--shard", small, *common, "--quiet")
    (peak,) = measured(
        TRAIN, "simulate", "--shard", path, *common, "--memory", "100MB", "--quiet"
    )
    # An eighth more for samples, and what a small table needs beside all budgets.
    assert peak < without + 112_500
