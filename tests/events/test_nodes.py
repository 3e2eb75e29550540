from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.errors import PlanError
from dssfn.events import NodeModel
from dssfn.events.nodes import computing_seconds

absences = st.lists(st.integers(0, 40), unique=True, max_size=8).map(
    lambda times: tuple(
        (float(a), float(b))
        for a, b in zip(sorted(times)[::2], sorted(times)[1::2], strict=False)
    )
)


def worked(node, start, end, step=0.125):
    """Seconds between two times at which a node is there, by counting."""
    n = round((end - start) / step)
    return step * sum(node.is_present(start + k * step) for k in range(n))


@given(absences, st.integers(0, 50), st.integers(1, 40), st.sampled_from([1.0, 2.0]))
def test_a_node_computes_only_while_it_is_there(away, start, seconds, slowness):
    node = NodeModel(slowness=slowness, away=away)
    end = node.finish(start, seconds)
    assert worked(node, start, end) == seconds * slowness


@given(absences, st.integers(0, 50), st.integers(0, 50))
def test_a_node_that_is_gone_never_finishes_nor_comes_back(away, gone, start):
    node = NodeModel(away=away, gone=gone)
    for now in range(gone, 60):
        assert node.next_present(now) == math.inf
    assert node.finish(start, 60) == math.inf


@given(absences, st.integers(0, 50))
def test_a_node_is_back_when_its_absence_ends(away, now):
    node = NodeModel(away=away)
    back = node.next_present(now)
    assert node.is_present(back)
    assert worked(node, now, back) == 0


def test_a_node_works_longer_on_more_samples_and_more_numbers():
    assert computing_seconds(100, 10, 1.0) == 100 * (10 + 10)
    assert computing_seconds(0, 10, 1.0) == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"slowness": 0.0}, "`slowness` must be positive"),
        ({"gone": -1.0}, "`gone` must not be negative"),
        ({"away": ((2.0, 1.0),)}, "`away` must hold intervals"),
        ({"away": ((0.0, 2.0), (1.0, 3.0))}, "`away` must hold intervals"),
        ({"away": ((0.0, math.inf),)}, "`away` must hold intervals"),
    ],
)
def test_what_no_node_can_be_is_refused(settings, message):
    with pytest.raises(PlanError, match=message):
        NodeModel(**settings)
