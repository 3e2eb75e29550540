"""dSSFN against what people would use instead: test accuracy against bytes sent.

Federated averaging and decentralised SGD train perceptrons of scikit-learn's usual size
on the same shards over the same graph, with several step sizes each. All of them begin
with inputs standardised by agreed means, and every byte of every method is charged.
A row is one curve; that of dSSFN must be the same for every split of the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dssfn.report.evidence.experiment import Experiment, Figure
from dssfn.report.evidence.selection import file_name, grouped, note_on, where
from dssfn.report.html import Headline
from dssfn.report.numbers import digits, percent
from dssfn.report.table import Table
from dssfn.rows import Key, Metrics, Row
from dssfn.sweeps import Task

if TYPE_CHECKING:
    from dssfn.report.canvas import Look

NAME = "comparison"
SPLITS = ("iid", "by-class", "dirichlet:0.1")
DIVIDED = {"iid": "at random", "by-class": "by class", "dirichlet:0.1": "unevenly"}
METHODS = {
    "dssfn": "dSSFN",
    "fedavg": "federated averaging",
    "dpsgd": "decentralised SGD",
}

Choices = tuple[tuple[float, int], ...]
"""Step sizes, each with local epochs or local steps."""

FEDAVG: Choices = ((0.3, 1), (1.0, 1), (0.1, 5), (0.3, 5))
DPSGD: Choices = ((0.03, 1), (0.1, 1), (0.3, 1), (0.1, 4))


@dataclass(frozen=True, slots=True)
class ComparisonCase:
    """A data set and the sizes with which all methods are compared on it.

    Parameters
    ----------
    data : str
        The name of the data set.
    networks : tuple of (name, L, width, consensus)
        The sizes of dSSFN; "auto" takes the fastest averaging, "tree" that of fewest
        bytes.
    hidden : int
        Units of the baselines' perceptron.
    n_averages, n_mixings : int
        Averages of federated averaging; mixings of decentralised SGD.
    fedavg, dpsgd : tuple of (rate, epochs) and (rate, steps)
        The settings that the baselines try.
    n_nodes, degree : int
        Size and degree of the circular graph.
    """

    data: str
    networks: tuple[tuple[str, int, int, str], ...]
    hidden: int
    n_averages: int
    n_mixings: int
    fedavg: Choices = FEDAVG
    dpsgd: Choices = DPSGD
    n_nodes: int = 20
    degree: int = 4

    def key(self, split: str, seed: int, *, quick: bool) -> Key:
        """Return the part of a key that the rows of all methods share."""
        return {
            "data": self.data,
            "split": split,
            "nodes": self.n_nodes,
            "degree": self.degree,
            "seed": seed,
            "quick": quick,
        }


SIZES = (("default", 20, 1000, "auto"), ("small", 5, 300, "tree"))
FULL = (
    ComparisonCase("satimage", SIZES, hidden=100, n_averages=200, n_mixings=400),
    ComparisonCase("letter", SIZES, hidden=100, n_averages=100, n_mixings=400),
)
QUICK = (
    ComparisonCase(
        "digits",
        (("small", 5, 100, "tree"),),
        hidden=50,
        n_averages=15,
        n_mixings=40,
        fedavg=((0.3, 1), (0.3, 5)),
        dpsgd=((0.1, 1), (0.3, 1)),
        n_nodes=10,
        degree=2,
    ),
)


def tasks(
    *, quick: bool, seeds: Sequence[int], data_dir: Path | None = None
) -> list[Task]:
    """Return every split with every method and choice; with `quick`, few of them.

    Examples
    --------
    >>> sorted({str(task.key["method"]) for task in tasks(quick=True, seeds=[0])})
    ['dpsgd', 'dssfn', 'fedavg']
    """
    return [
        Task(
            NAME,
            {**case.key(split, seed, quick=quick), **more},
            partial(run, case, split, seed, data_dir),
        )
        for seed in seeds[:1]  # hours otherwise; what a split costs is seen with one
        for case in (QUICK if quick else FULL)
        for split in SPLITS
        for more, run in _runs(case)
    ]


def _runs(case: ComparisonCase) -> Iterator[tuple[Key, partial[Metrics]]]:
    """Yield every method with every choice, and what tells it from the others."""
    for name, n_layers, width, consensus in case.networks:
        key: Key = {"method": "dssfn", "setting": name}
        key |= {"layers": n_layers, "width": width}
        settings = {"n_layers": n_layers, "width": width, "consensus": consensus}
        yield key, partial(_curve, "dssfn", settings)
    for rate, epochs in case.fedavg:
        key = {"method": "fedavg", "setting": f"rate {rate:g}, epochs {epochs}"}
        key |= {"hidden": case.hidden, "averages": case.n_averages}
        yield key, partial(_curve, "fedavg", {"rate": rate, "epochs": epochs})
    for rate, steps in case.dpsgd:
        key = {"method": "dpsgd", "setting": f"rate {rate:g}, steps {steps}"}
        key |= {"hidden": case.hidden, "mixings": case.n_mixings}
        yield key, partial(_curve, "dpsgd", {"rate": rate, "steps": steps})


def _curve(
    method: str,
    settings: dict[str, Any],
    case: ComparisonCase,
    split: str,
    seed: int,
    data_dir: Path | None,
) -> Metrics:
    from dssfn.experiments.comparison.curves import CURVES

    return CURVES[method](case, split, seed, data_dir, **settings)


def best_of(group: Sequence[Row]) -> Row | None:
    """Return the row of a method whose curve goes highest; None if all diverged."""
    known = [row for row in group if row.metrics["best_accuracy"] is not None]
    return max(known, key=lambda row: row.metrics["best_accuracy"], default=None)


def reached(row: Row) -> tuple[float, int]:
    """Return accuracy and bytes: of dSSFN's last layer, of the others' best moment."""
    found = row.metrics
    if row.key["method"] == "dssfn":
        return found["last_accuracy"], found["bytes_total"][-1]
    return found["best_accuracy"], found["best_bytes"]


def table(rows: Sequence[Row]) -> Table:
    """Return test accuracy and bytes of every method by split, at its best settings."""
    head = (
        "data", "method", "divided", "setting", "test accuracy (%)",
        "sent over all links (MB)", "same class as one machine",
    )  # fmt: skip
    note = (
        "dSSFN with its last layer; federated averaging and decentralised SGD with the "
        "best setting at the best moment, by test accuracy. Rising: it was still "
        "improving when it was stopped. Every number counts as eight bytes."
    )
    groups = grouped(rows, ("data", "method", "split")).values()
    lines = [line for group in groups for line in _lines(group)]
    caption = "Test accuracy and bytes sent, by method"
    return Table(caption, head, lines, 4, note_on(rows, note))


def _lines(group: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """Yield one line for every size of dSSFN, and one for the best of other methods."""
    key = group[0].key
    split = str(key["split"])
    names = str(key["data"]), METHODS[str(key["method"])], DIVIDED.get(split, split)
    best = best_of(group)
    if best is None:
        yield (*names, "all diverged", "", "", "")
        return
    is_ours = key["method"] == "dssfn"
    for row in group if is_ours else [best]:
        accuracy, sent = reached(row)
        rising = not is_ours and sent == row.metrics["bytes_total"][-1]
        agreed = row.metrics.get("prediction_agreement")
        yield (
            *names,
            _setting(row),
            f"{100 * accuracy:.2f}" + (" (rising)" if rising else ""),
            digits(sent / 1e6),
            "" if agreed is None else percent(agreed),
        )


def _setting(row: Row) -> str:
    """Return the size of dSSFN's network, or the step size of another method."""
    if row.key["method"] != "dssfn":
        return str(row.key["setting"])
    return f"{row.key['layers']} layers of {row.key['width']}"


def words(rows: Sequence[Row]) -> list[str]:
    """Return what the split costs each method."""
    said = [
        "Test accuracy against all bytes sent, with the samples divided at random, by "
        "class so that a node has few of them, and unevenly (Dirichlet, 0.1). "
        "Federated averaging and decentralised SGD train perceptrons of scikit-learn's "
        "usual size on the same samples over the same graph, with several step sizes; "
        "the best is shown."
    ]
    for (data,), group in grouped(rows, ("data",)).items():
        losses = _losses(group)
        if losses:
            listed = ", ".join(f"{name} {loss:.2f}" for name, loss in losses.items())
            said.append(
                f"{str(data).capitalize()}: points of test accuracy lost by dividing "
                f"by class instead of at random: {listed}.{_on_dssfn(group)}"
            )
    return said


def _on_dssfn(rows: Sequence[Row]) -> str:
    """Return whether dSSFN depends on the split, and agrees with one machine."""
    ours = where(rows, method="dssfn")
    same = all(
        row.metrics[metric] == group[0].metrics[metric]
        for group in grouped(ours, ("setting", "seed")).values()
        for row in group
        for metric in ("test_accuracy", "bytes_total", "predictions_sha256")
    )
    agreed = min((row.metrics["prediction_agreement"] for row in ours), default=0.0)
    return (
        " The curves of dSSFN are the same in every split, to the last prediction."
        if same
        else " The curves of dSSFN differ between the splits."
    ) + (
        " It predicts the same class as one machine with all data for "
        f"{'' if agreed == 1 else 'at least '}{100 * agreed:.6g} % of the test samples."
    )


def _losses(rows: Sequence[Row]) -> dict[str, float]:
    """Return the points that every method loses by dividing by class."""
    losses = {}
    for method, name in METHODS.items():
        iid, far = (
            best_of(where(rows, method=method, split=split))
            for split in ("iid", "by-class")
        )
        if iid and far:
            losses[name] = 100 * (reached(iid)[0] - reached(far)[0])
    return losses


def headlines(rows: Sequence[Row]) -> list[Headline]:
    """Return what dividing by class costs, on the first set that has both methods."""
    for (data,), group in grouped(rows, ("data",)).items():
        losses = _losses(group)
        if {METHODS["dssfn"], METHODS["fedavg"]} <= losses.keys():
            below = (
                f"points of test accuracy lost by dSSFN on {data}; federated averaging "
                f"loses {losses[METHODS['fedavg']]:.1f}"
            )
            return [
                Headline("Divided by class", f"{losses[METHODS['dssfn']]:.1f}", below)
            ]
    return []


def figures(rows: Sequence[Row]) -> Iterator[Figure]:
    """Draw test accuracy against bytes: a figure for every split, on the same axes."""
    for of_data in grouped(rows, ("data",)).values():
        known = [row for row in of_data if row.metrics["bytes_total"]]
        if known:  # else all of them diverged
            yield from _figures_of_set(known)


def _figures_of_set(rows: Sequence[Row]) -> Iterator[Figure]:
    sent = [value / 1e6 for row in rows for value in row.metrics["bytes_total"]]
    lowest = min(
        100 * max(row.metrics["best_accuracy"] for row in group)
        for group in grouped(rows, ("method", "split")).values()
    )
    for group in grouped(rows, ("split",)).values():
        yield _figure(group, (min(sent), max(sent)), max(0.0, lowest - 25))


def _figure(group: Sequence[Row], sent: tuple[float, float], lowest: float) -> Figure:
    from dssfn.report import canvas

    data, split = str(group[0].key["data"]), str(group[0].key["split"])
    axes, spoken = canvas.new_axes(250), []
    for label, row, look in _shown(group):
        axes.plot(
            np.array(row.metrics["bytes_total"]) / 1e6,
            100 * np.array(row.metrics["test_accuracy"]),
            look.dash, marker=look.mark, color=look.colour, markersize=4,
            linewidth=1.6, label=label,
            drawstyle="steps-post" if row.key["method"] == "dssfn" else None,
        )  # fmt: skip
        spoken.append(f"{label} {percent(row.metrics['best_accuracy'])}")
    canvas.log_range(axes, "x", *sent)
    axes.set_ylim(lowest, 101)
    canvas.percent_axis(axes, "y")
    axes.set_xlabel("sent over all links (MB, log scale)")
    axes.set_ylabel("test accuracy")
    axes.grid(axis="y")
    axes.spines["left"].set_visible(False)
    canvas.legend_above(axes, columns=2)
    label = f"{data}, {split}, best: {'; '.join(spoken)}."
    return Figure(
        canvas.finish(axes, file_name(NAME, data, split), label),
        f"{data.capitalize()}, samples divided {DIVIDED.get(split, split)}",
        "Higher and further left is better. dSSFN rises layer by layer and is the same "
        "for every way to divide the samples; the others are shown with their best "
        "setting.",
    )


def _shown(group: Sequence[Row]) -> Iterator[tuple[str, Row, Look]]:
    """Yield dSSFN in every size, and the best curve of the other methods."""
    from dssfn.report.canvas import BLACK, BLUE, GREY, ORANGE

    for place, row in enumerate(where(group, method="dssfn")):
        look = BLACK if place else BLUE
        yield f"{METHODS['dssfn']}, {_setting(row)}", row, look
    for method, look in (("fedavg", ORANGE), ("dpsgd", GREY)):
        best = best_of(where(group, method=method))
        if best:
            yield METHODS[method], best, look


EXPERIMENT = Experiment(
    name=NAME,
    title="Against federated averaging and decentralised SGD",
    tasks=tasks,
    table=table,
    words=words,
    figures=figures,
    headlines=headlines,
)
