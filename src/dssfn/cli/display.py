"""The output of a training in a terminal: progress while layers grow, then tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from dssfn.cli.console import notes, screen
from dssfn.cli.read_progress import how_far, shown_reading
from dssfn.config import Plan
from dssfn.datasets.watching import Reading, watch
from dssfn.hosting import Traffic
from dssfn.records import LayerRecord
from dssfn.report.numbers import NONE, rough, size
from dssfn.report.training import found
from dssfn.report.training.tables import beside_layers
from dssfn.results import (
    Equivalence,
    Layer,
    Privacy,
    Result,
    SimulatedNetwork,
    result_text,
)
from dssfn.runs import OnLayer

DECIBELS = "dB: squared error relative to predicting zeros; lower is better."


@contextmanager
def layer_progress(plan: Plan, *, quiet: bool) -> Iterator[OnLayer | None]:
    """Provide a callback that shows each finished layer on standard error."""
    if quiet:
        yield None
        return
    if not notes.is_terminal:
        yield lambda record, traffic: notes.print(
            f"layer {record.layer}{_of(plan)}  {_state(record)}  "
            f"{traffic.rounds:,} rounds",
            soft_wrap=True,
        )
        return
    bar = Progress(*_columns(plan), console=notes, transient=True)
    total = None if plan.finds_size else plan.depth
    task = bar.add_task("...", total=total)

    state = ""

    def show(record: LayerRecord, traffic: Traffic) -> None:
        nonlocal state
        state = _state(record)
        if record.layer == total:
            state += "  scoring"
        bar.update(task, completed=record.layer, description=state)

    def show_reading(reading: Reading) -> None:
        read = f"  {how_far(reading)} read" if state else shown_reading(reading)
        is_over = reading.share == 1.0
        bar.update(task, description=(state or "...") if is_over else state + read)

    with bar, watch(show_reading):
        yield show


def _columns(plan: Plan) -> list[ProgressColumn]:
    """Return a bar, or a spinner where nobody knows how many layers there will be."""
    layer = TextColumn(f"layer {{task.completed:.0f}}{_of(plan)}")
    state = TextColumn("{task.description}", markup=False)
    if plan.finds_size:
        return [SpinnerColumn(), layer, state]
    remaining = [TimeRemainingColumn(), TextColumn("left")]
    return [layer, BarColumn(bar_width=24), state, *remaining]


def _of(plan: Plan) -> str:
    return "" if plan.finds_size else f"/{plan.depth}"


def _state(record: LayerRecord) -> str:
    error = f"{record.train_error_db:.2f} dB"
    if record.validation_error_db is not None:
        ridge = "as before" if record.ridge is None else f"ridge {_ridge(record)}"
        validation = f"validation {record.validation_error_db:.2f} dB"
        return f"{_units(record)}{ridge}  train {error}  {validation}"
    return f"{_units(record)}cost {record.cost:.5g}  {error}"


def _units(record: LayerRecord) -> str:
    return f"{record.width} units  " if record.width else ""


def print_result(result: Result) -> None:
    """Print what `result.json` holds on standard output."""
    print(result_text(result), end="")


def show_layers(result: Result) -> None:
    """Print one row per layer."""
    columns = _found_columns if result.settings.finds_size else _given_columns
    rows = [columns(row, result) for row in result.layers]
    table = Table(title=f"{result.data}: layer by layer", title_justify="left")
    for name in rows[0]:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*row.values())
    screen.print(table)
    screen.print(DECIBELS)
    if len(result.layers) > result.settings.depth + 1:
        screen.print("(in brackets: tried, but not kept)")
    if any(row.afresh for row in result.layers):
        screen.print(f"* {found.AFRESH}")
    if beside := beside_layers(result):
        screen.print(beside)


def _given_columns(row: Layer, result: Result) -> dict[str, str]:
    return {
        "layer": str(row.layer),
        "cost": f"{row.cost:.5g}",
        "error": f"{row.train_error_db:.2f} dB",
        **_given_shares(row, result),
        "averaged": f"{row.iterations:,}",
        "rounds": f"{row.rounds:,}",
    }


def _found_columns(row: Layer, result: Result) -> dict[str, str]:
    """Return cells without units, so that all of them fit into 80 letters."""
    validated = found.is_validated(result)
    is_kept = row.layer <= result.settings.depth
    return {
        "layer": str(row.layer) if is_kept else f"({row.layer})",
        "units": _or_dash(row.width, ",d"),
        "ridge": _ridge(row),
        "train dB": f"{row.train_error_db:.2f}",
        **({"valid. dB": _or_dash(row.validation_error_db)} if validated else {}),
        **_found_shares(row, result),
        "rounds": f"{row.rounds:,}",
    }


def _given_shares(row: Layer, result: Result) -> dict[str, str]:
    """Return accuracies, which a regression does not have."""
    if result.settings.is_regression:
        return {}
    test = {"test acc.": _percent(row.test_accuracy)} if result.n_test else {}
    known = row.train_accuracy is not None
    return {"train acc.": _percent(row.train_accuracy) if known else NONE, **test}


def _found_shares(row: Layer, result: Result) -> dict[str, str]:
    """Return accuracies, which a regression does not have, without units."""
    if result.settings.is_regression:
        return {}
    shares = {"train %": row.train_accuracy}
    if found.is_validated(result):
        shares["valid. %"] = row.validation_accuracy
    if result.n_test:
        shares["test %"] = row.test_accuracy
    return {name: _or_dash(value, ".2%") for name, value in shares.items()}


def _ridge(row: Layer | LayerRecord) -> str:
    if row.ridge is None:
        return NONE
    short = rough(row.ridge)
    return (short if len(short) < 6 else f"{row.ridge:.0e}") + "*" * row.afresh


def _or_dash(value: float | None, form: str = ".2f") -> str:
    return NONE if value is None else format(value, form).rstrip("%")


def show_summary(result: Result) -> None:
    """Print the numbers that matter, one per line, and what to beware of."""
    show_pairs(
        [
            *_tested(result),
            *_kept_layer(result.kept or result.layers[-1]),
            *(_size(result) if result.settings.finds_size else ()),
            *_traffic(result),
            *_simulated(result.simulated_network),
            *_distances(
                result.equivalence, is_regression=result.settings.is_regression
            ),
            *_privacy(result.privacy),
            ("time", f"{result.seconds.total:.1f} s"),
        ]
    )
    if warning := found.warning(result):
        screen.print()
        screen.print(warning)


def _tested(result: Result) -> list[tuple[str, str]]:
    """Return how good the model is on test samples; of a regression, if any."""
    if not result.settings.is_regression:
        return [("test accuracy", _percent(result.test_accuracy))]
    known = {"test": result.test_scores}
    known["validation"] = result.scores.total if result.scores else None
    rows = []
    for what, scores in known.items():
        if scores is not None:
            rows.append((f"{what} R2", _or_dash(scores.r2, ".3f")))
            rows.append((f"{what} RMSE", _or_dash(scores.rmse, ".4g")))
    return rows


def _kept_layer(layer: Layer) -> list[tuple[str, str]]:
    rows = [("train error", f"{layer.train_error_db:.2f} dB")]
    if layer.train_accuracy is not None:
        rows.insert(0, ("train accuracy", _percent(layer.train_accuracy)))
    if layer.validation_accuracy is not None:
        rows.insert(0, ("validation accuracy", _percent(layer.validation_accuracy)))
    return rows


def _size(result: Result) -> list[tuple[str, str]]:
    return [
        ("members", found.members(result)),
        ("input scale", found.input_scale(result)),
        ("width", found.width(result)),
        ("depth", found.depth(result)),
    ]


def _traffic(result: Result) -> list[tuple[str, str]]:
    sent = result.communication
    if sent is None:
        return []
    return [
        ("exchanges with neighbours", f"{sent.rounds:,} rounds"),
        ("solver", result.settings.solver),
        ("averaging scheme", sent.consensus),
        ("message size, summed over rounds", f"{sent.scalars_per_node:,} numbers"),
        ("sent over all links", size(sent.bytes_total, gap=" ")),
    ]


def _simulated(network: SimulatedNetwork | None) -> list[tuple[str, str]]:
    """Return what links and nodes that are not perfect have cost."""
    if network is None:
        return []
    sent, alone = network.total, max(network.lockstep_letters, 1)
    return [
        ("simulated time", f"{network.seconds:,.4g} s"),
        (
            "messages with these links",
            f"{sent.letters:,} ({sent.letters / alone:.2f} times as many as with "
            f"perfect links), {sent.resent:,} of them retries",
        ),
        ("messages lost, duplicated", f"{sent.lost:,}, {sent.duplicated:,}"),
        ("acknowledgements", f"{sent.acknowledgements:,}"),
        ("sent with these links", size(sent.bytes_total, gap=" ")),
    ]


def _distance(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:.1e}" if value else "0 (identical)"


def _distances(
    equal: Equivalence | None, *, is_regression: bool
) -> list[tuple[str, str]]:
    if equal is None:
        return []
    rows = [("nodes' models differ by at most", _distance(equal.node_spread))]
    if not equal.is_checked:
        return rows
    if equal.same_choices is not None:
        same = "yes" if equal.same_choices else "no: it chose another size or scale"
        rows.append(("same choices as one machine", same))
    if equal.central_difference is not None:
        rows.append(
            ("differs from one machine by", _distance(equal.central_difference))
        )
    rows.append(("layer costs differ by at most", _distance(equal.layer_cost_gap)))
    agreement = _percent(equal.prediction_agreement)
    if equal.prediction_agreement is not None:
        agreement += " of test samples"
    if not is_regression:
        rows.append(("same prediction as one machine", agreement))
    return rows


def _privacy(privacy: Privacy | None) -> list[tuple[str, str]]:
    if privacy is None:
        return []
    spent = f"epsilon {privacy.spent:.3g} of {privacy.epsilon:g}"
    return [("privacy budget spent", f"{spent}, delta {privacy.delta:g}")]


def _percent(share: float | None) -> str:
    return "no test samples" if share is None else f"{100 * share:.2f} %"


def show_pairs(rows: list[tuple[str, str]]) -> None:
    """Print names on the left, values on the right."""
    table = Table.grid(padding=(0, 3))
    for name, value in rows:
        table.add_row(name, value)
    screen.print(table)
