"""Words of others made harmless for a terminal or a log."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """Return text in one line that a terminal shows as it is and never obeys.

    Control characters, escape codes, line breaks, invisible marks and those that turn
    the direction of writing become question marks; any other space becomes a plain one.

    >>> printable("a\\x1b[31mb")
    'a?[31mb'
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def one_line(message: str) -> str:
    """Return a message without line breaks or anything that a terminal obeys.

    >>> one_line("two\\n  lines")
    'two lines'
    """
    return printable(" ".join(message.split()))


def _shown(letter: str) -> str:
    if letter.isprintable():
        return letter
    return " " if unicodedata.category(letter) == "Zs" else "?"
