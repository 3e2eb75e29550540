"""What was sent in a training up to its first layer, and what some members saw of it.

Layer 0 is the layer of the inputs themselves: sums of its features are sums of what
nodes hold. So an audit looks at its averagings, and needs no others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from dssfn._typing import Integers, NodeId, Numbers
from dssfn.config import Plan
from dssfn.consensus import Averaging
from dssfn.masking import Masks
from dssfn.progress import Stage
from dssfn.topology import Topology


@dataclass(frozen=True, slots=True)
class SharedMasks:
    """The masks that some members share with others, and who else shares masks.

    Parameters
    ----------
    partners : mapping
        The mask partners of every node, which all nodes know from the plan.
    stream : callable
        Returns what a node adds to its message for a member, of node, member, averaging
        and size.
    """

    partners: Mapping[NodeId, Collection[NodeId]]
    stream: Callable[[NodeId, NodeId, int, int], Integers]


@dataclass(frozen=True, slots=True)
class View:
    """What members who put together all that they have know of the first layer.

    Parameters
    ----------
    members : frozenset of int
        The members who work together.
    plan : Plan
        The plan with nothing left open.
    averaging : Averaging
        The averaging scheme.
    topology : Topology
        The graph of all nodes.
    steps : tuple of int
        The averagings of layer 0.
    letters : mapping
        By averaging, sender and receiver, the first letter that came.
    own : mapping
        By averaging and member, what the member itself wanted averaged.
    averages : mapping
        By averaging, what all nodes got: totals of integers, else averages.
    masks : SharedMasks, optional
        The masks that these members share with others; without it they know none.
    """

    members: frozenset[NodeId]
    plan: Plan
    averaging: Averaging
    topology: Topology
    steps: tuple[int, ...]
    letters: Mapping[tuple[int, NodeId, NodeId], Numbers]
    own: Mapping[tuple[int, NodeId], Numbers]
    averages: Mapping[int, Numbers]
    masks: SharedMasks | None = None

    @property
    def others(self) -> frozenset[NodeId]:
        """All other nodes."""
        return frozenset(range(self.topology.n_nodes)) - self.members


@dataclass(frozen=True, slots=True)
class Transcript:
    """All that was sent in a training up to its first layer, or what is known of it.

    Parameters
    ----------
    plan, averaging, topology, steps, letters, own, averages
        As in `View`, of all nodes.
    agreed : Stage, optional
        What nodes agreed on: the first stage of the training's progress.
    secrets : mapping of mappings
        The secret of every node with each of its mask partners; none without masks, and
        none of a recording. Then `averages` begin with the first averaging of all.
    """

    plan: Plan
    averaging: Averaging
    topology: Topology
    steps: tuple[int, ...]
    letters: Mapping[tuple[int, NodeId, NodeId], Numbers]
    own: Mapping[tuple[int, NodeId], Numbers]
    averages: Mapping[int, Numbers]
    agreed: Stage | None = None
    secrets: Mapping[NodeId, Mapping[NodeId, bytes]] = field(default_factory=dict)

    def seen_by(self, members: Collection[NodeId]) -> View:
        """Return what these members know, if they tell each other everything."""
        return View(
            members=frozenset(members),
            plan=self.plan,
            averaging=self.averaging,
            topology=self.topology,
            steps=self.steps,
            letters={
                place: values
                for place, values in self.letters.items()
                if place[2] in members
            },
            own={
                place: values
                for place, values in self.own.items()
                if place[1] in members
            },
            averages=self.averages,
            masks=self._masks_known_to(members) if self.secrets else None,
        )

    def _masks_known_to(self, members: Collection[NodeId]) -> SharedMasks:
        secrets = self.secrets

        def stream(node: NodeId, partner: NodeId, step: int, size: int) -> Integers:
            added: Integers = np.zeros(size, dtype=np.int64)
            assert partner in members
            if partner in secrets[node]:
                masks = Masks({node: {partner: secrets[node][partner]}})
                for earlier in range(step):
                    masks.hear(self.averages[earlier])
                masks.cover(node, added, step)
            return added

        partners = {node: tuple(known) for node, known in secrets.items()}
        return SharedMasks(partners, stream)
