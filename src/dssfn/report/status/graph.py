"""The graph of all nodes: who is here, who is late or gone, who waits for whom.

How this works. Nodes have their names beside them where all of these fit, and else
their numbers in the plan; a table has both. What is known of a node is told by fill
and outline, not by colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dssfn.report.html import text
from dssfn.report.layout import Points, circle, positions
from dssfn.report.numbers import plural
from dssfn.report.status.looks import LOOKS
from dssfn.report.status.sketch import WIDTH, Point, Sketch, line, word
from dssfn.status import NodeStatus, State, Status

MOST_DRAWN, MOST_NUMBERED = 150, 50  # nodes
MARGIN = 26.0  # around the outermost nodes
LETTER, LINE = 6.2, 13.0  # width of a letter and height of a line at its size
GAP = 2.0  # between the outlines of two nodes


def draw_graph(status: Status) -> Sketch | None:
    """Draw nodes and links; nothing if there are too many to tell apart."""
    nodes = status.nodes
    if len(nodes) > MOST_DRAWN:
        return None
    points, height = _placed(len(nodes), status.edges, status.graph)
    radius = _radius(points)
    names = _names_fit([node.name for node in nodes], points, radius, height)
    thin = " thin" * (len(status.edges) > 120)
    parts = [line(points[i], points[j], f"edge{thin}") for i, j in status.edges]
    parts += _waits(nodes, points, radius)
    for number, (node, (x, y)) in enumerate(zip(nodes, points, strict=True)):
        inner = "" if names or len(nodes) > MOST_NUMBERED else str(number)
        parts.append(_node(node, x, y, radius, inner))
        if names:
            parts.append(word(x, _below(y, radius, height), node.name, "name"))
    return Sketch("graph", _label(status), "".join(parts), height)


def uses_numbers(status: Status) -> bool:
    """Return whether the graph shows numbers of nodes, which a table must explain."""
    nodes = status.nodes
    if len(nodes) > MOST_NUMBERED:
        return False
    points, height = _placed(len(nodes), status.edges, status.graph)
    names = [node.name for node in nodes]
    return not _names_fit(names, points, _radius(points), height)


def legend(nodes: Sequence[NodeStatus]) -> str:
    """Return the states that nodes are in, each with its mark and their number."""
    items = []
    for state, look in LOOKS.items():
        found = sum(node.state is state for node in nodes)
        if found:
            mark = _mark(state, 9, 9, 7)
            svg = f'<svg viewBox="0 0 18 18" aria-hidden="true">{mark}</svg>'
            words = look.words if state is State.THIS else f"{found} {look.words}"
            items.append(f"<li>{svg}{text(words)}</li>")
    if any(node.waits_for for node in nodes):
        arrow = _arrow((1.0, 9.0), (17.0, 9.0))
        svg = f'<svg viewBox="0 0 18 18" aria-hidden="true">{arrow}</svg>'
        items.append(f"<li>{svg}waits for</li>")
    return f'<ul class="legend">{"".join(items)}</ul>'


@lru_cache(maxsize=4)
def _placed(
    n_nodes: int, edges: tuple[tuple[int, int], ...], kind: str
) -> tuple[Points, float]:
    """Return where nodes are drawn, and the height that this takes."""
    found = _scaled(positions(n_nodes, edges, kind))
    if n_nodes > 1 and _closest(found[0]) < 2 * _wanted(n_nodes) + GAP:
        found = _scaled(circle(n_nodes))
    return found


def _scaled(points: Points) -> tuple[Points, float]:
    low, high = points.min(axis=0), points.max(axis=0)
    scale = (WIDTH - 2 * MARGIN) / max(*(high - low), 1e-9)
    across = WIDTH / 2 - scale * (low[0] + high[0]) / 2 + scale * points[:, 0]
    down = MARGIN + scale * (high[1] - points[:, 1])
    height = float(2 * MARGIN + scale * (high[1] - low[1]))
    return np.column_stack([across, down]), height if len(points) > 1 else 2 * MARGIN


def _closest(points: Points) -> float:
    gaps = points[:, None] - points[None]
    distances = np.sqrt((gaps**2).sum(axis=2)) + 1e9 * np.eye(len(points))
    return float(distances.min())


def _wanted(n_nodes: int) -> float:
    return 13.0 if n_nodes <= 12 else 10.0 if n_nodes <= 25 else 8.0


def _radius(points: Points) -> float:
    if len(points) < 2:
        return _wanted(1)
    return min(_wanted(len(points)), (_closest(points) - GAP) / 2)


def _below(y: float, radius: float, height: float) -> float:
    """Return where a name goes: outside, above the upper nodes and below the others."""
    return y - radius - 4 if y < height / 2 - 1 else y + radius + LINE - 2


def _names_fit(
    names: Sequence[str], points: Points, radius: float, height: float
) -> bool:
    """Return whether all names can stand beside their nodes and touch nothing."""
    boxes = []
    for name, (x, y) in zip(names, points, strict=True):
        half, base = LETTER * len(name) / 2, _below(y, radius, height)
        if x - half < 0 or x + half > WIDTH:
            return False
        boxes.append((x - half, base - LINE + 3, x + half, base + 3))
    circles = [(x - radius, y - radius, x + radius, y + radius) for x, y in points]
    return not any(
        _overlap(box, other)
        for place, box in enumerate(boxes)
        for other in (*boxes[:place], *circles)
    )


def _overlap(a: Sequence[float], b: Sequence[float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _node(node: NodeStatus, x: float, y: float, radius: float, inner: str) -> str:
    told = f"{node.name}: {LOOKS[node.state].words}"
    return _mark(node.state, x, y, radius, inner, f"<title>{text(told)}</title>")


def _mark(
    state: State, x: float, y: float, radius: float, inner: str = "", title: str = ""
) -> str:
    parts = [title, f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>']
    if inner:
        parts.append(word(x, y + 3.7, inner, "inner"))
    elif state is State.GONE:
        arm = 0.45 * radius
        parts.append(line((x - arm, y - arm), (x + arm, y + arm), "cross"))
        parts.append(line((x - arm, y + arm), (x + arm, y - arm), "cross"))
    return f'<g class="node {LOOKS[state].kind}">{"".join(parts)}</g>'


def _waits(nodes: Sequence[NodeStatus], points: Points, radius: float) -> list[str]:
    """Return an arrow from everybody who waits to whom it waits for."""
    places = {node.name: point for node, point in zip(nodes, points, strict=True)}
    parts = []
    for node in nodes:
        for other in node.waits_for:
            if other in places and other != node.name:
                a, b = places[node.name], places[other]
                ahead = (b - a) / max(float(np.hypot(*(b - a))), 1e-9)
                start, end = a + radius * ahead, b - (radius + 2) * ahead
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
        f"{sum(node.state is state for node in status.nodes)} {look.words}"
        for state, look in LOOKS.items()
        if any(node.state is state for node in status.nodes)
    ]
    drawn = f"{plural(len(status.nodes), 'node')}, {plural(len(status.edges), 'link')}"
    return f"Graph: {drawn}; {', '.join(counts)}."
