"""Tables of the paper's experiments, from rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dssfn.report.evidence.select import (
    DegreeRows,
    best_of,
    degree_rows,
    deviation,
    grouped,
    is_papers,
    is_quick,
    mean,
    reached,
    where,
)
from dssfn.report.numbers import count, digits
from dssfn.report.table import Table
from dssfn.rows import Row

SETTINGS = {
    "paper": "the paper's settings",
    "range": "the paper's settings, inputs in [-1, 1]",
    "scaled": "the paper's settings, inputs scaled",
    "default": "our defaults",
    "unscaled": "our defaults, inputs not scaled",
    "wide": "4 layers of 3000, gain 10, not scaled",
}
METHODS = {
    "dssfn": "dSSFN",
    "fedavg": "federated averaging",
    "dpsgd": "decentralised SGD",
}
SCHEMES = {"paper": "ADMM and gossip", "gram": "gram", "krylov": "krylov"}
QUICK = "Reduced sizes (--quick): these are not the paper's figures."


def table2(rows: Sequence[Row]) -> Table:
    """Our figures beside the paper's, and the difference."""
    lines = []
    sets = list(grouped(rows, ("data",)))

    def in_order(row: Row) -> tuple[int, int, int]:
        key = row.key
        return (
            sets.index((key["data"],)),
            list(SETTINGS).index(str(key["settings"])),
            int(key["n_nodes"]),
        )

    for (data, settings, n_nodes), group in grouped(
        sorted(rows, key=in_order), ("data", "settings", "n_nodes")
    ).items():
        paper = group[0].metrics["paper"]
        compared = is_papers(group[0])
        error = paper["train_error_db"] if compared else None
        accuracy = paper["test_accuracy"][0] if compared else None
        lines.append(
            (
                str(data) if compared else f"{data} (not the paper's {paper['data']})",
                place(n_nodes),
                SETTINGS[str(settings)],
                _mean(group, "train_accuracy", 100),
                _against(group, "train_error_db", 1, error),
                _against(group, "test_accuracy", 100, accuracy),
                str(len(group)),
            )
        )
    return Table(
        "Table II: train error and test accuracy",
        (
            "data", "where", "with", "train %", "train error dB (paper,"
            " difference)", "test % (paper, difference)", "seeds",
        ),
        lines,
        numeric_from=3,
        note=_note(rows, "Mean and standard deviation over the seeds."),
    )  # fmt: skip


def place(n_nodes: object) -> str:
    """Where the data were."""
    return "one place" if n_nodes == 1 else f"{n_nodes} nodes"


def satimage(rows: Sequence[Row]) -> Table:
    """What each change does to the Satimage row."""
    lines = []
    for (change,), group in grouped(rows, ("change",)).items():
        paper = group[0].metrics["paper"]
        lines.append(
            (
                str(change),
                _against(group, "train_error_db", 1, paper["train_error_db"]),
                _against(group, "test_accuracy", 100, paper["test_accuracy"][0]),
                _mean(group, "train_accuracy", 100),
            )
        )
    return Table(
        "Satimage on 20 nodes: one change at a time",
        (
            "change", "train error dB (paper, difference)",
            "test % (paper, difference)", "train %",
        ),
        lines,
        note=_note(rows, "Degree 4, the paper's settings but for one change."),
    )  # fmt: skip


def degree(rows: Sequence[Row]) -> Table:
    """Rounds of an averaging for every degree, and the time of a training."""
    found = degree_rows(rows)
    schemes = list(dict.fromkeys(scheme for one in found for scheme in one.schemes))
    lines = []
    for one in found:
        for d in sorted({d for of_scheme in one.schemes.values() for d in of_scheme}):
            cells = [_degree_cell(one, scheme, d) for scheme in schemes]
            lines.append((one.data, str(d), *cells))
    return Table(
        "Degree of the 20-node circle",
        (
            "data",
            "degree",
            *(f"{scheme}: rounds / estimated s / modelled min" for scheme in schemes),
        ),
        lines,
        note=_note(
            rows,
            "Rounds of one averaging to 1e-10; time of the training on one machine, "
            "estimated: one averaging was timed, and counted as often as the training "
            "averages; time over links with 20 ms and 100 Mbit/s, by a model.",
        ),
    )


def _degree_cell(one: DegreeRows, scheme: str, d: int) -> str:
    if d not in one.schemes.get(scheme, {}):
        return ""
    rounds = one.schemes[scheme][d]["rounds"]
    estimated = one.times(scheme, "estimated")[d]
    modelled = one.times(scheme, "modelled")[d]
    return f"{rounds} / {estimated:.0f} s / {modelled / 60:.1f} min"


def convergence(rows: Sequence[Row]) -> Table:
    """Where the curves end."""
    lines = [
        (
            str(row.key["data"]),
            str(row.key["solver"]),
            str(row.metrics["averagings"][-1]),
            f"{row.metrics['cost'][-1]:.5g}",
        )
        for row in rows
    ]
    head = "data", "solver", "averagings in all layers", "cost at the end"
    return Table("Where the curves end", head, lines, 2, _note(rows, ""))


def communication(rows: Sequence[Row]) -> Table:
    """What gradient descent sends to reach the cost of dSSFN."""
    lines = []
    for row in rows:
        key, found = row.key, row.metrics
        at_least = "" if found["reached"] else "> "
        lines.append(
            (
                f"{key['data']}, {key['layers']} layers of {key['width']}",
                SCHEMES[str(key["scheme"])],
                f"{key['descent']}, {found['descent_rate']:g}",
                f"{at_least}{found['descent_iterations']}",
                digits(found["dssfn_scalars_per_node"] / 1e6),
                f"{at_least}{digits(found['descent_scalars_per_node'] / 1e6)}",
                count(found["dssfn_rounds"]),
                f"{at_least}{count(found['descent_rounds'])}",
                f"{at_least}{digits(found['eta_measured'])}",
                f"{at_least}{digits(found['eta_formula'])}",
            )
        )
    head = (
        "data, network", "dSSFN by", "descent, step", "its iterations I",
        "numbers: dSSFN", "descent", "rounds: dSSFN", "descent", "eta measured",
        "n I / (Q K)",
    )  # fmt: skip
    note = (
        "Numbers that a node sends, in millions. Gradients are averaged by the "
        "same consensus as dSSFN's messages. A > means that descent was stopped "
        "before it had reached the cost of dSSFN."
    )
    return Table("The ratio eta, measured", head, lines, 3, _note(rows, note))


def comparison(rows: Sequence[Row]) -> Table:
    """Test accuracy and bytes of every method by split; the best of its settings."""
    lines = []
    for (data, method, split), group in grouped(
        rows, ("data", "method", "split")
    ).items():
        names = str(data), METHODS[str(method)], str(split)
        best = best_of(group)
        if best is None:
            lines.append((*names, "all diverged", "", "", ""))
            continue
        for row in group if method == "dssfn" else [best]:
            accuracy, sent = reached(row)
            rising = method != "dssfn" and sent == row.metrics["bytes_total"][-1]
            agreed = row.metrics.get("prediction_agreement")
            lines.append(
                (
                    *names,
                    str(row.key["setting"]),
                    f"{100 * accuracy:.2f}" + (" (rising)" if rising else ""),
                    digits(sent / 1e6),
                    "" if agreed is None else f"{agreed:.3f}",
                )
            )
    head = (
        "data", "method", "split", "setting", "test %", "MB over all links",
        "same class as one machine",
    )  # fmt: skip
    note = _note(
        rows,
        "dSSFN with its last layer; of federated averaging and decentralised SGD the "
        "best setting and the best moment, by test accuracy; rising: it was best when "
        "it was stopped. Eight bytes a number for all of them.",
    )
    return Table("Against averaging of weights", head, lines, 4, note)


TABLES: dict[str, Callable[[Sequence[Row]], Table]] = {
    "table2": table2,
    "satimage": satimage,
    "convergence": convergence,
    "degree": degree,
    "communication": communication,
    "comparison": comparison,
}


def tables_of(rows: Iterable[Row]) -> dict[str, Table]:
    """The table of every experiment that has rows, by its name."""
    rows = list(rows)
    found = {name: where(rows, name) for name in TABLES}
    return {name: TABLES[name](some) for name, some in found.items() if some}


def _mean(group: Sequence[Row], figure: str, unit: float) -> str:
    told = f"{unit * mean(group, figure):.2f}"
    if len(group) == 1:
        return told
    return f"{told} ± {unit * deviation(group, figure):.2f}"


def _against(
    group: Sequence[Row], figure: str, unit: float, paper: float | None
) -> str:
    text = _mean(group, figure, unit)
    if paper is None:
        return text
    return f"{text} ({paper:g}, {unit * mean(group, figure) - paper:+.2f})"


def _note(rows: Sequence[Row], text: str) -> str:
    return " ".join(part for part in (text, QUICK if is_quick(rows) else "") if part)
