"""`dssfn schema`: what the columns of tables mean, proposed and united."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from dssfn._atomic import write_atomically
from dssfn._typing import Label
from dssfn.cli.listed import words
from dssfn.cli.options import Json, option
from dssfn.cli.outcome import print_json, show_lines
from dssfn.errors import DataError, InputError, PlanError
from dssfn.hints import did_you_mean, listing
from dssfn.schema import Schema, Target
from dssfn.schema.merge import merge
from dssfn.schema.proposal import Seen, propose
from dssfn.schema.text import load_schema, schema_text
from dssfn.schema.values import is_number, level_order

MOST_CLASSES_PROPOSED = 100


def schema(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Tables to look at, or schemas (.toml) to unite.",
        ),
    ],
    target: Annotated[
        str | None, typer.Option(help="The column that is to be predicted.")
    ] = None,
    number: Annotated[
        bool, typer.Option("--number", help="The target is a number, not a class.")
    ] = False,
    group: Annotated[
        list[str] | None,
        option("A class and its values, as in sick=1,2,3; repeat it."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the schema to this file.")
    ] = None,
    json: Json = False,
) -> None:
    """Propose a schema from tables, or unite several schemas.

    It holds kinds and levels of columns, how much of them is missing, and why some
    should be ignored: no value of a row but levels and classes that five rows or more
    have. Read it, change it, and send it instead of your data. `dssfn schema merge
    a.toml b.toml` unites what several nodes have sent, and names what contradicts.
    """
    if files[0] == Path("merge") and len(files) > 1 and not files[0].exists():
        files = files[1:]
    if out is not None and out.suffix.lower() != ".toml":
        raise InputError(f"`--out` must end in .toml, got `{out}`.")
    groups = _groups(group or [])
    found: dict[str, Schema] = {}
    remarks: dict[str, list[str]] = {}
    for path in files:
        if path.suffix.lower() == ".toml":
            made = load_schema(path)
        else:
            made, said = _proposed(path, target, groups, number=number)
            for name, lines in said.items():
                begins = f"{path.name}: " if len(files) > 1 else ""
                remarks.setdefault(name, []).extend(begins + line for line in lines)
        found[_called(path, found)] = made
    merged = merge(found)
    if merged.conflicts:
        raise PlanError(
            "The schemas contradict each other. "
            + " ".join(f"({k}) {one}" for k, one in enumerate(merged.conflicts, 1))
        )
    if json:
        print_json(msgspec.to_builtins(merged.schema))
        return
    text = schema_text(merged.schema, remarks)
    if out is None:
        show_lines(text.rstrip("\n"))
    else:
        write_atomically(out, text.encode())
        print(f"Schema with {len(merged.schema.used)} columns in {out}.")


def _called(path: Path, taken: dict[str, Schema]) -> str:
    return path.name if path.name not in taken else str(path)


def _groups(given: list[str]) -> dict[str, tuple[Label, ...]]:
    groups: dict[str, tuple[Label, ...]] = {}
    for text in given:
        label, equals, values = text.partition("=")
        if not equals or not label.strip() or label.strip() in groups:
            raise InputError(
                "`--group` must name a class and its values once, as in sick=1,2,3; "
                f"got {text!r}."
            )
        groups[label.strip()] = tuple(map(_label, words("--group", values)))
    return groups


def _label(text: str) -> Label:
    return int(text) if text.lstrip("-").isdecimal() else text


def _proposed(
    path: Path,
    target: str | None,
    groups: dict[str, tuple[Label, ...]],
    *,
    number: bool,
) -> tuple[Schema, dict[str, tuple[str, ...]]]:
    """Return the schema that a table seems to have, and what was seen."""
    from dssfn.datasets.column_survey import survey_columns

    seen = {one.name: one for one in survey_columns(path)}
    if target is not None and target not in seen:
        raise DataError(
            f"`{path.name}` has no target column `{target}`, only "
            f"{listing(list(seen))}.{did_you_mean(target, seen)}"
        )
    if target is None and (groups or number):
        raise InputError("`--target` must name the column that is to be predicted.")
    proposals = {name: propose(one) for name, one in seen.items() if name != target}
    columns = tuple(one.column for one in proposals.values())
    remarks = {name: one.remarks for name, one in proposals.items()}
    if target is None:
        return Schema(columns=columns), remarks
    made = _target(path, seen[target], groups, number=number)
    return Schema(columns=columns, target=made), remarks


def _target(
    path: Path, seen: Seen, groups: dict[str, tuple[Label, ...]], *, number: bool
) -> Target:
    if number:
        return Target(column=seen.name, kind="number")
    if groups:
        return Target(column=seen.name, groups=groups)
    if seen.counts is None or len(seen.counts) > MOST_CLASSES_PROPOSED:
        raise DataError(
            f"`{path.name}`: the target `{seen.name}` has too many values to be "
            "classes. Say --number if they are numbers to be predicted, or group them "
            "by --group."
        )
    texts = sorted(seen.counts, key=level_order)
    classes: tuple[Any, ...] = tuple(texts)
    if seen.kinds == {"boolean"}:
        classes = tuple(text == "true" for text in texts)
    elif seen.kinds == {"whole"} and all(map(is_number, texts)):
        classes = tuple(map(int, texts))
    return Target(column=seen.name, classes=classes)
