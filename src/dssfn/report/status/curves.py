"""Curves over the layers: how the cost and the errors of all nodes fall."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dssfn.report.numbers import decibel
from dssfn.report.status.sketch import WIDTH, Sketch, line, word
from dssfn.status import LayerStatus

LEFT, RIGHT, TOP, BOTTOM, HEIGHT = 44.0, 10.0, 26.0, 34.0, 210.0
MOST_TICKS = 6
MOST_DOTS = 40  # layers: more are drawn as a line alone


class Curve(NamedTuple):
    """A series: its name, its class in the style, and its points."""

    name: str
    kind: str
    points: Sequence[tuple[int, float]]


def draw_cost(layers: Sequence[LayerStatus]) -> Sketch | None:
    """Draw the cost of two layers or more, in per cent of the first one's."""
    points = [(one.layer, 100 * one.relative_cost) for one in layers]
    if len(points) < 2:
        return None
    label = f"Cost of layer {points[-1][0]}: {points[-1][1]:.3g} % of the first."
    curves = [Curve("cost (% of the first layer's)", "first", points)]
    return _chart("cost", label, curves, lambda value: f"{value:g}", from_zero=True)


def draw_error(layers: Sequence[LayerStatus]) -> Sketch | None:
    """Draw training and validation error of two layers or more, in dB."""
    if len(layers) < 2:
        return None
    curves = [
        Curve("training (dB)", "first", [(o.layer, o.train_error_db) for o in layers])
    ]
    validated = [
        (one.layer, one.validation_error_db)
        for one in layers
        if one.validation_error_db is not None
    ]
    if validated:
        curves.append(Curve("validation (dB)", "second", validated))
    shown = ", ".join(f"{one.name} {decibel(one.points[-1][1])}" for one in curves)
    label = f"Errors after layer {layers[-1].layer}: {shown}."
    return _chart("error", label, curves, lambda value: f"{value:g}".replace("-", "−"))


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers, evenly apart, that enclose a range.

    >>> ticks(-13.1, -2.0)
    [-14.0, -12.0, -10.0, -8.0, -6.0, -4.0, -2.0]
    """
    if high - low <= 1e-6 * max(abs(low), abs(high), 1e-3):  # as good as one number
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / MOST_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(one for one in (1, 2, 5, 10) if one * power >= 0.999 * rough)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{k * step:.10g}") for k in range(first, last + 1)]


def _chart(
    name: str,
    label: str,
    curves: Sequence[Curve],
    shown: Callable[[float], str],
    *,
    from_zero: bool = False,
) -> Sketch:
    numbers = [y for curve in curves for _, y in curve.points]
    marks = ticks(min(0.0, *numbers) if from_zero else min(numbers), max(numbers))
    last = max(1, *(x for curve in curves for x, _ in curve.points))
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def across(layer: float) -> float:
        return LEFT + width * layer / last

    def down(value: float) -> float:
        return TOP + height * (marks[-1] - value) / (marks[-1] - marks[0])

    parts = []
    for mark in marks:
        y = down(mark)
        parts.append(line((LEFT, y), (WIDTH - RIGHT, y), "grid"))
        parts.append(word(LEFT - 6, y + 3.5, shown(mark), "end"))
    every = -(-(last + 1) // 11)
    for layer in range(0, last + 1, every):
        parts.append(word(across(layer), HEIGHT - BOTTOM + 15, layer, "middle"))
    parts.append(word(LEFT + width / 2, HEIGHT - 4, "layer", "middle"))
    for curve in curves:
        parts += _drawn(curve, across, down)
    return Sketch(name, label, "".join(parts + _legend(curves)), HEIGHT)


def _drawn(
    curve: Curve, across: Callable[[float], float], down: Callable[[float], float]
) -> list[str]:
    places = [(across(x), down(y)) for x, y in curve.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [f'<polyline points="{path}" class="curve {curve.kind}"/>']
    if len(places) <= MOST_DOTS:
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="dot {curve.kind}"/>'
            for x, y in places
        ]
    return parts


def _legend(curves: Sequence[Curve]) -> list[str]:
    parts, x = [], LEFT
    for curve in curves:
        parts.append(line((x, 10), (x + 22, 10), f"curve {curve.kind}"))
        parts.append(word(x + 28, 13.5, curve.name))
        x += 48 + 6 * len(curve.name)
    return parts
