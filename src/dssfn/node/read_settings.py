"""Errors about data files in the words of a node's own file, which has no options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.errors import DataError
from dssfn.hints import listing
from dssfn.toml_text import toml_value

_OPTION = re.compile(rf"`--({'|'.join(ReadOptions.__struct_fields__)})(?: ([^`]+))?`")


@contextmanager
def in_words_of_the_node(read: ReadOptions = ALL) -> Iterator[None]:
    """Let errors about data name settings of a node's file instead of options."""
    try:
        yield
    except DataError as exc:
        raise DataError(by_setting(str(exc), read)) from exc


def by_setting(message: str, read: ReadOptions = ALL) -> str:
    """Return an error's text with settings in place of the options of commands.

    Parameters
    ----------
    message : str
        The text.
    read : ReadOptions
        What the node's file says; a setting of it that the text names is explained.

    Examples
    --------
    >>> by_setting("Say `--decimal ,` for a fraction.")
    'Say `decimal = ","` for a fraction. (`decimal` belongs to [read] in node.toml.)'
    """
    named = {name: None for name, _ in _OPTION.findall(message)}
    named |= {name: None for name in read.given if f"`{name}`" in message}
    if not named:
        return message

    def words(found: re.Match[str]) -> str:
        name, value = found.groups()
        return f"`{name}`" if value is None else f"`{name} = {toml_value(value)}`"

    verb = "belongs" if len(named) == 1 else "belong"
    return (
        f"{_OPTION.sub(words, message)} ({listing(list(named))} {verb} to [read] in "
        "node.toml.)"
    )


def shown_settings(read: ReadOptions) -> str:
    """Return what a node's file says of reading, in one line; empty if nothing.

    >>> shown_settings(ReadOptions(sep=";", drop=["note"]))
    'drop = ["note"], sep = ";"'
    """
    return ", ".join(f"{name} = {toml_value(one)}" for name, one in read.given.items())
