"""Lanes take items in turn, in order, and stop when one of them fails."""

from __future__ import annotations

import threading
import time

import pytest

from dssfn.lanes import Lanes


@pytest.fixture(params=[(1, 0), (2, 0), (3, 2)], ids=str)
def lanes(request):
    n, waiting = request.param
    made = Lanes(n, waiting=waiting)
    yield made
    made.close()


def test_results_come_in_the_order_of_the_items(lanes):
    def work(lane, item):
        time.sleep(0.01 if item % 3 == 0 else 0.0)
        return lane, item

    found = list(lanes.map(work, range(20)))
    assert found == [(k % lanes.n, k) for k in range(20)]
    assert list(lanes.map(work, [])) == []


def test_what_belongs_to_a_lane_is_used_by_one_thread_at_a_time(lanes):
    used = [threading.Lock() for _ in range(lanes.n)]

    def work(lane, item):
        assert used[lane].acquire(blocking=False)
        time.sleep(0.002)
        used[lane].release()

    assert len(list(lanes.map(work, range(30)))) == 30


def test_few_items_are_taken_in_advance(lanes):
    taken = []

    def items():
        for k in range(100):
            taken.append(k)
            yield k

    results = lanes.map(lambda lane, item: item, items())
    assert next(results) == 0
    assert len(taken) <= lanes.n * 3 + 1
    results.close()
    assert len(taken) < 100


def test_an_error_is_raised_and_the_lanes_still_work(lanes):
    def work(lane, item):
        if item == 4:
            raise ValueError("item 4")
        return item

    with pytest.raises(ValueError, match="item 4"):
        list(lanes.map(work, range(50)))
    assert list(lanes.map(work, range(3))) == [0, 1, 2]
