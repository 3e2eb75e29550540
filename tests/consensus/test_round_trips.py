from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.consensus.round_trips import (
    FIRST_TIMEOUT,
    GRANULARITY,
    LONGEST_TIMEOUT,
    RoundTrips,
)

SHORT = 100


def learned(samples, n_bytes=SHORT):
    times = RoundTrips()
    for seconds in samples:
        times.learn(n_bytes, seconds)
    return times


@given(st.floats(1e-3, 5))
def test_the_timeout_of_a_steady_neighbour_falls_to_its_round_trip(seconds):
    times = learned([seconds] * 60)
    # 0.75^60 of the first deviation, seconds / 2, is left: less than 1e-7 of it.
    expected = seconds + GRANULARITY
    assert times.timeout(SHORT) == pytest.approx(expected, rel=1e-6)


def test_few_round_trips_exceed_the_timeout_even_if_some_are_long():
    samples = np.random.default_rng(0).lognormal(np.log(0.04), 0.4, size=4000)
    times, n_late = RoundTrips(), 0
    for seconds in samples:
        n_late += bool(times.estimates) and seconds > times.timeout(SHORT)
        times.learn(SHORT, seconds)
    # Above exp(2 x 0.4) medians, about where mean and four deviations are, lie 2.3 %.
    assert n_late < 0.03 * len(samples)


def test_the_timeout_doubles_every_time_up_to_a_bound():
    times = learned([1.0])
    waits = [times.timeout(SHORT, n_before) for n_before in range(40)]
    assert waits[:5] == [3.0, 6.0, 12.0, 24.0, 48.0]
    assert set(waits[5:]) == {48.0}
    assert learned([10.0]).timeout(SHORT, 9) == LONGEST_TIMEOUT
    assert learned([100.0]).timeout(SHORT, 9) == 300.0  # no less than it takes


def test_nothing_is_known_of_a_new_neighbour():
    assert RoundTrips().timeout(0) == FIRST_TIMEOUT


def test_long_letters_do_not_make_short_ones_wait():
    times = learned([0.1] * 60)
    times.learn(10**6, 5.0)
    assert times.timeout(SHORT) < 0.11
    assert times.timeout(10**6) > 5.0
    assert times.timeout(10**5) < 2.0


def test_letters_of_a_new_length_are_given_the_time_that_a_slow_link_takes():
    times, seconds_per_byte = RoundTrips(), 8 / 50e3  # a link of 50 kbit/s
    for n_bytes in (100, 20_000):
        times.learn(n_bytes, 0.04 + n_bytes * seconds_per_byte)
    assert times.timeout(10**6) > 0.04 + 10**6 * seconds_per_byte
