"""What is wrong with a setting of a file, in words: msgspec's errors, for people."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from dssfn.hints import did_you_mean

# The way to a value: names of settings, and the places of values in lists; None is some
# value of a table whose keys may be any.
Way: TypeAlias = tuple[str | int | None, ...]

_WANTED = {
    "str": "text in quotes",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
_CAME = _WANTED | {
    "str": "text",
    "int": "a number",
    "date": "a date",
    "datetime": "a date",
    "time": "a time",
}
_EXAMPLES = {"memory": "2GB"} | dict.fromkeys(
    ("address", "listen", "metrics", "page"), "127.0.0.1:7400"
)  # of text, where it is not a name or a path

_AT = re.compile(r" - at `\$([^`]*)`$")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]|\[\.\.\.\]")
_WRONG_KIND = re.compile(r"^Expected `([^`]+)`, got `(\w+)`$")
_WRONG_LENGTH = re.compile(r"^Expected `array` of length (\d+), got (\d+)$")
_MISSING = re.compile(r"^Object missing required field `([^`]*)`$")
_UNKNOWN = re.compile(r"^Object contains unknown field `(.*)`$", re.DOTALL)
_FIRST = re.compile(r"^`(\w+)`(?: and `\w+`)?")


def what_is_wrong(
    exc: msgspec.ValidationError,
    content: Any,
    kinds: Sequence[type[msgspec.Struct]],
    under: tuple[str, ...] = (),
) -> str:
    """Return what msgspec says about the content of a file, as a user would say it.

    Parameters
    ----------
    exc : msgspec.ValidationError
        The error.
    content : Any
        What was converted.
    kinds : sequence of types
        All structs in it, whose settings may have been mistyped.
    under : tuple of str
        The table of the file that the content is, if it is not the whole file.
    """
    said = str(exc)
    inside: Way = ()
    if at := _AT.search(said):
        said, inside = said[: at.start()], _way(at[1])
    way: Way = (*under, *inside)
    for name in reversed(under):
        content = {name: content}
    if found := _WRONG_KIND.match(said):
        return _of_another_kind(way, content, found[1], found[2])
    if found := _WRONG_LENGTH.match(said):
        named = _named(_to_setting(way), content)
        return f"{named} must hold lists of {found[1]} values, got one of {found[2]}."
    if found := _MISSING.match(said):
        return f"{_named((*way, found[1]), content)} is missing."
    if found := _UNKNOWN.match(said):
        names = [name for one in kinds for name in one.__struct_fields__]
        near = did_you_mean(found[1], names)
        return f"there is no setting {_named((*way, found[1]), content)}.{near}"
    return _with_place(said, way, content)


def _way(text: str) -> Way:
    """Return the way that msgspec writes as text.

    >>> _way(".columns[0].same[...]")
    ('columns', 0, 'same', None)
    """
    return tuple(
        step[1] or (None if step[2] is None else int(step[2]))
        for step in _STEP.finditer(text)
    )


def _to_setting(way: Way) -> Way:
    """Return the way to the setting that a value is of, or inside.

    >>> _to_setting(("graph", "edges", 0, 1))
    ('graph', 'edges')
    """
    last = max(k for k, step in enumerate(way) if isinstance(step, str))
    return way[: last + 1]


def _of_another_kind(way: Way, content: Any, wanted: str, came: str) -> str:
    """Return the sentence about a value that is text, say, and must be a number."""
    to = _to_setting(way)
    words = [_WANTED.get(one, one) for one in wanted.split(" | ") if one != "null"]
    rule = " or ".join(words)
    example = _EXAMPLES.get(str(to[-1]))
    if wanted.startswith("str") and example is not None:
        rule += f', such as "{example}"'
    got = _CAME.get(came, came)
    if came == "float" and "float" not in wanted:
        got = "a number with a fraction"
    verb = "be" if to == way else "hold"
    rule = rule if to == way else _several(rule)
    return f"{_named(to, content)} must {verb} {rule}, got {got}."


def _several(rule: str) -> str:
    """Return a rule for all values of a list.

    >>> _several("a whole number or text in quotes")
    'whole numbers or text in quotes'
    """
    return re.sub(r"\ba ((?:whole )?\w+)", r"\1s", rule)


def _named(way: Way, content: Any) -> str:
    """Return a setting in backticks, with its place."""
    return f"`{way[-1]}`{_place(way[:-1], content)}"


def _place(way: Way, content: Any) -> str:
    """Return in which table of a file a setting is.

    >>> _place(("training",), {})
    ' under [training]'
    >>> _place(("columns", 0), {"columns": [{"name": "age"}]})
    ' of `age` under [[columns]]'
    """
    tables = ".".join(step for step in way if isinstance(step, str))
    if not tables:
        return ""
    if not isinstance(way[-1], int):
        return f" under [{tables}]"
    name = _name_at(way, content)
    entry = f"entry {way[-1] + 1}" if name is None else f"`{name}`"
    return f" of {entry} under [[{tables}]]"


def _name_at(way: Way, content: Any) -> str | None:
    """Return the name of a table in a list, which people know it by."""
    table = content
    for step in way:
        table = table[step]
    name = table.get("name") if isinstance(table, dict) else None
    return name if isinstance(name, str) and name else None


def _with_place(said: str, way: Way, content: Any) -> str:
    """Return what a struct says of its own values, with the table that holds them."""
    if not way:
        return said
    place = _place(way, content)
    first = _FIRST.match(said)
    if first is not None and first[1] != way[-1]:  # not about the table itself
        return f"{first[0]}{place}{said[first.end() :]}"
    is_one_of_many = isinstance(way[-1], int)
    if is_one_of_many and f"`{_name_at(way, content)}`" not in said:
        return f"{place.strip()}: {said}"
    return said
