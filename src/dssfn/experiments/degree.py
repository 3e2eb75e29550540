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
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dssfn.experiments.paper import N_NODES
from dssfn.report.evidence.experiment import Experiment, Figure
from dssfn.report.evidence.selection import file_name, note_on, where
from dssfn.report.numbers import count, small
from dssfn.report.table import Table
from dssfn.rows import Key, Metrics, Row
from dssfn.sweeps import Task

if TYPE_CHECKING:
    from dssfn.consensus import Averaging
    from dssfn.report.canvas import Drawing

NAME = "degree"
SETS, QUICK_SETS = ("satimage", "letter", "mnist"), ("satimage",)
POLYNOMIALS = ("gossip", "chebyshev", "exact")
DEGREES = range(1, N_NODES // 2 + 1)
TOL = 1e-10
LATENCY, BANDWIDTH = 0.02, 100e6  # seconds, bits per second
REPEATS = 3
SHOWN = (1, 2, 4, 7, 10)  # degrees whose times are shown
SHOWN_OF_SCHEME = ("rounds", "estimated (s)", "modelled (min)")  # columns of a table
MOST_SAVED = 0.9  # of the rounds that any degree can save


def tasks(
    *, quick: bool, seeds: Sequence[int], data_dir: Path | None = None
) -> list[Task]:
    """Return the training itself, then every degree and scheme."""
    sets = QUICK_SETS if quick else SETS
    training = [_training(name, seeds[0], quick, data_dir) for name in sets]
    averaging = [
        _averaging(name, degree, scheme, quick, data_dir)
        for name in sets
        for degree in DEGREES
        for scheme in POLYNOMIALS
    ]
    return training + averaging


def _training(name: str, seed: int, quick: bool, data_dir: Path | None) -> Task:
    def run() -> Metrics:
        from dssfn.consensus import make_averaging
        from dssfn.experiments import trial

        data = trial.data_of(name, seed, quick=quick, data_dir=data_dir)
        settings = trial.settings_of("paper", name, N_NODES, quick=quick)
        metrics = trial.train(data, trial.ring(), seed=seed, **settings)
        per_averaging = make_averaging(trial.ring(), "gossip", tol=TOL).n_rounds
        return {
            "seconds": metrics["seconds"],
            "averagings": metrics["rounds"] // per_averaging,
        }

    key: Key = {"data": name, "part": "training", "seed": seed, "quick": quick}
    return Task(NAME, key, run)


def _averaging(
    name: str, degree: int, scheme: str, quick: bool, data_dir: Path | None
) -> Task:
    def run() -> Metrics:
        from dssfn.consensus import make_averaging, seconds
        from dssfn.experiments import trial
        from dssfn.planning import BYTES_PER_SCALAR

        data = trial.data_of(name, 0, quick=quick, data_dir=data_dir)
        Q = len(np.unique(data.y_train))
        shape = Q, 2 * Q + trial.size_of(quick=quick).width
        graph = trial.ring(degree=degree)
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
    return Task(NAME, key, run)


def _measured(averaging: Averaging, shape: tuple[int, int]) -> float:
    """Return the seconds of one averaging on all nodes, round by round."""
    from dssfn.consensus import run_rounds

    rng = np.random.default_rng(0)
    values = list(rng.normal(size=(N_NODES, *shape)))
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run_rounds(averaging, dict(enumerate(values)))
        times.append(time.perf_counter() - start)
    return statistics.median(times)


class OfSet(NamedTuple):
    """The rows of one data set: its training, and averagings by scheme."""

    data: str
    training: Metrics
    schemes: dict[str, dict[int, Metrics]]  # by degree

    def times(self, scheme: str, kind: str) -> dict[int, float]:
        """Return seconds of a training by degree, "estimated" here or "modelled".

        One averaging counts as often as the training averages: as it was timed on the
        machine that made the rows, or by a model with latency and bandwidth.
        """
        metric = {"estimated": "seconds_measured", "modelled": "seconds_modelled"}[kind]
        whole = self.training
        return {
            d: whole["seconds"] + whole["averagings"] * one[metric]
            for d, one in self.schemes.get(scheme, {}).items()
        }


def by_set(rows: Iterable[Row]) -> list[OfSet]:
    """Return the sets that have a training and averagings; some may be missing."""
    rows = list(rows)
    found = []
    for training in where(rows, part="training"):
        data = training.key["data"]
        schemes: dict[str, dict[int, Metrics]] = {}
        for row in where(rows, part="averaging", data=data):
            of_scheme = schemes.setdefault(str(row.key["scheme"]), {})
            of_scheme[int(row.key["degree"])] = row.metrics
        if schemes:
            found.append(OfSet(str(data), training.metrics, schemes))
    return found


def table(rows: Sequence[Row]) -> Table:
    """Return the rounds of an averaging and the time of a training by degree."""
    found = by_set(rows)
    schemes = list(dict.fromkeys(scheme for one in found for scheme in one.schemes))
    lines = []
    for one in found:
        for d in sorted({d for of_scheme in one.schemes.values() for d in of_scheme}):
            cells = [cell for scheme in schemes for cell in _cells(one, scheme, d)]
            lines.append((one.data, str(d), *cells))
    return Table(
        "Degree of the 20-node circle",
        (
            "data",
            "degree",
            *(f"{scheme}: {what}" for scheme in schemes for what in SHOWN_OF_SCHEME),
        ),
        lines,
        note=note_on(
            rows,
            "Rounds of one averaging to 10⁻¹⁰. Estimated: time of the training on one "
            "machine, where one averaging was timed, and counted as often as the "
            "training averages. Modelled: time over links with 20 ms and 100 Mbit/s.",
        ),
    )


def _cells(one: OfSet, scheme: str, d: int) -> tuple[str, str, str]:
    if d not in one.schemes.get(scheme, {}):
        return "", "", ""
    rounds = one.schemes[scheme][d]["rounds"]
    estimated = one.times(scheme, "estimated")[d]
    modelled = one.times(scheme, "modelled")[d]
    return count(rounds), f"{estimated:,.0f}", f"{modelled / 60:.1f}"


def words(rows: Sequence[Row]) -> list[str]:
    """Return why training time falls with the degree, and where it stops falling."""
    found = by_set(rows)
    return [
        "Only averaging depends on the degree. One gossip round leaves the share λ of "
        "the nodes' disagreement, λ being the second largest eigenvalue of the mixing "
        "matrix, so an averaging to 10⁻¹⁰ takes log 10⁻¹⁰ / log λ rounds. While 2d + 1 "
        "is small compared with the number of nodes, 1 − λ grows as d (d + 1).",
        *(text for one in found[:1] for text in _on_rounds(one)),
        *map(_on_times, found),
        *(text for one in found[:1] for text in _on_exact(one)),
    ]


def _on_rounds(one: OfSet) -> Iterator[str]:
    """Yield where the rounds of gossip are saved, and what that would explain."""
    gossip = one.schemes.get("gossip", {})
    if len(gossip) < 2:
        return
    rounds = {d: gossip[d]["rounds"] for d in sorted(gossip)}
    least, most = min(rounds), max(rounds)
    whole = max(rounds[least] - rounds[most], 1)
    saved = {d: (rounds[least] - rounds[d]) / whole for d in rounds}
    enough = next(d for d in saved if saved[d] >= MOST_SAVED)
    listed = ", ".join(map(count, rounds.values()))
    yield (
        f"That is {listed} rounds for d = {least} to {most}. By d = {enough}, "
        f"{100 * saved[enough]:.0f} % of what can be saved is saved: below it the "
        "training time follows the rounds, above it there is little left to save. "
        "This would explain the jump in the middle range of d that the paper reports; "
        "the rounds themselves jump only at the end, when all nodes become neighbours."
    )


def _on_times(one: OfSet) -> str:
    times = one.times("gossip", "estimated")
    listed = ", ".join(f"{t:.0f} s at d = {d}" for d, t in times.items() if d in SHOWN)
    return (
        f"{one.data.capitalize()}, on this machine, estimated from one timed "
        f"averaging: {listed}, of which {one.training['seconds']:.0f} s are "
        "arithmetic that does not depend on the degree."
    )


def _on_exact(one: OfSet) -> Iterator[str]:
    exact = one.schemes.get("exact")
    if exact:
        least, most = min(exact), max(metrics["rounds"] for metrics in exact.values())
        yield (
            f"Exact averaging takes only {exact[least]['rounds']} rounds at d = "
            f"{least}, and {most} at most."
        )


def figures(rows: Sequence[Row]) -> Iterator[Figure]:
    """Draw rounds by degree, and the time of a training, modelled and estimated."""
    found = by_set(rows)
    for one in found[:1]:
        rounds = {
            scheme: {d: float(metrics["rounds"]) for d, metrics in by_degree.items()}
            for scheme, by_degree in one.schemes.items()
        }
        drawing = _draw("degree-rounds", rounds, "rounds of one averaging")
        yield Figure(
            drawing,
            "Rounds",
            "Rounds of one averaging to 10⁻¹⁰ by degree. Gossip gains most from more "
            "neighbours; exact averaging needs few rounds on any of these graphs.",
        )
    for one in found:
        name = one.data.capitalize()
        yield Figure(
            _draw_times(one, "modelled", "minutes", 60),
            f"{name}, over a network, modelled",
            "Training time by degree, by a model of links with 20 ms and 100 Mbit/s. "
            "The grey line is arithmetic alone, which no graph can save.",
        )
        yield Figure(
            _draw_times(one, "estimated", "seconds", 1),
            f"{name}, on this machine, estimated",
            "Training time by degree: one averaging was timed, and counted as often as "
            "the training averages. The grey line is arithmetic alone.",
        )


def _draw_times(one: OfSet, kind: str, unit: str, length: int) -> Drawing:
    """Draw the time of a training by degree, in units of so many seconds."""
    times = {
        scheme: {d: t / length for d, t in one.times(scheme, kind).items()}
        for scheme in one.schemes
    }
    return _draw(
        file_name("degree", kind, one.data),
        times,
        f"{kind} training time ({unit})",
        floor=one.training["seconds"] / length,
    )


def _draw(
    name: str,
    curves: dict[str, dict[int, float]],
    what: str,
    floor: float | None = None,
) -> Drawing:
    from dssfn.report import canvas

    looks = {"gossip": canvas.GREY, "chebyshev": canvas.ORANGE, "exact": canvas.BLUE}
    axes, spoken = canvas.new_axes(230), []
    for scheme, values in curves.items():
        look, degrees = looks[scheme], sorted(values)
        axes.plot(
            degrees, [values[d] for d in degrees], look.dash + look.mark,
            color=look.colour, markersize=5, label=scheme,
        )  # fmt: skip
        first, last = degrees[0], degrees[-1]
        spoken.append(
            f"{scheme} {small(values[first])} at d = {first}, {small(values[last])} at "
            f"d = {last}"
        )
    every = [value for values in curves.values() for value in values.values()]
    canvas.log_range(axes, "y", min(*every, floor or min(every)), max(every))
    if floor is not None:
        axes.axhline(floor, color=canvas.QUIET, linewidth=1.4)
    axes.xaxis.set_major_locator(canvas.MaxNLocator(integer=True, nbins=10))
    axes.set_xlabel("degree of the graph")
    axes.set_ylabel(what)
    axes.grid(axis="y")
    axes.spines["left"].set_visible(False)
    canvas.legend_above(axes, columns=3)
    return canvas.finish(axes, name, f"{what} by degree: {'; '.join(spoken)}.")


EXPERIMENT = Experiment(
    name=NAME, title="Degree", tasks=tasks, table=table, words=words, figures=figures
)
