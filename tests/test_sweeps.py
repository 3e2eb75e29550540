import json

import pytest

from dssfn.rows import RowFile
from dssfn.sweeps import Task, run_sweep


@pytest.fixture
def file(tmp_path):
    return RowFile(tmp_path / "deep" / "rows.jsonl")


def _tasks(n, made):
    def task(k):
        return Task("count", {"k": k}, lambda: made.append(k) or {"square": k * k})

    return [task(k) for k in range(n)]


def test_a_sweep_makes_every_row_once(file):
    made = []
    run_sweep(_tasks(3, made), file)
    run_sweep(_tasks(5, made), file)
    assert made == [0, 1, 2, 3, 4]
    assert [row.metrics["square"] for row in file] == [0, 1, 4, 9, 16]


def test_a_sweep_that_was_killed_while_writing_goes_on(file):
    made = []
    run_sweep(_tasks(3, made), file)
    whole = file.path.read_bytes()
    file.path.write_bytes(whole[:-20])
    run_sweep(_tasks(4, made), file)
    assert made == [0, 1, 2, 2, 3]
    assert [row.key["k"] for row in file] == [0, 1, 2, 3]


def test_a_row_tells_how_it_was_made(file):
    run_sweep(_tasks(1, []), file)
    (row,) = file
    assert {"dssfn", "numpy", "python", "machine"} <= set(row.made_by)
    assert row.seconds >= 0
    assert json.loads(file.path.read_text())["key"] == {"k": 0}


def test_a_metric_that_is_no_number_is_an_error(file):
    with pytest.raises(ValueError, match="JSON compliant"):
        run_sweep([Task("bad", {}, lambda: {"x": float("nan")})], file)
    assert list(file) == []
