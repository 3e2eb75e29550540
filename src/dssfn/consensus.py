"""Averaging over the graph: every node ends with the mean of what all nodes held.

How this works. A scheme is a value that can be executed in two ways. One node runs it
*round by round*: `rounds` yields what goes to each neighbour and receives what they
sent, whatever carries it. The simulator runs it *for all nodes at once*: `mix` takes
the stacked values and gives what every node would hold at the end. Both do the same
arithmetic up to rounding, and a test holds them to it.

A faster scheme is another class with the same four members.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np

from dssfn._typing import Array, NodeId
from dssfn.errors import PlanError
from dssfn.topology import Topology

Letters: TypeAlias = Mapping[NodeId, Array]
"""What a node sends to, or has received from, each of its neighbours in one round."""

Rounds: TypeAlias = Generator[Letters, Letters, Array]
"""One node's side of an averaging: yields letters out, receives letters in."""


class Averaging(Protocol):
    """A way to average over a graph."""

    @property
    def n_rounds(self) -> int:
        """Neighbour exchanges of one averaging: the paper's B."""

    @property
    def n_letters(self) -> int:
        """Messages of one averaging, summed over all directed links."""

    def rounds(self, node: NodeId, value: Array) -> Rounds:
        """One node's rounds; returns its average."""

    def mix(self, values: Array) -> Array:
        """All nodes at once: `values` of shape (M, ...) to their averages."""


class Gossip:
    """x <- H x, repeated: the paper's averaging.

    Parameters
    ----------
    topology : Topology
        The graph and its mixing matrix H.
    n_rounds : int
        B, how often H is applied.

    Examples
    --------
    >>> from dssfn.topology import build_topology
    >>> ring = Gossip(build_topology("circular", 5), n_rounds=200)
    >>> float(ring.mix(np.arange(5.0))[3].round(12))
    2.0
    """

    def __init__(self, topology: Topology, n_rounds: int) -> None:
        self.topology = topology
        self.n_rounds = n_rounds

    @property
    def n_letters(self) -> int:
        """Messages over all directed links: one per link and round."""
        return self.n_rounds * self.topology.n_links

    @cached_property
    def _H_power(self) -> Array:
        power: Array = np.linalg.matrix_power(self.topology.H, self.n_rounds)
        return power

    def rounds(self, node: NodeId, value: Array) -> Rounds:
        """One node's rounds: send the value, take the weighted mean of what came."""
        weights = self.topology.H[node]
        neighbours = self.topology.neighbours(node)
        for _ in range(self.n_rounds):
            held = {node: value, **(yield dict.fromkeys(neighbours, value))}
            # Summed in the order of node ids, so that every driver gives the same bits.
            value = sum((weights[j] * held[j] for j in sorted(held)), np.zeros(()))
        return value

    def mix(self, values: Array) -> Array:
        """All nodes at once, by one product with H^B."""
        flat = values.reshape(len(values), -1)
        mixed: Array = self._H_power @ flat
        return mixed.reshape(values.shape)


def rounds_for(topology: Topology, tol: float) -> int:
    """Gossip rounds that shrink any disagreement by `tol`: contraction^B <= tol.

    >>> from dssfn.topology import build_topology
    >>> rounds_for(build_topology("circular", 20, degree=4), 1e-10)
    65
    """
    if topology.n_nodes == 1:
        return 0
    contraction = max(topology.contraction, np.finfo(float).tiny)
    return max(1, math.ceil(math.log(tol) / math.log(contraction)))


def make_averaging(
    topology: Topology, scheme: str, *, tol: float, n_rounds: int | None = None
) -> Averaging:
    """Return the averaging scheme of that name for a graph.

    Parameters
    ----------
    topology : Topology
        The graph.
    scheme : {"gossip"}
        The name.
    tol : float
        Wanted accuracy, relative to the nodes' first disagreement.
    n_rounds : int, optional
        Fixes the number of rounds instead.
    """
    if scheme != "gossip":
        raise PlanError(f"`consensus` must be gossip, got {scheme!r}.")
    rounds = rounds_for(topology, tol) if n_rounds is None else n_rounds
    return Gossip(topology, rounds if topology.n_nodes > 1 else 0)


def run_rounds(averaging: Averaging, values: Sequence[Array]) -> list[Array]:
    """Let every node run its rounds, carrying the letters by hand.

    This is what a network does; `Averaging.mix` is its shortcut.
    """
    nodes = [averaging.rounds(node, value) for node, value in enumerate(values)]
    results: dict[NodeId, Array] = {}
    inboxes: list[dict[NodeId, Array] | None] = [None] * len(nodes)
    while len(results) < len(nodes):
        outboxes: dict[NodeId, Letters] = {}
        for i, node in enumerate(nodes):
            try:
                inbox = inboxes[i]
                outboxes[i] = next(node) if inbox is None else node.send(inbox)
            except StopIteration as stop:
                results[i] = stop.value
        inboxes = [
            {j: box[i] for j, box in outboxes.items() if i in box}
            for i in range(len(nodes))
        ]
    return [results[i] for i in range(len(nodes))]
