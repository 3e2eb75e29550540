"""What a person sees of a training: progress while layers grow, then tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from dssfn.cli.outcome import notes, print_json, screen, show_lines
from dssfn.cli.outfolder import MODEL_FILE
from dssfn.report.numbers import size
from dssfn.runs import OnLayer, Outcome
from dssfn.simulator import Traffic
from dssfn.training import LayerRecord


@contextmanager
def layer_progress(n_layers: int, *, quiet: bool) -> Iterator[OnLayer | None]:
    """A callback that shows each finished layer on standard error."""
    if quiet:
        yield None
        return
    if not notes.is_terminal:
        yield lambda record, traffic: notes.print(
            f"layer {record.layer}/{n_layers}  {_state(record, traffic)}",
            soft_wrap=True,
        )
        return
    bar = Progress(
        TextColumn("layer {task.completed:.0f}/{task.total:.0f}"),
        BarColumn(bar_width=24),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=notes,
        transient=True,
    )
    task = bar.add_task("layer 0 ...", total=n_layers)

    def show(record: LayerRecord, traffic: Traffic) -> None:
        state = _state(record, traffic)
        bar.update(task, completed=record.layer, description=state)

    with bar:
        yield show


def _state(record: LayerRecord, traffic: Traffic) -> str:
    return (
        f"cost {record.cost:.5g}  {record.train_error_db:.2f} dB  "
        f"{traffic.rounds:,} rounds"
    )


def show_outcome(outcome: Outcome, out: Path | None, *, as_json: bool) -> None:
    """All figures as tables, and where the model is; or as JSON and nothing else."""
    if as_json:
        print_json(outcome.figures)
        return
    show_layers(outcome.figures)
    show_summary(outcome.figures)
    if out is not None:
        show_lines(f"\nThe model is in {out / MODEL_FILE}")


def show_layers(figures: dict[str, Any]) -> None:
    """One row per layer."""
    table = Table(title=f"{figures['data']}: layer by layer", title_justify="left")
    tested = ["test acc."] if figures["n_test"] else []
    for name in ("layer", "cost", "error", "train acc.", *tested, "averaged", "rounds"):
        table.add_column(name, justify="right")
    for row in figures["layers"]:
        table.add_row(
            str(row["layer"]),
            f"{row['cost']:.5g}",
            f"{row['train_error_db']:.2f} dB",
            f"{100 * row['train_accuracy']:.2f} %",
            *[_percent(row["test_accuracy"]) for _ in tested],
            f"{row['iterations']:,}",
            f"{row['rounds']:,}",
        )
    screen.print(table)


def show_summary(figures: dict[str, Any]) -> None:
    """The figures that matter, one per line."""
    traffic, equal = figures["communication"], figures["equivalence"]
    rows = [
        ("test accuracy", _percent(figures["test_accuracy"])),
        ("train accuracy", f"{100 * figures['train_accuracy']:.2f} %"),
        ("train error", f"{figures['train_error_db']:.2f} dB"),
        ("neighbour exchanges", f"{traffic['rounds']:,} rounds"),
        ("layers solved by", figures["settings"]["solver"]),
        ("averages found by", traffic["consensus"]),
        (
            "message size, summed over rounds",
            f"{traffic['scalars_per_node']:,} numbers",
        ),
        ("sent over all links", size(traffic["bytes_total"], gap=" ")),
        ("nodes differ by at most", f"{equal['node_spread']:.1e}"),
    ]
    if "central_difference" in equal:
        agreement = _percent(equal["prediction_agreement"])
        rows += [
            ("differs from one machine by", f"{equal['central_difference']:.1e}"),
            ("largest gap of a layer's cost", f"{equal['layer_cost_gap']:.1e}"),
            ("same prediction as one machine", f"{agreement} of test samples"),
        ]
    rows.append(("time", f"{figures['seconds']['total']:.1f} s"))
    show_pairs(rows)


def _percent(share: float | None) -> str:
    return "no test samples" if share is None else f"{100 * share:.2f} %"


def show_pairs(rows: list[tuple[str, str]]) -> None:
    """Names on the left, values on the right."""
    table = Table.grid(padding=(0, 3))
    for name, value in rows:
        table.add_row(name, value)
    screen.print(table)
