"""What nodes settle among themselves before, between and after the layers.

The lowest of all nodes' numbers is found by as many rounds with all neighbours as the
graph is wide. So all nodes learn which is the last layer that all of them have, and
whether they all hold the same numbers.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dssfn._typing import Array, NodeId
from dssfn.consensus import Flood, Tree
from dssfn.driver import average, run_over
from dssfn.errors import ProtocolError
from dssfn.influence import Stated
from dssfn.node.checkpoint import fingerprint, model_fingerprint
from dssfn.progress import Progress
from dssfn.statement import state_weights
from dssfn.topology import Topology
from dssfn.transports import Transport

log = logging.getLogger("dssfn.node")

AGREEMENT = -2  # the layer number of the letters sent here
# What it is about, in the place of a step; STAGES is followed by one for each stage.
LAYERS, BITS, SPREAD, MEAN, KEYS, WEIGHTS, STANDING, COURSE, STAGES = range(9)
COMPARED = 12  # hexadecimal digits of a digest: a whole number that float64 holds
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
        log.info("the nodes' layers differ by rounding (%.1e): averaging them", spread)
        mean = average(
            {self.node: flat},
            Tree(self.topology),
            self.transport,
            layer=AGREEMENT,
            step=MEAN,
        )
        return progress.with_flat(mean[self.node])

    def check_stage(self, progress: Progress, *others: float) -> Array:
        """Refuse a stage, just solved from exact sums, in which nodes differ.

        All stages before it count as well.

        Returns
        -------
        array
            Of other numbers that all nodes say with it, the lowest ones.
        """
        number = len(progress.stages) - 1
        mine = float(model_fingerprint(progress))
        found = self._lowest(np.array([mine, -mine, *others]), STAGES + number)
        if found[0] != -found[1]:
            raise ProtocolError(
                f"Nodes have different numbers in layer {number}, although all had "
                "the same sums: some node received other totals, computes "
                "differently, or misreports its result. Compare the versions and the "
                "logs of all nodes (`dssfn --version`). Layers saved before this one "
                "are good."
            )
        return found[2:]

    def state(self, weight: float, names: Sequence[str]) -> Stated:
        """Return how much the samples of all nodes weigh, as they state it."""
        return state_weights(
            self.transport,
            self.topology,
            {self.node: weight},
            names,
            layer=AGREEMENT,
            step=WEIGHTS,
        )

    def meet(self) -> None:
        """Wait until all nodes are there."""
        self._lowest(np.zeros(1), LAYERS)

    def have_same(self, number: int, about: int = BITS) -> bool:
        """Return whether all nodes hold the same whole number, below 2^53."""
        low, negative = self._lowest(np.array([number, -number], dtype=float), about)
        return bool(low == -negative)

    def have_same_digest(self, sha256: str) -> bool:
        """Return whether all nodes hold the same, by its digest in hexadecimal."""
        return self.have_same(int(sha256[:COMPARED], 16))

    def _lowest(self, values: Array, about: int) -> Array:
        """Return the lowest of all nodes' values, element by element."""
        mine, lowest = {self.node: values}, Flood(self.topology, np.minimum)
        found = run_over(self.transport, lowest, mine, layer=AGREEMENT, step=about)
        return found[self.node]
