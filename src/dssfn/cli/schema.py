"""`dssfn schema`: what the columns of tables mean, proposed and united."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import msgspec
import typer

from dssfn._atomic import check_place, write_atomically
from dssfn._typing import Label
from dssfn.cli.console import say_dialect
from dssfn.cli.listed import words
from dssfn.cli.options import Json, option
from dssfn.cli.outcome import print_json, show_lines
from dssfn.cli.read_progress import reading_progress
from dssfn.cli.reading import check_has_file, reads_files
from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.errors import DataError, InputError
from dssfn.schema import Schema
from dssfn.schema.merge import Merged, merge
from dssfn.schema.text import load_schema, schema_text

_SCHEMA = ".toml"
_TABLE = "a table to look at"  # what some options are about


@reads_files
def schema(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Tables to describe, or schemas (.toml) to merge.",
        ),
    ],
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    number: Annotated[
        bool, typer.Option("--number", help="The target is a number, not a class.")
    ] = False,
    group: Annotated[
        list[str] | None,
        option(
            "A class and the values that it comprises, such as sick=1,2,3; may be "
            "repeated."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the schema to this file.")
    ] = None,
    read: ReadOptions = ALL,
    json: Json = False,
) -> None:
    """Describe the columns of a table as a schema, or merge several schemas.

    A schema holds the kind and the levels of each column, how much is missing, and
    which columns should be ignored and why. It reveals no values of your rows except
    the classes, and levels that at least five rows have. Read it, edit it, and send it
    instead of your data. `dssfn schema merge a.toml b.toml` merges the schemas that
    several nodes have sent, and reports contradictions.
    """
    if files[0] == Path("merge") and not files[0].exists():
        files = files[1:]
    if not files:
        raise InputError("Give the schemas to merge: dssfn schema merge a.toml b.toml")
    if out is not None and out.suffix.lower() != _SCHEMA:
        raise InputError(f"`--out` must end in .toml, got `{out}`.")
    if out is not None:
        check_place(out, "--out")
    groups = _groups(group or [])
    if target is None and (groups or number):
        raise InputError("`--target` must name the column to predict.")
    if number and groups:
        raise InputError(
            "`--group` must be left out with `--number`: only classes are groups of "
            "values."
        )
    if target is not None and all(path.suffix.lower() == _SCHEMA for path in files):
        raise InputError(f"`--target` must come with {_TABLE}.")
    united, remarks = united_schema(files, target, groups, is_number=number, read=read)
    if json:
        print_json(msgspec.to_builtins(united))
        return
    text = schema_text(united, remarks)
    if out is None:
        show_lines(text.rstrip("\n"))
    else:
        write_atomically(out, text.encode())
        print(f"Schema with {len(united.used)} columns in {out}.")


def united_schema(
    files: Sequence[Path],
    target: str | None,
    groups: Mapping[str, tuple[Label, ...]] = MappingProxyType({}),
    *,
    is_number: bool = False,
    read: ReadOptions = ALL,
) -> tuple[Schema, dict[str, list[str]]]:
    """Return the schema of tables and schema files, and what was seen of columns."""
    from dssfn.datasets.proposals import propose_schema

    tables = [path for path in files if path.suffix.lower() != _SCHEMA]
    check_has_file(read, tables, _TABLE)
    found: dict[str, Schema] = {}
    remarks: dict[str, list[str]] = {}
    for path in files:
        called = path.name if path.name not in found else str(path)
        if path not in tables:
            found[called] = load_schema(path)
            continue
        with reading_progress():
            proposed = propose_schema(
                path, target, groups, is_number=is_number, options=read
            )
        found[called], said = proposed.schema, proposed.remarks
        say_dialect(path.name, proposed.dialect)
        for name, lines in said.items():
            # By its number: the text is sent to others, who need no names of files.
            begins = f"table {tables.index(path) + 1}: " if len(files) > 1 else ""
            remarks.setdefault(name, []).extend(begins + line for line in lines)
    merged = merge(found)
    _refuse_conflicts(merged)
    return merged.schema, remarks


def _refuse_conflicts(merged: Merged) -> None:
    """Refuse schemas that contradict each other; a way out is told once."""
    if len(merged.conflicts) == 1:
        raise DataError(str(merged.conflicts[0]))
    if not merged.conflicts:
        return
    numbers = itertools.count(1)
    ways_out = dict.fromkeys(one.way_out for one in merged.conflicts)
    said = []
    for way_out in ways_out:
        some = (one.what for one in merged.conflicts if one.way_out == way_out)
        said += [f"({next(numbers)}) {what}" for what in some]
        said.append(way_out)
    raise DataError(f"The schemas contradict each other: {' '.join(said)}")


def _groups(given: list[str]) -> dict[str, tuple[Label, ...]]:
    groups: dict[str, tuple[Label, ...]] = {}
    for text in given:
        label, equals, values = text.partition("=")
        if not equals or not label.strip() or label.strip() in groups:
            raise InputError(
                "`--group` must be a class and its values, each once, such as "
                f"sick=1,2,3; got {text!r}."
            )
        groups[label.strip()] = tuple(map(_label, words("--group", values)))
    return groups


def _label(text: str) -> Label:
    return int(text) if text.lstrip("-").isdecimal() else text
