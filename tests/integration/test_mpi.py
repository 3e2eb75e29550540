"""Training under a real `mpiexec`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dssfn import load_network, simulate
from dssfn.cli.main import app
from dssfn.datasets import FileSamples, partition
from dssfn.federation import load_federation
from dssfn.shard import divide, one_hot
from dssfn.transports import DTYPES
from dssfn.transports.mpi import share_nodes

pytest.importorskip("mpi4py", reason="needs the extra dssfn[mpi]")
BIN = Path(sys.executable).parent
HERE = Path(__file__).parent
if not (BIN / "mpiexec").exists():
    pytest.skip("needs mpiexec of the extra dssfn[mpi]", allow_module_level=True)

pytestmark = pytest.mark.mpi
M = 20
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def start(*command, cwd=None):
    return subprocess.Popen(
        [str(part) for part in command], cwd=cwd, env=ENVIRONMENT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def ended(job):
    """Exit code, standard output and standard error of a job that must end."""
    try:
        out, err = job.communicate(timeout=600)
    finally:
        job.kill()
    return job.returncode, out, err


def dssfn(n_ranks, *args, cwd=None):
    dssfn_mpi = [BIN / "dssfn", "mpi", "run"]
    return ended(start(BIN / "mpiexec", "-n", n_ranks, *dssfn_mpi, *args, cwd=cwd))


def on_ranks(n_ranks, *args):
    """Start a job of tests/support/transport_on_ranks.py."""
    module = [sys.executable, "-m", "tests.support.transport_on_ranks"]
    return start(BIN / "mpiexec", "-n", n_ranks, *module, *args, cwd=HERE.parents[1])


def wrong(n_ranks, *args, cwd):
    """Run a job that must end with exit code 2 and one line; return the line."""
    code, out, err = dssfn(n_ranks, *args, cwd=cwd)
    assert (code, out) == (2, ""), err
    assert err.startswith("Error: "), err
    assert len(err.strip().splitlines()) == 1, err
    return err


def write_plan(path, n_nodes, secure=True, **training):
    nodes = "".join(f'[[nodes]]\nname = "site-{m}"\n' for m in range(n_nodes))
    settings = "".join(f"{name} = {json.dumps(v)}\n" for name, v in training.items())
    text = f'{nodes}[graph]\nkind = "circular"\ndegree = {min(4, n_nodes // 2)}\n'
    head = f"secure = {json.dumps(secure)}\n"
    path.write_text(f"{head}{text}[training]\n{settings}")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A set by name, the same samples as one file per node, and plans for them."""
    path = tmp_path_factory.mktemp("mpi")
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1000, 5))
    y = (X[:, :3] ** 2).argmax(axis=1)
    np.savez(
        path / "small.npz",
        X_train=X[:800], y_train=y[:800], X_test=X[800:], y_test=y[800:],
    )  # fmt: skip
    for m in range(M):
        columns = dict(zip("abcde", X[m:800:M].T, strict=True))
        table = pl.DataFrame(columns | {"kind": y[m:800:M]})
        table.write_csv(path / f"site-{m}.csv")
    common = {"classes": [0, 1, 2], "n_layers": 3, "width": 40, "solver": "gram"}
    common |= {"gain": 1.0, "bias": 0.0}  # the labels are an even function
    write_plan(path / "tree.toml", M, n_features=5, consensus="tree", **common)
    names = {"feature_names": list("abcde")}
    real = {"consensus": "exact", "secure": False}  # averages cannot be masked
    write_plan(path / "exact.toml", M, **names, **real, **common)
    write_plan(path / "five.toml", 5, **names, **common)
    found = {"classes": [0, 1, 2], "width": 30, "folds": "nodes"}
    for name, published in (("open", True), ("shut", False)):
        settings = {**names, **found, "publish_scores": published}
        write_plan(path / f"{name}.toml", 5, **settings)
    return path


def test_the_transport_obeys_the_laws():
    assert ended(on_ranks(4, "laws")) == (0, "", "")


def test_integers_are_added_up_exactly_by_ranks_of_several_nodes():
    assert ended(on_ranks(3, "exact")) == (0, "", "")


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_silent_rank_is_named(dtype):
    job = on_ranks(2, "silence", dtype)
    code, out, _ = ended(job)
    assert code == 3
    notice, error = out.splitlines()
    assert notice.startswith("Rank 1 (node 1) sent nothing for step 7, round 2 for")
    assert "within 0.2 s. Check that it is running" in error


def test_four_ranks_of_five_nodes_equal_the_simulator_to_the_last_bit(folder):
    code, out, err = dssfn(
        4, "tree.toml", "--data", "small", "--data-dir", folder,
        "--partition", "by-class", "--json", "--out", "named", cwd=folder,
    )  # fmt: skip
    assert code == 0, err
    assert [line.split()[1] for line in err.splitlines()] == [
        "0/3",
        "1/3",
        "2/3",
        "3/3",
    ]
    federation = load_federation(folder / "tree.toml")
    with np.load(folder / "small.npz") as data:
        X, y = data["X_train"], data["y_train"]
    parts = partition(y, M, "by-class", rng=np.random.default_rng(0))
    shards, graph = divide(X, one_hot(y, 3), parts), federation.topology()
    simulated = simulate(shards, federation.training, graph)
    network = load_network(folder / "named" / "model.safetensors")
    for mine, theirs in zip(
        network.outputs, simulated.networks[0].outputs, strict=True
    ):
        assert mine.tobytes() == theirs.tobytes()
    figures = json.loads(out)
    assert figures == json.loads((folder / "named" / "result.json").read_text())
    assert figures["equivalence"] == {"node_spread": 0.0}
    assert "training report" in (folder / "named" / "report.html").read_text()
    assert figures["n_train"] == 800
    assert figures["test_accuracy"] > 0.8
    sent = figures["communication"]
    assert sent["rounds"] == simulated.traffic.rounds
    assert sent["bytes_total"] == simulated.traffic.bytes_total


@pytest.mark.parametrize("name", ["open", "shut"])
def test_ranks_agree_on_scores_and_know_each_nodes_only_if_published(folder, name):
    code, out, err = dssfn(
        2, f"{name}.toml", "--data", "site-{number}.csv", "--target", "kind", "--json",
        cwd=folder,
    )  # fmt: skip
    assert code == 0, err
    figures = json.loads(out)["scores"]
    federation = load_federation(folder / f"{name}.toml")
    plan = federation.training
    shards = [
        FileSamples.of_plan(folder / f"site-{m}.csv", "kind", plan) for m in range(5)
    ]
    scores = simulate(shards, plan, federation.topology()).scores
    assert figures["total"]["n"] == scores.total.n == 200
    assert figures["total"]["log_loss"] == scores.total.log_loss
    rows = figures.get("nodes", [])
    assert [row["node"] for row in rows] == (federation.names if name == "open" else [])
    for row, mine in zip(rows, scores.by_node, strict=True):
        assert row["scores"]["log_loss"] == mine.log_loss


def test_masks_among_ranks_of_one_user_are_not_oversold(folder):
    data = ("--data", "site-{number}.csv", "--target", "kind")
    code, _, err = dssfn(2, "shut.toml", *data, cwd=folder)
    assert code == 0, err
    assert err.count("hides nothing from whoever runs the job") == 1
    _, _, err = dssfn(2, "shut.toml", *data, "--quiet", cwd=folder)
    assert "masked" not in err


def test_the_figures_are_those_of_simulate(folder):
    shown = CliRunner().invoke(
        app,
        ["simulate", "--data", str(folder / "small.npz"), "--nodes", "4", "--json",
         "--layers", "1", "--width", "9", "--quiet"],
    )  # fmt: skip
    simulated = json.loads(shown.stdout)
    figures = json.loads((folder / "named" / "result.json").read_text())
    assert figures.keys() == simulated.keys()
    for name in ("layers", "communication", "equivalence", "seconds"):
        assert str(type(figures[name])) == str(type(simulated[name]))
    assert figures["layers"][0].keys() == simulated["layers"][0].keys()
    assert figures["communication"].keys() == simulated["communication"].keys()


def test_files_of_their_own_and_rounds_that_mix_agree_up_to_rounding(folder):
    code, out, err = dssfn(
        3, "exact.toml", "--data", "{node}.csv", "--target", "kind", "--quiet",
        "--test", "site-0.csv", "--memory", "50MB", "--json", "--out", "files",
        cwd=folder,
    )  # fmt: skip
    assert (code, err) == (0, "")
    federation = load_federation(folder / "exact.toml")
    files = [
        FileSamples(folder / f"{name}.csv", target="kind", classes=(0, 1, 2))
        for name in federation.names
    ]
    plan, graph = federation.training, federation.topology()
    simulated = simulate(files, plan, graph).networks[0]
    network = load_network(folder / "files" / "model.safetensors")
    difference = np.linalg.norm(network.output - simulated.output)
    # rounds against one product with p(H): rounding, through four layers
    assert difference <= 1e-12 * np.linalg.norm(simulated.output)
    figures = json.loads(out)
    assert figures["n_test"] == 40
    assert 0 < figures["equivalence"]["node_spread"] < 1e-10
    assert figures["settings"]["n_ranks"] == 3


def test_a_failing_rank_ends_the_job_with_its_error(folder):
    for m in range(5):
        text = (folder / f"site-{m}.csv").read_text()
        (folder / f"last-{m}.csv").write_text(text + "1,2,3,4,5,7\n" * (m == 4))
    line = wrong(
        3, "five.toml", "--data", "last-{number}.csv", "--target", "kind", "--quiet",
        cwd=folder,
    )  # fmt: skip
    assert line.startswith("Error: rank 2: `last-4.csv`, line 42: label 7 is not one")


def test_what_only_one_rank_lacks_is_named_with_the_rank(folder):
    (folder / "most").mkdir()
    for m in range(4):
        text = (folder / f"site-{m}.csv").read_text()
        (folder / "most" / f"{m}.csv").write_text(text)
    line = wrong(
        2, "five.toml", "--data", "most/{number}.csv", "--target", "kind", cwd=folder
    )
    assert line.startswith("Error: rank 1: `most/4.csv` does not exist")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["five.toml", "--data", "small.npz"], "labels of `small`"),
        (["typo.toml", "--data", "{node}.csv"], "no setting `widht`"),
        (["six.toml", "--data", "{node}.csv"], "the plan has 1 nodes, got 2 ranks"),
        (["five.toml", "--data", "{node}.csv", "--sep", "x"], "`sep` must be one of"),
    ],
)
def test_wrong_input_is_said_once(args, said, folder):
    text = (folder / "five.toml").read_text()
    (folder / "typo.toml").write_text(text.replace("width", "widht"))
    (folder / "five.toml").write_text(text.replace("[0, 1, 2]", "[0, 1, 5]"))
    (folder / "six.toml").write_text(
        '[[nodes]]\nname = "a"\n[graph]\nkind = "complete"\n'
        "[training]\nn_features = 5\nclasses = [0, 1]\n"
    )
    try:
        assert said in wrong(2, *args, cwd=folder)
    finally:
        (folder / "five.toml").write_text(text)


def test_wrong_usage_is_shown_once(folder):
    code, out, err = dssfn(2, "five.toml", "--dota", "x", cwd=folder)
    assert (code, out) == (2, "")
    assert err.count("--dota") == 1


def test_ranks_with_different_plans_are_refused(folder):
    commands = [
        ["-n", 1, BIN / "dssfn", "mpi", "run", plan, "--data", "small.npz"]
        for plan in ("tree.toml", "exact.toml")
    ]
    job = start(BIN / "mpiexec", *commands[0], ":", *commands[1], cwd=folder)
    code, out, err = ended(job)
    assert (code, out) == (2, "")
    assert err == (
        "Error: All ranks must be given the same plan and options. Rank 0 differs from "
        "rank 1.\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_ranks(number, folder):
    text = (folder / "tree.toml").read_text()
    (folder / "long.toml").write_text(text.replace("n_layers = 3", "n_layers = 10000"))
    job = start(
        BIN / "mpiexec", "-n", 2, BIN / "dssfn", "mpi", "run", "long.toml",
        "--data", "small.npz", cwd=folder,
    )  # fmt: skip
    assert job.stderr.readline().startswith("layer 0/10000")
    job.send_signal(number)
    code, _, err = ended(job)  # standard output closes when the last rank has ended
    assert code == 128 + number
    assert "Traceback" not in err


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    shown = CliRunner().invoke(app, ["mpi", "run", "plan.toml", "--data", "digits"])
    assert shown.exit_code == 1
    assert "pip install 'dssfn[mpi]'" in shown.stderr


def test_nodes_are_shared_evenly_and_in_order():
    for n_nodes, n_ranks in ((20, 4), (5, 3), (7, 7), (3, 1)):
        hosts = share_nodes(n_nodes, n_ranks)
        assert [node for nodes in hosts for node in nodes] == list(range(n_nodes))
        sizes = [len(nodes) for nodes in hosts]
        assert max(sizes) - min(sizes) <= 1


def test_the_documented_commands_run(tmp_path):
    page = (HERE.parents[1] / "docs" / "mpi.md").read_text()
    plan, shell = (
        re.search(rf"```{name}\n(.*?)```", page, re.DOTALL)[1]
        for name in ("toml", "bash")
    )
    (tmp_path / "plan.toml").write_text(plan)
    path = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-ec", shell], cwd=tmp_path, env=ENVIRONMENT | path,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run1" / "model.safetensors").exists()
