"""How often something may happen: a budget for actions, a tally for log lines."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Budget:
    """A limit: so many at once, and one more for every period that passes.

    Parameters
    ----------
    burst : int
        How many may happen at once.
    period : float
        Seconds until one more may.

    Examples
    --------
    >>> budget = Budget(burst=2, period=10.0)
    >>> [budget.spend(now) for now in (0.0, 0.0, 0.0, 10.0, 10.0)]
    [True, True, False, True, False]
    """

    burst: int
    period: float
    _left: float = field(init=False)
    _at: float = field(init=False, default=-1e300)

    def __post_init__(self) -> None:
        self._left = self.burst

    def spend(self, now: float) -> bool:
        """Take one, if there is one left, and return whether there was."""
        self._gain(now)
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def charge(self, now: float) -> float:
        """Take one in any case, and return the seconds after which it is paid for."""
        self._gain(now)
        self._left -= 1
        return max(0.0, -self._left) * self.period

    def _gain(self, now: float) -> None:
        gained = max(0.0, now - self._at) / self.period
        self._left = min(float(self.burst), self._left + gained)
        self._at = now


class Tally:
    """A log in which the same thing is said a few times, and then only counted.

    Parameters
    ----------
    log : logging.Logger
        Where lines are written.
    period : float
        Seconds after which a thing may be said again, with how often it happened.
    burst : int
        How often it is said within one period.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(
        self,
        log: logging.Logger,
        *,
        period: float,
        burst: int = 4,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log, self._period, self._burst = log, period, burst
        self._clock = clock
        self._budgets: dict[Hashable, Budget] = {}
        self._unsaid: dict[Hashable, int] = {}

    def note(
        self, what: Hashable, level: int, text: str, *, peer: str | None = None
    ) -> None:
        """Log a line, or only count it if `what` was logged often enough of late.

        There must be few values of `what`: kinds of events and names of neighbours,
        never what a stranger sends. `peer` is the neighbour that the line is about.
        """
        period = self._period / self._burst
        budget = self._budgets.setdefault(what, Budget(self._burst, period))
        if not budget.spend(self._clock()):
            self._unsaid[what] = self._unsaid.get(what, 0) + 1
            return
        unsaid = self._unsaid.pop(what, 0)
        more = f" (and {unsaid} more like this that were not logged)" if unsaid else ""
        self._log.log(level, "%s%s", text, more, extra={"peer": peer})
