"""The graph of all nodes: who is here, who is late or gone, who waits for whom.

What is known of a node is told by fill and outline, not by colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dssfn.report.html import text
from dssfn.report.numbers import plural
from dssfn.report.status.looks import LOOKS
from dssfn.report.status.places import Places, places_of
from dssfn.report.status.sketch import Point, Sketch, line, word
from dssfn.status import NodeStatus, State, Status

MOST_DRAWN, MOST_NUMBERED = 150, 50  # nodes


def draw_graph(status: Status) -> Sketch | None:
    """Draw nodes and links; nothing if there are too many to tell apart.

    Nodes have their names beside them where all of these fit, and else their numbers
    in the plan.
    """
    nodes = status.nodes
    if len(nodes) > MOST_DRAWN:
        return None
    at = _places(status)
    thin = " thin" * (len(status.edges) > 120)
    parts = [line(at.points[i], at.points[j], f"edge{thin}") for i, j in status.edges]
    parts += _waits(nodes, at)
    is_numbered = uses_numbers(status)
    for number, node in enumerate(nodes):
        told = f"<title>{text(f'{node.name}: {LOOKS[node.state].words}')}</title>"
        inner = str(number) if is_numbered else ""
        parts.append(_mark(node.state, at.points[number], at.radius, inner, told))
    for node, (x, y, anchor) in zip(nodes, at.labels, strict=False):
        parts.append(word(x, y, node.name, f"name {anchor}"))
    return Sketch("graph", _label(status), "".join(parts), at.height)


def _places(status: Status) -> Places:
    names = tuple(node.name for node in status.nodes)
    return places_of(names, status.edges, status.graph)


def uses_numbers(status: Status) -> bool:
    """Return whether the graph shows numbers of nodes, which a table must explain."""
    return len(status.nodes) <= MOST_NUMBERED and not _places(status).labels


def legend(status: Status) -> str:
    """Return the states that nodes are in, each with its mark and their number."""
    nodes, items = status.nodes, []
    inner = " " * uses_numbers(status)
    for state, look in LOOKS.items():
        found = sum(node.state is state for node in nodes)
        if found:
            mark = _mark(state, (9, 9), 7, inner)
            svg = f'<svg viewBox="0 0 18 18" aria-hidden="true">{mark}</svg>'
            words = look.words if state is State.THIS else f"{look.words} ({found})"
            items.append(f"<li>{svg}{text(words)}</li>")
    if any(node.waits_for for node in nodes):
        arrow = _arrow((1.0, 9.0), (17.0, 9.0))
        svg = f'<svg viewBox="0 0 18 18" aria-hidden="true">{arrow}</svg>'
        items.append(f"<li>{svg}waits for</li>")
    return f'<ul class="legend">{"".join(items)}</ul>'


def _mark(
    state: State, middle: Point, radius: float, inner: str = "", title: str = ""
) -> str:
    x, y = float(middle[0]), float(middle[1])
    parts = [title, f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>']
    if inner:  # a number, which nothing may cross out
        parts.append(word(x, y + 3.7, inner, "inner"))
    elif state is State.GONE:
        arm = 0.45 * radius
        parts.append(line((x - arm, y - arm), (x + arm, y + arm), "cross"))
        parts.append(line((x - arm, y + arm), (x + arm, y - arm), "cross"))
    return f'<g class="node {LOOKS[state].kind}">{"".join(parts)}</g>'


def _waits(nodes: Sequence[NodeStatus], at: Places) -> list[str]:
    """Return an arrow from everybody who waits to whom it waits for."""
    places = {node.name: point for node, point in zip(nodes, at.points, strict=True)}
    parts = []
    for node in nodes:
        for other in node.waits_for:
            if other in places and other != node.name:
                a, b = places[node.name], places[other]
                ahead = (b - a) / max(float(np.hypot(*(b - a))), 1e-9)
                start, end = a + at.radius * ahead, b - (at.radius + 2) * ahead
                parts.append(_arrow(start, end))
    return parts


def _arrow(start: Point, end: Point) -> str:
    a, b = np.asarray(start), np.asarray(end)
    ahead = (b - a) / max(float(np.hypot(*(b - a))), 1e-9)
    aside, foot = np.array([-ahead[1], ahead[0]]), b - 7 * ahead
    corners = (b, foot + 4 * aside, foot - 4 * aside)
    shape = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return line(a, foot, "waits") + f'<polygon points="{shape}" class="head"/>'


def _label(status: Status) -> str:
    counts = [
        f"{look.words} {sum(node.state is state for node in status.nodes)}"
        for state, look in LOOKS.items()
        if any(node.state is state for node in status.nodes)
    ]
    drawn = f"{plural(len(status.nodes), 'node')}, {plural(len(status.edges), 'link')}"
    return f"Graph: {drawn}; {', '.join(counts)}."
