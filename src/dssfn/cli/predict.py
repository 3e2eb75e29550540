"""`dssfn predict`: what a model says of every sample of a file."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dssfn._atomic import check_place, write_atomically
from dssfn._plain_text import printable
from dssfn._typing import Array
from dssfn.cli.console import say_dialect
from dssfn.cli.explain import explanation, refuse_settings, show_explanation
from dssfn.cli.model import (
    DataArgument,
    ModelArgument,
    is_same_file,
    read_model,
    read_samples,
)
from dssfn.cli.options import Json, option
from dssfn.cli.read_progress import reading_progress
from dssfn.cli.reading import reads_files
from dssfn.datasets.files import SUFFIXES, check_formats
from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.ensemble import Ensemble
from dssfn.errors import InputError
from dssfn.json_text import to_json
from dssfn.permutation import MOST_SAMPLES, N_REPEATS
from dssfn.training import Model

EXPLAIN = "Explanation"  # a heading of the help text
_OTHER_FORMATS = {*SUFFIXES, ".xls"} - {".csv"}


@reads_files
def predict(
    model: ModelArgument,
    data: DataArgument,
    proba: Annotated[
        bool,
        typer.Option(
            "--proba",
            help="Add the probability of each class, and how much the ensemble's "
            "members disagree.",
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write to this file instead of printing.")
    ] = None,
    explain: Annotated[
        bool,
        option(
            "Show which columns the predictions depend on most.", EXPLAIN, "--explain"
        ),
    ] = False,
    target: Annotated[
        str | None,
        option(
            "The true labels or numbers, to measure the importance of columns by.",
            EXPLAIN,
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        option(f"How often each column is shuffled; {N_REPEATS} by default.", EXPLAIN),
    ] = None,
    rows: Annotated[
        int | None,
        option(
            f"Measure on at most this many rows, chosen at random; {MOST_SAMPLES} by "
            "default.",
            EXPLAIN,
        ),
    ] = None,
    seed: Annotated[
        int | None, option("Random seed of the shuffling; 0 by default.", EXPLAIN)
    ] = None,
    read: ReadOptions = ALL,
    json: Json = False,
) -> None:
    """Predict a class or a number for every row of a file, as CSV.

    With --id, the column that identifies the rows comes first, as text.

    With --proba, an ensemble adds `spread`: the standard deviation, over its members,
    of the predicted class's probability, or of the predicted number.

    A name or text label that a spreadsheet would take for a formula, because it begins
    with =, +, - or @, is written after a single quote; --json writes it unchanged.

    With --explain, every column is shuffled in turn to see how much worse the
    predictions become or, without labels, how much they change. Labels are taken from
    --target or, if the file has them, from the target of the model's schema, a
    regression's targets, or `y` in an NPZ file. Predictions are then written only with
    --out p.csv, together with p.importance.json and, with the extra `report`, the
    figure p.importance.png and .svg.
    """
    if not explain:
        refuse_settings(target=target, repeats=repeats, rows=rows, seed=seed)
    if out is not None:
        _check_out(out, model, data)
    check_formats(read, [data])
    network = read_model(model)
    with reading_progress():
        table = read_samples(network, data, read)
    say_dialect(data.name, table.dialect)
    X = table.X
    if network.plan.is_regression:
        output = _numbers(network, X, spread=proba)
    else:
        output = _classes(network, X, proba=proba)
    if read.id is not None:
        output = _with_names(read.id, table.ids or (), output)
    found = None
    if explain:
        found = explanation(
            network, data, X, read,
            target=target, repeats=repeats, rows=rows, seed=seed,
        )  # fmt: skip
    shown = out is None and _is_terminal()
    text = to_json(output) if json else _to_csv(output, shown=shown)
    if out is not None:
        write_atomically(out, text.encode())
    elif found is None:
        print(text, end="")
    if found is not None:
        show_explanation(found, json=json, beside=out)


def _check_out(out: Path, model: Path, data: Path) -> None:
    check_place(out, "--out")
    if out.suffix.lower() in _OTHER_FORMATS:
        raise InputError(
            f"`--out` must not end in {out.suffix}, since predictions are written as "
            f"text, got `{out}`. Choose another name, such as "
            f"`{out.with_suffix('.csv').name}`."
        )
    if any(is_same_file(out, one) for one in (model, data)):
        raise InputError(
            f"`--out` must not overwrite the model or the data, got `{out}`. Choose "
            "another file."
        )


def _with_names(
    column: str, names: Sequence[str], output: dict[str, list[Any]]
) -> dict[str, list[Any]]:
    """Return the output with the column that names the samples before the others."""
    if column in output:
        raise InputError(
            f"`--id` must not be a column called `{column}`, as the output has one of "
            "that name. Rename yours."
        )
    return {column: list(names), **output}


def _classes(network: Model, X: Any, *, proba: bool) -> dict[str, list[Any]]:
    """Return the columns of a classifier's output."""
    classes, members = network.plan.classes, _member_scores(network, X)
    scores = members.mean(axis=0)
    codes = scores.argmax(axis=0)
    columns: dict[str, list[Any]] = {"prediction": [classes[code] for code in codes]}
    if not proba:
        return columns
    P = network.probabilities(scores)
    for label, row in zip(classes, P, strict=True):
        columns[f"p({label})"] = row.tolist()
    if len(members) > 1:
        right = [network.probabilities(S)[codes, range(len(codes))] for S in members]
        columns["spread"] = np.std(right, axis=0).tolist()
    return columns


def _numbers(network: Model, X: Any, *, spread: bool) -> dict[str, list[Any]]:
    """Return the columns of a regression's output."""
    targets, members = network.plan.targets, _member_scores(network, X)
    if spread and len(members) == 1:
        raise InputError(
            "`--proba` must be left out: a single network that predicts numbers has "
            "no probabilities, and no members that could disagree."
        )
    several = len(targets) > 1
    columns: dict[str, list[Any]] = {}
    for k, name in enumerate(targets):
        of = f"({name})" if several else ""
        columns[f"prediction{of}"] = members[:, k].mean(axis=0).tolist()
        if spread:
            columns[f"spread{of}"] = members[:, k].std(axis=0).tolist()
    return columns


def _member_scores(network: Model, X: Any) -> Array:
    """Return the scores of every member, (K, Q, J); of one network, its own."""
    if isinstance(network, Ensemble):
        return network.member_scores(X.T)
    return network.scores(X.T)[None]


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
