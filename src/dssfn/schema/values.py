"""Values of categories as text, written in one way whatever file they came from."""

from __future__ import annotations

from typing import Any

# Text that is true or false, in small letters.
TRUTHS = {"false": 0, "0": 0, "no": 0, "true": 1, "1": 1, "yes": 1}
MOST_ZEROS = 6  # behind the point of a whole number, as C's %f writes them


def level_text(value: Any) -> str:
    """Return a value as the text of a level.

    A whole number is written without a point, and true and false in small letters, so
    that 1, 1.0 and "1" are one level.

    >>> level_text(1.0), level_text(" 1.0 "), level_text(True), level_text("M")
    ('1', '1', 'true', 'M')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    text = str(value).strip()
    whole, point, rest = text.partition(".")
    is_whole = point and rest.strip("0") == "" and whole.lstrip("+-").isdecimal()
    return whole if is_whole else text


def spellings(text: str) -> tuple[str, ...]:
    """Return how programs write a level, which is given as `level_text` has it.

    >>> spellings("1")[:3], spellings("true"), spellings("M")
    (('1', '1.', '1.0'), ('true', 'True'), ('M',))
    """
    if text in ("true", "false"):
        return text, text.capitalize()
    point = f"{text}."
    if level_text(point) != text:
        return (text,)
    return text, *(point + n_zeros * "0" for n_zeros in range(MOST_ZEROS + 1))


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
