import logging

from hypothesis import given
from hypothesis import strategies as st

from dssfn.transports.grpc.pace import Budget, Tally

TIMES = st.lists(st.floats(0, 5), min_size=1, max_size=200)


@given(TIMES, st.integers(1, 8), st.floats(0.1, 10))
def test_no_more_is_spent_than_the_burst_and_one_for_every_period(gaps, burst, period):
    budget, now, n_spent = Budget(burst, period), 0.0, 0
    for gap in gaps:
        now += gap
        n_spent += budget.spend(now)
    assert n_spent <= burst + (now - gaps[0]) / period + 1e-6


@given(TIMES, st.integers(1, 8), st.floats(0.1, 10))
def test_who_waits_as_told_does_no_more_than_the_budget_allows(gaps, burst, period):
    budget, now = Budget(burst, period), 0.0
    for n_done, gap in enumerate(gaps, start=1):
        now += gap
        now += budget.charge(now)
        assert n_done <= burst + (now - gaps[0]) / period + 1e-6


def test_the_same_line_is_said_a_few_times_and_then_counted(caplog):
    now = [0.0]
    log = logging.getLogger("dssfn.test")
    tally = Tally(log, period=10.0, burst=2, clock=lambda: now[0])
    for _ in range(50):
        tally.note("this", logging.WARNING, "this happened")
        tally.note("that", logging.WARNING, "that happened")
    assert caplog.messages == ["this happened", "that happened"] * 2
    now[0] = 5.0
    tally.note("this", logging.WARNING, "this happened")
    (said,) = caplog.messages[4:]
    assert said == "this happened (and 48 more like this that were not logged)"
