"""A model file and the data for it, as arguments of commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dssfn.config import Plan
from dssfn.datasets import Columns, ReadOptions, read_labelled, read_table
from dssfn.datasets.contents import read_encoded
from dssfn.datasets.files import SUFFIXES
from dssfn.errors import InputError, ModelFileError
from dssfn.modelfile import load_network
from dssfn.schema import Schema, Target
from dssfn.training import Model

MOST_CLASSES_SHOWN = 12

ModelArgument = Annotated[
    Path, typer.Argument(help="A model file (model.safetensors).")
]
DataArgument = Annotated[
    Path, typer.Argument(help="A CSV, TSV, Parquet, Feather, XLSX or NPZ file.")
]


def read_model(model: Path) -> Model:
    """Return the model that a command is given, before the data."""
    try:
        return load_network(model)
    except ModelFileError as exc:
        if model.suffix.lower() not in SUFFIXES:
            raise
        raise ModelFileError(f"{exc} The model comes first, then the data.") from exc


def read_samples(network: Model, data: Path, options: ReadOptions) -> Columns:
    """Return the samples of a file as a network takes them, without labels."""
    schema = network.plan.schema
    if schema is not None:
        return read_encoded(data, schema, options=options)
    return read_table(data, **wanted_columns(network.plan), options=options)


def read_answers(
    network: Model, data: Path, target: str | None, options: ReadOptions
) -> Columns:
    """Return the samples of a file as a network takes them, with their labels.

    With a schema they may be numbers.
    """
    plan = network.plan
    if plan.schema is None:
        wanted = wanted_columns(plan)
        return read_labelled(data, target, **wanted, options=options)
    schema = labelled_schema(plan.schema, plan, target)
    return read_encoded(data, schema, is_labelled=True, options=options)


def labelled_schema(schema: Schema, plan: Plan, target: str | None) -> Schema:
    """Return a plan's schema, whose target is another column if one is named."""
    if target is None or (schema.target is not None and schema.target.column == target):
        return schema
    if any(column.name == target for column in schema.used):
        raise InputError(
            f"`--target` must not be one of the model's features, got {target!r}. "
            "Leave it out, or name the column of labels."
        )
    if plan.is_regression:
        return schema.with_target(Target(column=target, kind="number"))
    return schema.with_target(Target(column=target, classes=plan.classes))


def wanted_columns(plan: Plan) -> dict[str, Any]:
    """Return which features a file without a schema must have."""
    return {"features": plan.feature_names, "n_features": plan.n_features}


def is_same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file, which must not be replaced."""
    return one.exists() and other.exists() and one.samefile(other)
