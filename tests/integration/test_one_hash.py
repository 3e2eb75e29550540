"""The file of a model is one and the same, whoever held the samples and added them up.

Every case trains on the same samples, in another way; the file must have the digest of
the training in one place.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_diabetes, load_digits

from dssfn import SSFNClassifier, save_network, simulate
from dssfn.config import Plan
from dssfn.datasets.partition import partition
from dssfn.ensemble import basis, track
from dssfn.exact import gram
from dssfn.federation import load_federation
from dssfn.planning import settle
from dssfn.shard import Shard, one_hot
from dssfn.topology import build_topology
from tests.support.lab import FEATURES, Lab
from tests.support.memory_hosts import over_memory
from tests.support.trainings import ALONE, DATA

BIN = Path(sys.executable).parent


@cache
def samples(name):
    """Inputs and targets, samples in columns, and codes to deal them by."""
    if name == "satimage":
        if not (DATA / "satimage.npz").exists():
            pytest.skip("needs satimage.npz in DSSFN_DATA_DIR")
        with np.load(DATA / "satimage.npz", allow_pickle=False) as file:
            X, y = file["X_train"].astype(float), file["y_train"]
    elif name == "diabetes":
        X, numbers = load_diabetes(return_X_y=True)
        y = (numbers > 140).astype(int)
        return np.ascontiguousarray(X.T), np.stack([numbers, numbers**2]), y
    else:
        X, y = load_digits(return_X_y=True)
    codes = np.unique(y, return_inverse=True)[1]
    return np.ascontiguousarray(X.T), one_hot(codes, codes.max() + 1), codes


SIZES = {"members": 3, "width": 60, "n_layers": 2}
EXACT_WEIGHTS, ANY_WEIGHTS = "whole weights", "weights"
PLANS = {
    "defaults": {},
    "small": SIZES,
    "grown by SSFN's rule": {"size": "ssfn", "width": 100, "n_layers": 2},
    "balanced": SIZES | {"class_weight": "balanced"},
    EXACT_WEIGHTS: SIZES,
    ANY_WEIGHTS: SIZES,
    "weights, balanced": SIZES | {"class_weight": "balanced"},
}


def problem(data, kind):
    """Inputs, targets, weights, codes and the plan."""
    X, T, codes = samples(data)
    rng = np.random.default_rng(1)
    weights = None
    if kind.startswith(ANY_WEIGHTS):
        weights = rng.gamma(1.0, size=len(codes))
        weights[::7] = 0.0
    elif kind == EXACT_WEIGHTS:
        weights = rng.integers(0, 5, size=len(codes)).astype(float)
    names = tuple(range(len(T)))
    what = {"targets": ("y", "z")} if data == "diabetes" else {"classes": names}
    return X, T, weights, codes, Plan(n_features=len(X), **what, **PLANS[kind])


def shards_of(data, kind, n_nodes, how):
    """The samples of every node; a class for every node, if it is dealt by class."""
    X, T, weights, codes, _ = problem(data, kind)
    rng = np.random.default_rng(n_nodes)
    by_class = codes % n_nodes if codes.max() + 1 >= n_nodes else None
    one_each = how == "by-class" and by_class is not None
    parts = partition(codes, n_nodes, by_class if one_each else how, rng=rng)
    return [
        Shard(X[:, part], T[:, part], None if weights is None else weights[part])
        for part in (rng.permutation(part) for part in parts)
    ]


def digest(model, folder):
    save_network(model, folder / "model")
    return hashlib.sha256((folder / "model").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The digest of a training in one place, made once."""
    folder = tmp_path_factory.mktemp("alone")

    @cache
    def train(data, kind):
        X, T, weights, _, plan = problem(data, kind)
        return digest(simulate([Shard(X, T, weights)], plan, ALONE).networks[0], folder)

    return train


# Pairs of everything that may matter rather than all combinations.
CASES = [
    ("digits", "defaults", 10, "by-class", "circular"),
    ("digits", "defaults", 2, "iid", "path"),
    ("digits", "small", 1, "iid", "complete"),  # another order of the samples
    ("digits", "small", 2, "by-class", "path"),
    ("digits", "small", 5, "dirichlet:0.3", "star"),
    ("digits", "small", 5, "by-class", "geometric"),
    ("digits", "small", 20, "iid", "circular"),
    ("digits", "small", 20, "dirichlet:0.5", "geometric"),
    ("digits", "small", 20, "by-class", "star"),
    ("digits", "grown by SSFN's rule", 5, "by-class", "circular"),
    ("digits", "balanced", 2, "iid", "path"),
    ("digits", "balanced", 10, "by-class", "star"),
    ("digits", EXACT_WEIGHTS, 5, "by-class", "star"),
    ("digits", EXACT_WEIGHTS, 20, "dirichlet:0.5", "circular"),
    ("digits", ANY_WEIGHTS, 2, "dirichlet:0.3", "path"),
    ("digits", ANY_WEIGHTS, 20, "by-class", "geometric"),
    ("digits", "weights, balanced", 5, "by-class", "circular"),
    ("diabetes", "defaults", 5, "iid", "star"),
    ("diabetes", "small", 20, "by-class", "circular"),
    ("diabetes", "grown by SSFN's rule", 2, "by-class", "path"),
    ("diabetes", ANY_WEIGHTS, 5, "dirichlet:0.5", "circular"),
    ("diabetes", EXACT_WEIGHTS, 2, "by-class", "path"),
    ("satimage", "small", 20, "dirichlet:0.3", "geometric"),
    ("satimage", ANY_WEIGHTS, 5, "by-class", "star"),
    ("satimage", "balanced", 6, "by-class", "circular"),
]


@pytest.mark.parametrize(("data", "kind", "n_nodes", "how", "graph"), CASES)
def test_every_split_and_graph_writes_the_file_of_one_place(
    data, kind, n_nodes, how, graph, alone, tmp_path
):
    *_, plan = problem(data, kind)
    shards = shards_of(data, kind, n_nodes, how)
    found = simulate(shards, plan, build_topology(graph, n_nodes), apart=True)
    files = {digest(model, tmp_path) for model in found.networks[:: n_nodes - 1 or 1]}
    assert files == {alone(data, kind)}


def test_whole_weights_write_the_file_of_samples_that_come_so_often(alone, tmp_path):
    X, T, weights, _, plan = problem("digits", EXACT_WEIGHTS)
    often = np.repeat(np.arange(len(weights)), weights.astype(int))
    found = simulate([Shard(X[:, often], T[:, often])], plan, ALONE)
    assert digest(found.networks[0], tmp_path) == alone("digits", EXACT_WEIGHTS)


@pytest.mark.parametrize("kind", ["small", ANY_WEIGHTS])
def test_samples_without_weight_are_no_samples(kind, alone, tmp_path):
    X, T, weights, _, plan = problem("digits", kind)
    weights = np.ones(X.shape[1]) if weights is None else weights
    X = np.hstack([X, 3.0 - X[:, ::5]])
    T = np.hstack([T, T[:, ::5]])
    weights = np.append(weights, np.zeros(X.shape[1] - len(weights)))
    found = simulate([Shard(X, T, weights)], plan, ALONE)
    assert digest(found.networks[0], tmp_path) == alone("digits", kind)


@pytest.mark.parametrize(
    ("chunk", "data", "kind", "n_nodes", "memory"),
    [
        (1, "diabetes", "small", 1, None),
        (1, "diabetes", ANY_WEIGHTS, 2, None),
        (13, "digits", "small", 2, None),
        (64, "digits", ANY_WEIGHTS, 5, 1),
        (100, "digits", EXACT_WEIGHTS, 2, None),
        (1039, "digits", "balanced", 1, None),
        (1040, "digits", "small", 1, 1),
    ],
)
def test_chunks_of_every_size_write_the_file_of_one_place(
    chunk, data, kind, n_nodes, memory, alone, monkeypatch, tmp_path
):
    expected = alone(data, kind)
    for module in (track, basis, gram):
        monkeypatch.setattr(module, "CHUNK", chunk)
    *_, plan = problem(data, kind)
    shards = shards_of(data, kind, n_nodes, "iid")
    graph = build_topology("complete", n_nodes)
    found = simulate(shards, plan, graph, memory=memory, apart=True)
    assert digest(found.networks[0], tmp_path) == expected


def by_products(upper, Y):
    """What `update_gram` adds, by numpy's BLAS and its product of any two matrices."""
    upper += np.triu(Y @ np.array(Y.T, order="F"))


@pytest.mark.parametrize("kind", ["defaults", "small"])
def test_another_routine_for_products_writes_the_file(
    kind, alone, monkeypatch, tmp_path
):
    expected = alone("digits", kind)
    monkeypatch.setattr(gram, "update_gram", by_products)
    *_, plan = problem("digits", kind)
    found = simulate(
        shards_of("digits", kind, 2, "iid"), plan, build_topology("path", 2)
    )
    assert digest(found.networks[0], tmp_path) == expected


@pytest.mark.parametrize(
    ("hosts", "kind", "graph", "n_threads"),
    [
        ([[0], [1], [2], [3], [4]], "small", "circular", 1),
        ([[0, 1], [2, 3, 4]], ANY_WEIGHTS, "star", 2),
        ([[0, 1, 2, 3, 4]], "small", "path", 2),
    ],
)
def test_hosts_and_threads_write_the_file_of_one_place(
    hosts, kind, graph, n_threads, alone, tmp_path
):
    *_, plan = problem("digits", kind)
    shards = shards_of("digits", kind, 5, "by-class")
    models = over_memory(hosts, shards, plan, build_topology(graph, 5), n_threads)
    files = {digest(model, tmp_path) for model in models}
    assert files == {alone("digits", kind)}


def trained_here(path):
    """Train on all digits, in a process that was told which BLAS to use."""
    X, y = load_digits(return_X_y=True)
    save_network(SSFNClassifier(random_state=0).fit(X, y), path)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("here") / "model"
    trained_here(path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("processor", "n_threads"),
    [("Prescott", 2), ("Haswell", 2), ("SkylakeX", 1)],
)
def test_every_kind_of_processor_writes_the_same_file(
    processor, n_threads, trained, tmp_path
):
    """OpenBLAS has kernels of its own for each of them, and numpy functions of its own.

    The sizes are found, so that all choices are the same as well.
    """
    settings = {"OPENBLAS_CORETYPE": processor, "OPENBLAS_NUM_THREADS": str(n_threads)}
    if processor == "Prescott":
        settings["NPY_DISABLE_CPU_FEATURES"] = "AVX2 FMA3 AVX512F"
    path = str(tmp_path / "it")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c",
         f"from {__name__} import trained_here; trained_here({path!r})"],
        env=os.environ | settings, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    if done.returncode < 0:
        pytest.skip("this processor does not know all instructions of that kind")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "it").read_bytes() == trained


def pooled_digest(plan, tmp_path):
    """The digest of a training in one place by a plan that came from a file."""
    X, T, _ = samples("digits")
    return digest(simulate([Shard(X, T)], plan, ALONE).networks[0], tmp_path)


def settled(path):
    """The plan that nodes write into their models."""
    federation = load_federation(path)
    return settle(federation.training, federation.topology())[0]


def write_rows(path, part):
    X, _, codes = samples("digits")
    columns = {name: X[k, part] for k, name in enumerate(FEATURES)}
    pl.DataFrame(columns | {"digit": codes[part]}).write_csv(path)


@pytest.mark.grpc
def test_real_nodes_of_one_half_of_the_classes_each_write_the_file(tmp_path):
    lab = Lab(tmp_path, 2, deadline=20.0, kind="path", **SIZES)
    codes = samples("digits")[2]
    for k, name in enumerate(lab.names):
        write_rows(lab.folder(name) / "data.csv", np.flatnonzero(codes // 5 == k))
    try:
        lab.start()
        assert set(lab.wait().values()) == {0}, lab.printed("n0")
    finally:
        lab.close()
    plan = settled(tmp_path / "plan.toml")
    assert lab.digests() == {pooled_digest(plan, tmp_path)}


@pytest.mark.mpi
def test_two_ranks_of_a_node_for_every_class_write_the_file(tmp_path):
    pytest.importorskip("mpi4py", reason="needs the extra dssfn[mpi]")
    if not (BIN / "mpiexec").exists():
        pytest.skip("needs mpiexec of the extra dssfn[mpi]")
    codes = samples("digits")[2]
    for m in range(10):
        write_rows(tmp_path / f"n{m}.csv", np.flatnonzero(codes == m))
    nodes = "".join(f'[[nodes]]\nname = "n{m}"\n' for m in range(10))
    names = ", ".join(f'"{name}"' for name in FEATURES)
    sizes = "\n".join(f"{name} = {value}" for name, value in SIZES.items())
    (tmp_path / "plan.toml").write_text(
        f'{nodes}[graph]\nkind = "circular"\n[training]\nclasses = {list(range(10))}\n'
        f"feature_names = [{names}]\n{sizes}\n"
    )
    command = [BIN / "mpiexec", "-n", "2", BIN / "dssfn", "mpi", "run", "plan.toml"]
    options = ["--data", "{node}.csv", "--target", "digit", "--out", "out", "--quiet"]
    done = subprocess.run(
        [str(part) for part in command + options], cwd=tmp_path, text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}, capture_output=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    file = hashlib.sha256((tmp_path / "out" / "model.safetensors").read_bytes())
    plan = settled(tmp_path / "plan.toml")
    assert file.hexdigest() == pooled_digest(plan, tmp_path)
