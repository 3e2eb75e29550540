"""The paper's ratio eta, measured: what gradient descent sends to reach dSSFN's cost.

dSSFN is trained over the graph as the paper does (ADMM and gossip), and with this
package's solvers. Then a network of the same size is trained by gradient descent until
its cost is as low, at most for a stated number of iterations. Every number that it
averages is charged with the rounds and links of the same scheme: `descent.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from dssfn.report.evidence.experiment import Experiment, Figure
from dssfn.report.evidence.selection import file_name, grouped, note_on, where
from dssfn.report.html import Headline
from dssfn.report.numbers import count, digits, plural, small
from dssfn.report.table import Table
from dssfn.rows import Key, Metrics, Row, Value
from dssfn.sweeps import Task

NAME = "communication"
NETWORK = ("data", "layers", "width", "descent")  # parts of a key: one figure for each


class Compared(NamedTuple):
    """A way to train dSSFN: its name in tables, its solver and its averaging scheme."""

    label: str
    solver: str
    consensus: str


COMPARED = {
    "paper": Compared("ADMM and gossip", "admm", "gossip"),
    "gram": Compared("gram", "gram", "tree"),
    "krylov": Compared("krylov", "krylov", "tree"),
}


@dataclass(frozen=True, slots=True)
class EtaCase:
    """A network, a graph and a way to descend for which eta is measured.

    Parameters
    ----------
    data : str
        The name of the data set.
    n_layers, width : int
        Sizes of the network, as in a plan.
    steps : {"adam", "momentum"}
        How gradient descent uses a gradient.
    cap : int
        The most iterations of gradient descent.
    n_nodes, degree : int
        Size and degree of the circular graph.
    precision : str
        Precision of the gradient's arithmetic.
    """

    data: str
    n_layers: int
    width: int
    steps: str
    cap: int
    n_nodes: int = 20
    degree: int = 4
    precision: str = "float32"

    def key(self, scheme: str, seed: int, *, quick: bool) -> Key:
        """Return the key that tells the row from others."""
        return {
            "data": self.data,
            "layers": self.n_layers,
            "width": self.width,
            "descent": self.steps,
            "cap": self.cap,
            "nodes": self.n_nodes,
            "degree": self.degree,
            "scheme": scheme,
            "seed": seed,
            "quick": quick,
        }


FULL = (
    EtaCase("satimage", n_layers=5, width=100, steps="adam", cap=2000),
    EtaCase("satimage", n_layers=5, width=100, steps="momentum", cap=2000),
    EtaCase("satimage", n_layers=20, width=200, steps="adam", cap=600),
    # The paper's size: half a teraflop an iteration.
    EtaCase("satimage", n_layers=20, width=1000, steps="adam", cap=100),
)
QUICK = (
    EtaCase("digits", n_layers=3, width=40, steps="adam", cap=300),
    EtaCase("digits", n_layers=3, width=40, steps="momentum", cap=300),
)


def tasks(
    *, quick: bool, seeds: Sequence[int], data_dir: Path | None = None
) -> list[Task]:
    """Return every case with every scheme of dSSFN; with `quick`, small networks.

    Examples
    --------
    >>> [task.key["scheme"] for task in tasks(quick=True, seeds=[0])][:3]
    ['paper', 'gram', 'krylov']
    """
    return [
        Task(
            NAME,
            case.key(scheme, seed, quick=quick),
            partial(_measured, case, scheme, seed, data_dir),
        )
        for seed in seeds[:1]
        for case in (QUICK if quick else FULL)
        for scheme in COMPARED
    ]


def _measured(case: EtaCase, scheme: str, seed: int, data_dir: Path | None) -> Metrics:
    from dssfn.experiments.communication.descent import measure_eta

    return measure_eta(case, scheme, seed, data_dir)


def table(rows: Sequence[Row]) -> Table:
    """Return what gradient descent sends to reach the cost of dSSFN, as a table."""
    head = (
        "data, network", "dSSFN by", "descent, step", "iterations of descent, I",
        "numbers: dSSFN", "numbers: descent", "rounds: dSSFN", "rounds: descent",
        "eta, measured", "eta, n I / (Q K)",
    )  # fmt: skip
    note = (
        "Numbers that a node sends are in millions. Gradients are averaged by the same "
        "scheme as dSSFN's messages. A > means that descent was stopped before it "
        "reached the cost of dSSFN."
    )
    lines = list(map(_line, rows))
    return Table("The ratio eta, measured", head, lines, 3, note_on(rows, note))


def _line(row: Row) -> tuple[str, ...]:
    key, found = row.key, row.metrics
    at_least = "" if found["reached"] else "> "
    return (
        f"{key['data']}, {key['layers']} layers of {key['width']}",
        COMPARED[str(key["scheme"])].label,
        f"{key['descent']}, {found['descent_rate']:g}",
        f"{at_least}{found['descent_iterations']}",
        digits(found["dssfn_scalars_per_node"] / 1e6),
        f"{at_least}{digits(found['descent_scalars_per_node'] / 1e6)}",
        count(found["dssfn_rounds"]),
        f"{at_least}{count(found['descent_rounds'])}",
        f"{at_least}{digits(found['eta_measured'])}",
        f"{at_least}{digits(found['eta_formula'])}",
    )


def words(rows: Sequence[Row]) -> list[str]:
    """Return what was compared, and the ratio at the largest size."""
    largest = _largest(rows)
    return [
        "The paper argues that gradient descent sends n I / (Q K) times as much as "
        "dSSFN; this ratio is called eta. Here gradient descent is really run: it "
        "trains a network of the same size, with gradients averaged by the same "
        "scheme, until its cost is as low as that of dSSFN. It is given agreed "
        "scaling, good initial weights, and the step size that is best after a few "
        "iterations on a part of the samples; this search is not charged.",
        *([_on_largest(largest)] if largest else []),
        *_on_nodes(rows),
    ]


def _largest(rows: Sequence[Row]) -> Row | None:
    """Return the largest network whose gradients were averaged as the paper does."""
    paper = where(rows, scheme="paper")
    return max(paper, key=lambda row: row.metrics["descent_weights"], default=None)


def _on_largest(row: Row) -> str:
    found, key = row.metrics, row.key
    more = "" if found["reached"] else "more than "
    text = (
        f"The largest, {key['data']} with {key['layers']} layers of "
        f"{key['width']}: {key['descent']} needs {more}"
        f"{plural(found['descent_iterations'], 'iteration')}, so eta is {more}"
        f"{digits(found['eta_measured'])}; the formula with that I gives "
        f"{digits(found['eta_formula'])}."
    )
    if found["reached"] and found["descent_iterations"] < 1000:
        text += " The paper assumes I in the order of thousands; that was not needed."
    return text


def _on_nodes(rows: Sequence[Row]) -> Iterator[str]:
    checked = [row.metrics.get("decentralised_difference") for row in rows]
    apart = [one for one in checked if one is not None]
    if apart:
        yield (
            "Descent was computed centrally. Where the network is small enough, its "
            "first iterations were also run over the nodes: the weights differ by at "
            f"most {small(max(apart))}."
        )


def headlines(rows: Sequence[Row]) -> list[Headline]:
    """Return eta at the largest size."""
    row = _largest(rows)
    if row is None:
        return []
    below = f"times as many numbers sent by gradient descent, {row.key['data']}"
    more = "" if row.metrics["reached"] else "> "
    return [Headline("Eta", f"{more}{digits(row.metrics['eta_measured'])}", below)]


def figures(rows: Sequence[Row]) -> Iterator[Figure]:
    """Draw the cost against the numbers that a node has sent."""
    for key, group in grouped(rows, NETWORK).items():
        yield _figure(key, group)


def _figure(key: tuple[Value, ...], group: Sequence[Row]) -> Figure:
    from dssfn.report import canvas

    looks = {"paper": canvas.GREY, "gram": canvas.BLUE, "krylov": canvas.BLACK}
    data, n_layers, width, descent = key
    axes = canvas.new_axes(260)
    for row in group:
        look, found = looks[str(row.key["scheme"])], row.metrics
        axes.plot(
            found["dssfn_cost_scalars"], found["dssfn_cost"], look.dash,
            marker=look.mark, color=look.colour, markersize=4, linewidth=1.5,
            label=f"dSSFN, {COMPARED[str(row.key['scheme'])].label}",
        )  # fmt: skip
    # The way of descent is one, but every kind of averages charges it otherwise.
    charged = {str(row.metrics["dssfn_consensus"]): row.metrics for row in group}
    for (consensus, found), dash in zip(charged.items(), ("--", ":"), strict=False):
        axes.plot(  # from the first iteration on: before it nothing was sent
            found["descent_cost_scalars"][1:], found["descent_cost"][1:], dash,
            color=canvas.SECOND, label=f"{descent}, averages by {consensus}",
        )  # fmt: skip
    canvas.log_log(axes)
    axes.set_xlabel("numbers sent by a node (log scale)")
    axes.set_ylabel("cost (log scale)")
    axes.grid(axis="y")
    canvas.legend_above(axes, columns=1)
    ratios = ", ".join(
        f"{COMPARED[str(row.key['scheme'])].label} {small(row.metrics['eta_measured'])}"
        for row in group
    )
    label = f"Cost against numbers sent; gradient descent over dSSFN: {ratios}."
    return Figure(
        canvas.finish(axes, file_name(NAME, *key), label),
        f"{str(data).capitalize()}, {n_layers} layers of {width}, {descent}",
        "Cost against the numbers that a node has sent. Lower and further left is "
        "better: at the same height, the distance between two curves is the ratio eta.",
    )


EXPERIMENT = Experiment(
    name=NAME,
    title="Communication",
    tasks=tasks,
    table=table,
    words=words,
    figures=figures,
    headlines=headlines,
)
