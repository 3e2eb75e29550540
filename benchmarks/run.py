"""Measure the parts of training, then what the project claims.

    python -m benchmarks.run [kernels] [consensus] [satimage] ..

Machines differ and are noisy; a ratio to a product of the same size, timed in turn
with the part itself, is what can be compared. `make bench` runs all parts, which takes
about forty minutes on two cores with all data sets at hand, and keeps the figures in
bench.json.
"""

from __future__ import annotations

import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks.claims import PARTS, measure_claims
from dssfn.ball import solve_ball
from dssfn.config import Plan
from dssfn.consensus import Gossip, run_rounds
from dssfn.network import next_features, random_matrix
from dssfn.problem import LayerProblem
from dssfn.shard import Shard, one_hot
from dssfn.simulator import simulate
from dssfn.topology import build_topology

# One node of the paper's MNIST run: 60000 samples over 20 nodes.
Q, WIDTH, J, M = 10, 1000, 3000, 20
N = 2 * Q + WIDTH
RESULTS = Path("bench.json")


@dataclass(frozen=True)
class Row:
    """One part, its yardstick, and how they compare."""

    part: str
    yardstick: str
    milliseconds: float
    yardstick_milliseconds: float

    @property
    def ratio(self) -> float:
        return self.milliseconds / self.yardstick_milliseconds


def measure(
    part: str,
    run: Callable[[], object],
    yardstick: str,
    bare: Callable[[], object],
    *,
    repeats: int = 7,
) -> Row:
    """Time both in turn, so that a slow moment hits both; take medians."""
    run(), bare()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for one, kept in zip((run, bare), times, strict=True):
            start = time.perf_counter()
            one()
            kept.append(1e3 * (time.perf_counter() - start))
    return Row(part, yardstick, *map(statistics.median, times))


def layer_rows(rng: np.random.Generator) -> list[Row]:
    Y = np.maximum(rng.normal(size=(N, J)), 0)
    T = one_hot(rng.integers(Q, size=J), Q)
    R = random_matrix(0, 1, WIDTH, N)
    O = rng.normal(size=(Q, N)) / N
    other = rng.normal(size=(N, J))
    problem = LayerProblem(Y, T)
    sums = problem.sums()
    G, C = Y @ Y.T, problem.cross()
    square = rng.normal(size=(N, N))
    solve = sums.proximal(1.0)
    return [
        measure(
            "grow a layer: relu([OY; -OY; RY/|RY|])",
            lambda: next_features(O @ Y, R, Y, gain=1.0),
            "R Y",
            lambda: R @ Y,
        ),
        measure(
            "sums of a layer: Y Y^T, T Y^T",
            lambda: sums.add(Y, T),
            "Y X^T",
            lambda: Y @ other.T,
        ),
        measure(
            "ADMM: factor a layer",
            lambda: problem.sums().proximal(1.0),
            "Y X^T",
            lambda: Y @ other.T,
        ),
        measure(
            "ADMM: one O-update",
            lambda: solve(O),
            "Q x n times n x n",
            lambda: O @ square,
            repeats=51,
        ),
        measure(
            "exact solve of a layer",
            lambda: solve_ball(G, C, 2 * np.sqrt(2 * Q)),
            "n x n times n x n",
            lambda: square @ square,
        ),
    ]


def mixing_rows(rng: np.random.Generator) -> list[Row]:
    values = rng.normal(size=(M, Q, N))
    flat = values.reshape(M, -1)
    ring = build_topology("circular", M, degree=4)
    all_rounds, one_round = Gossip(ring, 65), Gossip(ring, 1)
    return [
        measure(
            "mixing, 65 gossip rounds at once",
            lambda: all_rounds.mix(values, 0),
            "M x M times M x Qn",
            lambda: ring.H @ flat,
            repeats=51,
        ),
        measure(
            "mixing, one round node by node",
            lambda: run_rounds(one_round, dict(enumerate(values))),
            "M x M times M x Qn",
            lambda: ring.H @ flat,
            repeats=21,
        ),
    ]


def training_row(rng: np.random.Generator) -> Row:
    """A whole small training against the bare products R_l Y_l of its layers."""
    P, n_layers, per_node = 64, 5, 600
    X = rng.normal(size=(P, M * per_node))
    T = one_hot(rng.integers(Q, size=M * per_node), Q)
    shards = [Shard(X[:, m::M].copy(), T[:, m::M].copy()) for m in range(M)]
    sizes = {"n_features": P, "n_layers": n_layers, "width": WIDTH}
    plan = Plan(classes=tuple(range(Q)), bias=0.0, **sizes)  # the products' shapes
    ring = build_topology("circular", M, degree=4)
    inputs = [np.ascontiguousarray(X)] + [rng.normal(size=(N, M * per_node))] * (
        n_layers - 1
    )

    def bare() -> None:
        for layer, Y in enumerate(inputs, start=1):
            random_matrix(0, layer, WIDTH, len(Y)) @ Y

    return measure(
        f"train {n_layers} layers on {M} nodes, solver gram",
        lambda: simulate(shards, plan, ring),
        "R_l Y_l of all layers and nodes",
        bare,
        repeats=3,
    )


def kernels() -> list[Row]:
    """Parts of a layer against products of the same size."""
    rng = np.random.default_rng(0)
    with threadpool_limits(1, "blas"):  # as for one node of many in the simulator
        rows = layer_rows(rng) + mixing_rows(rng)
    rows.append(training_row(rng))
    return rows


def show_rows(rows: list[Row], screen: Console) -> None:
    table = Table(title=f"n = {N}, J = {J}, Q = {Q}, M = {M}", title_justify="left")
    for name in ("part", "ms", "yardstick", "ms", "ratio"):
        table.add_column(name, justify="left" if name[0] in "py" else "right")
    for row in rows:
        table.add_row(
            row.part,
            f"{row.milliseconds:.2f}",
            row.yardstick,
            f"{row.yardstick_milliseconds:.2f}",
            f"{row.ratio:.2f}",
        )
    screen.print(table)


def main(parts: list[str]) -> None:
    """Measure, print, and keep the figures as JSON."""
    screen = Console(highlight=False, soft_wrap=True)
    known = ["kernels", *PARTS]
    unknown = [part for part in parts if part not in known]
    if unknown:
        sys.exit(f"No part `{unknown[0]}`; there are {', '.join(known)}.")
    parts = parts or known
    rows = kernels() if "kernels" in parts else []
    if rows:
        show_rows(rows, screen)
    claims = measure_claims([part for part in parts if part != "kernels"], screen.print)
    kept = {
        "machine": {"processor": platform.machine(), "numpy": np.__version__},
        "kernels": [asdict(row) | {"ratio": row.ratio} for row in rows],
        "claims": [asdict(claim) | {"holds": claim.holds} for claim in claims],
    }
    RESULTS.write_text(json.dumps(kept, indent=2) + "\n")
    screen.print(f"Kept in {RESULTS}")


if __name__ == "__main__":
    main(sys.argv[1:])
