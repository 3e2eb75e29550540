"""Numbers, units and labels as a person reads them."""

from __future__ import annotations

import math
from typing import Any

LONGEST = 60  # letters of a label
NONE = "–"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NARROW = "\u202f"  # a narrow space that does not break: between number and unit


def clean(label: object, longest: int = LONGEST) -> str:
    """Return a label that any file can hold: printable, and not too long.

    >>> clean("a\\x00b"), clean("abcdef", 4)
    ('a\ufffdb', 'abc…')
    """
    text = "".join(c if c.isprintable() else "\ufffd" for c in str(label))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def percent(share: float | None) -> str:
    """Return a share of one in per cent; what is not all is never shown as 100.

    >>> percent(0.9867), percent(1.0), percent(0.9999), percent(0.0002)
    ('98.7\u202f%', '100.0\u202f%', '99.99\u202f%', '0.02\u202f%')
    """
    if share is None:
        return NONE
    shown = f"{100 * share:.1f}"
    if 0 < min(share, 1 - share) < 0.0005:
        shown = f"{min(max(100 * share, 0.01), 99.99):.2f}"
    return f"{shown}{_NARROW}%"


def count(number: float) -> str:
    """Return a whole number, with commas between thousands.

    >>> count(1347)
    '1,347'
    """
    return f"{number:,.0f}"


def decibel(value: float) -> str:
    """Return a level in dB, with a true minus.

    >>> decibel(-23.456)
    '−23.46\u202fdB'
    """
    return f"{value:.2f}{_NARROW}dB".replace("-", "−")


def power(exponent: int) -> str:
    """Return a power of ten.

    >>> power(-12)
    '10⁻¹²'
    """
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def small(value: float | None) -> str:
    """Return a number of any size, to two digits.

    >>> small(3.2754e-12), small(0.95), small(0.0)
    ('3.3 × 10⁻¹²', '0.95', '0')
    """
    if value is None:
        return NONE
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{value:.2g}" if abs(value) < 100 else f"{value:.0f}"
    if not math.isfinite(value):
        return str(value)
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits} × {power(int(exponent))}".replace("-", "−")


def brief(value: float) -> str:
    """Return a number that somebody chose; a power of ten as such.

    >>> brief(1e-12), brief(2e-8)
    ('10⁻¹²', '2.0 × 10⁻⁸')
    """
    digits, exponent = f"{value:.8e}".split("e")
    return power(int(exponent)) if float(digits) == 1 else small(value)


def amount(value: float) -> str:
    """Return a number to about four digits.

    >>> amount(10413.7), amount(6.0780268), amount(0.0), amount(1.5e9)
    ('10,414', '6.078', '0', '1.5 × 10⁹')
    """
    if value == 0 or not 1e-3 <= abs(value) < 1e7:
        return small(value)
    whole = math.floor(math.log10(abs(value))) + 1
    return f"{value:,.{min(max(4 - whole, 0), 6)}f}".replace("-", "−")


def rough(value: float) -> str:
    """Return a number to one digit.

    >>> rough(21.5443), rough(1e-6)
    ('20', '1e-06')
    """
    return f"{float(f'{value:.1g}'):g}"


def unit_of(n_bytes: float) -> tuple[str, int]:
    """Return the unit that fits a size, and its bytes.

    >>> unit_of(12_300_000)
    ('MB', 1000000)
    """
    units = ["B", "kB", "MB", "GB", "TB"]
    step = 0 if n_bytes < 1000 else min(int(math.log10(n_bytes) / 3 + 1e-9), 4)
    return units[step], 1000**step


def size(n_bytes: float, gap: str = _NARROW) -> str:
    """Return a size with the unit that fits; terminals take a plain space as the gap.

    >>> size(220_752_000), size(12_300_000, gap=" ")
    ('221\u202fMB', '12.3 MB')
    """
    unit, step = unit_of(n_bytes)
    return f"{digits(n_bytes / step)}{gap}{unit}"


def digits(value: float) -> str:
    """Return a number of any size from one thousandth on, to three digits or whole.

    >>> digits(36_811.4), digits(46.49), digits(0.2149)
    ('36,811', '46.5', '0.215')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def seconds(value: float) -> str:
    """Return a time with the unit that fits.

    >>> seconds(1.04), seconds(192)
    ('1.0\u202fs', '3\u202fmin 12\u202fs')
    """
    if value < 60:
        return f"{value:.1f}{_NARROW}s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}{_NARROW}h {minutes}{_NARROW}min"
    return f"{minutes}{_NARROW}min {rest}{_NARROW}s"


def plural(number: int, one: str, many: str | None = None) -> str:
    """Return a number with the name of what is counted.

    >>> plural(1, "node"), plural(10, "node")
    ('1 node', '10 nodes')
    """
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def setting(value: Any) -> str:
    """Return a setting as it is written.

    >>> setting(True), setting(None), setting(0.02), setting([1, 2])
    ('yes', '–', '0.02', '1, 2')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return NONE
    if isinstance(value, float):
        return f"{value:g}" if 1e-3 <= abs(value) < 1e6 or not value else brief(value)
    if isinstance(value, list | tuple):
        shown = ", ".join(clean(one, 24) for one in value[:12])
        return f"{shown}, … ({len(value)})" if len(value) > 12 else shown
    return clean(value)
