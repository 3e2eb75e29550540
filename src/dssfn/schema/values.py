"""Values of categories as text, written in one way whatever file they came from.

How this works. Whether a column of a text file is read as numbers or as text depends on
all of its rows: 01 is a number there until another row holds a letter. So a level that
looks like a number is the number, however it is written; else the same field would be
one level in one file and another in the next. Letters with accents, which systems write
in one or in two characters, are written in one.
"""

from __future__ import annotations

import math
import re
from typing import Any
from unicodedata import normalize

# Text that is true or false, in small letters.
TRUTHS = {"false": 0, "0": 0, "no": 0, "true": 1, "1": 1, "yes": 1}
MOST_ZEROS = 6  # behind the point of a whole number, as C's %f writes them
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)  # of 64 bits
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def level_text(value: Any) -> str:
    """Return a value as the text of a level.

    A whole number is written without a point, and true and false in small letters, so
    that 1, 1.0, "1" and "01" are one level.

    >>> level_text(1.0), level_text(" 01.0 "), level_text(True), level_text("M")
    ('1', '1', 'true', 'M')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number_text(value)
    text = normalize("NFC", str(value).strip())
    if _WHOLE.fullmatch(text):
        return str(int(text))
    if _NUMBER.fullmatch(text):
        return _number_text(float(text), text)
    return text


def _number_text(number: float, text: str = "") -> str:
    """Return a number in its shortest form; one too large is the text that it was."""
    if math.isinf(number) and text:
        return text
    return str(int(number)) if number.is_integer() else repr(number)


def spellings(text: str) -> tuple[str, ...]:
    """Return how programs write a level, which is given as `level_text` has it.

    >>> spellings("1")[:4], spellings("true"), spellings("M")
    (('1', '01', '001', '0001'), ('true', 'True'), ('M',))
    """
    if text in ("true", "false"):
        return text, text.capitalize()
    if not _WHOLE.fullmatch(text):
        return tuple(dict.fromkeys((text, normalize("NFD", text))))
    zeros = [n_zeros * "0" for n_zeros in range(MOST_ZEROS + 1)]
    sign, digits = text[: text.startswith("-")], text.lstrip("-")
    before = (sign + some + digits for some in zeros)
    return *before, *(f"{text}.{some}" for some in zeros)


def level_order(text: str) -> tuple[int, float, str]:
    """Return what levels are sorted by: numbers first, by their size, then text.

    >>> sorted(["b", "10", "9", "a"], key=level_order)
    ['9', '10', 'a', 'b']
    """
    try:
        return 0, float(text), ""
    except ValueError:
        return 1, 0.0, text


WORDS_FOR_MISSING = frozenset(
    ("na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "?", "-", "--", ".", "missing")
)
"""What people write where there is no value, in small letters. None is taken for it."""


def says_missing(text: str) -> bool:
    """Return whether text looks as if it said that there is no value.

    >>> says_missing(" N/A"), says_missing("Nadja")
    (True, False)
    """
    return text.strip().lower() in WORDS_FOR_MISSING


def is_number(text: str) -> bool:
    """Return whether a level is a number."""
    return level_order(text)[0] == 0
