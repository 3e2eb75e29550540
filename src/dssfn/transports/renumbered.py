"""A transport for some of the nodes of a graph, numbered from 0."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from dssfn._typing import NodeId, Numbers
from dssfn.transports.base import Arc, Letters, Tag, Transport


@dataclass(frozen=True, slots=True)
class Renumbered:
    """Another transport, over which some nodes meet under numbers of their own.

    Parameters
    ----------
    carrier : Transport
        Carries the letters.
    members : sequence of int
        The nodes; the first one is node 0 here.
    """

    carrier: Transport
    members: Sequence[NodeId]

    def exchange(
        self, tag: Tag, letters: Letters, expected: Collection[Arc]
    ) -> dict[Arc, Numbers]:
        """Swap letters with other members."""
        members = self.members
        there = {(members[i], members[j]): x for (i, j), x in letters.items()}
        came = self.carrier.exchange(
            tag, there, [(members[i], members[j]) for i, j in expected]
        )
        return {(i, j): came[members[i], members[j]] for i, j in expected}

    def close(self) -> None:
        """Leave, and tell the neighbours that still wait."""
        self.carrier.close()
