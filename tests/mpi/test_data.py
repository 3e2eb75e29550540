from __future__ import annotations

import re

import pytest

from dssfn.config import Plan
from dssfn.datasets import ReadOptions
from dssfn.errors import PlanError
from dssfn.federation import Federation, Graph, Member
from dssfn.mpi.data import node_files, open_data
from dssfn.runs import DataOptions
from dssfn.schema import Column, Schema, Target


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("{rank}.csv", "a file of its own"),
        ("{host}.csv", "only the placeholders {node}, {number} and {rank}"),
        ("{}.csv", "only the placeholders {node}, {number} and {rank}"),
        ("{node.csv", "only the placeholders {node}, {number} and {rank}"),
        ("{node.name}.csv", "only the placeholders {node}, {number} and {rank}"),
    ],
)
def test_a_pattern_must_name_one_file_per_node(pattern, said):
    with pytest.raises(PlanError, match=re.escape(said)):
        node_files(pattern, ["a", "b"], [[0, 1]])


SCHEMA = Schema(
    columns=(Column(name="age", kind="number", missing=True),),
    target=Target(column="y", classes=("a", "b")),
)
TEXT = "id;age;y\n" + "007;1,234;a\n008;2,345;b\n" * 4


def opened(options, schema=None):
    known = schema.settings() if schema else {"classes": ("a", "b"), "n_features": 1}
    federation = Federation(
        nodes=(Member("north", None), Member("south", None)),
        graph=Graph(kind="complete"),
        training=Plan(**known),
    )
    return open_data(options, federation, [[0, 1]], 0, None)


@pytest.mark.parametrize("schema", [None, SCHEMA])
@pytest.mark.parametrize("name", ["{node}.csv", "both.csv"])
def test_files_are_read_as_the_options_say(tmp_path, name, schema):
    for node in ("north", "south", "both"):
        (tmp_path / f"{node}.csv").write_text(TEXT)
    read = ReadOptions(id="id", decimal=",")
    options = DataOptions(str(tmp_path / name), "y", test_size=0.5, read=read)
    run = opened(options, schema)
    held = [
        value for one in run.shards for rows in one.chunks(9) for value in rows.X[0]
    ]
    assert set(held) == {1.234, 2.345}
    assert run.plan.has_gaps == (schema is not None)
