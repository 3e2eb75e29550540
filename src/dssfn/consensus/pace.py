"""How often to send over links that lose letters and never acknowledge them.

A node learns how long its letters take from what comes back: letters say which sending
of every node their sender has heard of, and how long that has been lying at nodes on
its way, so the first one that knows of mine closes a round trip, by whatever way it
came. A letter is waited for about as long as it usually takes, and no longer. On a
network that carries less, round trips grow, and so do the waits; while nothing comes
back at all, they grow as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# Waiting for most of a round trip lets the letters of nearly all neighbours in, which
# each made one way.
WAIT = 0.75
LEAST = 0.25  # of a round trip lies between two sendings, whatever comes
SMOOTHING = 0.125  # the weight of a new round trip, as in TCP
IN_VAIN = 4  # sendings without an echo, or a change, after which waits double
SLOWEST = 8.0  # nothing is waited for longer than this many usual periods


@dataclass(slots=True)
class Pace:
    """One node's waits between its sendings.

    Parameters
    ----------
    trip : float
        Seconds of a round trip, smoothed; at first, what is assumed.

    Examples
    --------
    >>> pace = Pace(1.0)
    >>> [pace.sent(0.0, 1), pace.sent(0.75, 2)]
    [0.75, 0.75]
    >>> pace.heard(4.0, 1, held=1.0)  # of my first sending, after three seconds
    >>> pace.trip
    1.25
    """

    trip: float
    _n_unchanged: int = 0  # sendings since something has changed
    _sent_at: dict[int, float] = field(default_factory=dict)  # unheard sendings

    def sent(self, now: float, number: int, *, has_changed: bool = True) -> float:
        """Take note of this node's sending of a number, and return how long to wait.

        What it knows may have changed since the sending before, or not.
        """
        self._sent_at[number] = now
        self._n_unchanged = 0 if has_changed else self._n_unchanged + 1
        n_in_vain = max(len(self._sent_at), self._n_unchanged)
        return self.usual * min(2.0 ** min(n_in_vain // IN_VAIN, 10), SLOWEST)

    @property
    def usual(self) -> float:
        """The seconds between two sendings while letters come."""
        return WAIT * self.trip

    @property
    def least(self) -> float:
        """The seconds between two sendings, however much comes."""
        return LEAST * self.trip

    def heard(self, now: float, number: int, held: float) -> None:
        """Take note that somebody has heard of this node's sending of a number.

        On its way it was held by nodes for some seconds, which do not count.
        """
        sent_at = self._sent_at.get(number)
        if sent_at is None:
            return
        self.trip += SMOOTHING * (max(now - sent_at - held, 0.0) - self.trip)
        for earlier in [one for one in self._sent_at if one <= number]:
            del self._sent_at[earlier]
