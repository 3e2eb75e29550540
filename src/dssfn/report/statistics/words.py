"""Counts as words and shares, whether they are shown or not."""

from __future__ import annotations

from dssfn.report.numbers import NONE, amount, count
from dssfn.statistics.figures import Column, Count


def counted(number: Count) -> str:
    """Return a count, or the words in its place.

    >>> counted(1347), counted("fewer than 5")
    ('1,347', 'fewer than 5')
    """
    return count(number) if isinstance(number, int) else number


def moments(column: Column) -> tuple[str, str]:
    """Return mean and deviation; they are rounded where it is hidden of how many.

    >>> moments(Column(name="age", kind="number", there=90, mean=61.25, deviation=9.5))
    ('61.25', '9.500')
    >>> few = Column(name="x", kind="number", there="not shown", mean=60, deviation=9)
    >>> moments(few)
    ('about 60', 'about 9')
    """
    if column.mean is None or column.deviation is None:
        return NONE, NONE
    if isinstance(column.there, str):
        return f"about {column.mean:g}", f"about {column.deviation:g}"
    return amount(column.mean), amount(column.deviation)


def share(part: Count, whole: Count) -> float | None:
    """Return the share of a count, if both are shown."""
    if isinstance(part, str) or isinstance(whole, str):
        return None
    return part / whole if whole else 0.0


def share_text(part: Count, whole: Count) -> str:
    """Return a share in per cent and the count, or the words in its place.

    >>> share_text(25, 1000), share_text("not shown", 1000)
    ('2.5\u202f% (25)', 'not shown')
    """
    found = share(part, whole)
    return (
        counted(part)
        if found is None
        else f"{100 * found:.1f}\u202f% ({counted(part)})"
    )
