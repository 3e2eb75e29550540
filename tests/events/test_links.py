"""Links against closed forms. Random shares are held to five standard deviations."""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.errors import PlanError
from dssfn.events import (
    Bursts,
    Constant,
    Exponential,
    Independent,
    LinkModel,
    Lognormal,
    Uniform,
)
from dssfn.events.links import Channel
from tests.support.strategies import seeds

N = 40_000


def channel(model, seed=0):
    return Channel.of(model, seed, 0, 1)


def lost(loss, n, seed=0):
    """Which of n letters a link loses."""
    link = channel(LinkModel(loss=loss), seed)
    return np.array([not link.carry(0.0, 1) for _ in range(n)])


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
def test_independent_losses_have_their_share(p):
    share = lost(Independent(p), N).mean()
    assert abs(share - p) <= 5 * math.sqrt(p * (1 - p) / N)


@pytest.mark.parametrize(("p", "length"), [(0.3, 5.0), (0.5, 1.0), (0.1, 2.0)])
def test_bursts_have_their_share_and_their_length(p, length):
    found = lost(Bursts(p, length), N)
    runs = [(is_lost, len(list(run))) for is_lost, run in groupby(found)]
    bursts = [n for is_lost, n in runs if is_lost]
    # A burst is geometric; the share varies more than that of independent losses by
    # (1 + r) / (1 - r), r the correlation of neighbours in the chain.
    model = Bursts(p, length)
    r = 1 - model.recovering - model.falling_ill
    spread = math.sqrt(p * (1 - p) / N * (1 + r) / (1 - r))
    assert abs(found.mean() - p) <= 5 * spread
    deviation = math.sqrt(length * (length - 1) / len(bursts))
    assert abs(np.mean(bursts) - length) <= 5 * deviation


@given(st.floats(0, 0.9), st.floats(0, 10))
def test_the_chain_of_bursts_is_in_balance(p, more):
    bursts = Bursts(p, max(1.0, p / (1 - p)) * (1 + more))
    assert 0 <= bursts.falling_ill <= 1 + 1e-12
    flow = (1 - p) * bursts.falling_ill
    assert flow == pytest.approx(p * bursts.recovering)


@pytest.mark.parametrize(
    "delay",
    [Constant(0.5), Uniform(0.2, 0.8), Exponential(2.0), Lognormal(0.02, 0.5)],
)
def test_half_of_all_delays_exceed_the_median(delay):
    link = channel(LinkModel(delay=delay))
    delays = np.array([link.carry(10.0, 1)[0] - 10.0 for _ in range(N)])
    if isinstance(delay, Constant):
        assert np.ptp(delays) == 0
        assert delays[0] == delay.median
        return
    assert abs((delays > delay.median).mean() - 0.5) <= 5 * math.sqrt(0.25 / N)
    assert delays.min() >= 0


def test_lognormal_delays_have_their_sigma():
    link = channel(LinkModel(delay=Lognormal(0.02, 0.7)))
    logs = np.log([link.carry(0.0, 1)[0] for _ in range(N)])
    assert abs(logs.std() - 0.7) <= 5 * 0.7 / math.sqrt(2 * N)


@given(seeds)
@settings(max_examples=20)
def test_letters_overtake_each_other_unless_order_is_kept(seed):
    for keeps_order in (False, True):
        model = LinkModel(delay=Exponential(1.0), keeps_order=keeps_order)
        link = channel(model, seed)
        arrivals = [link.carry(0.1 * k, 1)[0] for k in range(100)]
        assert (arrivals == sorted(arrivals)) == keeps_order


def test_letters_come_twice_with_their_probability():
    link = channel(LinkModel(duplicate=0.2))
    copies = np.array([len(link.carry(0.0, 1)) for _ in range(N)])
    assert set(copies) == {1, 2}
    assert abs((copies == 2).mean() - 0.2) <= 5 * math.sqrt(0.2 * 0.8 / N)


@given(
    st.lists(st.tuples(st.floats(0, 5), st.integers(1, 10**6)), min_size=1, max_size=30)
)
def test_letters_leave_one_after_the_other_as_fast_as_the_bandwidth_allows(sizes):
    rate, now, free = 1e6, 0.0, 0.0
    link = channel(LinkModel(bandwidth=rate, delay=Constant(0.25)))
    for pause, n_bytes in sizes:
        now += pause
        free = max(now, free) + 8 * n_bytes / rate
        assert link.carry(now, n_bytes) == [free + 0.25]


def test_lost_letters_take_their_time_as_well():
    link = channel(LinkModel(loss=Independent(0.5), bandwidth=8.0))
    sent = [link.carry(0.0, 10) for _ in range(100)]
    came = {k: arrivals for k, arrivals in enumerate(sent) if arrivals}
    assert 0 < len(came) < 100
    assert came == {k: [10.0 * (k + 1)] for k in came}


def test_every_arc_has_its_own_luck_which_the_seed_decides():
    def luck(seed, sender, receiver):
        model = LinkModel(delay=Exponential(1.0))
        return Channel.of(model, seed, sender, receiver).carry(0.0, 1)

    assert luck(1, 2, 3) == luck(1, 2, 3)
    others = [luck(1, 3, 2), luck(2, 2, 3), luck(1, 2, 4)]
    assert luck(1, 2, 3) not in others


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Independent(1.5), "`loss` must lie in 0..1, got 1.5"),
        (lambda: Bursts(0.9, 5.0), "`burst` must be at least 9 messages"),
        (lambda: Bursts(0.3, 0.5), "`burst` must be at least 1 messages"),
        (lambda: LinkModel(duplicate=-1), "`duplicate` must lie in"),
        (lambda: LinkModel(bandwidth=0), "`bandwidth` must be a positive"),
        (lambda: Exponential(-1.0), "`delay`: its mean must be finite"),
        (lambda: Lognormal(1.0, math.nan), "`delay`: its sigma must be finite"),
        (lambda: Uniform(2.0, 1.0), "`delay` must end no earlier than it begins"),
    ],
)
def test_what_no_link_can_be_is_refused(make, message):
    with pytest.raises(PlanError, match=message):
        make()
