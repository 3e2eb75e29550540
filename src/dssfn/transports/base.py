"""What every transport is: one verb."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol, TypeAlias

from dssfn._typing import Array, NodeId

Arc: TypeAlias = tuple[NodeId, NodeId]
"""A directed edge of the graph: from a node to one of its neighbours."""

Letters: TypeAlias = Mapping[Arc, Array]
"""One matrix for each of some arcs."""


class Tag(NamedTuple):
    """Which exchange this is: the same on both ends of every edge.

    Parameters
    ----------
    layer : int
        Of the network; negative before and after the layers.
    step : int
        The number of the averaging within the training.
    round : int
        The neighbour exchange within the averaging.
    shape : tuple of int
        Of every letter. All hold little-endian float64.
    """

    layer: int
    step: int
    round: int
    shape: tuple[int, ...]


class Transport(Protocol):
    """Swaps letters between the nodes of this host and their neighbours elsewhere.

    A host is a process, or a thread, with one node or several. All hosts walk through
    the same exchanges in the same order; one that has nothing to send and nothing to
    wait for still takes part.
    """

    def exchange(
        self, tag: Tag, letters: Letters, expected: Collection[Arc]
    ) -> dict[Arc, Array]:
        """Send letters, and return the expected ones once all have come.

        Parameters
        ----------
        tag : Tag
            The same on all hosts.
        letters : mapping
            What the nodes here send to neighbours elsewhere. The arrays must not change
            before the next exchange has returned.
        expected : collection of arcs
            From where letters come; all end at a node of this host.

        Raises
        ------
        PeerTimeout
            If a neighbour is silent for too long.
        ProtocolError
            If a neighbour sent something else.
        """

    def close(self) -> None:
        """Leave; neighbours that still wait are told."""
