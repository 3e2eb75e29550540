"""`dssfn export`: a model as a file that other programs run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dssfn._atomic import write_atomically
from dssfn.cli.display import show_pairs
from dssfn.cli.model import ModelArgument, is_same_file
from dssfn.cli.options import Json
from dssfn.cli.outcome import print_json
from dssfn.errors import InputError
from dssfn.export import to_onnx
from dssfn.modelfile import load_network
from dssfn.report.numbers import size
from dssfn.training import Model

SUFFIX = ".onnx"


def export(
    model: ModelArgument,
    out: Annotated[
        Path, typer.Argument(help="The file to write (model.onnx), or to replace.")
    ],
    json: Json = False,
) -> None:
    """Write a model as ONNX, which runs without dssfn.

    The file has all that a prediction takes, from the scaling of the inputs to
    calibrated probabilities, in standard operators: onnxruntime runs it alone, from any
    language. Its input is X, float64, with a row for each sample and the features in
    the order that `dssfn info` shows. A classifier answers with label, probabilities
    and scores, a regressor with prediction.

    It needs the extra `onnx`.
    """
    _check_out(out, model)
    network = load_network(model)
    content = to_onnx(network)
    try:
        write_atomically(out, content)
    except OSError as exc:
        raise InputError(
            f"`out` must be a file that can be written, got `{out}`: {exc.strerror}. "
            "Name one in another folder."
        ) from exc
    if json:
        print_json({"file": str(out), "file_bytes": len(content)})
        return
    n = network.plan.n_features
    show_pairs(
        [
            ("file", f"{out}, {size(len(content), gap=' ')}"),
            ("input", f"X, float64, a row of {n} features for each sample"),
            ("outputs", _outputs(network)),
        ]
    )


def _check_out(out: Path, model: Path) -> None:
    if out.suffix.lower() != SUFFIX:
        raise InputError(
            f"`out` must have a name that ends in {SUFFIX}, got `{out}`. The model "
            f"comes first: dssfn export model.safetensors model{SUFFIX}"
        )
    if out.is_dir() or not out.parent.is_dir():
        raise InputError(f"`out` must be a file in an existing folder, got `{out}`.")
    if is_same_file(out, model):
        raise InputError(
            f"`out` must not be the model itself, got `{out}`. Name another file."
        )


def _outputs(network: Model) -> str:
    return (
        "prediction" if network.plan.is_regression else "label, probabilities, scores"
    )
