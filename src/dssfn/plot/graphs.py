"""Graphs, with what their nodes hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dssfn.plot.reading import DrawnGraph
from dssfn.plot.surroundings import SEVERAL, axes_or_new, palette_of
from dssfn.report.canvas import SMALL, Axes, Circle, Patch, Wedge, colormaps, to_hex
from dssfn.report.layout import Points, positions
from dssfn.report.numbers import clean, plural
from dssfn.report.on_axes import PAPER, Palette, draw_links

LARGEST, SMALLEST = 0.17, 0.02  # radius of a node; all of them lie in the unit circle
SHARE = 0.36  # of the distance to the next node that a radius takes
MOST_NUMBERED = 32  # nodes with a number in them
MOST_SAID = 3  # classes that are named beside a node
HOLE = 0.52  # radius of what is free for a number within a ring of classes
LONGEST = 18  # letters of a name
LINE = 0.11  # about the height of a line of text in a figure of usual size


def draw_topology(graph: DrawnGraph, ax: Axes | None) -> Axes:
    """Draw links, nodes, and what is said of them."""
    axes = axes_or_new(ax, 5.0, 4.6)
    palette, topology = palette_of(axes), graph.topology
    points = positions(topology.n_nodes, topology.edges(), topology.name)
    draw_links(axes, points, topology.edges(), palette)
    radii = _radii(graph, _radius(points))
    colours = _colours(len(graph.classes), palette)
    for node, point in enumerate(points):
        _draw_node(axes, graph, node, point, radii[node], colours, palette)
    said = [_said(graph, node) for node in range(len(points))]
    _frame(axes, points, radii, max(len(text.splitlines()) for text in said))
    for node, text in enumerate(said):
        if text:
            side = _free_side(points, node, topology.neighbours(node))
            _write(axes, points[node], radii[node], side, text, palette)
    if graph.classes and not _says_classes(graph):
        _name_classes(axes, graph.classes, colours)
    return axes


def _radius(points: Points) -> float:
    """Return a radius with which nodes do not touch."""
    if len(points) == 1:
        return LARGEST
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)
    closest = gaps[~np.eye(len(points), dtype=bool)].min()
    return float(np.clip(SHARE * closest, SMALLEST, LARGEST))


def _radii(graph: DrawnGraph, radius: float) -> list[float]:
    """Return the radius of every node; areas follow samples if these are shown."""
    n_nodes = graph.topology.n_nodes
    if graph.counts is None or graph.classes:
        return [radius] * n_nodes
    totals = graph.counts.sum(axis=1)
    shares = np.sqrt(totals / totals.max())
    radii: list[float] = (radius * np.maximum(shares, 0.3)).tolist()
    return radii


def _colours(n_classes: int, palette: Palette) -> list[str]:
    if n_classes <= len(SEVERAL):
        return list(SEVERAL[:n_classes])
    # In order of brightness for every kind of eye, without the background's end.
    low, high = (0.0, 0.88) if palette == PAPER else (0.22, 1.0)
    shades = colormaps["viridis"](np.linspace(low, high, n_classes))
    return [to_hex(shade) for shade in shades]


def _draw_node(
    axes: Axes,
    graph: DrawnGraph,
    node: int,
    point: Points,
    radius: float,
    colours: Sequence[str],
    palette: Palette,
) -> None:
    middle = (float(point[0]), float(point[1]))
    ink = palette.surface
    fill = palette.first
    if graph.classes and graph.counts is not None:
        ends = np.cumsum(graph.counts[node]) / graph.counts[node].sum()
        starts = np.concatenate([[0.0], ends[:-1]])
        for start, end, colour in zip(starts, ends, colours, strict=True):
            if end > start:  # clockwise from the top
                angles = 90 - 360 * end, 90 - 360 * start
                wedge = Wedge(
                    middle, radius, *angles, facecolor=colour,
                    edgecolor=palette.surface, linewidth=0.8, zorder=2,
                )  # fmt: skip
                axes.add_patch(wedge)
        ink, fill, radius = palette.ink, palette.surface, HOLE * radius
    axes.add_patch(Circle(middle, radius, facecolor=fill, linewidth=0, zorder=3))
    if graph.topology.n_nodes <= MOST_NUMBERED and not graph.names:
        axes.text(
            *middle, str(node), ha="center", va="center_baseline", size=SMALL,
            color=ink, zorder=4,
        )  # fmt: skip


def _said(graph: DrawnGraph, node: int) -> str:
    """Return what is written beside a node: its name, and what it holds."""
    lines = []
    if graph.names and graph.topology.n_nodes <= MOST_NUMBERED:
        lines.append(clean(graph.names[node], LONGEST))
    if graph.counts is not None:
        counts = graph.counts[node]
        if not graph.classes:
            lines.append(plural(int(counts.sum()), "sample"))
        elif _says_classes(graph):
            held = np.flatnonzero(counts)
            lines.append(", ".join(clean(graph.classes[k], LONGEST) for k in held))
    return "\n".join(lines)


def _says_classes(graph: DrawnGraph) -> bool:
    """Return whether classes are named beside nodes, as too many for a legend."""
    assert graph.counts is not None
    most = int(np.count_nonzero(graph.counts, axis=1).max())
    return len(graph.classes) > len(SEVERAL) and most <= MOST_SAID


def _free_side(points: Points, node: int, neighbours: Sequence[int]) -> Points:
    """Return the direction, of eight, that is far from links and from the middle."""
    angles = np.arange(8) * np.pi / 4
    sides: Points = np.column_stack([np.cos(angles), np.sin(angles)])
    ahead = points[list(neighbours)] - points[node]
    ahead /= np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-9)
    blocked = (sides @ ahead.T).max(axis=1, initial=-1.0)  # 1: right along a link
    outwards = sides @ (points[node] - points.mean(axis=0))
    best: Points = sides[int(np.argmin(np.round(blocked - 0.5 * outwards, 6)))]
    return best


def _write(
    axes: Axes, point: Points, radius: float, side: Points, text: str, palette: Palette
) -> None:
    """Write beside a node."""
    x, y = side.tolist()
    edge = float(point[0] + radius * x), float(point[1] + radius * y)
    axes.annotate(
        text, edge, (4 * x, 4 * y),
        textcoords="offset points", size=SMALL, color=palette.ink, parse_math=False,
        ha="left" if x > 0.4 else "right" if x < -0.4 else "center",
        va="bottom" if y > 0.4 else "top" if y < -0.4 else "center",
    )  # fmt: skip


def _frame(axes: Axes, points: Points, radii: Sequence[float], n_lines: int) -> None:
    """Show all nodes with the lines beside them, and nothing of the axes."""
    room = max(radii) + np.array([0.06, 0.06 + LINE * n_lines])
    (left, low), (right, high) = points.min(axis=0) - room, points.max(axis=0) + room
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _name_classes(axes: Axes, classes: Sequence[str], colours: Sequence[str]) -> None:
    patches = [
        Patch(color=colour, label=clean(name, LONGEST))
        for name, colour in zip(classes, colours, strict=True)
    ]
    axes.legend(
        handles=patches, title="class", loc="center left", bbox_to_anchor=(1.02, 0.5),
        frameon=False,
    )  # fmt: skip
