"""Which counts of a column are too small to be shown, and which follow from others.

How this works. The counts of a column add up to the number of rows, which is known. So
a small count that is hidden alone follows from all others, and even of two the sum is
known. Therefore the next smallest counts are withheld as well, until every small one
may be anything from 1 to `least - 1`, as far as its column tells. If there are not
enough of them, the whole column is withheld.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

# In the place of a count that is small, and of one that would give such a one away.
FEWER, WITHHELD = -1, -2


def hidden(counts: Sequence[int], least: int) -> list[int]:
    """Return the counts of a column, with FEWER or WITHHELD where they are not shown.

    Parameters
    ----------
    counts : sequence of int
        How many rows each cell has; every row is in one of them.
    least : int
        The smallest count, but zero, that is shown.

    Examples
    --------
    >>> hidden([100, 40, 3, 0], 5)
    [100, -2, -1, 0]
    >>> hidden([100, 40, 5, 0], 5)
    [100, 40, 5, 0]
    >>> hidden([5, 3], 5)
    [-2, -2]
    """
    few = [n for n in counts if 0 < n < least]
    if not few:
        return list(counts)
    others = sorted(n for n in counts if n >= least)
    for n_withheld in range(1, len(others) + 1):
        withheld, next_one = others[:n_withheld], others[n_withheld : n_withheld + 1]
        if _is_open(few, withheld, least, max(next_one, default=math.inf)):
            return _marked(counts, withheld, least)
    return [WITHHELD] * len(counts)


def _is_open(
    few: Sequence[int], withheld: Sequence[int], least: int, next_one: float
) -> bool:
    """Return whether each small count may be any, by the sum and what else is known.

    Of the others it is known that they are not small, and smaller than the next one,
    or as large and before it.
    """
    total = sum(few) + sum(withheld)
    fewest_beside = len(few) - 1 + least * len(withheld)
    most_beside = (least - 1) * (len(few) - 1) + (next_one - 1) * len(withheld)
    return total - fewest_beside >= least - 1 and total - most_beside <= 1


def _marked(counts: Sequence[int], withheld: Sequence[int], least: int) -> list[int]:
    """Return counts where the small ones and the first of the withheld are hidden."""
    left, shown = list(withheld), []
    for n in counts:
        if 0 < n < least:
            shown.append(FEWER)
        elif n in left:
            left.remove(n)
            shown.append(WITHHELD)
        else:
            shown.append(n)
    return shown
