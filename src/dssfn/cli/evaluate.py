"""`dssfn evaluate`: a model's predictions beside the labels of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import typer
from rich.table import Table as Grid

from dssfn._typing import Array
from dssfn.cli.console import say_dialect, screen
from dssfn.cli.display import show_pairs
from dssfn.cli.model import (
    MOST_CLASSES_SHOWN,
    DataArgument,
    ModelArgument,
    read_answers,
    read_model,
)
from dssfn.cli.options import Json
from dssfn.cli.outcome import print_json
from dssfn.cli.read_progress import reading_progress
from dssfn.cli.reading import reads_files
from dssfn.datasets import ReadOptions, read_table
from dssfn.datasets.checks import Source, feature_matrix
from dssfn.datasets.files import check_formats
from dssfn.datasets.npz import read_npz
from dssfn.datasets.read_options import ALL
from dssfn.errors import DataError, InputError
from dssfn.hints import listing
from dssfn.scores import TargetMeasure
from dssfn.shard import class_codes
from dssfn.training import Model


@reads_files
def evaluate(
    model: ModelArgument,
    data: DataArgument,
    target: Annotated[
        str | None,
        typer.Option(help="The column to predict: labels or numbers; `y` for NPZ."),
    ] = None,
    read: ReadOptions = ALL,
    json: Json = False,
) -> None:
    """Measure how well a model predicts the labels of a file."""
    check_formats(read, [data])
    network = read_model(model)
    if network.plan.is_regression:
        figures = _evaluate_numbers(network, data, target, read)
    else:
        figures = _evaluate_classes(network, data, target, read)
    if json:
        print_json(figures)
        return
    show_pairs(
        [
            (words, _shown(figures, name, form))
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
    "mae": ("mean absolute error", "{:.5g}"),
    "rmse": ("root mean square error", "{:.5g}"),
}
# The least probability that counts: one of zero would be infinitely wrong.
_LEAST = float(np.finfo(np.float64).eps)


def _shown(figures: dict[str, Any], name: str, form: str) -> str:
    if figures[name] is None:
        return f"not known: {figures['missing'][name]}"
    return form.format(figures[name]).replace("%", " %")


def _evaluate_classes(
    network: Model, data: Path, target: str | None, options: ReadOptions
) -> dict[str, Any]:
    with reading_progress():
        table = read_answers(network, data, target, options)
    say_dialect(data.name, table.dialect)
    assert table.y is not None
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


def _evaluate_numbers(
    network: Model, data: Path, target: str | None, options: ReadOptions
) -> dict[str, Any]:
    """Return R2 and errors, each the mean over the targets; None where R2 is not."""
    plan = network.plan
    if target is not None and len(plan.targets) > 1:
        raise InputError(
            f"`--target` must be left out: the model has {len(plan.targets)} targets, "
            f"{listing(plan.targets)}, and all of them are compared."
        )
    X, T = features_and_numbers(network, data, target, options)  # (J, P), (J, Q)
    spread = T.std(axis=0)
    measure = TargetMeasure(T.mean(axis=0), np.where(spread > 0, spread, 1.0))
    scores = measure.scores(measure.sums(network.scores(X.T), T.T, None))
    return {
        "n_samples": len(T),
        **{name: getattr(scores, name) for name in measure.figures},
        **({"missing": scores.missing} if scores.missing else {}),
        "targets": list(plan.targets if target is None else (target,)),
    }


def features_and_numbers(
    network: Model, data: Path, target: str | None, options: ReadOptions
) -> tuple[Array, Array]:
    """Return the features (J, P) and the targets (J, Q) that a file has."""
    plan = network.plan
    if plan.schema is not None:
        encoded = read_answers(network, data, target, options)
        say_dialect(data.name, encoded.dialect)
        assert encoded.y is not None
        return encoded.X, encoded.y[:, None]
    if data.suffix.lower() == ".npz":
        X = read_table(data, n_features=plan.n_features, options=options).X
        name = "y" if target is None else target
        y = read_npz(data, (name,))[name]
        T = feature_matrix(
            y[:, None] if y.ndim == 1 else y, Source(data.name), name=name
        )
        if T.shape != (len(X), plan.n_outputs):
            raise DataError(
                f"`{data.name}`: `{name}` must have a row for every sample and a "
                f"column for every target, {len(X)} by {plan.n_outputs}; got {T.shape}."
            )
        return X, T
    if plan.feature_names is None:
        raise InputError(
            f"`{data.name}`: this model knows no column names, so it cannot find its "
            "columns in a table. Give an NPZ file with `X` and `y`, or train the "
            "model on columns with names."
        )
    targets = plan.targets if target is None else (target,)
    if options.columns is not None:  # the targets are read as if they were features
        chosen = (*options.columns, *targets)
        options = msgspec.structs.replace(options, columns=chosen)
    features = [*plan.feature_names, *targets]
    with reading_progress():
        table = read_table(data, features=features, options=options)
    say_dialect(data.name, table.dialect)
    X, T = np.split(table.X, [plan.n_features], axis=1)
    return X, T


def _confusion_table(confusion: Any, classes: list[Any]) -> Grid:
    grid = Grid(
        title="true label (rows) and prediction (columns)", title_justify="left"
    )
    grid.add_column("")
    for label in classes:
        grid.add_column(str(label), justify="right")
    for label, row in zip(classes, confusion, strict=True):
        grid.add_row(str(label), *(str(n) if n else "·" for n in row))
    return grid
