from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dssfn.report.timeline import draw_timeline, spans_of
from dssfn.trace import Event

KINDS = ["computing", "waiting", "away", "back", "finished", "gone"]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(KINDS))))
def test_spans_of_a_node_follow_each_other_and_never_overlap(told):
    events = [Event(float(k), kind, node) for k, (node, kind) in enumerate(told)]
    for node, spans in spans_of(events).items():
        times = [event.at for event in events if event.node == node]
        ends = [time for span in spans for time in span[1:]]
        assert ends == sorted(ends)
        assert set(ends) <= set(times)


def test_a_node_that_is_back_goes_on_with_what_it_did():
    told = [(0, "waiting"), (2, "away"), (5, "back"), (6, "finished")]
    events = [Event(float(at), kind, 0) for at, kind in told]
    assert spans_of(events) == {
        0: [("waiting", 0.0, 2.0), ("away", 2.0, 5.0), ("waiting", 5.0, 6.0)]
    }


def test_the_figure_tells_what_it_shows_and_is_always_the_same():
    events = [
        Event(0.0, "computing", 0),
        Event(0.0, "computing", 1),
        Event(1.0, "waiting", 0),
        Event(1.5, "lost", 0, 1, 0, -1, 80, is_letter=True),
        Event(1.6, "lost", 1, 0, 0, -1, 32, is_letter=False),
        Event(2.0, "gone", 1),
        Event(4.0, "gave-up", 0),
    ]
    drawing = draw_timeline(events)
    assert drawing.png == draw_timeline(events).png
    assert "2 nodes did in 4 seconds" in drawing.label
    assert "1 message was lost" in drawing.label
    for words in ("simulated time (seconds)", "leaves for good", "gives up", "lost"):
        assert words in drawing.svg
    assert "is away" not in drawing.svg


def test_two_hundred_nodes_make_a_figure_too():
    events = [Event(0.0, "waiting", node) for node in range(200)]
    events += [Event(1.0, "finished", node) for node in range(200)]
    assert draw_timeline(events).svg.count("<text") < 40  # not every row has its number
