"""Cost against the number of averagings, over all layers: the paper's figure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from dssfn._typing import Array
from dssfn.report.evidence.experiment import Experiment, Figure
from dssfn.report.evidence.selection import file_name, grouped, note_on
from dssfn.report.html import Headline
from dssfn.report.numbers import amount, count
from dssfn.report.table import Table
from dssfn.rows import Key, Metrics, Row
from dssfn.sweeps import Task

NAME = "convergence"
SETS, QUICK_SETS = ("satimage", "letter", "mnist"), ("satimage",)
SOLVERS = {"admm": "ADMM, each iteration", "krylov": "krylov, each layer"}


def tasks(
    *, quick: bool, seeds: Sequence[int], data_dir: Path | None = None
) -> list[Task]:
    """Return one curve for every data set and solver, with the first seed."""
    return [
        _task(name, solver, seeds[0], quick=quick, data_dir=data_dir)
        for name in (QUICK_SETS if quick else SETS)
        for solver in SOLVERS
    ]


def _task(
    name: str, solver: str, seed: int, *, quick: bool, data_dir: Path | None
) -> Task:
    key: Key = {"data": name, "solver": solver, "seed": seed, "quick": quick}
    return Task(NAME, key, partial(_curve, name, solver, seed, quick, data_dir))


def _curve(
    name: str, solver: str, seed: int, quick: bool, data_dir: Path | None
) -> Metrics:
    from dssfn.experiments.convergence.cost_curves import curve_of

    return curve_of(name, solver, seed, quick=quick, data_dir=data_dir)


def table(rows: Sequence[Row]) -> Table:
    """Return where the curves end, as a table."""
    lines = [
        (
            str(row.key["data"]),
            str(row.key["solver"]),
            count(row.metrics["averagings"][-1]),
            amount(row.metrics["cost"][-1]),
        )
        for row in rows
    ]
    head = "data", "solver", "averagings in all layers", "cost at the end"
    return Table("Where the curves end", head, lines, 2, note_on(rows))


def words(rows: Sequence[Row]) -> list[str]:
    """Return what the stairs are, and what krylov needs for the same."""
    text = (
        "ADMM goes down in steps, one for each layer. It starts each layer from zero, "
        "which shows as a spike where a layer gains little. Over all layers the cost "
        "falls roughly as a power of the number of averagings. krylov solves each "
        "layer exactly with few averagings; its marks are the ends of layers."
    )
    for data, (admm, krylov) in averagings_of_both(rows).items():
        text += (
            f" On {data} it takes {count(krylov)} averagings for all layers, ADMM "
            f"{count(admm)}."
        )
    return [text]


def averagings_of_both(rows: Iterable[Row]) -> dict[str, tuple[int, int]]:
    """Return the averagings of trainings by ADMM and by krylov, for sets with both."""
    ends: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        data, solver = str(row.key["data"]), str(row.key["solver"])
        ends[data][solver] = row.metrics["averagings"][-1]
    return {
        data: (of_data["admm"], of_data["krylov"])
        for data, of_data in ends.items()
        if len(of_data) == 2
    }


def headlines(rows: Sequence[Row]) -> list[Headline]:
    """Return how many averagings krylov saves on the first set with both solvers."""
    return [
        Headline(
            "Averagings",
            f"{admm / krylov:.0f} times",
            f"fewer averagings with krylov than with ADMM on {data}",
        )
        for data, (admm, krylov) in averagings_of_both(rows).items()
    ][:1]


def figures(rows: Sequence[Row]) -> Iterator[Figure]:
    """Draw the cost against averagings over all layers, both logarithmic."""
    for (data,), group in grouped(rows, ("data",)).items():
        yield _figure(str(data), group)


def _figure(data: str, group: Sequence[Row]) -> Figure:
    from dssfn.report import canvas

    looks = {"admm": canvas.BLUE, "krylov": canvas.ORANGE}
    axes, spoken = canvas.new_axes(250), []
    for row in group:
        x = np.array(row.metrics["averagings"], dtype=float)
        y = np.array(row.metrics["cost"])
        solver = str(row.key["solver"])
        look, every = looks[solver], solver == "krylov"
        axes.plot(
            x, y, look.dash, color=look.colour, linewidth=1.6,
            marker=look.mark if every else "", markersize=4, label=SOLVERS[solver],
        )  # fmt: skip
        spoken.append(
            f"{SOLVERS[solver]}: {amount(y[0])} after the first to {amount(y[-1])} "
            f"after {x[-1]:.0f} averagings"
        )
        if solver == "admm":
            exponent, factor = power_law(x, y)
            axes.plot(
                x, factor * x**exponent, ":", color=canvas.MUTED, linewidth=1.4,
                label=f"power law, exponent {exponent:.2f}".replace("-", "−"),
            )  # fmt: skip
    canvas.log_log(axes)
    axes.set_xlabel("averagings over all layers (log scale)")
    axes.set_ylabel("cost (log scale)")
    axes.grid(axis="y")
    canvas.legend_above(axes, columns=1)
    label = f"{data}: {'; '.join(spoken)}."
    return Figure(
        canvas.finish(axes, file_name(NAME, data), label),
        f"{data.capitalize()}: cost against averagings",
        "Cost over all training samples as averagings go by, 20 nodes, degree 4. Lower "
        "and further left is better; the dotted line is a power law through the ADMM "
        "curve.",
    )


def power_law(x: Array, y: Array) -> tuple[float, float]:
    """Return exponent and factor of the straight line through a curve on log-log axes.

    Every stretch of the logarithmic axis counts alike.

    >>> x = np.arange(1.0, 100.0)
    >>> exponent, factor = power_law(x, 3 * x**-0.5)
    >>> round(exponent, 6), round(factor, 6)
    (-0.5, 3.0)
    """
    at = np.unique(np.geomspace(1, len(x), 60).astype(int) - 1)
    exponent, intercept = np.polyfit(np.log(x[at]), np.log(y[at]), 1)
    return float(exponent), float(np.exp(intercept))


EXPERIMENT = Experiment(
    name=NAME,
    title="Convergence",
    tasks=tasks,
    table=table,
    words=words,
    figures=figures,
    headlines=headlines,
)
