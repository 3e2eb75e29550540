"""What `pip install dssfn` alone must do: everything from Python with arrays."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = (
    "polars", "typer", "rich", "matplotlib", "grpc", "google.protobuf", "cryptography",
    "prometheus_client", "mpi4py", "openpyxl", "dp_accounting", "onnx", "pandas",
    "pyarrow",
)  # fmt: skip


def run_without(packages, code, folder):
    blocked = f"import sys; sys.modules.update(dict.fromkeys({packages!r}))\n"
    return subprocess.run(
        [sys.executable, "-c", blocked + code],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
    )


def run_command_without(packages, line, folder):
    code = (
        f"sys.argv[1:] = {line.split()!r}\n"
        "import runpy; runpy.run_module('dssfn', run_name='__main__', alter_sys=True)"
    )
    return run_without(packages, code, folder)


FROM_PYTHON = """
import numpy as np
import dssfn
from dssfn import Plan, Shard, build_topology, load_network, save_network, simulate

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
y = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
gaps = np.where(rng.random(X.shape) < 0.1, np.nan, X)
for samples in (X, gaps):
    alone = dssfn.SSFNClassifier(random_state=0).fit(samples, y)
    nodes = dssfn.DSSFNClassifier(n_nodes=3, random_state=0).fit(samples, y)
    assert (alone.predict(samples) == nodes.predict(samples)).all()
    save_network(nodes.network_, "model.safetensors")
    load_network("model.safetensors")
for made in (dssfn.SSFNRegressor(), dssfn.DSSFNRegressor(n_nodes=3, verbose=1)):
    made.set_params(random_state=0).fit(X, X[:, 1]).predict(X)
T = np.eye(2)[(X[:, 0] > 0).astype(int)].T
shards = [Shard(X[k::4].T, T[:, k::4]) for k in range(4)]
plan = Plan(n_features=4, classes=("no", "yes"), n_layers=1, width=20)
assert simulate(shards, plan, build_topology("circular", 4)).node_spread < 1e-8
"""


def test_all_that_takes_arrays_works_without_any_extra(tmp_path):
    done = run_without(EXTRAS, FROM_PYTHON, tmp_path)
    assert done.returncode == 0, done.stderr
    # Where no bar can be drawn, each layer is a line.
    assert done.stderr.startswith("layer 0")


def test_the_command_names_its_extra_in_one_line(tmp_path):
    done = run_command_without(EXTRAS, "demo", tmp_path)
    expected = "The command line needs the extra `cli`: pip install 'dssfn[cli]'.\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", expected)


def test_another_module_that_is_missing_is_not_taken_for_the_extra(tmp_path):
    done = run_command_without(["dssfn.cli.usage"], "demo", tmp_path)
    assert done.returncode == 1
    assert "dssfn.cli.usage" in done.stderr
    assert "extra" not in done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "simulate --data t.csv --target y --nodes 2",
        "schema t.csv --target y --out schema.toml",
    ],
)
def test_a_table_names_the_extra_that_reads_it(line, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,b\n" * 10)
    done = run_command_without(["polars"], line, tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: Tables are read with polars")
    assert done.stderr.endswith("pip install 'dssfn[cli]'\n")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_commands_without_tables_need_no_polars(tmp_path):
    done = run_command_without(["polars"], "topology --nodes 5 --degree 1", tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_requirements_of_all_users_are_these():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {line.partition(">")[0] for line in project["dependencies"]}
    assert names == {
        "numpy", "scipy", "scikit-learn", "threadpoolctl", "networkx", "msgspec",
        "safetensors",
    }  # fmt: skip


def test_an_audit_without_masks_that_can_be_made_names_the_extra(tmp_path):
    line = "audit --data iris --nodes 3 --topology star --layers 1 --width 5"
    shown = run_command_without(("cryptography", "grpc"), line, tmp_path)
    assert shown.returncode == 2
    assert "dssfn[grpc]" in shown.stderr
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize(
    "line", ["node run x", "node check x", "federation statistics x"]
)
def test_a_node_without_its_extra_names_it(line, tmp_path):
    shown = run_command_without(("cryptography", "grpc"), line, tmp_path)
    assert shown.returncode == 2
    assert "dssfn[grpc]" in shown.stderr
    assert "Traceback" not in shown.stderr
