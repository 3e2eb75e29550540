"""Where the nodes of a graph and their names are drawn, so that nothing touches.

How this works. Nodes that would touch are put on a circle. A name may stand on any of
four sides of its node, best on the side away from the middle, where it crosses as few
links as it can. If a name has no free side there are none at all: all or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from dssfn.report.layout import Points, circle, positions
from dssfn.report.status.sketch import WIDTH

MARGIN = 26.0  # around the outermost nodes
LETTER, LINE = 6.2, 13.0  # width of a letter and height of a line at its size
GAP = 2.0  # between the outlines of two nodes
MOST_NAMED = 24  # nodes

Box: TypeAlias = tuple[float, float, float, float]
Label: TypeAlias = tuple[float, float, str]
"""Where a name begins, ends or has its middle, and which of these."""


class Places(NamedTuple):
    """Where a graph is drawn.

    Parameters
    ----------
    points : array of shape (M, 2)
        The middle of every node.
    height, radius : float
        The height of the figure, and the radius of all nodes.
    labels : tuple
        Where the names are; empty if there is no room for all of them.
    """

    points: Points
    height: float
    radius: float
    labels: tuple[Label, ...]


@lru_cache(maxsize=4)  # a page is drawn again and again
def places_of(
    names: tuple[str, ...], edges: tuple[tuple[int, int], ...], kind: str
) -> Places:
    """Return where the nodes of a graph are drawn.

    Parameters
    ----------
    names : tuple of str
        The names of the nodes.
    edges : tuple of pairs of int
        The links.
    kind : str
        The kind of the graph.
    """
    n_nodes = len(names)
    points, height = _scaled(positions(n_nodes, edges, kind))
    if _closest(points) < 2 * _wanted(n_nodes) + GAP:
        points, height = _scaled(circle(n_nodes))
    radius = min(_wanted(n_nodes), (_closest(points) - GAP) / 2)
    labels: tuple[Label, ...] = ()
    if n_nodes <= MOST_NAMED:
        labels = tuple(_labels(names, points, radius, height, edges))
    return Places(points, height, radius, labels)


def _wanted(n_nodes: int) -> float:
    return 13.0 if n_nodes <= 12 else 10.0 if n_nodes <= 25 else 8.0


def _scaled(points: Points) -> tuple[Points, float]:
    """Return points within a figure, which is less tall for few nodes."""
    low, high = points.min(axis=0), points.max(axis=0)
    tall = min(150.0 + 16.0 * len(points), WIDTH)
    room = np.array([WIDTH, tall]) - 2 * MARGIN
    scale = float((room / np.maximum(high - low, 1e-9)).min())
    if len(points) == 1:
        scale = 0.0
    across = WIDTH / 2 + scale * (points[:, 0] - (low[0] + high[0]) / 2)
    down = MARGIN + scale * (high[1] - points[:, 1])
    return np.column_stack([across, down]), 2 * MARGIN + scale * float(high[1] - low[1])


def _closest(points: Points) -> float:
    if len(points) < 2:
        return float(WIDTH)
    gaps = points[:, None] - points[None]
    distances = np.sqrt((gaps**2).sum(axis=2)) + 1e9 * np.eye(len(points))
    return float(distances.min())


def _labels(
    names: Sequence[str],
    points: Points,
    radius: float,
    height: float,
    edges: Sequence[tuple[int, int]],
) -> list[Label]:
    """Return a place for every name; nothing if one of them has none."""
    taken = [(x - radius, y - radius, x + radius, y + radius) for x, y in points]
    along = np.linspace(0, 1, 25)[:, None, None]
    ends = points[np.array(edges, dtype=np.intp).reshape(-1, 2)]
    on_links = (ends[:, 0] + along * (ends[:, 1] - ends[:, 0])).reshape(-1, 2)
    found = []
    for name, point in zip(names, points, strict=True):
        free = [
            (label, box)
            for label, box in _sides(LETTER * len(name), point, radius, height)
            if _is_inside(box, height) and not any(_touch(box, one) for one in taken)
        ]
        if not free:
            return []
        label, box = min(free, key=lambda one: _crossed(one[1], on_links))
        taken.append(box)
        found.append(label)
    return found


def _sides(
    long: float, point: Points, radius: float, height: float
) -> Iterator[tuple[Label, Box]]:
    """Yield the places of a name, the side away from the middle first."""
    x, y = float(point[0]), float(point[1])
    away = radius + 5
    right = (x + away, y + 4, ""), (x + away, y - 6, x + away + long, y + 7)
    left = (x - away, y + 4, "end"), (x - away - long, y - 6, x - away, y + 7)
    base = y + radius + LINE - 1
    low = (x, base, "middle"), (x - long / 2, base - 10, x + long / 2, base + 3)
    base = y - radius - 5
    high = (x, base, "middle"), (x - long / 2, base - 10, x + long / 2, base + 3)
    beside = (right, left) if x > WIDTH / 2 else (left, right)
    above = (low, high) if y > height / 2 - 1 else (high, low)
    is_aside = abs(x - WIDTH / 2) > abs(y - height / 2)
    yield from (*beside, *above) if is_aside else (*above, *beside)


def _is_inside(box: Box, height: float) -> bool:
    return box[0] >= 0 and box[1] >= 0 and box[2] <= WIDTH and box[3] <= height


def _touch(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _crossed(box: Box, on_links: Points) -> int:
    """Return how many points of links a box covers."""
    inside = (on_links > box[:2]) & (on_links < box[2:])
    return int(inside.all(axis=1).sum())
