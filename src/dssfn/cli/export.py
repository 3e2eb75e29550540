"""`dssfn export`: a model as a file that other programs run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from dssfn._atomic import check_place, write_atomically
from dssfn.cli.display import show_pairs
from dssfn.cli.model import ModelArgument, is_same_file
from dssfn.cli.options import Json
from dssfn.cli.outcome import print_json
from dssfn.errors import InputError
from dssfn.export.graph import Port
from dssfn.export.onnx_model import exported
from dssfn.hints import listing
from dssfn.modelfile import load_network
from dssfn.report.numbers import plural, size
from dssfn.schema import Column

SUFFIX = ".onnx"


def export(
    model: ModelArgument,
    out: Annotated[
        Path,
        typer.Argument(
            help="The file to write (model.onnx); an existing one is replaced."
        ),
    ],
    encoded: Annotated[
        bool,
        typer.Option(
            "--encoded",
            help="Take the encoded features X as input, instead of the table's "
            "columns.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Export a model to ONNX, so that it runs without dssfn.

    The file holds everything that a prediction needs, from input scaling to calibrated
    probabilities, in standard operators, so onnxruntime alone runs it, from any
    language. The input is X, float64, with one row per sample and the features in the
    order that `dssfn info` shows. If the plan has a schema, every column that is used
    is an input of its own, as it stands in the tables: numbers as float64, categories,
    true and false as text. A classifier returns label, probabilities and scores, a
    regressor returns prediction.

    Needs the extra `onnx`.
    """
    _check_out(out, model)
    network = load_network(model)
    content, inputs, outputs = exported(network, encoded=encoded)
    try:
        write_atomically(out, content)
    except OSError as exc:
        raise InputError(
            f"`out` must be a file that can be written, got `{out}`: {exc.strerror}. "
            "Choose another folder."
        ) from exc
    if json:
        named = {"inputs": _described(inputs), "outputs": _described(outputs)}
        print_json({"file": str(out), "file_bytes": len(content), **named})
        return
    schema = None if encoded else network.plan.schema
    show_pairs(
        [
            ("file", f"{out}, {size(len(content), gap=' ')}"),
            *(_matrix(inputs) if schema is None else _columns(schema.used)),
            ("outputs", ", ".join(port.name for port in outputs)),
        ]
    )


def _check_out(out: Path, model: Path) -> None:
    if out.suffix.lower() != SUFFIX:
        raise InputError(
            f"`out` must end in {SUFFIX}, got `{out}`. The model comes first: dssfn "
            f"export model.safetensors model{SUFFIX}"
        )
    check_place(out, "out")
    if is_same_file(out, model):
        raise InputError(
            f"`out` must not be the model itself, got `{out}`. Choose another file."
        )


def _described(ports: list[Port]) -> list[dict[str, object]]:
    """Return names, types and numbers of columns; one label has none."""
    return [
        {
            "name": port.name,
            "type": "string" if port.dtype == object else port.dtype.name,
            "columns": port.n_columns,
        }
        for port in ports
    ]


def _matrix(inputs: list[Port]) -> list[tuple[str, str]]:
    (port,) = inputs
    what = f"{port.name}, float64, one row of {port.n_columns} features per sample"
    return [("input", what)]


def _columns(columns: Sequence[Column]) -> list[tuple[str, str]]:
    """Return a line for each column."""
    head = f"{plural(len(columns), 'column')}, each of shape (N, 1)"
    return [("inputs", head), *((f"  {one.name}", _values(one)) for one in columns)]


def _values(column: Column) -> str:
    """Return what a graph takes in a column, in words."""
    if column.kind == "number":
        return "float64" + (", NaN where missing" if column.missing else "")
    gaps = ', "" where missing' if column.missing else ""
    if column.kind == "boolean":
        return f"text: `true` or `false`{gaps}"
    levels = [listing(column.level_texts)] if column.levels else []
    others = ["any other"] if column.other else []
    return f"text: {' or '.join(levels + others)}{gaps}"
