"""`dssfn predict --explain`: which columns the predictions of a file depend on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from rich.progress import Progress
from rich.table import Table as Grid

from dssfn._atomic import write_atomically
from dssfn._typing import Array
from dssfn.cli.console import notes, screen
from dssfn.cli.evaluate import features_and_numbers
from dssfn.cli.model import labelled_schema, wanted_columns
from dssfn.cli.outcome import print_json
from dssfn.datasets import ReadOptions
from dssfn.datasets.checks import Source
from dssfn.datasets.files import existing_file, open_columns, open_labelled, open_table
from dssfn.datasets.npz import npz_names
from dssfn.errors import DataError, InputError
from dssfn.hints import listing
from dssfn.importance import Importance
from dssfn.json_text import to_json
from dssfn.permutation import (
    MOST_SAMPLES,
    N_REPEATS,
    OnColumn,
    permutation_importance,
)
from dssfn.report.importance.words import WORDS, about, short_names, told
from dssfn.shard import class_codes, one_hot
from dssfn.training import Model

MOST_SHOWN = 20  # columns
LONGEST = 32  # letters of a name


@dataclass(frozen=True, slots=True)
class Explanation:
    """The importance of columns, and the labels that it was measured by, if any."""

    importance: Importance
    targets: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints and the file beside the predictions holds."""
        return {"targets": list(self.targets), **msgspec.to_builtins(self.importance)}


def refuse_settings(**settings: object) -> None:
    """Refuse settings of an explanation that nobody has asked for."""
    for name, value in settings.items():
        if value is not None:
            raise InputError(
                f"`--{name}` must be left out without `--explain`, got {value}. "
                "`dssfn evaluate` compares predictions with labels."
            )


def explanation(
    network: Model,
    data: Path,
    X: Array,
    options: ReadOptions,
    *,
    target: str | None,
    repeats: int | None,
    rows: int | None,
    seed: int | None,
) -> Explanation:
    """Return which columns predictions of the samples X (J, P) of a file depend on."""
    names = _targets(network, data, target, options)
    with _or_without(names, is_given=target is not None):
        T = _read_targets(network, data, target, options) if names else None
    with _naming(data), _progress() as on_column:
        importance = permutation_importance(
            network,
            X.T,
            T,
            n_repeats=N_REPEATS if repeats is None else repeats,
            seed=0 if seed is None else seed,
            most_samples=MOST_SAMPLES if rows is None else rows,
            on_column=on_column,
        )
    return Explanation(importance, names)


def _targets(
    network: Model, data: Path, target: str | None, options: ReadOptions
) -> tuple[str, ...]:
    """Return the columns of a file that hold what is predicted; none if it has none."""
    if target is not None:
        return (target,)
    plan = network.plan
    if data.suffix.lower() == ".npz":
        return ("y",) if "y" in npz_names(data) else ()
    wanted = plan.targets
    if plan.schema is not None and plan.schema.target is not None:
        wanted = (plan.schema.target.column,)
    there = set(open_columns(existing_file(data), options).names)
    return wanted if wanted and there.issuperset(wanted) else ()


def _read_targets(
    network: Model, data: Path, target: str | None, options: ReadOptions
) -> Array:
    """Return the targets (Q, J) that a file has for its samples."""
    plan = network.plan
    if plan.schema is not None:
        schema = labelled_schema(plan.schema, plan, target)
        file = open_table(data, schema, is_labelled=True, options=options)
    elif plan.is_regression:
        return features_and_numbers(network, data, target, options)[1].T
    else:
        file = open_labelled(data, target, **wanted_columns(plan), options=options)
    y = np.concatenate(list(file.labels()))
    if plan.is_regression:
        return y.astype(np.float64)[None]
    at = Source(data.name, unit="sample").at
    return one_hot(class_codes(y, plan.classes, at), plan.n_outputs)


@contextmanager
def _or_without(names: Sequence[str], *, is_given: bool) -> Iterator[None]:
    """Say how to do without labels that were found in a file, but cannot be used."""
    try:
        yield
    except DataError as exc:
        if is_given:
            raise
        raise DataError(
            f"{exc} Or explain a file without {listing(names)}: without labels you "
            "see how much predictions change."
        ) from exc


@contextmanager
def _naming(data: Path) -> Iterator[None]:
    """Name the file in what is said of its samples."""
    try:
        yield
    except DataError as exc:
        raise DataError(f"`{data.name}`: {exc}") from exc


@contextmanager
def _progress() -> Iterator[OnColumn | None]:
    """Provide a callback that shows how many columns are done, on a terminal."""
    if not notes.is_terminal:
        yield None
        return
    with Progress(console=notes, transient=True) as bar:
        task = bar.add_task("columns", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def show_explanation(found: Explanation, *, json: bool, beside: Path | None) -> None:
    """Print an explanation, and write it beside the file of predictions, if any."""
    if beside is not None:
        _write(found, beside)
    if json:
        print_json(found.as_json())
        return
    importance = found.importance
    for sentence in about(importance, found.targets):
        screen.print(sentence, soft_wrap=True)
    grid = Grid()
    grid.add_column("column")
    for name in importance.figures:
        grid.add_column(WORDS[name].name, justify="right")
    columns = importance.columns[:MOST_SHOWN]
    shown = short_names([column.name for column in columns], LONGEST)
    for title, column in zip(shown, columns, strict=True):
        cells = [told(column.figures[name], WORDS[name]) for name in importance.figures]
        grid.add_row(title, *cells)
    screen.print(grid)
    left = len(importance.columns) - MOST_SHOWN
    if left > 0:
        screen.print(f"({left} more; --json shows all)")


def _write(found: Explanation, beside: Path) -> None:
    """Write the figures as JSON and, with matplotlib, as a plot."""
    write_atomically(_named(beside, "json"), to_json(found.as_json()).encode())
    plots = {kind: _named(beside, kind) for kind in ("png", "svg")}
    try:
        from dssfn.report.importance.figure import draw_importance
    except InputError:
        for path in plots.values():
            path.unlink(missing_ok=True)  # it is about other predictions
        notes.print(
            "No figure was drawn: that needs matplotlib (pip install 'dssfn[report]').",
            soft_wrap=True,
        )
        return
    drawing = draw_importance(found.importance)
    write_atomically(plots["png"], drawing.png)
    write_atomically(plots["svg"], drawing.svg.encode())


def _named(beside: Path, kind: str) -> Path:
    """Return the name of a file beside that of the predictions.

    >>> _named(Path("runs/new.csv"), "png").name
    'new.importance.png'
    """
    return beside.with_name(f"{beside.stem}.importance.{kind}")
