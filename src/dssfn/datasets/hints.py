"""Wording shared by the messages of this package: near names, short lists."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_MOST_LISTED = 8


def listing(names: Sequence[str]) -> str:
    """The first names in backticks and how many more there are.

    >>> listing(["a", "b"])
    '`a`, `b`'
    """
    shown = ", ".join(f"`{name}`" for name in names[:_MOST_LISTED])
    more = len(names) - _MOST_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A question with the nearest name, to end a message; empty if none is near.

    >>> did_you_mean("iriss", ["wine", "iris"])
    ' Did you mean `iris`?'
    """
    close = difflib.get_close_matches(name, set(names) - {name}, n=1)
    return f" Did you mean `{close[0]}`?" if close else ""


def shortened(value: object) -> str:
    """A value on one line of at most 60 characters."""
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def reason(exc: BaseException) -> str:
    """Why a library failed, in one line.

    >>> reason(ValueError("no data"))
    'no data'
    """
    return shortened(exc).rstrip(".") or type(exc).__name__
