"""How a node starts."""

from __future__ import annotations

import subprocess
import sys

NOT_NEEDED = {
    "joblib",
    "matplotlib",
    "mpi4py",
    "networkx",
    "pandas",
    "polars",  # until a table is opened
    "prometheus_client",  # unless metrics are asked for
    "pyarrow",
    "sklearn",
}


def test_a_node_imports_nothing_that_it_does_not_need():
    code = "import dssfn.node.launch, sys; print(*sys.modules)"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not NOT_NEEDED & set(shown.stdout.split())
