"""How well a share is known that was counted on some samples."""

from __future__ import annotations

import math

_DEVIATIONS = 1.959964  # of a normal number, which 95 % of them stay within


def share_interval(share: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of Wilson (1927) for a share of n samples.

    >>> [round(end, 3) for end in share_interval(0.8, 100)]
    [0.711, 0.867]
    """
    z2 = _DEVIATIONS**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) * _DEVIATIONS
    half /= 1 + z2 / n
    return max(centre - half, 0.0), min(centre + half, 1.0)
