"""The output of a training in a terminal: progress while layers grow, then tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from dssfn.cli.console import notes, screen
from dssfn.config import Plan
from dssfn.hosting import Traffic
from dssfn.records import LayerRecord
from dssfn.report.numbers import size
from dssfn.results import Equivalence, Layer, Result, result_text
from dssfn.runs import OnLayer


@contextmanager
def layer_progress(plan: Plan, *, quiet: bool) -> Iterator[OnLayer | None]:
    """Provide a callback that shows each finished layer on standard error."""
    if quiet:
        yield None
        return
    if not notes.is_terminal:
        yield lambda record, traffic: notes.print(
            f"layer {record.layer}{_of(plan)}  {_state(record, traffic)}",
            soft_wrap=True,
        )
        return
    # How many layers there will be is not known if they are to be found.
    remaining = () if plan.finds_size else (TimeRemainingColumn(), TextColumn("left"))
    bar = Progress(
        TextColumn(f"layer {{task.completed:.0f}}{_of(plan)}"),
        BarColumn(bar_width=24),
        TextColumn("{task.description}"),
        *remaining,
        console=notes,
        transient=True,
    )
    total = None if plan.finds_size else plan.depth
    task = bar.add_task("layer 0 ...", total=total)

    def show(record: LayerRecord, traffic: Traffic) -> None:
        state = _state(record, traffic)
        bar.update(task, completed=record.layer, description=state)

    with bar:
        yield show


def _of(plan: Plan) -> str:
    return "" if plan.finds_size else f"/{plan.depth}"


def _state(record: LayerRecord, traffic: Traffic) -> str:
    return f"{_figures(record)}  {traffic.rounds:,} rounds"


def _figures(record: LayerRecord) -> str:
    if record.validation_error_db is None:
        return f"cost {record.cost:.5g}  {record.train_error_db:.2f} dB"
    chosen = f"{record.width} units  " if record.width else ""
    ridge = "as before" if record.ridge is None else f"ridge {record.ridge:.1g}"
    return (
        f"{chosen}{ridge}  train {record.train_error_db:.2f} dB  "
        f"validation {record.validation_error_db:.2f} dB"
    )


def print_result(result: Result) -> None:
    """Print what `result.json` holds on standard output."""
    print(result_text(result), end="")


def show_layers(result: Result) -> None:
    """Print one row per layer."""
    table = Table(title=f"{result.data}: layer by layer", title_justify="left")
    tested = ["test acc."] if result.n_test else []
    for name in ("layer", "cost", "error", "train acc.", *tested, "averaged", "rounds"):
        table.add_column(name, justify="right")
    for row in result.layers:
        table.add_row(
            str(row.layer),
            f"{row.cost:.5g}",
            f"{row.train_error_db:.2f} dB",
            f"{100 * row.train_accuracy:.2f} %",
            *[_percent(row.test_accuracy) for _ in tested],
            f"{row.iterations:,}",
            f"{row.rounds:,}",
        )
    screen.print(table)


def show_summary(result: Result) -> None:
    """Print the numbers that matter, one per line."""
    show_pairs(
        [
            ("test accuracy", _percent(result.test_accuracy)),
            *_last_layer(result.layers[-1]),
            *_traffic(result),
            *_distances(result.equivalence),
            ("time", f"{result.seconds.total:.1f} s"),
        ]
    )


def _last_layer(layer: Layer) -> list[tuple[str, str]]:
    return [
        ("train accuracy", f"{100 * layer.train_accuracy:.2f} %"),
        ("train error", f"{layer.train_error_db:.2f} dB"),
    ]


def _traffic(result: Result) -> list[tuple[str, str]]:
    sent = result.communication
    if sent is None:
        return []
    return [
        ("neighbour exchanges", f"{sent.rounds:,} rounds"),
        ("layers solved by", result.settings.solver),
        ("averages found by", sent.consensus),
        ("message size, summed over rounds", f"{sent.scalars_per_node:,} numbers"),
        ("sent over all links", size(sent.bytes_total, gap=" ")),
    ]


def _distances(equal: Equivalence | None) -> list[tuple[str, str]]:
    if equal is None:
        return []
    rows = [("nodes differ by at most", f"{equal.node_spread:.1e}")]
    if equal.central_difference is not None:
        agreement = _percent(equal.prediction_agreement)
        rows += [
            ("differs from one machine by", f"{equal.central_difference:.1e}"),
            ("largest gap of a layer's cost", f"{equal.layer_cost_gap:.1e}"),
            ("same prediction as one machine", f"{agreement} of test samples"),
        ]
    return rows


def _percent(share: float | None) -> str:
    return "no test samples" if share is None else f"{100 * share:.2f} %"


def show_pairs(rows: list[tuple[str, str]]) -> None:
    """Print names on the left, values on the right."""
    table = Table.grid(padding=(0, 3))
    for name, value in rows:
        table.add_row(name, value)
    screen.print(table)
