"""The figure of simulated time: what every node did, and which letters were lost.

One row for every node. Letters that were lost are marks below the row of the node that
sent them; many at nearly the same time are one mark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from dssfn.report.canvas import (
    FIRST,
    GRID,
    INK,
    SECOND,
    SMALL,
    Axes,
    Drawing,
    FuncFormatter,
    MaxNLocator,
    Rectangle,
    finish,
    new_axes,
    style,
)
from dssfn.report.numbers import plural
from dssfn.trace import Event

WIDTH = 640  # points
ROW, ROW_OF_MANY, MANY = 16.0, 7.0, 40  # points, and from how many nodes on
RESOLUTION = 500  # marks in a row, at most
LOOKS = {  # colour and height of what a node does, of a row that is 1 high
    "waiting": (GRID, 0.5),
    "computing": (FIRST, 0.5),
    "away": (SECOND, 0.16),
}
BELOW = 0.42  # where lost letters are marked, under the middle of a row
ENDS = {  # mark, colour and name of how a node ends
    "finished": ("o", FIRST, "has the model"),
    "gone": ("x", SECOND, "leaves for good"),
    "gave-up": ("X", SECOND, "gives up"),
}
NAMES = {"computing": "computes", "waiting": "waits for others", "away": "is away"}


class Span(NamedTuple):
    """What a node did for a while."""

    state: str
    start: float
    end: float


def draw_timeline(events: Iterable[Event]) -> Drawing:
    """Draw what nodes did over simulated time, one row for every node."""
    events = list(events)
    spans, end = spans_of(events), max((event.at for event in events), default=0.0)
    with style():
        row = ROW if len(spans) < MANY else ROW_OF_MANY
        axes = new_axes(row * max(len(spans), 3) + 86, width=WIDTH)
        for node, done in spans.items():
            _draw_row(axes, node, done)
        n_lost = _mark_lost(axes, events, end, size=0.24 * row)
        _mark_ends(axes, events, size=5.0 if row == ROW else 3.5)
        _label(axes, len(spans), end)
        _explain(axes, {span.state for done in spans.values() for span in done})
    label = (
        f"What {len(spans)} nodes did in {end:.4g} seconds of simulated time; "
        f"{plural(n_lost, 'message was lost', 'messages were lost')}."
    )
    return finish(axes, "timeline", label)


def spans_of(events: Iterable[Event]) -> dict[int, list[Span]]:
    """Return what every node did, from start to end.

    A node that is back goes on with what it did before.

    >>> told = [(0.0, "computing"), (1.0, "away"), (3.0, "back"), (4.0, "finished")]
    >>> spans_of(Event(at, kind, 0) for at, kind in told)[0]
    [Span(state='computing', start=0.0, end=1.0), Span(state='away', start=1.0, \
end=3.0), Span(state='computing', start=3.0, end=4.0)]
    """
    spans: defaultdict[int, list[Span]] = defaultdict(list)
    since: dict[int, tuple[str, float]] = {}
    doing: dict[int, str] = {}  # apart from being away
    for event in events:
        if event.peer >= 0:
            continue
        node, kind = event.node, str(event.kind)
        state, start = since.get(node, ("", event.at))
        if state in LOOKS and event.at > start:
            spans[node].append(Span(state, start, event.at))
        spans[node] += []
        if kind in ("computing", "waiting", "finished"):
            doing[node] = kind
        since[node] = (doing.get(node, "") if kind == "back" else kind), event.at
    return dict(sorted(spans.items()))


def _draw_row(axes: Axes, node: int, done: list[Span]) -> None:
    for state, (colour, height) in LOOKS.items():
        bars = [(one.start, one.end - one.start) for one in done if one.state == state]
        # A thin edge keeps what is shorter than a dot visible.
        axes.broken_barh(
            bars, (node - height / 2, height), facecolor=colour,
            edgecolor=colour, linewidth=0.7 if state == "computing" else 0,
        )  # fmt: skip


def _mark_lost(axes: Axes, events: list[Event], end: float, size: float) -> int:
    """Mark lost letters at their senders' rows, and return how many they are."""
    lost = [event for event in events if event.kind == "lost" and event.is_letter]
    step = (end or 1.0) / RESOLUTION
    marks = sorted({(round(event.at / step) * step, event.node) for event in lost})
    axes.plot(
        [at for at, _ in marks], [node + BELOW for _, node in marks],
        linestyle="none", marker="|", markersize=size, markeredgewidth=0.8,
        color=INK, label="lost message (below its sender)", zorder=3,
    )  # fmt: skip
    return len(lost)


def _mark_ends(axes: Axes, events: list[Event], size: float) -> None:
    """Mark how every node has ended."""
    for kind, (mark, colour, name) in ENDS.items():
        found = [event for event in events if event.kind == kind]
        if found:
            axes.plot(
                [event.at for event in found], [event.node for event in found],
                linestyle="none", marker=mark, markersize=size, markeredgewidth=1.4,
                color=colour, label=name, zorder=4, clip_on=False,
            )  # fmt: skip


def _label(axes: Axes, n_nodes: int, end: float) -> None:
    axes.set_xlim(0, 1.01 * (end or 1.0))
    axes.set_ylim(n_nodes - 0.3, -0.6)
    if n_nodes < MANY:
        axes.set_yticks(range(n_nodes), map(str, range(n_nodes)), size=SMALL)
    else:
        axes.yaxis.set_major_locator(
            MaxNLocator(nbins=8, steps=[1, 2, 5, 10], integer=True)
        )
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.set_xlabel("simulated time (seconds)")
    axes.set_ylabel("node")
    axes.spines["left"].set_visible(False)


def _explain(axes: Axes, states: set[str]) -> None:
    """Put above the figure what its colours and marks mean."""
    colours = [
        Rectangle((0, 0), 1, 1, facecolor=LOOKS[state][0], label=name)
        for state, name in NAMES.items()
        if state in states
    ]
    marks, _ = axes.get_legend_handles_labels()
    axes.legend(
        handles=[*colours, *marks], loc="lower left", bbox_to_anchor=(0, 1), ncols=6,
        handlelength=1.2, borderpad=0, columnspacing=1.4, fontsize=SMALL,
    )  # fmt: skip
