"""`dssfn predict`, `evaluate` and `info`: what to do with a model file."""

from __future__ import annotations

import csv
import io
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import typer
from rich.table import Table as Grid

from dssfn._atomic import write_atomically
from dssfn._plain_text import printable
from dssfn.cli.console import screen
from dssfn.cli.display import show_pairs
from dssfn.cli.options import Json
from dssfn.cli.outcome import print_json
from dssfn.datasets import read_labelled, read_table
from dssfn.datasets.checks import Source
from dssfn.errors import InputError
from dssfn.json_text import to_json
from dssfn.modelfile import load_network
from dssfn.report.numbers import size
from dssfn.shard import class_codes
from dssfn.training import Model

MOST_CLASSES_SHOWN = 12

ModelArgument = Annotated[
    Path, typer.Argument(help="A model file (model.safetensors).")
]
DataArgument = Annotated[Path, typer.Argument(help="A CSV, TSV, Parquet or NPZ file.")]


def predict(
    model: ModelArgument,
    data: DataArgument,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of every class.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write to this file instead.")
    ] = None,
    json: Json = False,
) -> None:
    """Predict the class of every sample of a file, as CSV.

    A text label that a spreadsheet would take for a formula, because it begins with
    =, +, - or @, stands after a single quote; --json gives all labels as they are.
    """
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        raise InputError(f"`--out` must be a file in an existing folder, got `{out}`.")
    if out is not None and any(_is_same(out, one) for one in (model, data)):
        raise InputError(
            f"`--out` must not be the model or the data themselves, got `{out}`. Name "
            "another file."
        )
    network = load_network(model)
    scores = _scores(network, read_table(data, **_wanted(network)).X)
    predicted = [network.plan.classes[code] for code in scores.argmax(axis=1)]
    columns: dict[str, list[Any]] = {"prediction": predicted}
    if proba:
        P = network.probabilities(scores.T).T
        for code, label in enumerate(network.plan.classes):
            columns[f"p({label})"] = P[:, code].tolist()
    shown = out is None and _is_terminal()
    text = to_json(columns) if json else _to_csv(columns, shown=shown)
    if out is None:
        print(text, end="")
    else:
        write_atomically(out, text.encode())


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def evaluate(
    model: ModelArgument,
    data: DataArgument,
    target: Annotated[
        str | None, typer.Option(help="The column of labels; `y` for NPZ.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare a model's predictions with the labels of a file."""
    network = load_network(model)
    table = read_labelled(data, target, **_wanted(network))
    assert table.y is not None  # read_labelled always gives labels
    at = Source(data.name, unit="sample").at
    codes = class_codes(table.y, network.plan.classes, at)
    scores = _scores(network, table.X)
    predicted = scores.argmax(axis=1)
    Q = network.plan.n_outputs
    confusion = np.zeros((Q, Q), dtype=int)  # rows: label, columns: prediction
    np.add.at(confusion, (codes, predicted), 1)
    right = network.probabilities(scores.T).T[np.arange(len(codes)), codes]
    figures: dict[str, Any] = {
        "n_samples": len(codes),
        "accuracy": float(np.mean(predicted == codes)),
        "log_loss": float(-np.mean(np.log(right))),
        "classes": list(network.plan.classes),
        "confusion": confusion.tolist(),
    }
    if json:
        print_json(figures)
        return
    show_pairs(
        [
            ("samples", f"{len(codes):,}"),
            ("accuracy", f"{100 * figures['accuracy']:.2f} %"),
            ("log loss", f"{figures['log_loss']:.4f}"),
        ]
    )
    if Q <= MOST_CLASSES_SHOWN:
        screen.print(_confusion_table(confusion, list(network.plan.classes)))


def info(model: ModelArgument, json: Json = False) -> None:
    """Show what a model file holds."""
    network = load_network(model)
    settings: dict[str, Any] = msgspec.to_builtins(network.plan)
    learned = sum(O.size for O in network.outputs)
    n_bytes = model.stat().st_size
    if json:
        print_json({**settings, "learned_numbers": learned, "file_bytes": n_bytes})
        return
    plan = network.plan
    shown = ", ".join(map(str, plan.classes[:MOST_CLASSES_SHOWN]))
    more = len(plan.classes) - MOST_CLASSES_SHOWN
    rest = {
        name: value
        for name, value in settings.items()
        if name not in ("classes", "feature_names", "n_features") and value is not None
    }
    show_pairs(
        [
            ("file", f"{model}, {size(n_bytes, gap=' ')}"),
            ("classes", shown + (f" and {more} more" if more > 0 else "")),
            ("features", _features(plan.n_features, plan.feature_names)),
            ("learned numbers", f"{learned:,}"),
            *((name, str(value)) for name, value in rest.items()),
        ]
    )


# How a cell begins that a spreadsheet runs as a formula, after OWASP's list; the last
# four are the wide forms of the first. A number may have a sign.
_FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def for_spreadsheet(cell: Any) -> Any:
    """Return a cell of a CSV file that no spreadsheet takes for a formula.

    >>> for_spreadsheet("=1+1"), for_spreadsheet("-1"), for_spreadsheet(-1)
    ("'=1+1", '-1', -1)
    """
    if not isinstance(cell, str) or _NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}" if _FORMULA.match(cell) else cell


def _to_csv(columns: dict[str, list[Any]], *, shown: bool) -> str:
    """Return a header and rows; if shown on a terminal, without control characters."""

    def cell(value: Any) -> Any:
        value = for_spreadsheet(value)
        return printable(value) if shown and isinstance(value, str) else value

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(cell, columns))
    writer.writerows(map(cell, row) for row in zip(*columns.values(), strict=True))
    return text.getvalue()


def _is_terminal() -> bool:
    return sys.stdout.isatty()


def _wanted(network: Model) -> dict[str, Any]:
    plan = network.plan
    return {"features": plan.feature_names, "n_features": plan.n_features}


def _scores(network: Model, X: Any) -> Any:
    return network.scores(X.T).T


def _features(count: int, names: tuple[str, ...] | None) -> str:
    if names is None:
        return f"{count}, without names"
    return f"{count}: {', '.join(names[:4])}{', ...' if count > 4 else ''}"


def _confusion_table(confusion: Any, classes: list[Any]) -> Grid:
    grid = Grid(title="label (row) against prediction (column)", title_justify="left")
    grid.add_column("")
    for label in classes:
        grid.add_column(str(label), justify="right")
    for label, row in zip(classes, confusion, strict=True):
        grid.add_row(str(label), *(str(n) if n else "·" for n in row))
    return grid
