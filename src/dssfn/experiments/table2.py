"""The paper's Table II: centralised against 20 nodes, its settings beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dssfn.experiments.paper import N_NODES, STAND_INS, is_of_paper, published
from dssfn.report.evidence.experiment import Experiment, Figure
from dssfn.report.evidence.selection import (
    deviation,
    grouped,
    is_quick,
    mean,
    note_on,
    where,
)
from dssfn.report.html import Headline
from dssfn.report.numbers import NONE
from dssfn.report.table import Table
from dssfn.rows import Key, Metrics, Row, Value
from dssfn.sweeps import Task

if TYPE_CHECKING:
    from dssfn.report.canvas import Axes, Drawing

NAME = "table2"
SETS = ("vowel", "satimage", "letter", "mnist", "caltech101_spm", "norb_subset3")
QUICK_SETS = ("vowel", "satimage", "letter")
NEAR_DB, NEAR_POINTS = 1.0, 1.5  # differences that count as met
SETTINGS = {  # in the order of the table
    "paper": "the paper's settings",
    "range": "the paper's settings, inputs in [-1, 1]",
    "scaled": "the paper's settings, inputs scaled",
    "default": "our settings, same size",
    "unscaled": "our settings, same size, inputs not scaled",
    "wide": "gain 10, 4 layers of 3000, inputs not scaled",
}


class Column(NamedTuple):
    """One column of the table: how a network is trained, and on how many nodes.

    Parameters
    ----------
    settings : str
        The name of the settings.
    preset : str
        The preset that they start from.
    n_nodes : int
        The number of nodes; 1 for centralised training.
    changes : dict
        What is not as in the preset.
    in_range : bool
        Whether inputs are moved to [-1, 1] before training.
    """

    settings: str
    preset: str
    n_nodes: int
    changes: dict[str, Any] = {}
    in_range: bool = False


COLUMNS = (
    Column("paper", "paper", 1),
    Column("paper", "paper", N_NODES),
    Column("default", "default", N_NODES),
    Column("unscaled", "default", N_NODES, {"standardize": False}),
)
RESCALED = (  # what the authors may have done
    Column("range", "paper", N_NODES, in_range=True),
    Column("scaled", "paper", N_NODES, {"standardize": True}),
)
WIDE = Column(
    "wide",
    "default",
    N_NODES,
    {"standardize": False, "n_layers": 4, "width": 3000, "gain": 10.0},
)


def tasks(
    *, quick: bool, seeds: Sequence[int], data_dir: Path | None = None
) -> list[Task]:
    """Return one row for every data set, column and seed; quick sets come first."""
    return [
        _task(name, column, seed, quick=quick, data_dir=data_dir)
        for name in (QUICK_SETS if quick else SETS)
        for column in columns_of(name)
        for seed in seeds
    ]


def columns_of(name: str) -> tuple[Column, ...]:
    """Return the columns of a data set."""
    columns = COLUMNS if name in STAND_INS else COLUMNS + RESCALED
    return (*columns, WIDE) if name == "mnist" else columns


def _task(
    name: str, column: Column, seed: int, *, quick: bool, data_dir: Path | None
) -> Task:
    def run() -> Metrics:
        from dssfn.experiments import trial

        data = trial.data_of(name, seed, quick=quick, data_dir=data_dir)
        if column.in_range:
            data = trial.in_range(data)
        settings = trial.settings_of(column.preset, name, column.n_nodes, quick=quick)
        settings |= column.changes
        metrics = trial.train(data, trial.ring(column.n_nodes), seed=seed, **settings)
        return metrics | published(name, column.n_nodes)

    key: Key = {
        "data": name,
        "settings": column.settings,
        "n_nodes": column.n_nodes,
        "seed": seed,
        "quick": quick,
    }
    return Task(NAME, key, run)


def table(rows: Sequence[Row]) -> Table:
    """Return our metrics beside the paper's, and the difference."""
    sets = list(grouped(rows, ("data",)))

    def in_order(row: Row) -> tuple[int, int, int]:
        key = row.key
        return (
            sets.index((key["data"],)),
            list(SETTINGS).index(str(key["settings"])),
            int(key["n_nodes"]),
        )

    columns = grouped(sorted(rows, key=in_order), ("data", "settings", "n_nodes"))
    return Table(
        "Table II: train error and test accuracy",
        (
            "data", "where", "settings", "train accuracy (%)", "train error (dB)",
            "paper (dB)", "difference (dB)", "test accuracy (%)", "paper (%)",
            "difference (points)", "seeds",
        ),
        [_line(group) for group in columns.values()],
        numeric_from=3,
        note=note_on(rows, "Mean ± standard deviation over the seeds."),
    )  # fmt: skip


def _line(group: Sequence[Row]) -> tuple[str, ...]:
    key, paper = group[0].key, group[0].metrics["paper"]
    compared = is_of_paper(group[0])
    error = paper["train_error_db"] if compared else None
    accuracy = paper["test_accuracy"][0] if compared else None
    return (
        str(key["data"])
        if compared
        else f"{key['data']} (not the paper's {paper['data']})",
        _place(key["n_nodes"]),
        SETTINGS[str(key["settings"])],
        mean_cell(group, "train_accuracy", 100),
        *against_cells(group, "train_error_db", 1, error),
        *against_cells(group, "test_accuracy", 100, accuracy),
        str(len(group)),
    )


def mean_cell(group: Sequence[Row], metric: str, unit: float) -> str:
    """Return the mean of a metric and, for several rows, its standard deviation."""
    text = signed(f"{unit * mean(group, metric):.2f}")
    if len(group) == 1:
        return text
    return f"{text} ± {unit * deviation(group, metric):.2f}"


def signed(text: str) -> str:
    """Return numbers in words with true minus signs."""
    return text.replace("-", "−")


def against_cells(
    group: Sequence[Row], metric: str, unit: float, paper: float | None
) -> tuple[str, str, str]:
    """Return that cell, the paper's number and the difference, if there is one."""
    ours = mean_cell(group, metric, unit)
    if paper is None:
        return ours, NONE, NONE
    difference = f"{unit * mean(group, metric) - paper:+.2f}"
    return ours, signed(f"{paper:.2f}"), signed(difference)


def _place(n_nodes: object) -> str:
    return "centralised" if n_nodes == 1 else f"{n_nodes} nodes"


def words(rows: Sequence[Row]) -> list[str]:
    """Return how near the paper's numbers are, and where ours are ahead."""
    if is_quick(rows):
        return [
            "Small networks and few samples, with the paper's settings and with ours, "
            "only to see that everything runs. The differences from the paper mean "
            "nothing here."
        ]
    return [
        _on_papers_settings(rows),
        *_on_scaled_inputs(rows),
        *_on_defaults(rows),
        *_on_stand_ins(rows),
    ]


def _on_papers_settings(rows: Sequence[Row]) -> str:
    near, far = _near_and_far(rows, "paper")
    text = (
        "The paper's settings: 20 layers of width 1000, 100 ADMM iterations a layer "
        "and its mu for each data set, both centralised and with the data divided "
        "between 20 nodes on a circle of degree 4."
    )
    if near or far:
        text += (
            f" {len(near)} of {len(near) + len(far)} results are within {NEAR_DB:g} dB "
            f"and {NEAR_POINTS:g} points of what was published"
            + (f". The others: {', '.join(far)}." if far else ".")
        )
    return text


def _on_scaled_inputs(rows: Sequence[Row]) -> Iterator[str]:
    for settings, inputs in (("range", "in [-1, 1]"), ("scaled", "scaled")):
        near, far = _near_and_far(rows, settings)
        if near or far:
            yield (
                f"With inputs {inputs}, as close are: {', '.join(near) or 'none'}"
                + (f". The others: {', '.join(far)}." if far else ".")
            )


def _on_defaults(rows: Sequence[Row]) -> Iterator[str]:
    ahead, behind = _ahead(rows)
    if ahead or behind:
        yield (
            "Our settings, with a network of the same size on 20 nodes, are ahead of "
            f"the published test accuracy on {', '.join(ahead) or 'none'}"
            + (f", and behind on {', '.join(behind)}" if behind else "")
            + ". They were compared on validation data, but not without any knowledge "
            "of test results; docs/performance.md says how."
        )


def _on_stand_ins(rows: Sequence[Row]) -> Iterator[str]:
    if not all(map(is_of_paper, rows)):
        yield (
            "Data sets that stand in for one of the paper's are named as such and are "
            "not compared with it."
        )


def _near_and_far(rows: Sequence[Row], settings: str) -> tuple[list[str], list[str]]:
    """Return the columns of Table II that are met, and how far off the others are."""
    near: list[str] = []
    far: list[str] = []
    ours = filter(is_of_paper, where(rows, settings=settings))
    for (data, n_nodes), group in grouped(ours, ("data", "n_nodes")).items():
        paper = group[0].metrics["paper"]
        decibels = mean(group, "train_error_db") - paper["train_error_db"]
        points = 100 * mean(group, "test_accuracy") - paper["test_accuracy"][0]
        name = f"{data} ({_place(n_nodes)}: {decibels:+.2f} dB, {points:+.2f} points)"
        is_near = abs(decibels) <= NEAR_DB and abs(points) <= NEAR_POINTS
        (near if is_near else far).append(name.replace("-", "−"))
    return near, far


def _ahead(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    """Return the sets on which our settings are ahead of the paper, and the others."""
    ahead: list[str] = []
    behind: list[str] = []
    ours = filter(is_of_paper, where(rows, settings="default"))
    for (data,), group in grouped(ours, ("data",)).items():
        paper = group[0].metrics["paper"]["test_accuracy"][0]
        found = 100 * mean(group, "test_accuracy")
        around = 100 * deviation(group, "test_accuracy")
        text = f"{data} ({found:.2f} ± {around:.2f} against {paper:g} %)"
        (ahead if found > paper else behind).append(text)
    return ahead, behind


def headlines(rows: Sequence[Row]) -> list[Headline]:
    """Return how many columns are met, and on how many sets our settings are ahead."""
    found = []
    full = where(rows, quick=False)
    near, far = _near_and_far(full, "paper")
    if near or far:
        below = f"within {NEAR_DB:g} dB and {NEAR_POINTS:g} points of the paper"
        together = f"{len(near)} of {len(near) + len(far)}"
        found.append(Headline("Table II, results met", together, below))
    ahead, behind = _ahead(full)
    if ahead or behind:
        below = "data sets: test accuracy with our settings"
        together = f"{len(ahead)} of {len(ahead) + len(behind)}"
        found.append(Headline("Ahead of the paper", together, below))
    return found


def figures(rows: Sequence[Row]) -> Iterator[Figure]:
    """Draw how far the test accuracy on the nodes is from the published one."""
    several = [row for row in rows if is_of_paper(row) and row.key["n_nodes"] != 1]
    if several:
        yield Figure(
            _draw(grouped(several, ("data",))),
            "Test accuracy against the paper",
            "Points above (right) or below (left) the published test accuracy on 20 "
            "nodes. Marks are means over the seeds, lines their standard deviation; "
            "the dark band is the paper's own deviation, so marks within it meet the "
            "paper.",
        )


def _draw(sets: dict[tuple[Value, ...], list[Row]]) -> Drawing:
    from dssfn.report import canvas

    axes = canvas.new_axes(78 * len(sets) + 150)
    named: set[str] = set()
    spoken = [
        text
        for place, group in enumerate(sets.values())
        for text in _draw_set(axes, -place, group, named)
    ]
    axes.set_yticks([-row for row in range(len(sets))], [str(k[0]) for k in sets])
    axes.set_ylim(-len(sets) + 0.5, 0.5)
    axes.axvline(0, color=canvas.MUTED, linewidth=1.2, zorder=1)
    canvas.round_numbers(axes, "x")
    axes.set_xlabel("points of test accuracy beyond the published")
    axes.spines["left"].set_visible(False)
    canvas.legend_above(axes, columns=1)
    return canvas.finish(axes, "test-accuracy", f"Test accuracy: {'; '.join(spoken)}.")


def _draw_set(
    axes: Axes, at: int, group: Sequence[Row], named: set[str]
) -> Iterator[str]:
    """Draw one set at a height, and say it in words; `named` is in the legend."""
    from dssfn.report import canvas

    def once(name: str) -> str | None:
        is_new = name not in named
        named.add(name)
        return name if is_new else None

    looks = {
        "paper": canvas.BLUE,
        "range": canvas.GREY._replace(mark="x"),
        "scaled": canvas.GREY,
        "default": canvas.ORANGE,
        "unscaled": canvas.ORANGE._replace(mark="v"),
        "wide": canvas.BLACK,
    }
    heights = np.linspace(0.34, -0.34, len(looks))
    there, around = group[0].metrics["paper"]["test_accuracy"]
    axes.axhspan(at - 0.43, at + 0.43, color=canvas.QUIET, alpha=0.13, linewidth=0)
    axes.fill_betweenx(
        [at - 0.43, at + 0.43], -around, around, color=canvas.QUIET, alpha=0.4,
        linewidth=0, label=once("published, ± its deviation"),
    )  # fmt: skip
    yield f"{group[0].key['data']} {there:g} % published"
    for (settings, look), height in zip(looks.items(), heights, strict=True):
        some = where(group, settings=settings)
        if some:
            value = 100 * mean(some, "test_accuracy")
            axes.errorbar(
                value - there, height + at, xerr=100 * deviation(some, "test_accuracy"),
                fmt=look.mark, color=look.colour, markersize=5.5,
                label=once(SETTINGS[settings]),
            )  # fmt: skip
            yield f"{SETTINGS[settings]} {value:.1f} %"


EXPERIMENT = Experiment(
    name=NAME,
    title="Table II",
    tasks=tasks,
    table=table,
    words=words,
    figures=figures,
    headlines=headlines,
)
