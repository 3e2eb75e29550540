"""How long to wait for an acknowledgement before a letter is sent again.

Jacobson's and Karels' estimate, as TCP has it (RFC 6298): a smoothed round-trip time
and four times its mean deviation. A long letter takes longer than a short one, so there
is an estimate for every order of magnitude of lengths, by powers of two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

FIRST_TIMEOUT = 1.0  # seconds; RFC 6298, for a neighbour of whom nothing is known
MOST_DOUBLINGS = 4  # a letter that was lost several times waits 16 times as long
LONGEST_TIMEOUT = 60.0  # seconds that doubling leads to, at most; RFC 6298
ASSUMED_BANDWIDTH = 10e6  # bits per second, of links that may be faster or slower
GRANULARITY = 0.001  # seconds that a timeout exceeds the mean by, at least
SMOOTHING, DEVIATION_SMOOTHING, DEVIATIONS = 1 / 8, 1 / 4, 4  # RFC 6298


@dataclass(slots=True)
class Estimate:
    """The round-trip time of letters of about one length.

    Parameters
    ----------
    mean : float
        The smoothed time in seconds.
    deviation : float
        Its smoothed mean deviation.
    """

    mean: float
    deviation: float

    @classmethod
    def first(cls, seconds: float) -> Estimate:
        """Return the estimate after one round trip."""
        return cls(seconds, seconds / 2)

    def learn(self, seconds: float) -> None:
        """Take in one more round trip."""
        error = seconds - self.mean
        self.deviation += DEVIATION_SMOOTHING * (abs(error) - self.deviation)
        self.mean += SMOOTHING * error

    @property
    def timeout(self) -> float:
        """The time after which a letter is likely to be lost."""
        return self.mean + max(DEVIATIONS * self.deviation, GRANULARITY)


@dataclass(slots=True)
class RoundTrips:
    """The round-trip times to one neighbour, by the length of letters.

    Examples
    --------
    >>> times = RoundTrips()
    >>> times.timeout(1250)
    1.001
    >>> times.learn(1250, 0.1)
    >>> round(times.timeout(1250), 3), round(times.timeout(125_000), 3)
    (0.3, 0.4)
    """

    estimates: dict[int, Estimate] = field(default_factory=dict)

    def learn(self, n_bytes: int, seconds: float) -> None:
        """Take in the round trip of a letter of some length."""
        order = n_bytes.bit_length()
        if order in self.estimates:
            self.estimates[order].learn(seconds)
        else:
            self.estimates[order] = Estimate.first(seconds)

    def timeout(self, n_bytes: int, n_before: int = 0) -> float:
        """Return how long to wait for the acknowledgement of a letter.

        It doubles with every time that the letter was sent before, up to a bound: links
        that lose much are no reason to wait for ever. For a length that is new, the
        time of the nearest one is taken, and what its bytes take by what is known.
        """
        order = n_bytes.bit_length()
        timeout = FIRST_TIMEOUT
        if self.estimates:
            shorter = [known for known in self.estimates if known <= order]
            nearest = max(shorter) if shorter else min(self.estimates)
            timeout = self.estimates[nearest].timeout
        if order not in self.estimates:
            timeout += n_bytes * self._seconds_per_byte
        longer = math.ldexp(timeout, min(n_before, MOST_DOUBLINGS))
        return max(timeout, min(longer, LONGEST_TIMEOUT))

    @property
    def _seconds_per_byte(self) -> float:
        """How much longer a letter takes for each of its bytes, at most."""
        assumed = 8 / ASSUMED_BANDWIDTH
        if len(self.estimates) < 2:
            return assumed
        short, long = min(self.estimates), max(self.estimates)
        longer = self.estimates[long].mean - self.estimates[short].mean
        return max(assumed, longer / (1 << long - 1))  # the shortest of that order
