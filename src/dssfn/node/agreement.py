"""What nodes settle among themselves before and after the training.

The lowest of all nodes' numbers is found by as many rounds with all neighbours as the
graph is wide. So all nodes learn which is the last layer that all of them have, and
whether they all hold the same numbers.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from dssfn._typing import Array, NodeId, Numbers
from dssfn.consensus import Rounds, Swap, Tree
from dssfn.driver import average, run_over
from dssfn.node.checkpoint import fingerprint
from dssfn.progress import Progress
from dssfn.topology import Topology
from dssfn.transports import Transport

log = logging.getLogger("dssfn.node")

AGREEMENT = -2  # the layer number of the letters sent here
LAYERS, BITS, SPREAD, MEAN, KEYS = range(5)  # what it is about, in the place of a step
# Processors of different kinds round differently, and 20 layers carry that on. Layers
# of another training differ by far more.
LARGEST_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Assembly:
    """All nodes, as one of them exchanges letters with the others."""

    node: NodeId
    topology: Topology
    transport: Transport

    def common_start(self, *lines: Progress | None) -> Progress | None:
        """Return the progress that all nodes have in common; None for the very start.

        Parameters
        ----------
        lines : Progress or None
            What this node could go on from, best first; none has more layers than the
            one before it. All nodes name equally many. The next ones count only if
            nodes hold different numbers in those before.
        """
        for progress in lines:
            n_solved = 0 if progress is None else len(progress.stages)
            n_common = int(self._lowest(np.array([float(n_solved)]), LAYERS)[0])
            shared = progress.first(n_common) if progress else None
            if shared is None:
                return None
            start = self.reconcile(shared)
            if start is not None:
                return start
        log.warning("nodes hold layers of different trainings: starting from scratch")
        return None

    def reconcile(self, progress: Progress) -> Progress | None:
        """Return the same numbers on all nodes; None if they are not of one training.

        They are the same as they stand, or they are averaged because machines have
        rounded differently.
        """
        if self.have_same(fingerprint(progress)):
            return progress
        flat = progress.flat()
        both = self._lowest(np.concatenate([flat, -flat]), SPREAD)
        spread = np.abs(both[: flat.size] + both[flat.size :]).max()
        if not spread <= LARGEST_ROUNDING * np.abs(both).max():
            return None
        log.info("nodes have rounded differently (%.1e): averaging", spread)
        mean = average(
            {self.node: flat},
            Tree(self.topology),
            self.transport,
            layer=AGREEMENT,
            step=MEAN,
        )
        return progress.with_flat(mean[self.node])

    def meet(self) -> None:
        """Wait until all nodes are there."""
        self._lowest(np.zeros(1), LAYERS)

    def have_same(self, number: int) -> bool:
        """Return whether all nodes hold the same whole number, below 2^53."""
        low, negative = self._lowest(np.array([number, -number], dtype=float), BITS)
        return bool(low == -negative)

    def _lowest(self, values: Array, about: int) -> Array:
        """Return the lowest of all nodes' values, element by element."""
        mine, lowest = {self.node: values}, Lowest(self.topology)
        found = run_over(self.transport, lowest, mine, layer=AGREEMENT, step=about)
        return found[self.node]


@dataclass(frozen=True, slots=True)
class Lowest:
    """A way for all nodes to learn the lowest of their values, from neighbours.

    Parameters
    ----------
    topology : Topology
        The graph; there are as many rounds as it is wide.
    """

    topology: Topology

    @property
    def n_rounds(self) -> int:
        """The number of rounds until every node has heard of every other."""
        return self.topology.diameter

    def rounds(self, node: NodeId, value: Numbers, step: int) -> Rounds:
        """Send the lowest values so far to all neighbours in every round."""
        neighbours = self.topology.neighbours(node)
        for _ in range(self.n_rounds):
            came = yield Swap(dict.fromkeys(neighbours, value), neighbours)
            value = np.minimum.reduce([value, *came.values()])
        return value
