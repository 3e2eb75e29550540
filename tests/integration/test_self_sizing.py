"""A network that finds its own size is the same file, whatever has trained it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dssfn import load_network, save_network, simulate
from dssfn.federation import load_federation
from dssfn.shard import Shard, one_hot
from dssfn.topology import build_topology
from tests.support.ensembles import choices, draw, plan_of, split
from tests.support.lab import Lab, digits_of
from tests.support.memory_hosts import over_memory

BIN = Path(sys.executable).parent


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def file_of(model, folder):
    save_network(model, folder / "model")
    return digest(folder / "model")


PLANS = {
    "defaults": {"n_layers": "auto"},
    "regression": {"n_layers": "auto", "width": 30},
    "whole nodes left out": {"folds": "nodes", "n_layers": "auto", "width": 20},
    "SSFN's rule": {"size": "ssfn", "n_layers": 2, "width": 100},
}


@pytest.mark.parametrize("kind", PLANS)
def test_hosts_of_any_nodes_write_the_file_of_the_simulator(kind, tmp_path):
    rng = np.random.default_rng(3)
    X, T, weights = draw(rng, Q=0 if kind == "regression" else 3, J=150, weighted=True)
    shards = split(X, T, weights, rng.integers(5, size=150))
    plan, graph = plan_of(X, T, **PLANS[kind]), build_topology("circular", 5)
    simulated = file_of(simulate(shards, plan, graph).networks[0], tmp_path)
    for hosts in ([[m] for m in range(5)], [[0, 1, 2], [3, 4]], [range(5)]):
        for model in over_memory(hosts, shards, plan, graph):
            assert file_of(model, tmp_path) == simulated


@pytest.mark.parametrize("partition", ["mixed", "by class", "one node has nearly all"])
def test_every_graph_and_split_finds_the_model_of_one_machine(partition):
    rng = np.random.default_rng(4)
    X, T, _ = draw(rng, J=300)
    owner = {
        "mixed": rng.integers(6, size=300),
        "by class": 2 * T.argmax(axis=0) + rng.integers(2, size=300),
        "one node has nearly all": np.where(np.arange(300) < 10, np.arange(300) % 6, 0),
    }[partition]
    plan = plan_of(X, T, n_layers="auto")
    shards = split(X, T, None, owner)
    together = simulate([Shard(X, T)], plan, build_topology("complete", 1))
    for kind in ("circular", "path", "star", "complete"):
        apart = simulate(shards, plan, build_topology(kind, len(shards)), apart=True)
        assert choices(apart) == choices(together)
        one, many = (s.networks[0].scores(X) for s in (together, apart))
        # sums in another order, through the layers
        np.testing.assert_allclose(many, one, atol=1e-9 * np.abs(one).max())


@pytest.mark.grpc
@pytest.mark.parametrize(
    "settings",
    [
        {"width": 20, "members": 2},
        {"width": 10, "folds": "nodes"},
        {"width": 10, "members": 2, "class_weight": "balanced"},
    ],
    ids=["members", "whole nodes left out", "balanced"],
)
def test_three_real_nodes_write_the_file_of_the_simulator(settings, tmp_path):
    lab = Lab(tmp_path, 3, deadline=20.0, kind="path", n_layers="auto", **settings)
    try:
        lab.start()
        codes = lab.wait()
        assert set(codes.values()) == {0}, lab.printed("n0")
    finally:
        lab.close()
    (file,) = lab.digests()
    federation = load_federation(tmp_path / "plan.toml")
    shards = []
    for k in range(3):
        X, y = digits_of(k, 3)
        shards.append(Shard(np.ascontiguousarray(X.T), one_hot(y, 10)))
    found = simulate(shards, federation.training, federation.topology())
    assert file_of(found.networks[0], tmp_path) == file
    result = json.loads((lab.folder("n1") / "out" / "result.json").read_text())
    ridges, widths, *_ = choices(found)
    assert [
        (layer.get("afresh", False), layer.get("ridge")) for layer in result["layers"]
    ] == ridges
    assert [layer.get("width") for layer in result["layers"]] == widths


@pytest.mark.mpi
def test_two_ranks_of_four_nodes_write_the_file_of_the_simulator(tmp_path):
    pytest.importorskip("mpi4py", reason="needs the extra dssfn[mpi]")
    if not (BIN / "mpiexec").exists():
        pytest.skip("needs mpiexec of the extra dssfn[mpi]")
    rng = np.random.default_rng(5)
    X, T, _ = draw(rng, J=120)
    labels = np.array(["a", "b", "c"])[T.argmax(axis=0)]
    shards = split(X, T, None, np.arange(120) % 4)
    for m in range(4):
        columns = dict(zip("pqrs", X[:, m::4], strict=True))
        pl.DataFrame(columns | {"kind": labels[m::4]}).write_csv(tmp_path / f"n{m}.csv")
    nodes = "".join(f'[[nodes]]\nname = "n{m}"\n' for m in range(4))
    (tmp_path / "plan.toml").write_text(
        f'{nodes}[graph]\nkind = "circular"\n[training]\nclasses = ["a", "b", "c"]\n'
        'feature_names = ["p", "q", "r", "s"]\nmembers = 3\nwidth = 15\n'
    )
    command = [BIN / "mpiexec", "-n", "2", BIN / "dssfn", "mpi", "run", "plan.toml"]
    options = ["--data", "{node}.csv", "--target", "kind", "--out", "out", "--quiet"]
    done = subprocess.run(
        [str(part) for part in command + options], cwd=tmp_path, text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}, capture_output=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    federation = load_federation(tmp_path / "plan.toml")
    found = simulate(shards, federation.training, federation.topology())
    path = tmp_path / "out" / "model.safetensors"
    assert load_network(path).plan == found.networks[0].plan
    assert file_of(found.networks[0], tmp_path) == digest(path)
