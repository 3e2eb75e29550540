"""`dssfn evaluate`: a model's predictions beside the labels of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table as Grid

from dssfn.cli.console import screen
from dssfn.cli.display import show_pairs
from dssfn.cli.model import (
    MOST_CLASSES_SHOWN,
    DataArgument,
    ModelArgument,
    wanted_columns,
)
from dssfn.cli.options import Json
from dssfn.cli.outcome import print_json
from dssfn.datasets import read_labelled, read_table
from dssfn.datasets.checks import Source
from dssfn.errors import InputError
from dssfn.modelfile import load_network
from dssfn.shard import class_codes
from dssfn.training import Model


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
    if network.plan.is_regression:
        figures = _evaluate_numbers(network, data, target)
    else:
        figures = _evaluate_classes(network, data, target)
    if json:
        print_json(figures)
        return
    show_pairs(
        [
            (words, form.format(figures[name]).replace("%", " %"))
            for name, (words, form) in _SHOWN.items()
            if name in figures
        ]
    )
    classes = network.plan.classes
    if 0 < len(classes) <= MOST_CLASSES_SHOWN:
        screen.print(_confusion_table(figures["confusion"], list(classes)))


# Figures that a person sees, with their names and formats.
_SHOWN = {
    "n_samples": ("samples", "{:,}"),
    "accuracy": ("accuracy", "{:.2%}"),
    "log_loss": ("log loss", "{:.4f}"),
    "r2": ("R2", "{:.4f}"),
    "rmse": ("root mean square error", "{:.5g}"),
}
# The least probability that counts: one of zero would be infinitely wrong.
_LEAST = float(np.finfo(np.float64).eps)


def _evaluate_classes(network: Model, data: Path, target: str | None) -> dict[str, Any]:
    table = read_labelled(data, target, **wanted_columns(network))
    assert table.y is not None  # read_labelled always gives labels
    at = Source(data.name, unit="sample").at
    codes = class_codes(table.y, network.plan.classes, at)
    scores = network.scores(table.X.T)
    predicted = scores.argmax(axis=0)
    Q = network.plan.n_outputs
    confusion = np.zeros((Q, Q), dtype=int)  # rows: label, columns: prediction
    np.add.at(confusion, (codes, predicted), 1)
    right = network.probabilities(scores)[codes, np.arange(len(codes))]
    return {
        "n_samples": len(codes),
        "accuracy": float(np.mean(predicted == codes)),
        "log_loss": float(-np.mean(np.log(np.maximum(right, _LEAST)))),
        "classes": list(network.plan.classes),
        "confusion": confusion.tolist(),
    }


def _evaluate_numbers(network: Model, data: Path, target: str | None) -> dict[str, Any]:
    """Return R2 and the root mean square error, each the mean over the targets."""
    plan = network.plan
    if plan.feature_names is None:
        raise InputError(
            f"`{data.name}`: numbers are compared by the names of their columns, which "
            "this model does not have. Train it on columns with names."
        )
    given = target is not None and len(plan.targets) == 1
    targets = (target,) if given else plan.targets
    table = read_table(data, features=[*plan.feature_names, *targets])
    X, T = np.split(table.X, [plan.n_features], axis=1)
    error = ((network.scores(X.T).T - T) ** 2).mean(axis=0)
    variance = T.var(axis=0)
    return {
        "n_samples": len(T),
        "r2": float(np.mean(1 - error / np.where(variance > 0, variance, 1.0))),
        "rmse": float(np.mean(np.sqrt(error))),
        "targets": list(targets),
    }


def _confusion_table(confusion: Any, classes: list[Any]) -> Grid:
    grid = Grid(title="label (row) against prediction (column)", title_justify="left")
    grid.add_column("")
    for label in classes:
        grid.add_column(str(label), justify="right")
    for label, row in zip(classes, confusion, strict=True):
        grid.add_row(str(label), *(str(n) if n else "·" for n in row))
    return grid
