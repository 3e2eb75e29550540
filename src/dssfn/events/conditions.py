"""What a simulated network is like."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from dssfn._typing import NodeId
from dssfn.errors import PlanError
from dssfn.events.links import PERFECT, Links
from dssfn.events.nodes import SECONDS_PER_NUMBER, NodeModel

DAY = 86_400.0  # seconds


@dataclass(frozen=True, slots=True)
class Conditions:
    """The links and nodes of a simulated network, and how long nodes wait.

    Parameters
    ----------
    links : LinkModel or callable
        What links do to letters: one model for all, or a function of the sender and the
        receiver.
    nodes : mapping
        How fast nodes are and when they are there; those left out are as usual.
    seed : int
        Decides what is lost and delayed.
    deadline : float
        Seconds of simulated time after which nodes give up.
    seconds_per_number : float
        How fast nodes compute, as in `dssfn.events.nodes`.
    """

    links: Links = PERFECT
    nodes: Mapping[NodeId, NodeModel] = field(default_factory=dict)
    seed: int = 0
    deadline: float = DAY
    seconds_per_number: float = SECONDS_PER_NUMBER

    def __post_init__(self) -> None:
        if not 0 < self.deadline < math.inf:
            raise PlanError(
                "`deadline` must be a positive number of seconds of simulated time, "
                f"got {self.deadline!r}."
            )
        if self.seed < 0:
            raise PlanError(f"`seed` must not be negative, got {self.seed}.")
        if not 0 <= self.seconds_per_number < math.inf:
            raise PlanError(
                "`seconds_per_number` must be finite and not negative, got "
                f"{self.seconds_per_number!r}."
            )

    def check(self, n_nodes: int) -> None:
        """Refuse nodes that a graph of so many nodes does not have."""
        for node in self.nodes:
            if not 0 <= node < n_nodes:
                raise PlanError(
                    f"`nodes`: the graph has the nodes 0..{n_nodes - 1}, got {node}."
                )
