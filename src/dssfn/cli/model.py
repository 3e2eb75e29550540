"""A model file and the data for it, as arguments of commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dssfn.training import Model

MOST_CLASSES_SHOWN = 12

ModelArgument = Annotated[
    Path, typer.Argument(help="A model file (model.safetensors).")
]
DataArgument = Annotated[Path, typer.Argument(help="A CSV, TSV, Parquet or NPZ file.")]


def wanted_columns(network: Model) -> dict[str, Any]:
    """Return what a file must hold for a network, as `read_table` takes it."""
    plan = network.plan
    return {"features": plan.feature_names, "n_features": plan.n_features}
