"""A figure drawn as SVG by hand: a node need not have what draws those of reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dssfn.report.html import text

Point: TypeAlias = Sequence[float] | NDArray[np.float64]
"""Two numbers: from the left, and from the top."""

WIDTH = 340  # what a phone shows at its own size


@dataclass(frozen=True, slots=True)
class Sketch:
    """A finished figure, whose colours are those of the page's classes.

    Parameters
    ----------
    name : str
        The name of its place on the page.
    label : str
        What it shows, for those who do not see it.
    inner : str
        What is drawn, as SVG.
    height : float
        Its height; all are equally wide.
    """

    name: str
    label: str
    inner: str
    height: float

    @property
    def inline(self) -> str:
        """The figure as SVG."""
        return f'<svg viewBox="0 0 {WIDTH} {self.height:g}">{self.inner}</svg>'

    @property
    def width(self) -> int:
        """The points at which its letters have their size."""
        return WIDTH

    @property
    def is_wide(self) -> bool:
        """Whether it gets a place of its own: none needs one."""
        return False


def word(x: float, y: float, words: object, kinds: str = "") -> str:
    """Return words at a place, as SVG."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kinds}">{text(words)}</text>'


def line(start: Point, end: Point, kinds: str) -> str:
    """Return a line between two points, as SVG."""
    return (
        f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" '
        f'y2="{end[1]:.1f}" class="{kinds}"/>'
    )
