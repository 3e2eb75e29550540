"""What the project claims, measured: exchanges, equivalence, speed, memory, accuracy.

Every figure comes from the `dssfn` command that is printed with it, or from the script
named there. Sets that are not at hand are left out with a note.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks import grpc_ring, integers, masked_ring, mpi_ring
from benchmarks.claim import Claim, at_least, at_most
from dssfn.config import Plan
from dssfn.consensus import Gossip, Tree, exact, gossip_rounds
from dssfn.datasets import load
from dssfn.errors import DataError
from dssfn.experiments import table2
from dssfn.rows import RowFile
from dssfn.sweeps import run_sweep
from dssfn.topology import build_topology

RING = ["--nodes", "20", "--degree", "4"]


@dataclass(frozen=True)
class Run:
    """One run of a command: what it printed, how long it took, its peak memory."""

    command: str
    printed: str
    seconds: float
    peak_bytes: int

    @property
    def figures(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.printed)
        return found


# The peak of this process alone: what `getrusage` gives starts at its parent's.
DSSFN = """
import re, sys
from pathlib import Path
from dssfn.cli.main import run
try:
    run()
finally:
    status = Path("/proc/self/status")
    text = status.read_text() if status.exists() else "VmHWM: 0 kB"
    print(re.search(r"VmHWM:\\s+(\\d+)", text)[1], file=sys.stderr)
"""


def dssfn(*arguments: str) -> Run:
    """Run the command in a process of its own."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", DSSFN, *arguments, "--json", "--quiet"],
        capture_output=True, text=True,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    shown = " ".join(["dssfn", *arguments])
    if done.returncode:
        raise RuntimeError(f"`{shown}`: {done.stderr}")
    peak = int(done.stderr.split()[-1]) * 1024
    return Run(shown, done.stdout, seconds, peak)


def consensus() -> Iterator[Claim]:
    """Rounds and bytes of the averaging schemes."""
    for degree, wanted in ((1, 10), (4, 6)):
        ring = build_topology("circular", 20, degree=degree)
        command = f"dssfn topology --nodes 20 --degree {degree}"
        what = f"circle of 20, degree {degree}: rounds of exact"
        yield at_most(what, exact(ring).n_rounds, wanted, command)
    ratio = exact(ring).n_letters / Tree(ring).n_letters
    what = "circle of 20, degree 4: bytes of exact over bytes of tree"
    yield at_least(what, ratio, 15, command)


def paper_traffic(n_features: int, n_classes: int) -> tuple[int, int]:
    """Rounds and numbers of the paper's scheme: K = 100, gossip to 1e-10."""
    plan = Plan(
        n_features=n_features, classes=tuple(range(n_classes)), bias=0.0, members=1,
        n_layers=20, width=1000,
    )  # fmt: skip
    ring = build_topology("circular", 20, degree=4)
    B = Gossip(ring, gossip_rounds(ring, 1e-10)).n_rounds
    sizes = [n_classes * plan.inputs_of(layer) for layer in range(plan.depth + 1)]
    return B * 100 * len(sizes), B * 100 * sum(sizes)


def exchanges(name: str, *, everything: bool) -> Iterator[Claim]:
    """Exchanges against the paper's scheme, and the distance to one machine."""
    for solver, fewer, smaller in (("gram", 900, 10), ("krylov", 50, 50)):
        for split in ("iid", "by-class", "dirichlet:0.1")[: 3 if everything else 1]:
            options = ["--preset", "paper", "--solver", solver, "--partition", split]
            check = ["--check-equivalence"] if everything else []
            done = dssfn("simulate", "--data", name, *RING, *options, *check)
            figures = done.figures
            settings, sent = figures["settings"], figures["communication"]
            rounds, scalars = paper_traffic(
                settings["n_features"], len(settings["classes"])
            )
            head = f"{name}, {solver}, {split}"
            yield at_least(f"{head}: times fewer exchanges", rounds / sent["rounds"],
                           fewer, done.command)  # fmt: skip
            yield at_least(f"{head}: times fewer numbers",
                           scalars / sent["scalars_per_node"], smaller,
                           done.command)  # fmt: skip
            if not everything:
                continue
            equal = figures["equivalence"]
            for key, most in (("central_difference", 1e-7), ("layer_cost_gap", 1e-8)):
                yield at_most(f"{head}: {key}", equal[key], most, done.command)
            agreed = equal["prediction_agreement"]
            yield at_least(f"{head}: prediction_agreement", agreed, 1.0, done.command)


def rounds() -> Iterator[Claim]:
    """A round of real transports: a ring of four processes, letters of 100 KB."""
    grpc, mpi = grpc_ring.measure_ring(), mpi_ring.measure_ring()
    what = "ring of 4 processes, 100 KB: a round"
    yield at_most(
        f"{what} in memory, threads, against bare TLS sockets",
        grpc_ring.measure_memory() / grpc["bare_us"], 1, "make bench",
    )  # fmt: skip
    yield at_most(
        f"{what} over gRPC with mutual TLS ({grpc['swap_us']:.0f} us) against bare "
        f"TLS sockets ({grpc['bare_us']:.0f} us)",
        grpc["ratio"], 8, "python -m benchmarks.grpc_ring",
    )  # fmt: skip
    yield at_most(
        f"{what} over MPI ({mpi['swap_us']:.0f} us) against a bare Neighbor_allgather "
        f"({mpi['bare_us']:.0f} us)",
        mpi["ratio"], 1.5, "mpiexec -n 4 python -m benchmarks.mpi_ring",
    )  # fmt: skip


def masks() -> Iterator[Claim]:
    for width in masked_ring.WIDTHS:
        found = masked_ring.measure_masks(width)
        yield at_most(
            f"training of 5 nodes over gRPC, width {width}, with masks "
            f"({found['masked']:.1f} s) against without ({found['plain']:.1f} s)",
            found["ratio"], 1.15, "python -m benchmarks.masked_ring",
        )  # fmt: skip


MAKE_FILE = """
import sys
import numpy as np
n_samples, path = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(0)
X = rng.normal(size=(n_samples, 20))
y = (X[:, :4] ** 2).argmax(axis=1)
np.savez(path, X=X, y=y)
"""


def memory() -> Iterator[Claim]:
    """Peak memory when a node's file is ten times as long, with the same budget."""
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for n_samples in (20_000, 200_000):
            path = Path(folder) / f"{n_samples}.npz"
            make = [sys.executable, "-c", MAKE_FILE, str(n_samples), str(path)]
            subprocess.run(make, check=True)
            options = ["--layers", "3", "--width", "500", "--memory", "100MB"]
            runs.append(dssfn("simulate", "--shard", str(path), *options))
    short, long = runs
    command = f"dssfn simulate --shard FILE {' '.join(options)}"
    yield at_most("ten times the samples, 100 MB: peak memory",
                  long.peak_bytes / short.peak_bytes, 1.1, command)  # fmt: skip
    yield at_most("ten times the samples, 100 MB: time",
                  long.seconds / short.seconds, 11, command)  # fmt: skip


def many_nodes() -> Iterator[Claim]:
    """Many nodes: those of Letter have one or two samples each."""
    for name, nodes, most in (("digits", 1000, 120), ("letter", 10_000, 600)):
        try:
            load(name)
        except DataError:
            continue
        graph = ["--nodes", str(nodes), "--degree", "4"]
        done = dssfn("simulate", "--data", name, *graph)
        what = f"{name}, {nodes} nodes"
        yield at_most(f"{what}: seconds", done.seconds, most, done.command)
        yield at_most(f"{what}: GB", done.peak_bytes / 1e9, 4, done.command)


def accuracy() -> Iterator[Claim]:
    """Test accuracy on 20 nodes, mean of five seeds, with the best settings known.

    Rows that `dssfn reproduce table2` has left here are not made again.
    """
    wanted = {"vowel": 59.5, "satimage": 90, "letter": 94.5, "mnist": 97.5}
    best = {"vowel": "paper", "mnist": "wide"}
    tasks = [
        task
        for task in table2.tasks(quick=False, seeds=range(5))
        if task.key["data"] in wanted
        and task.key["n_nodes"] == table2.N_NODES
        and task.key["settings"] == best.get(str(task.key["data"]), "default")
    ]
    file = RowFile(Path("reproduction") / "rows.jsonl")
    run_sweep(tasks, file)
    for name, least in wanted.items():
        keys = [task.key for task in tasks if task.key["data"] == name]
        found = [row.metrics["test_accuracy"] for row in file if row.key in keys]
        command = f"dssfn reproduce table2 --data {name}"
        mean = 100 * statistics.mean(found)
        yield at_least(f"{name}: test %, mean of 5 seeds", mean, least, command)


PARTS: dict[str, Callable[[], Iterator[Claim]]] = {
    "consensus": consensus,
    "satimage": lambda: exchanges("satimage", everything=True),
    "letter": lambda: exchanges("letter", everything=True),
    "mnist": lambda: exchanges("mnist", everything=False),
    "speed": integers.speed,
    "feature-memory": integers.feature_memory,
    "pictures": integers.pictures,
    "mlp": integers.against_mlp,
    "prediction": integers.prediction,
    "rounds": rounds,
    "masks": masks,
    "memory": memory,
    "nodes": many_nodes,
    "accuracy": accuracy,
}


def measure_claims(parts: list[str], note: Callable[[str], None]) -> list[Claim]:
    """Measure the named parts, or all of them."""
    claims: list[Claim] = []
    with threadpool_limits(None):
        for part in parts:
            try:
                for claim in PARTS[part]():
                    claims.append(claim)
                    sign = "<=" if claim.at_most else ">="
                    verdict = "" if claim.holds else "  MISSED"
                    note(f"{claim.what}: {claim.value:.4g} ({sign} {claim.wanted:g})"
                         f"{verdict}")  # fmt: skip
            except DataError as exc:
                note(f"{part}: left out. {exc}")
    return claims
