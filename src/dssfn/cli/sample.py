"""What `--like`, `--classes` and `--features` say of the data of a federation."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dssfn._typing import Label
from dssfn.cli.listed import labels, words
from dssfn.cli.read_progress import reading_progress
from dssfn.cli.schema import united_schema
from dssfn.datasets import describe
from dssfn.datasets.columns import feature_columns
from dssfn.datasets.contents import Description
from dssfn.datasets.files import open_labelled
from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.errors import PlanError
from dssfn.hints import listing
from dssfn.schema.text import load_schema


def data_settings(
    like: Path | None,
    target: str | None,
    classes: str | None,
    features: str | None,
    read: ReadOptions = ALL,
) -> dict[str, Any]:
    """Return what the options and a sample file say of classes and features."""
    with reading_progress():
        sample = None if like is None else describe(like, target, options=read)
    found: dict[str, Any] = {}
    if classes is not None:
        found["classes"] = _classes(classes, sample)
    elif sample is not None:
        found["classes"] = sample.classes
        if len(sample.classes) < 2:
            raise PlanError(
                f"`{like}` must hold at least two classes, got only "
                f"{sample.classes[0]!r}. List all of them with `--classes`."
            )
    if features is not None:
        found |= _features(features, target, sample)
    elif sample is not None:
        found["feature_names"] = sample.feature_names
        found["n_features"] = sample.n_features
    if like is not None and found["feature_names"] is not None:
        _check_numbers(like, target, found["feature_names"], read)
    return found


def schema_settings(
    schema: Path | None,
    like: Sequence[Path],
    target: str | None,
    classes: str | None,
    features: str | None,
    read: ReadOptions = ALL,
) -> dict[str, Any]:
    """Return what a schema says, which is given, or united from several files."""
    for name, given in (("--classes", classes), ("--features", features)):
        if given is not None:
            raise PlanError(f"`{name}` must be left out: the schema defines it.")
    if schema is not None and like:
        raise PlanError(
            "`--like` must be left out with `--schema`, which describes all columns."
        )
    if schema is not None:
        made = load_schema(schema)
    else:
        made, _ = united_schema(like, target, read=read)
    if made.target is None:
        raise PlanError(
            "The schema must have a table [target] with `column` and `classes`. Run "
            "`dssfn schema` with `--target`."
        )
    if target not in (None, made.target.column):
        raise PlanError(
            f"`--target` must be the schema's target, {made.target.column!r}, or left "
            f"out; got {target!r}."
        )
    return made.settings()


def _check_numbers(
    like: Path, target: str | None, chosen: Sequence[str], read: ReadOptions
) -> None:
    """Refuse features that are no numbers, with the option that leaves them out."""
    file = open_labelled(like, target, options=read)
    text = [name for name in file.not_numbers() if name in set(chosen)]
    if not text:
        return
    numbers = [name for name in chosen if name not in set(text)]
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(numbers)
    leave_out = f", or leave them out: `--features {shlex.quote(line.getvalue())}`"
    raise PlanError(
        f"Features must be numbers, but `{like.name}` has other values in "
        f"{listing(text)}. Describe the columns with `dssfn schema` and give its file "
        f"as `--schema`{leave_out if numbers else ''}."
    )


def _classes(text: str, sample: Description | None) -> tuple[Label, ...]:
    given = labels(text)
    others = [] if sample is None else [c for c in sample.classes if c not in given]
    if others:
        raise PlanError(
            f"`--classes` must list all labels in the file, but lacks {others[0]!r}; "
            f"got {list(given)}."
        )
    return given


def _features(
    text: str, target: str | None, sample: Description | None
) -> dict[str, Any]:
    """Return names of features, or how many there are if the files have no names."""
    names = None if text.strip().isdecimal() else tuple(words("--features", text))
    n_features = int(text) if names is None else len(names)
    if target in (names or ()):
        raise PlanError(f"`--features` must not include the target {target!r}.")
    if sample is not None and names is not None and sample.feature_names is not None:
        feature_columns("--like", sample.feature_names, None, names)
    elif sample is not None and n_features != sample.n_features:
        raise PlanError(
            f"`--features` must be as many as in the file, {sample.n_features}, got "
            f"{n_features}."
        )
    return {"feature_names": names, "n_features": n_features}
