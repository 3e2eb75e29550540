"""A neighbour round over MPI against a bare collective of the same bytes.

    mpiexec -n 4 python -m benchmarks.mpi_ring

Every rank hosts one node of a ring and swaps letters of 100 KB with both neighbours.
The yardstick is a blocking `Neighbor_allgather` on the same communicator. Both are
timed in turn, some rounds at a time; the medians are compared.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dssfn.testing import ring_links
from dssfn.transports import Tag
from dssfn.transports.mpi import MPITransport, load_mpi

N_RANKS, N_NUMBERS = 4, 12_500
N_JOBS, N_TURNS, N_ROUNDS, N_WARM = 5, 60, 20, 3


def measure_ring() -> dict[str, float]:
    """Microseconds of both, and their ratio: of several jobs the middle one.

    With more ranks than cores, how a job's ranks lie on them moves the ratio by 20 %.
    """
    jobs = sorted((_measure_job() for _ in range(N_JOBS)), key=lambda job: job["ratio"])
    return jobs[N_JOBS // 2]


def _measure_job() -> dict[str, float]:
    mpiexec = Path(sys.executable).parent / "mpiexec"
    ranks = [str(mpiexec), "-n", str(N_RANKS)]
    done = subprocess.run(
        [*ranks, sys.executable, "-m", "benchmarks.mpi_ring"],
        cwd=Path(__file__).parents[1],
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"`mpiexec -n 4 python -m benchmarks.mpi_ring`: {done}")
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main() -> None:
    """Run by every rank; rank 0 prints the figures."""
    comm = load_mpi().COMM_WORLD
    me, M = comm.rank, comm.size
    links = ring_links(M)
    transport = MPITransport(comm, [[node] for node in range(M)], links)
    value = np.random.default_rng(me).normal(size=N_NUMBERS)
    letters = {link: value for link in links if link[0] == me}
    expected = [link for link in links if link[1] == me]
    tag = Tag(0, 0, 0, value.shape)

    def swap() -> object:
        return transport.exchange(tag, letters, expected)

    def bare() -> object:
        came = np.empty((len(expected), N_NUMBERS))
        transport.comm.Neighbor_allgather(value, came)
        return came

    times: dict[str, list[float]] = {"swap": [], "bare": []}
    for turn in range(-N_WARM, N_TURNS):
        for name, one in (("swap", swap), ("bare", bare)):
            spent = _seconds(one, comm.Barrier)
            if turn >= 0:
                times[name].append(spent)
    if me == 0:
        swapped, yardstick = (1e6 * statistics.median(times[k]) for k in times)
        figures = {"swap_us": swapped, "bare_us": yardstick}
        print(json.dumps(figures | {"ratio": swapped / yardstick}))


def _seconds(one: Callable[[], object], barrier: Callable[[], None]) -> float:
    """Time of a round, all ranks starting together."""
    barrier()
    start = time.perf_counter()
    for _ in range(N_ROUNDS):
        one()
    return (time.perf_counter() - start) / N_ROUNDS


if __name__ == "__main__":
    main()
