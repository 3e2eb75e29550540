"""Who attacks whom: single members in places that see much, and several together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dssfn._typing import NodeId
from dssfn.audit.isolation import piece_nodes
from dssfn.audit.views import Transcript
from dssfn.consensus import Tree
from dssfn.errors import PlanError
from dssfn.hints import did_you_mean, listing
from dssfn.masking import mask_partners
from dssfn.topology import Topology

MOST_COALITIONS = 20_000
NAMED, NEAR, HUB, ROOT = "members", "neighbour", "hub", "root"
PARTNERS, ALL = "mask partners", "all others"
TRIED = 12  # attacks of a kind that are carried out, of those that see as much


@dataclass(frozen=True, slots=True)
class Attempt:
    """Some members who work together, and the node that they want to know about."""

    members: frozenset[NodeId]
    victim: NodeId


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which attacks are wanted.

    Parameters
    ----------
    victim : int, optional
        The node to find out about; by default the one for which it is worst.
    members : frozenset of int, optional
        The members who work together.
    n_members : int, optional
        How many work together, whoever does it best.
    """

    victim: NodeId | None = None
    members: frozenset[NodeId] | None = None
    n_members: int | None = None

    def check(self, topology: Topology, names: Sequence[str]) -> None:
        """Refuse attacks that there are none of."""
        n_nodes = topology.n_nodes
        if n_nodes < 2:
            raise PlanError(
                "`nodes` must be at least 2, as a single node has nobody to hide "
                f"from; got {n_nodes}."
            )
        if self.members is not None and self.victim in self.members:
            raise PlanError(
                "`attackers` must not include the victim, got "
                f"{names[self.victim or 0]!r} for both."
            )
        if self.members is not None and len(self.members) >= n_nodes:
            raise PlanError(
                f"`attackers` must leave somebody to attack, got all {n_nodes} nodes."
            )
        if self.n_members is None:
            return
        if not 1 <= self.n_members < n_nodes:
            raise PlanError(
                f"`together` must lie in 1..{n_nodes - 1} for {n_nodes} nodes, of "
                f"which one is attacked; got {self.n_members}."
            )
        n_coalitions = math.comb(n_nodes, self.n_members)
        if n_coalitions > MOST_COALITIONS:
            raise PlanError(
                f"`together` must leave at most {MOST_COALITIONS:,} coalitions to "
                f"try, got {n_coalitions:,} of {self.n_members} among {n_nodes} "
                "nodes. Choose fewer, or name the attackers."
            )


def node_called(argument: str, name: str, names: Sequence[str]) -> NodeId:
    """Return the number of a node that was named.

    >>> node_called("victim", "south", ["north", "south"])
    1
    """
    if name not in names:
        raise PlanError(
            f"`{argument}` must be one of the nodes {listing(list(names))}, got "
            f"{name!r}.{did_you_mean(name, names)}"
        )
    return names.index(name)


def attempts(
    transcript: Transcript, wanted: Wanted
) -> Iterator[tuple[str, list[Attempt]]]:
    """Yield every kind of attack, and the ones of it that see most."""
    for kind, every in _kinds(transcript, wanted):
        of_victim = [
            attempt
            for attempt in every
            if wanted.victim is None or attempt.victim == wanted.victim
        ]
        if of_victim:
            yield kind, _best(transcript, of_victim)


def _kinds(
    transcript: Transcript, wanted: Wanted
) -> Iterator[tuple[str, Iterable[Attempt]]]:
    topology = transcript.topology
    nodes = range(topology.n_nodes)
    if wanted.members is not None:
        yield NAMED, _against(nodes, [wanted.members])
        return
    if wanted.n_members is not None:
        yield together(wanted.n_members), _of_size(nodes, wanted.n_members)
        return
    yield (
        NEAR,
        (
            Attempt(frozenset({near}), victim)
            for victim in nodes
            for near in topology.neighbours(victim)
        ),
    )
    if (hub := hub_of(topology)) is not None:
        yield HUB, _against(nodes, [frozenset({hub})])
    if isinstance(transcript.averaging, Tree):
        tree = transcript.averaging.branches(transcript.steps[0])
        yield ROOT, _against(nodes, [frozenset({tree.parents.index(-1)})])
    if len(nodes) > 3 and math.comb(len(nodes), 2) <= MOST_COALITIONS:
        yield together(2), _of_size(nodes, 2)
    partners = mask_partners(len(nodes))
    if len(partners[0]) < len(nodes) - 1:
        yield PARTNERS, map(Attempt, map(frozenset, partners), nodes)
    if len(nodes) > 2:
        yield ALL, _of_size(nodes, len(nodes) - 1)


def together(n_members: int) -> str:
    """Return what an attack of some members is called.

    >>> together(2)
    '2 together'
    """
    return "alone" if n_members == 1 else f"{n_members} together"


def hub_of(topology: Topology) -> NodeId | None:
    """Return the node that has more neighbours than any other, if there is one."""
    most = max(topology.degrees)
    found = [node for node, n in enumerate(topology.degrees) if n == most]
    return found[0] if len(found) == 1 else None


def _of_size(nodes: Sequence[NodeId], size: int) -> Iterator[Attempt]:
    return _against(nodes, map(frozenset, itertools.combinations(nodes, size)))


def _against(
    nodes: Sequence[NodeId], coalitions: Iterable[frozenset[NodeId]]
) -> Iterator[Attempt]:
    for members in coalitions:
        for victim in nodes:
            if victim not in members:
                yield Attempt(members, victim)


def _best(transcript: Transcript, every: list[Attempt]) -> list[Attempt]:
    """Return the attacks that see the sums of fewest nodes, most often; not too many.

    Where all of them see totals alone, those are as good for everybody.
    """
    steps = transcript.steps[:1]
    if transcript.plan.solver != "gram":
        steps = transcript.steps

    def sees(attempt: Attempt) -> tuple[int, int]:
        pieces = [
            piece_nodes(
                transcript.averaging,
                transcript.topology,
                attempt.members,
                attempt.victim,
                step,
            )
            for step in steps
        ]
        sizes = [len(piece) for piece in pieces if piece is not None]
        if not sizes:
            return transcript.topology.n_nodes, 0
        return min(sizes), -sizes.count(min(sizes))

    ranked = [(sees(attempt), attempt) for attempt in every]
    best = min(rank for rank, _ in ranked)
    return [attempt for rank, attempt in ranked if rank == best][:TRIED]
