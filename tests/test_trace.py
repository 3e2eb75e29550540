from __future__ import annotations

from dssfn.trace import Event, Trace, read_trace, write_trace

EVENTS = [
    Event(0.0, "computing", 3),
    Event(0.1, "sent", 3, 4, 0, -1, 800, is_letter=True),
    Event(1 / 3, "lost", 3, 4, 0, -1, 800, is_letter=True),
]


def test_a_trace_comes_back_from_its_file(tmp_path):
    trace = Trace(events=list(EVENTS))
    write_trace(trace, tmp_path / "trace.jsonl")
    assert read_trace(tmp_path / "trace.jsonl") == EVENTS


def test_a_trace_may_leave_out_what_is_sent():
    trace = Trace(keeps_posts=False)
    for event in EVENTS:
        trace.note(event)
    assert list(trace) == EVENTS[:1]
    assert len(trace) == 1
