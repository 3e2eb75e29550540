"""The figures of a training's report, drawn from its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dssfn.report.canvas import (
    FIRST,
    INK,
    MUTED,
    QUIET,
    SMALL,
    SURFACE,
    Axes,
    Drawing,
    FuncFormatter,
    LogLocator,
    bare,
    finish,
    new_axes,
    power_or_number,
    style,
)
from dssfn.report.layout import positions
from dssfn.report.numbers import (
    clean,
    count,
    plural,
    size,
    small,
    unit_of,
)
from dssfn.report.on_axes import draw_bars, draw_links
from dssfn.report.training.calibration import draw_calibration
from dssfn.report.training.curves import draw_accuracy, draw_cost, draw_error
from dssfn.report.training.matrices import draw_confusion, draw_held
from dssfn.results import Result

LARGEST_DRAWN = 400  # nodes
LARGEST_NUMBERED = 32
MOST_NAMED = 12
LONGEST_NAMED = 14  # letters
ONE_ROUNDING = 2.2e-16  # of a double


def draw_all(result: Result) -> dict[str, Drawing]:
    """Draw every figure that the result has the numbers for, by name."""
    drawn = {}
    with style():
        for draw in _DRAWERS:
            drawing = draw(result)
            if drawing is not None:
                drawn[drawing.name] = drawing
    return drawn


def draw_graph(result: Result) -> Drawing | None:
    """Draw nodes and links."""
    graph, n_nodes = result.graph, result.settings.n_nodes
    edges = graph.edges if graph else None
    if graph is None or not edges or n_nodes > LARGEST_DRAWN:
        return None
    names = graph.names if _fit(graph.names, n_nodes) else ()
    points = positions(n_nodes, edges, result.settings.topology)
    (left, low), (right, high) = points.min(axis=0) - 0.13, points.max(axis=0) + 0.13
    axes = new_axes(float(np.clip(340 * (high - low) / (right - left), 60, 310)))
    bare(axes)
    axes.set_aspect("equal")
    axes.set_xlim(left, right)
    axes.set_ylim(low - 0.1 * bool(names), high)
    draw_links(axes, points, edges)
    _draw_nodes(axes, points, names)
    label = f"Graph: {plural(n_nodes, 'node')}, {plural(len(edges), 'link')}."
    return finish(axes, "graph", label)


def _fit(names: tuple[str, ...], n_nodes: int) -> bool:
    """Return whether there is a name for every node, and room for all of them."""
    is_short = all(len(name) <= LONGEST_NAMED for name in names)
    return len(names) == n_nodes <= MOST_NAMED and is_short


def _draw_nodes(axes: Axes, points: Any, names: tuple[str, ...]) -> None:
    numbered = len(points) <= LARGEST_NUMBERED
    area = 300 if len(points) <= 16 else 190 if numbered else 40
    if len(points) > 100:
        area = 14
    axes.scatter(
        points[:, 0],
        points[:, 1],
        s=area,
        color=FIRST,
        edgecolors=SURFACE,
        linewidths=1.5,
        zorder=2,
    )
    for name, point in zip(names, points, strict=False):
        axes.annotate(
            clean(name), point, (0, -12), textcoords="offset points", ha="center",
            va="top", color=INK, size=SMALL,
        )  # fmt: skip
    numbered = numbered and not names
    for node, (x, y) in enumerate(points if numbered else ()):
        axes.text(
            x, y, str(node), color=SURFACE, size=SMALL, ha="center",
            va="center_baseline",
        )  # fmt: skip


def draw_traffic(result: Result) -> Drawing | None:
    """Draw bytes over all links, layer by layer, and before and after all layers."""
    sent = result.communication
    if sent is None:
        return None
    bars = [("start", sent.before_layers.bytes_total)]
    bars += [(str(row.layer), row.bytes_total or 0) for row in result.layers]
    bars.append(("end", sent.after_layers.bytes_total))
    bars = [one for one in bars if one[1] or one[0] not in ("start", "end")]
    names, sizes = [name for name, _ in bars], [sent for _, sent in bars]
    if not any(sizes):
        return None
    unit, step = unit_of(max(sizes))
    axes = new_axes(220)
    scaled = [value / step for value in sizes]
    draw_bars(axes, names, scaled, [size(value) for value in sizes])
    axes.set_xlabel("layer")
    axes.set_ylabel(f"{unit} over all links")
    label = f"Bytes sent by layer: {size(sum(sizes))} in all, at most "
    return finish(axes, "traffic", label + f"{size(max(sizes))} in one layer.")


def draw_averaging(result: Result) -> Drawing | None:
    """Draw the rounds of one average by scheme; the one that was used stands out."""
    schemes = result.graph.averaging if result.graph else None
    if not schemes or not any(one.rounds for one in schemes.values()):
        return None
    used, n_nodes = _scheme(result), result.settings.n_nodes
    axes = new_axes(44 * len(schemes) + 12)
    bare(axes)
    rounds = {name: one.rounds for name, one in schemes.items()}
    longest = max(rounds.values())
    for row, (name, one) in enumerate(schemes.items()):
        colour = FIRST if name == used else QUIET
        axes.barh(-row, longest, height=0.24, color=colour, alpha=0.14)
        axes.barh(-row, one.rounds, height=0.24, color=colour)
        title = f"{name} (used here)" if name == used else name
        axes.text(0, 0.22 - row, title, va="bottom", color=INK)
        told = f"{plural(one.rounds, 'round')}, "
        told += f"{count(one.messages / n_nodes)} messages a node"
        axes.text(longest, 0.22 - row, told, va="bottom", ha="right", color=MUTED)
    axes.set_xlim(0, longest)
    axes.set_ylim(0.2 - len(rounds) + 0.6, 0.75)
    label = "Rounds of one average: " + ", ".join(
        f"{name} {count(number)}" for name, number in rounds.items()
    )
    return finish(axes, "averaging", label + f". Used here: {used}.")


def _scheme(result: Result) -> str:
    """Return the scheme that found the averages; a node has it from the plan."""
    sent = result.communication
    return result.settings.consensus if sent is None else sent.consensus


def draw_equivalence(result: Result) -> Drawing | None:
    """Draw how far models and costs are apart, on a logarithmic scale."""
    equal = result.equivalence
    if equal is None:
        return None
    distances = {
        "between two nodes": equal.node_spread,
        "to one machine with all data": equal.central_difference,
        "cost of a layer, to one machine": equal.layer_cost_gap,
    }
    found = {told: one for told, one in distances.items() if one is not None}
    if not any(found.values()):
        return None
    axes = new_axes(48 * len(found) + 44)
    for row, (told, value) in enumerate(found.items()):
        _draw_distance(axes, -row, told, value)
    axes.set_xscale("log")
    axes.set_xlim(1e-17, max(3.0, *(3 * value for value in found.values())))
    axes.set_ylim(0.45 - len(found), 0.75)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: power_or_number(x)))
    axes.tick_params(which="minor", length=0)
    axes.set_xlabel("relative difference (small mark: one rounding)")
    label = "Relative differences: " + "; ".join(
        f"{told} {small(value)}" for told, value in found.items()
    )
    return finish(axes, "equivalence", label + ".")


def _draw_distance(axes: Axes, y: float, told: str, value: float) -> None:
    right = axes.get_yaxis_transform()  # x in parts of the axis
    axes.plot([1e-17, max(value, 1e-17)], [y, y], color=FIRST, alpha=0.35)
    axes.plot([ONE_ROUNDING] * 2, [y - 0.12, y + 0.12], color=MUTED, linewidth=1)
    if value > 0:
        axes.plot([value], [y], "o", color=FIRST, markersize=7)
    axes.text(0.005, y + 0.2, told, va="bottom", color=INK, transform=right)
    shown = small(value) if value else "0: equal to the last bit"
    axes.text(1, y + 0.2, shown, va="bottom", ha="right", color=MUTED, transform=right)


_DRAWERS: tuple[Callable[[Result], Drawing | None], ...] = (
    draw_graph,
    draw_held,
    draw_averaging,
    draw_cost,
    draw_error,
    draw_accuracy,
    draw_calibration,
    draw_confusion,
    draw_traffic,
    draw_equivalence,
)
NAMES = tuple(draw.__name__.removeprefix("draw_") for draw in _DRAWERS)
