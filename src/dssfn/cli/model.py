"""A model file and the data for it, as arguments of commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dssfn.datasets.files import SUFFIXES
from dssfn.errors import ModelFileError
from dssfn.modelfile import load_network
from dssfn.training import Model

MOST_CLASSES_SHOWN = 12

ModelArgument = Annotated[
    Path, typer.Argument(help="A model file (model.safetensors).")
]
DataArgument = Annotated[Path, typer.Argument(help="A CSV, TSV, Parquet or NPZ file.")]


def read_model(model: Path) -> Model:
    """Return the model that a command is given, before the data."""
    try:
        return load_network(model)
    except ModelFileError as exc:
        if model.suffix.lower() not in SUFFIXES:
            raise
        raise ModelFileError(f"{exc} The model comes first, then the data.") from exc


def wanted_columns(network: Model) -> dict[str, Any]:
    """Return what a file must hold for a network, as `read_table` takes it."""
    plan = network.plan
    return {"features": plan.feature_names, "n_features": plan.n_features}


def is_same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file, which must not be replaced."""
    return one.exists() and other.exists() and one.samefile(other)
