"""A training whose every letter is kept, up to its first layer.

How this works. A scheme is wrapped: its rounds are those of the scheme itself, and what
goes in and out of them is kept. So the nodes of a simulated training run apart, by the
same lines as real ones, and a recorded one is run once more for the node that recorded
it, with the letters that it received.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from typing import Any

from dssfn._typing import NodeId, Numbers
from dssfn.audit.views import Transcript
from dssfn.config import Plan
from dssfn.consensus import Averaging, Rounds, Values
from dssfn.driver import drive
from dssfn.federation import check_secure
from dssfn.hosting import Book, start_programs
from dssfn.masking import mask_partners, masks_in_one_place
from dssfn.programs import Message
from dssfn.shard import Samples
from dssfn.topology import Topology
from dssfn.transports import Arc, Letters, Tag, Transport


@dataclass(slots=True)
class Listening:
    """An averaging scheme that keeps what goes in and out of its rounds.

    Parameters
    ----------
    scheme : Averaging
        The scheme.
    """

    scheme: Averaging
    letters: dict[tuple[int, NodeId, NodeId], Numbers] = field(default_factory=dict)
    own: dict[tuple[int, NodeId], Numbers] = field(default_factory=dict)
    averages: dict[int, Numbers] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the scheme."""
        return self.scheme.name

    @property
    def is_bitwise(self) -> bool:
        """Whether all nodes end with the same bits."""
        return self.scheme.is_bitwise

    @property
    def n_rounds(self) -> int:
        """The number of exchanges with the neighbours."""
        return self.scheme.n_rounds

    @property
    def n_letters(self) -> int:
        """The number of letters of one averaging."""
        return self.scheme.n_letters

    @property
    def n_queued(self) -> int:
        """The letters in a row."""
        return self.scheme.n_queued

    def order(self, step: int) -> Sequence[NodeId]:
        """Return the order of the scheme."""
        return self.scheme.order(step)

    def mix(self, values: Values, step: int) -> Any:
        """Return what all nodes end with; nothing is kept of it."""
        return self.scheme.mix(values, step)

    def rounds(self, node: NodeId, value: Numbers, step: int) -> Rounds:
        """Run the scheme's rounds, and keep the first letter of every neighbour."""
        self.own[step, node] = value
        rounds = self.scheme.rounds(node, value, step)
        came: Any = None
        while True:
            try:
                swap = rounds.send(came)
            except StopIteration as stop:
                average: Numbers = stop.value
                self.averages.setdefault(step, average)
                return average
            came = yield swap
            for sender, values in came.items():
                self.letters.setdefault((step, sender, node), values)


class Nowhere:
    """A transport for nodes that are all in this process: it has nothing to carry."""

    def exchange(
        self, tag: Tag, letters: Letters, expected: Collection[Arc]
    ) -> dict[Arc, Numbers]:
        """Return no letters."""
        return {}

    def close(self) -> None:
        """Leave nobody."""


class _EnoughError(Exception):
    """The first layer is solved."""


def listen(
    shards: Mapping[NodeId, Samples],
    plan: Plan,
    averaging: Averaging,
    topology: Topology,
    *,
    secure: bool = False,
    transport: Transport | None = None,
) -> Transcript:
    """Train up to the first layer, and return all that was sent.

    Parameters
    ----------
    shards : mapping
        The samples of the nodes that are here: of all nodes, or of one whose neighbours
        the transport stands for.
    plan, averaging : Plan, Averaging
        The plan with nothing left open, and its scheme.
    topology : Topology
        The graph of all nodes.
    secure : bool
        Whether messages are masked; all nodes must be here then.
    transport : Transport, optional
        Carries letters to the nodes that are not here.
    """
    masks = None
    if secure:
        check_secure(plan)
        masks = masks_in_one_place(mask_partners(topology.n_nodes))
    kept, book = Listening(averaging), Book(None)
    layers: list[int] = []

    def take_note(message: Message) -> None:
        if message.layer > 0:
            raise _EnoughError
        layers.append(message.layer)

    with ExitStack() as stack:
        programs = start_programs(
            list(shards.values()),
            plan,
            nodes=list(shards),
            n_nodes=topology.n_nodes,
            memory=None,
            n_threads=1,
            book=book,
        )
        for program in programs:
            stack.enter_context(closing(program))
        with suppress(_EnoughError):
            drive(
                dict(zip(shards, programs, strict=True)),
                kept,
                transport or Nowhere(),
                masks=masks,
                on_message=take_note,
            )
    steps = [step for step, layer in enumerate(layers) if layer == 0]
    if plan.most_layers == 0 and not plan.finds_size:
        steps.pop()  # how good the layer is
    progress = book.progress
    return Transcript(
        plan=plan,
        averaging=averaging,
        topology=topology,
        steps=tuple(steps),
        letters=kept.letters,
        own=kept.own,
        averages=kept.averages,
        agreed=progress.stages[0] if progress else None,
        secrets={} if masks is None else masks.secrets,
    )
