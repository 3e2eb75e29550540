"""Wording that the messages of this package share: near names, short lists."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

_MOST_LISTED = 8


def few(names: Sequence[str]) -> str:
    """Return the first names and how many more there are.

    >>> few(["a", "b"])
    'a, b'
    """
    shown = ", ".join(names[:_MOST_LISTED])
    more = len(names) - _MOST_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


def joined(names: Sequence[str]) -> str:
    """Return names as a sentence lists them.

    >>> joined(["a"]), joined(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    if not 1 < len(names) <= _MOST_LISTED:
        return few(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def listing(names: Sequence[str]) -> str:
    """Return the first names in backticks and how many more there are.

    >>> listing(["a", "b"])
    '`a`, `b`'
    """
    return few([f"`{name}`" for name in names])


def listing_to_the_last(names: Sequence[str]) -> str:
    """Return the first names and the last one, which is often the column of labels.

    >>> listing_to_the_last([*map(str, range(64)), "digit"])
    '`0`, `1`, `2`, `3`, `4`, `5`, `6`, `7` and 57 more, the last of which is `digit`'
    """
    last = f", the last of which is `{names[-1]}`" if len(names) > _MOST_LISTED else ""
    return listing(names) + last


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """Return a question with the nearest name, to end a message, or nothing.

    >>> did_you_mean("Iriss", ["wine", "iris"])
    ' Did you mean `iris`?'
    """
    others = {other.casefold(): other for other in names if other != name}
    close = difflib.get_close_matches(str(name).casefold(), others, n=1)
    return f" Did you mean `{others[close[0]]}`?" if close else ""


def unknown(
    argument: str,
    came: object,
    known: Iterable[str],
    synonyms: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the message about a value that is none of the known names.

    `synonyms` maps what others call them to the name used here.

    >>> unknown("solver", "grm", ["gram", "admm"])
    "`solver` must be one of gram, admm, got 'grm'. Did you mean `gram`?"
    >>> unknown("kind", "line", ["path", "star"], {"line": "`path`"})
    "`kind` must be one of path, star, got 'line'. Did you mean `path`?"
    >>> unknown("kind", "lien", ["path", "star"], {"line": "`path`"})
    "`kind` must be one of path, star, got 'lien'. Did you mean `path`?"
    """
    names = list(known)
    word = str(came).casefold()
    near = difflib.get_close_matches(word, synonyms, n=1)
    hint = "" if word in synonyms else did_you_mean(came, names)
    if near and not hint:
        hint = f" Did you mean {synonyms[near[0]]}?"
    return f"`{argument}` must be one of {', '.join(names)}, got {came!r}.{hint}"


def no_file(path: Path, suffixes: Collection[str], meant: str = "") -> str:
    """Return the message about a path that is not that of a file.

    Parameters
    ----------
    path : Path
        The path.
    suffixes : collection of str
        How names of files end that could be meant: never offer a key for a table.
    meant : str
        The end of the message, if the caller knows better what was meant.
    """
    if path.is_dir():
        return f"`{path}` is a folder; give a file in it."
    if not path.parent.is_dir():
        return f"`{path}` does not exist, nor does its folder."
    close = meant or _near_file(path, suffixes) or " Check the path."
    return f"`{path}` does not exist.{close}"


def _near_file(path: Path, suffixes: Collection[str]) -> str:
    """Return a question with a file beside it; the suffix makes no name similar."""
    siblings = [
        other
        for other in path.parent.iterdir()
        if other.suffix.lower() in suffixes and other.is_file()
    ]
    siblings.sort(key=lambda other: (other.suffix == path.suffix, other.name))
    stems = {other.stem.casefold(): other.name for other in siblings}
    close = difflib.get_close_matches(path.stem.casefold(), stems, n=1)
    return f" Did you mean `{stems[close[0]]}`?" if close else ""


def shortened(value: object) -> str:
    """Return a value on one line of at most 60 characters."""
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def reason(exc: BaseException) -> str:
    """Return why a library failed, in one line.

    >>> reason(ValueError("no data"))
    'no data'
    """
    return shortened(exc).rstrip(".") or type(exc).__name__
