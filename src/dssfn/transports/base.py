"""The interface of a transport, and of one that outlives its neighbours.

`Transport` is all that an averaging needs. A node of a real network also meets
neighbours that come late, go, and come back: it is written against `ResilientTransport`
and knows no socket.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from dssfn._typing import NodeId, Numbers
from dssfn.transports.reasons import Reason

WAIT_WHEN_GONE = 10  # deadlines that a neighbour which is gone is waited for

Arc: TypeAlias = tuple[NodeId, NodeId]
"""A directed edge of the graph: from a node to one of its neighbours."""

Letters: TypeAlias = Mapping[Arc, Numbers]
"""One matrix for each of some arcs."""

FLOAT64, INT64 = "<f8", "<i8"  # little-endian
DTYPES = (FLOAT64, INT64)
"""What the numbers of a letter may be."""


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that take part in one attempt, and the links between them.

    Parameters
    ----------
    epoch : int
        The number of the attempt.
    members : tuple of int
        The nodes, ascending.
    edges : tuple of pairs
        The links that both ends confirm, as (i, j) with i < j, ascending.
    """

    epoch: int
    members: tuple[NodeId, ...]
    edges: tuple[Arc, ...]

    @property
    def digest(self) -> int:
        """A digest of members and links, which fits into 63 bits.

        >>> Group(1, (0, 1), ((0, 1),)).digest == Group(7, (0, 1), ((0, 1),)).digest
        True
        """
        content = repr((self.members, self.edges)).encode()
        return int.from_bytes(hashlib.sha256(content).digest()[:8], "big") >> 1


class Tag(NamedTuple):
    """The name of one exchange, the same on both ends of every edge.

    Parameters
    ----------
    layer : int
        The layer of the network; negative before and after the layers.
    step : int
        The number of the averaging within the training.
    round : int
        The neighbour exchange within the averaging.
    shape : tuple of int
        The shape of every letter.
    dtype : str
        The type of the numbers in every letter: "<f8" or "<i8".
    """

    layer: int
    step: int
    round: int
    shape: tuple[int, ...]
    dtype: str = FLOAT64


class Transport(Protocol):
    """Swaps letters between the nodes of this host and their neighbours elsewhere.

    A host is a process, or a thread, with one node or several. All hosts walk through
    the same exchanges in the same order; one that has nothing to send and nothing to
    wait for still takes part.
    """

    def exchange(
        self, tag: Tag, letters: Letters, expected: Collection[Arc]
    ) -> dict[Arc, Numbers]:
        """Send letters, and return the expected ones once all have come.

        Parameters
        ----------
        tag : Tag
            The tag of this exchange, the same on all hosts.
        letters : mapping
            The letters of the nodes here to neighbours elsewhere, with the shape and
            the dtype of the tag. The arrays must not change before the next exchange
            has returned.
        expected : collection of arcs
            The arcs on which letters come; all end at a node of this host.

        Raises
        ------
        PeerTimeout
            If a neighbour is silent for too long.
        ProtocolError
            If a neighbour sent something else.
        """

    def close(self) -> None:
        """Leave, and tell the neighbours that still wait."""


@dataclass(slots=True)
class Account:
    """The traffic of a link, for people to look at."""

    bytes_sent: int = 0
    bytes_received: int = 0
    seconds_waited: float = 0.0
    n_connections: int = 0


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a node knows of a neighbour at one moment.

    Parameters
    ----------
    is_up : bool
        Whether it is connected.
    was_seen : bool
        Whether it has ever been connected.
    since : float
        Seconds since it was connected, or went; of one never seen, since the start.
    silent : float
        Seconds since anything came from it; 0 for one that is not connected.
    waited : float, optional
        Seconds that this node has been waiting for its letter, if it does.
    layer : int, optional
        The last layer that it spoke of.
    waiting_for : tuple of str
        Nodes whose letters it waits for, as it says.
    reason : Reason, optional
        Its last words, if it has left.
    n_sent, n_received : int
        Letters to it and from it since it was last started.
    account : Account
        The traffic with it.
    """

    is_up: bool
    was_seen: bool
    since: float
    silent: float
    waited: float | None
    layer: int | None
    waiting_for: tuple[str, ...]
    reason: Reason | None
    n_sent: int
    n_received: int
    account: Account


class ResilientTransport(Transport, Protocol):
    """A transport whose neighbours may come late, be restarted, or stay away.

    It mends broken connections itself. When a neighbour was restarted, the letters
    of the time before are lost: `exchange` then raises `Regroup` on all nodes, each
    calls `join`, and all go back together to what they have in common.
    """

    deadline: float
    """Seconds within which a neighbour that is connected sends a heartbeat."""

    patience: float
    """Seconds to wait for a neighbour that is gone before `PeerTimeout`."""

    have_met: bool
    """Set by the training once all nodes have met; from then on a goodbye counts."""

    @property
    def at(self) -> Tag:
        """The exchange that the training is in."""

    @property
    def epoch(self) -> int:
        """The number of times that nodes had to go back together."""

    def join(self) -> None:
        """Go on with all others after `Regroup`."""

    def gather(self) -> Group | None:
        """Wait for nodes to go on with; None where all nodes must take part.

        Where some may stay away, this comes first, and again after every `Regroup`.
        """

    @property
    def newcomers(self) -> bool:
        """Whether nodes wait to be taken into the group that was gathered."""

    @property
    def is_settled(self) -> bool:
        """Whether another member of the last group holds the finished model."""

    def finish(self) -> None:
        """Say that this node holds the finished model, which others may have of it."""

    def accounts(self) -> dict[str, tuple[Account, bool]]:
        """Return the traffic with every neighbour, and whether it is connected."""

    def sightings(self) -> dict[str, Sighting]:
        """Return what is known of every neighbour now."""

    def close(self, reason: Reason = Reason.STOPPED) -> None:
        """Leave, and tell the neighbours the reason and nothing else."""
