"""Rounds and estimated training time against the degree of the 20-node circle.

The paper's figure shows a jump in the middle range of d. Averaging is all that depends
on d: it takes B(d) rounds, and a round more links the larger d is. So the arithmetic of
a training is timed once per data set; what B(d) rounds take is timed on one averaging
and counted as often as the training averages. The sum is an estimate: no training is
timed at each degree. Beside it stands what the rounds would take over a real network,
by a model with latency and bandwidth.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dssfn.consensus import Averaging, make_averaging, run_rounds, seconds
from dssfn.experiments.trial import N_NODES, data_of, ring, settings_of, size_of
from dssfn.experiments.trial import train as train_once
from dssfn.planning import BYTES_PER_SCALAR
from dssfn.rows import Key, Metrics
from dssfn.sweeps import Task

EXPERIMENT = "degree"
SETS, QUICK_SETS = ("satimage", "letter", "mnist"), ("satimage",)
SCHEMES = ("gossip", "chebyshev", "exact")
DEGREES = range(1, N_NODES // 2 + 1)
TOL = 1e-10
LATENCY, BANDWIDTH = 0.02, 100e6  # seconds, bits per second
REPEATS = 3


def tasks(
    *, quick: bool, seeds: Sequence[int], data_dir: Path | None = None
) -> list[Task]:
    """The training itself, then every degree and scheme."""
    sets = QUICK_SETS if quick else SETS
    training = [_training(name, seeds[0], quick, data_dir) for name in sets]
    averaging = [
        _averaging(name, degree, scheme, quick, data_dir)
        for name in sets
        for degree in DEGREES
        for scheme in SCHEMES
    ]
    return training + averaging


def _training(name: str, seed: int, quick: bool, data_dir: Path | None) -> Task:
    def run() -> Metrics:
        data = data_of(name, seed, quick=quick, data_dir=data_dir)
        settings = settings_of("paper", name, N_NODES) | size_of(quick=quick)._asdict()
        figures = train_once(data, ring(), seed=seed, **settings)
        per_averaging = make_averaging(ring(), "gossip", tol=TOL).n_rounds
        return {
            "seconds": figures["seconds"]["training"],
            "averagings": figures["communication"]["rounds"] // per_averaging,
        }

    key: Key = {"data": name, "part": "training", "seed": seed, "quick": quick}
    return Task(EXPERIMENT, key, run)


def _averaging(
    name: str, degree: int, scheme: str, quick: bool, data_dir: Path | None
) -> Task:
    def run() -> Metrics:
        data = data_of(name, 0, quick=quick, data_dir=data_dir)
        Q = len(np.unique(data.y_train))
        shape = Q, 2 * Q + size_of(quick=quick).width
        graph = ring(degree=degree)
        averaging = make_averaging(graph, scheme, tol=TOL)
        n_bytes = shape[0] * shape[1] * BYTES_PER_SCALAR
        return {
            "rounds": averaging.n_rounds,
            "contraction": graph.contraction,
            "seconds_measured": _measured(averaging, shape),
            "seconds_modelled": seconds(
                averaging, n_bytes, latency=LATENCY, bandwidth=BANDWIDTH
            ),
        }

    key: Key = {
        "data": name,
        "part": "averaging",
        "degree": degree,
        "scheme": scheme,
        "quick": quick,
    }
    return Task(EXPERIMENT, key, run)


def _measured(averaging: Averaging, shape: tuple[int, int]) -> float:
    """Seconds of one averaging on all nodes, round by round."""
    rng = np.random.default_rng(0)
    values = list(rng.normal(size=(N_NODES, *shape)))
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run_rounds(averaging, dict(enumerate(values)))
        times.append(time.perf_counter() - start)
    return statistics.median(times)
