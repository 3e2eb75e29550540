"""Values of categories as text, written in one way whatever file they came from."""

from __future__ import annotations

from typing import Any


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
