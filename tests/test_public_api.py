from __future__ import annotations

import subprocess
import sys

import dssfn

PUBLIC = """
DSSFNClassifier DSSFNRegressor DataError DssfnError InputError LayerRecord
ModelFileError Network NumericalError OverfitWarning Plan PlanError SSFNClassifier
SSFNRegressor Shard Simulation Topology TopologyError Traffic __version__
build_topology load_network plot save_network simulate to_onnx train_node
"""


def test_the_public_names_are_these():
    assert sorted(dssfn.__all__) == sorted(PUBLIC.split())
    assert all(hasattr(dssfn, name) for name in dssfn.__all__)


def test_importing_the_package_does_not_pull_in_what_only_commands_need():
    heavy = "{'polars', 'typer', 'rich', 'matplotlib', 'sklearn', 'onnx'}"
    code = f"import sys, dssfn; print(sorted({heavy} & set(sys.modules)))"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "[]"


def test_modules_of_public_names_can_be_reached_from_the_package():
    code = "import dssfn; print(dssfn.errors.DataError is dssfn.DataError)"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert shown.stdout == "True\n"
    assert not hasattr(dssfn, "nonsense")
