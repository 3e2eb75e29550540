from __future__ import annotations

import re

import pytest

from dssfn.errors import PlanError
from dssfn.mpi.data import node_files


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("{rank}.csv", "a file of its own"),
        ("{host}.csv", "of {node}, {number} and {rank} only"),
        ("{}.csv", "of {node}, {number} and {rank} only"),
        ("{node.csv", "of {node}, {number} and {rank} only"),
        ("{node.name}.csv", "of {node}, {number} and {rank} only"),
    ],
)
def test_a_pattern_must_name_one_file_per_node(pattern, said):
    with pytest.raises(PlanError, match=re.escape(said)):
        node_files(pattern, ["a", "b"], [[0, 1]])
