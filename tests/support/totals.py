"""Nodes that want totals of integers which float64 would round, and an average."""

from __future__ import annotations

import numpy as np

from dssfn.exact.limbs import N_LIMBS, rounded
from dssfn.programs import Message, run_about

ABOVE_FLOATS = 2**53  # odd numbers above it are no float64


def integers(node: int) -> np.ndarray:
    """The numbers of one node; the sums of several fit into an int64."""
    huge = {0: 2**62, 1: -(2**62)}.get(node, node)
    odd = ABOVE_FLOATS + 2 * node + 1
    return np.array([[huge, -huge, odd], [-odd, node, 0]])


def program(node: int):
    """Ask for a total with a rider, for an average, and for a total of another shape.

    Returns what came, the rider's total last.
    """

    def asks():
        total = yield Message.of(integers(node))
        mean = yield Message.of(np.array([node / 4]))
        last = yield Message.of(integers(node).ravel())
        return [total, mean, last]

    rider = np.array([ABOVE_FLOATS + 1 - node])
    came, total_rider, _ = yield from run_about(0, asks(), rider)
    return [*came, total_rider]


def all_sums(numbers: np.ndarray) -> np.ndarray:
    """All floats that numbers of a message hold: exact sums at whatever place."""
    flat = numbers.ravel()
    if flat.dtype != np.int64:
        return flat
    if len(flat) < N_LIMBS:
        return np.empty(0)
    windows = np.lib.stride_tricks.sliding_window_view(flat, N_LIMBS)
    # A digit of 32 bits is added up over few samples here, unlike sums of products.
    return rounded(windows[(np.abs(windows) < 2**45).all(axis=1)])


def check(came: list[np.ndarray], n_nodes: int) -> None:
    """Check what a program has returned, against sums of Python's own integers."""
    nodes = range(n_nodes)
    total = sum(integers(node).astype(object) for node in nodes).tolist()
    mean = [sum(node / 4 for node in nodes) / n_nodes]
    rider = [sum(ABOVE_FLOATS + 1 - node for node in nodes)]
    expected = [total, mean, total[0] + total[1], rider]
    assert [values.tolist() for values in came] == expected
    assert [values.dtype.kind for values in came] == ["i", "f", "i", "i"]
