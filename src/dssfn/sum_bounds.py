"""What sums over samples can be, so that a node which sends other sums is found out.

A message of integers says what bounds its sums have. They hold for the samples of one
node, of some nodes and of all alike: whoever receives sums tells how much the samples
behind them weigh, which without weights is how many they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dssfn._typing import Integers


class SumBounds(Protocol):
    """What the sums of a message can be."""

    def fault(self, sums: Integers, weight: float) -> str | None:
        """Return what no samples give; None if there is nothing wrong.

        Parameters
        ----------
        sums : int64 array
            The sums of one node, or of several that were added up.
        weight : float
            How much the samples of these nodes weigh; infinity if that is not known.
        """


@dataclass(frozen=True, slots=True)
class CountBounds:
    """Counts: none is negative, nor larger than any may be.

    Parameters
    ----------
    most : int, optional
        The largest count of all nodes' samples; by default the first count, which is
        that of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> CountBounds(5).fault(np.array([0, 5]), 9.0)
    >>> CountBounds().fault(np.array([3, 2, 5]), 9.0)
    'a count of 5 is above 3'
    """

    most: int | None = None

    def fault(self, sums: Integers, weight: float) -> str | None:
        """Return what is wrong with counts; None if nothing is."""
        lowest, highest = int(sums.min(initial=0)), int(sums.max(initial=0))
        most = int(sums[0]) if self.most is None else self.most
        if lowest < 0:
            return f"a count is negative, {lowest}"
        return f"a count of {highest} is above {most}" if highest > most else None


@dataclass(frozen=True, slots=True)
class JoinedBounds:
    """The bounds of sums that follow each other in one message.

    Parameters
    ----------
    parts : sequence of tuples
        How many sums there are, and their bounds, if they have some.
    """

    parts: Sequence[tuple[int, SumBounds | None]]

    def fault(self, sums: Integers, weight: float) -> str | None:
        """Return what is wrong with the first part that is; None if none is."""
        flat, at = sums.ravel(), 0
        for size, bounds in self.parts:
            part, at = flat[at : at + size], at + size
            if bounds is not None and (fault := bounds.fault(part, weight)):
                return fault
        return None


def repeated(bounds: SumBounds | None, size: int, times: int) -> SumBounds | None:
    """Return the bounds of as many sums of one kind, `size` of them each time."""
    return None if bounds is None else JoinedBounds([(size, bounds)] * times)
