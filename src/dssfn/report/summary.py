"""Tables of the paper's experiments, from rows."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dssfn.rows import Row

PLACES = {1: "one place", 20: "20 nodes"}
SETTINGS = {
    "paper": "the paper's",
    "default": "our defaults",
    "wide": "4 layers of 3000, gain 10, not scaled",
}
QUICK = "Reduced sizes (--quick): these are not the paper's figures."


@dataclass(frozen=True, slots=True)
class Table:
    """A table for people: text in every cell."""

    title: str
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    note: str = ""

    def markdown(self) -> str:
        """As Markdown, with its title and its note."""
        rows = [self.header, ("---",) * len(self.header), *self.lines]
        body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        parts = [f"### {self.title}", body, self.note]
        return "\n\n".join(part for part in parts if part) + "\n"


def table2(rows: Sequence[Row]) -> Table:
    """Our figures beside the paper's, and the difference."""
    groups = _grouped(rows, ("data", "settings", "n_nodes"))
    lines = []
    for (data, settings, n_nodes), group in groups.items():
        paper = group[0].figures["paper"]
        name = str(data)
        if paper["data"] != name:
            name += f" (not the paper's {paper['data']})"
        compared = paper["data"] == data
        lines.append(
            (
                name,
                PLACES.get(int(n_nodes), f"{n_nodes} nodes"),
                SETTINGS[str(settings)],
                _mean(group, "train_accuracy", 100),
                _against(group, "train_error_db", 1, paper["train_error_db"], compared),
                _against(
                    group, "test_accuracy", 100, paper["test_accuracy"][0], compared
                ),
                str(len(group)),
            )
        )
    return Table(
        "Table II: train error and test accuracy",
        (
            "data", "where", "settings", "train %", "train error dB (paper,"
            " difference)", "test % (paper, difference)", "seeds",
        ),
        tuple(lines),
        _note(rows, "Mean and standard deviation over the seeds."),
    )  # fmt: skip


def satimage(rows: Sequence[Row]) -> Table:
    """What each change does to the Satimage row."""
    lines = []
    for (change,), group in _grouped(rows, ("change",)).items():
        paper = group[0].figures["paper"]
        lines.append(
            (
                str(change),
                _against(group, "train_error_db", 1, paper["train_error_db"], True),
                _against(group, "test_accuracy", 100, paper["test_accuracy"][0], True),
                _mean(group, "train_accuracy", 100),
            )
        )
    header = "change", "train error dB (paper, difference)", "test %", "train %"
    note = _note(rows, "20 nodes, degree 4, the paper's settings but for one change.")
    return Table("Satimage on 20 nodes: what explains it", header, tuple(lines), note)


def degree(rows: Sequence[Row]) -> Table:
    """Rounds of an averaging for every degree, and the time of a training."""
    trainings = {
        row.key["data"]: row.figures for row in rows if row.key["part"] == "training"
    }
    lines = []
    parts = [row for row in rows if row.key["part"] == "averaging"]
    for (data, d), group in _grouped(parts, ("data", "degree")).items():
        by_scheme = {row.key["scheme"]: row.figures for row in group}
        whole = trainings[data]
        cells = [str(data), str(d)]
        for scheme in ("gossip", "chebyshev", "exact"):
            one = by_scheme[scheme]
            modelled = whole["seconds"] + whole["averagings"] * one["seconds_modelled"]
            measured = whole["seconds"] + whole["averagings"] * one["seconds_measured"]
            cells.append(
                f"{one['rounds']} / {measured:.0f} s / {modelled / 60:.0f} min"
            )
        lines.append(tuple(cells))
    header = "data", "degree", "gossip", "chebyshev", "exact"
    note = _note(
        rows,
        "Rounds of one averaging to 1e-10; time of the training on this machine, every "
        "round carried out; time over links with 20 ms and 100 Mbit/s.",
    )
    return Table("Degree of the 20-node circle", header, tuple(lines), note)


def convergence(rows: Sequence[Row]) -> Table:
    """Where the curves end."""
    lines = [
        (
            str(row.key["data"]),
            str(row.key["solver"]),
            str(row.figures["averagings"][-1]),
            f"{row.figures['cost'][-1]:.5g}",
        )
        for row in rows
    ]
    header = "data", "solver", "averagings in all layers", "cost at the end"
    return Table("Convergence", header, tuple(lines), _note(rows, ""))


def communication(rows: Sequence[Row]) -> Table:
    """What gradient descent sends to reach the cost of dSSFN."""
    lines = []
    for row in rows:
        key, found = row.key, row.figures
        at_least = "" if found["reached"] else "more than "
        lines.append(
            (
                f"{key['data']}, {key['layers']} layers of {key['width']}",
                str(key["scheme"]),
                str(key["descent"]),
                f"{at_least}{found['descent_iterations']}",
                f"{found['dssfn_scalars_per_node']:.3g}",
                f"{at_least}{found['descent_scalars_per_node']:.3g}",
                f"{at_least}{found['eta_measured']:.3g}",
                f"{found['eta_formula']:.3g}",
            )
        )
    header = (
        "data, network", "dSSFN by", "gradient descent", "its iterations I",
        "numbers per node: dSSFN", "gradient descent", "eta measured", "n I / (Q K)",
    )  # fmt: skip
    note = _note(
        rows, "Gradients are averaged by the same consensus as dSSFN's messages."
    )
    return Table("Communication", header, tuple(lines), note)


def comparison(rows: Sequence[Row]) -> Table:
    """Test accuracy and bytes of every method by split; the best of its settings."""
    lines = []
    for (data, method, split), group in _grouped(
        rows, ("data", "method", "split")
    ).items():
        for setting, best in _best(str(method), group):
            lines.append(
                (
                    str(data),
                    str(method),
                    str(split),
                    setting,
                    f"{100 * best['best_accuracy']:.2f}",
                    f"{best['best_bytes'] / 1e6:.3g}",
                )
            )
    header = "data", "method", "split", "setting", "test %", "MB over all links"
    note = _note(
        rows,
        "Of federated averaging and decentralised SGD the best setting and moment.",
    )
    return Table("Against averaging of weights", header, tuple(lines), note)


def _best(method: str, group: list[Row]) -> list[tuple[str, dict[str, float]]]:
    """dSSFN in every size, with its last layer; of the others the best setting."""
    known = [row for row in group if row.figures["best_accuracy"] is not None]
    if method == "dssfn":
        return [
            (
                str(row.key["setting"]),
                {
                    "best_accuracy": row.figures["last_accuracy"],
                    "best_bytes": row.figures["bytes_total"][-1],
                },
            )
            for row in known
        ]
    if not known:
        return []
    best = max(known, key=lambda row: row.figures["best_accuracy"])
    return [(str(best.key["setting"]), best.figures)]


TABLES: dict[str, Callable[[Sequence[Row]], Table]] = {
    "table2": table2,
    "satimage": satimage,
    "convergence": convergence,
    "degree": degree,
    "communication": communication,
    "comparison": comparison,
}


def _grouped(
    rows: Iterable[Row], names: tuple[str, ...]
) -> dict[tuple[str | int | float | bool, ...], list[Row]]:
    groups: defaultdict[tuple[str | int | float | bool, ...], list[Row]] = defaultdict(
        list
    )
    for row in rows:
        groups[tuple(row.key[name] for name in names)].append(row)
    return groups


def _values(group: Sequence[Row], figure: str, unit: float) -> list[float]:
    return [unit * row.figures[figure] for row in group]


def _mean(group: Sequence[Row], figure: str, unit: float) -> str:
    values = _values(group, figure, unit)
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.2f} ± {spread:.2f}"


def _against(
    group: Sequence[Row], figure: str, unit: float, paper: float, compared: bool
) -> str:
    text = _mean(group, figure, unit)
    if not compared:
        return text
    difference = statistics.mean(_values(group, figure, unit)) - paper
    return f"{text} ({paper:g}, {difference:+.2f})"


def _note(rows: Sequence[Row], text: str) -> str:
    quick = any(row.key.get("quick") for row in rows)
    return " ".join(part for part in (text, QUICK if quick else "") if part)
