"""TOML, for files that people read and change: values as text, and files as values."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dssfn.errors import PlanError
from dssfn.hints import did_you_mean

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


def read_toml(
    path: str | Path, what: str, command: str = "dssfn federation init"
) -> dict[str, Any]:
    """Return the content of a TOML file.

    Parameters
    ----------
    path : str or Path
        The file.
    what : str
        What it is called in a message.
    command : str
        The command that writes such files.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    # Also numbers too long to be read, and lists in lists in lists.
    except (ValueError, RecursionError) as exc:
        raise PlanError(f"`{path}` is not a TOML file: {exc}") from exc
    except OSError as exc:
        raise PlanError(
            f"The {what} file `{path}` cannot be read: {exc.strerror}. `{command}` "
            "writes one."
        ) from exc


def convert_toml(
    content: dict[str, Any],
    kind: Any,
    path: str | Path,
    kinds: Sequence[type[msgspec.Struct]],
) -> Any:
    """Return a checked struct from the content of a TOML file.

    `kinds` are all structs in it, whose settings may have been mistyped.
    """
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as exc:
        said = _with_name(str(exc), content)
        near = _near_setting(said, kinds)
        said = said.replace("Object contains unknown field", "there is no setting")
        raise PlanError(f"`{path}`: {said}{near}") from exc


def _with_name(said: str, content: dict[str, Any]) -> str:
    """Return what msgspec says, with the name of the table in a list that it is about.

    >>> _with_name("No - at `$.columns[0].unit`", {"columns": [{"name": "age"}]})
    'No - at `$.columns[0].unit`, of `age`'
    """
    found = re.search(r" - at `\$\.([\w.]+)\[(\d+)\]\S*`$", said)
    if found is None:
        return said
    table: Any = content
    for key in found[1].split("."):
        table = table[key]
    named = table[int(found[2])]
    name = named.get("name") if isinstance(named, dict) else None
    return f"{said}, of `{name}`" if name else said


def _near_setting(said: str, kinds: Sequence[type[msgspec.Struct]]) -> str:
    """Return the setting that was probably meant by one that msgspec does not know."""
    mistyped = re.search(r"unknown field `(.*?)`", said)
    if mistyped is None:
        return ""
    names = [name for one in kinds for name in one.__struct_fields__]
    return "." + did_you_mean(mistyped[1], names)
