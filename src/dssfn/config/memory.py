"""Sizes of memory, as people write them."""

from __future__ import annotations

import re

from dssfn.config.single import is_number
from dssfn.errors import PlanError

LEAST_BYTES = 1_000_000  # no training gets by with less


def bytes_of(size: float | str) -> int:
    """Return the number of bytes that a size such as 500MB or 2GB means.

    A number is returned as it is. In a text, a small one has lost its unit.

    >>> bytes_of("2GB"), bytes_of(4096)
    (2000000000, 4096)
    """
    n_bytes = _bytes_of_text(size) if isinstance(size, str) else size
    if not is_number(n_bytes) or n_bytes < 1:
        raise PlanError(
            "`memory` must be a number of bytes, or a size such as 500MB or 2GB, "
            f"got {size!r}."
        )
    if isinstance(size, str) and size.strip().isdecimal() and n_bytes < LEAST_BYTES:
        raise PlanError(
            "`memory` must be a number of bytes, or a size such as 500MB or 2GB, got "
            f"{size.strip()} bytes. Did you mean {size.strip()}GB?"
        )
    return int(n_bytes)


def _bytes_of_text(text: str) -> float:
    """Return the bytes of a size with or without a unit; zero for anything else."""
    units = {"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower())
    if found is None or found[2] not in units:
        return 0.0
    return float(found[1]) * units[found[2]]
