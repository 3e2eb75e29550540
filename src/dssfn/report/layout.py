"""Where the nodes of a graph are drawn.

How this works. A ring is a circle and a star has its hub in the middle. Other graphs
are laid out so that distances on paper follow distances in hops: classical scaling
gives a first layout, and stress majorisation (Gansner, Koren and North, 2004) betters
it. Nothing here is random.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]

LARGEST_LAID_OUT = 150  # nodes: more are put on a circle
STEPS = 200  # stress changes little after that


def positions(n_nodes: int, edges: Sequence[Sequence[int]], kind: str) -> Points:
    """Return a point (M, 2) within the unit circle for every node.

    >>> positions(3, [(0, 1), (0, 2)], "star")[0].tolist()
    [0.0, 0.0]
    """
    if kind == "star" and n_nodes > 2:
        return np.vstack([np.zeros((1, 2)), circle(n_nodes - 1)])
    if kind.startswith(("circular", "complete")) or n_nodes > LARGEST_LAID_OUT:
        return circle(n_nodes)
    hops = _hops(n_nodes, edges)
    starts = [_apart(_scaled(hops)), circle(n_nodes) * n_nodes / 6]
    layouts = [_majorised(start, hops) for start in starts]
    best = min(layouts, key=lambda points: round(_stress(points, hops), 6))
    return _upright(best)


def circle(n_nodes: int) -> Points:
    """Return points on the unit circle, clockwise from the top."""
    angles = np.pi / 2 - 2 * np.pi * np.arange(n_nodes) / max(n_nodes, 1)
    if n_nodes == 1:
        return np.zeros((1, 2))
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _hops(n_nodes: int, edges: Sequence[Sequence[int]]) -> Points:
    """Return the hops between all nodes; nodes that no path joins are far apart."""
    A = np.zeros((n_nodes, n_nodes))
    for i, j in edges:
        A[i, j] = A[j, i] = 1
    hops = np.full((n_nodes, n_nodes), float(n_nodes))
    reached, step = np.eye(n_nodes), 0
    while True:
        new = (reached > 0) & (hops == n_nodes)
        if not new.any():
            return hops
        hops[new] = step
        reached, step = new @ A, step + 1


def _scaled(hops: Points) -> Points:
    """Return classical scaling: the two main axes of the doubly centred squares."""
    centred = hops**2 - (hops**2).mean(axis=0)
    B = -(centred - centred.mean(axis=1, keepdims=True)) / 2
    values, vectors = np.linalg.eigh((B + B.T) / 2)
    scale = np.sqrt(np.maximum(values[-2:], 0))
    points: Points = np.zeros((len(hops), 2))
    points[:, : len(scale)] = (vectors[:, -2:] * scale)[:, ::-1]
    return points


def _apart(points: Points) -> Points:
    """Separate nodes with the same neighbours, which would start and stay together."""
    others = ~np.eye(len(points), dtype=bool)
    if _distances(points)[others].min(initial=1.0) > 1e-6:
        return points
    return points + circle(len(points)) / 20


def _majorised(points: Points, hops: Points) -> Points:
    """Return points with less and less stress, with weights 1 / hops^2."""
    n = len(hops)
    W = np.zeros_like(hops)
    apart = ~np.eye(n, dtype=bool)
    W[apart] = hops[apart] ** -2
    inverse = np.linalg.pinv(np.diag(W.sum(axis=1)) - W)
    for _ in range(STEPS):
        distances = _distances(points)
        ratio = np.zeros_like(hops)
        np.divide(W * hops, distances, out=ratio, where=distances > 1e-9)
        points = inverse @ (np.diag(ratio.sum(axis=1)) - ratio) @ points
    return points


def _distances(points: Points) -> Points:
    gaps = points[:, None] - points[None]
    distances: Points = np.sqrt((gaps**2).sum(axis=2))
    return distances


def _stress(points: Points, hops: Points) -> float:
    apart = hops > 0
    return float((((_distances(points) - hops)[apart] / hops[apart]) ** 2).sum())


def _upright(points: Points) -> Points:
    """Return points turned to need little paper, the first node to the upper left."""
    points = points - points.mean(axis=0)
    turned = [points @ _rotation(angle) for angle in np.linspace(0, np.pi, 181)[:-1]]
    sides = [np.ptp(one, axis=0) for one in turned]
    # The smallest box that lies rather than stands; a tie goes to the first.
    best = min(
        range(len(turned)),
        key=lambda k: (round(_area(sides[k]), 3), sides[k][0] < sides[k][1] - 1e-6),
    )
    points = turned[best]
    points[:, 0] *= -1 if points[0, 0] > 0 else 1
    points[:, 1] *= -1 if points[0, 1] < 0 else 1
    largest = np.sqrt((points**2).sum(axis=1)).max()
    scaled: Points = points / (largest or 1.0)
    return scaled


def _rotation(angle: float) -> Points:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def _area(sides: Points) -> float:
    """Return the area of a box; a line counts by its length, so that it lies down."""
    return float(sides[0] * sides[1] + 1e-3 * sides[1])
