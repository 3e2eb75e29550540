"""TOML, for files that people read and change: values as text, and files as values."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from dssfn.errors import PlanError
from dssfn.setting_errors import what_is_wrong

LINE = 88


def setting(name: str, value: Any) -> str:
    """Return a line with a setting, or several if it is a long list.

    >>> setting("width", 100)
    'width = 100'
    """
    line = f"{name} = {toml_value(value)}"
    if len(line) <= LINE or isinstance(value, str) or not isinstance(value, Sequence):
        return line
    lines = [f"{name} = ["]
    for one in value:
        item = f"{toml_value(one)},"
        if len(lines) == 1 or len(lines[-1]) + len(item) >= LINE:
            lines.append(f"  {item}")
        else:
            lines[-1] += f" {item}"
    return "\n".join([*lines, "]"])


def toml_value(value: Any) -> str:
    """Return one value as TOML: text, a number, true or false, a list, or a table.

    >>> toml_value(["a", 1, 2.0, True])
    '["a", 1, 2.0, true]'
    >>> toml_value({"M": "male"})
    '{ "M" = "male" }'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        pairs = (f"{toml_value(key)} = {toml_value(v)}" for key, v in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(toml_value, value))}]"
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        raise PlanError(f"A name must be valid Unicode, got {text!r}.") from exc
    # JSON's strings are TOML's, but for one control character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of TOML file, and what it is recognised by.

    Parameters
    ----------
    name : str
        What it is called, with its article.
    way_out : str
        Where such files come from, as a sentence.
    marks : tuple of str
        Settings of the whole file that no other kind has.
    """

    name: str
    way_out: str
    marks: tuple[str, ...]


PLAN = FileKind(
    "a federation's plan",
    "`dssfn federation init` writes a plan.",
    ("nodes", "graph", "training"),
)
SCHEMA = FileKind(
    "a schema", "`dssfn schema FILE` writes a schema.", ("columns", "target")
)
NODE = FileKind(
    "a node's file",
    "Give a node.toml, which `dssfn federation init` writes for each node.",
    ("name", "plan", "data", "certificate", "key", "authorities"),
)


def read_toml(path: str | Path, kind: FileKind) -> dict[str, Any]:
    """Return the content of a TOML file, which must be of this kind."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    # Also numbers too long to be read, and lists in lists in lists.
    except (ValueError, RecursionError) as exc:
        raise PlanError(f"`{path}` is not a TOML file: {exc}") from exc
    except OSError as exc:
        raise PlanError(
            f"`{path}` cannot be read: {exc.strerror}. {kind.way_out}"
        ) from exc
    if came := _another_kind(content, kind):
        raise PlanError(f"`{path}` must be {kind.name}, got {came}. {kind.way_out}")
    return content


def _another_kind(content: dict[str, Any], wanted: FileKind) -> str | None:
    """Return what a file is that has nothing of the kind that is wanted.

    >>> _another_kind({"nodes": [], "training": {}}, SCHEMA)
    "a federation's plan"
    """
    if not content:
        return "an empty file"
    if _is_marked(content, wanted):
        return None
    found = (kind for kind in (PLAN, SCHEMA, NODE) if _is_marked(content, kind))
    return next((kind.name for kind in found), None)


def _is_marked(content: dict[str, Any], kind: FileKind) -> bool:
    # A node names its target, and a schema describes it in a table.
    return any(
        mark in content and (mark != "target" or isinstance(content[mark], dict))
        for mark in kind.marks
    )


def convert_toml(
    content: Any,
    kind: Any,
    path: str | Path,
    kinds: Sequence[type[msgspec.Struct]],
    under: tuple[str, ...] = (),
) -> Any:
    """Return a checked struct from the content of a TOML file.

    `kinds` are all structs in it, whose settings may have been mistyped; `under` is the
    table of the file that the content is, if it is not the whole file.
    """
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as exc:
        said = what_is_wrong(exc, content, kinds, under)
        raise PlanError(f"`{path}`: {said}") from exc
