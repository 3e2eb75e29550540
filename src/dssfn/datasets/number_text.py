"""Numbers as people write them, with points and commas."""

from __future__ import annotations

import re

from dssfn.schema.values import says_missing

_FRACTION = r"[+-]?(\d+{mark}\d*|{mark}\d+)([eE][+-]?\d+)?"
_GROUPS = r"[+-]?[1-9]\d{{0,2}}({mark}\d{{3}})+"
_OTHER = {".": ",", ",": "."}
_SPACED = re.compile(r"[+-]?\d{1,3}(['\u2019\s]\d{3})+([.,]\d+)?")
_MINUS = re.compile(r"[\u2212\u2012\u2013\u2014]\s*[\d.,]+")  # and dashes
_PERCENT = re.compile(r"[+-]?[\d.,]+\s*%")
_NO_MARKS = " Write numbers without thousands separators."


def has_fraction(text: str, mark: str) -> bool:
    """Return whether text is a number with one decimal mark.

    >>> has_fraction("-1,5", ","), has_fraction("1.5", ","), has_fraction("15", ",")
    (True, False, False)
    """
    pattern = _FRACTION.format(mark=re.escape(mark))
    return re.fullmatch(pattern, text, re.ASCII) is not None


def has_groups(text: str, mark: str) -> bool:
    """Return whether text can be a whole number with marks between its thousands.

    >>> has_groups("1,234", ","), has_groups("0,234", ","), has_groups("12,34", ",")
    (True, False, False)
    """
    pattern = _GROUPS.format(mark=re.escape(mark))
    return re.fullmatch(pattern, text, re.ASCII) is not None


def misread_number(text: str, decimal: str) -> str:
    """Return what to do about text that is a number in another way of writing.

    >>> misread_number("1.234,5", ",")
    ' Write numbers without thousands separators.'
    >>> misread_number("blue", ",")
    ''
    """
    if says_missing(text):
        return (
            " If it stands for a missing value, leave the field empty; a schema can "
            "allow that."
        )
    if _MINUS.fullmatch(text):
        return " Write the minus sign as a plain hyphen, -."
    if _PERCENT.fullmatch(text):
        return " Write numbers without percent signs, all in the same unit."
    if _SPACED.fullmatch(text):
        return _NO_MARKS
    other = _OTHER[decimal]
    for mark, fraction in ((other, decimal), (decimal, other)):
        whole, _, rest = text.partition(fraction)
        if has_groups(whole, mark) and (rest or whole.count(mark) > 1):
            return _NO_MARKS
    if has_groups(text, other):
        return (
            " If this is a thousands separator, write the number without it; if it is "
            f"a decimal mark, give `--decimal {other}`."
        )
    if has_fraction(text, other):
        where = "" if other == "." else ", and do not separate fields with commas"
        return f" If it is a number, give `--decimal {other}`{where}."
    return ""
