"""What every averaging scheme is, and how to run one by hand."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from dssfn._typing import Array, NodeId

Letters: TypeAlias = Mapping[NodeId, Array]
"""What a node sends to, or has received from, its neighbours in one round."""


class Swap(NamedTuple):
    """One node's side of a round: what it sends, and who sends to it."""

    letters: Letters
    senders: Collection[NodeId]


Rounds: TypeAlias = Generator[Swap, Letters, Array]
"""One node's side of an averaging: yields swaps, receives the letters that came."""


class Values(Protocol):
    """The nodes' values: an array (M, ...), or whatever gives them one by one."""

    def __getitem__(self, node: NodeId, /) -> Array:
        """The value of one node."""


class Averaging(Protocol):
    """A way to average over a graph.

    A scheme is a value that can be executed in two ways. One node runs it *round by
    round*: `rounds` yields what goes to each neighbour and receives what they sent,
    whatever carries it. The simulator runs it *for all nodes at once*: `mix` takes
    their values and gives what every node would hold at the end. Both do the same
    arithmetic up to rounding, and a test holds them to it.

    `step` is the number of the averaging within a training, the same on all nodes.
    """

    @property
    def name(self) -> str:
        """What reports call it."""

    @property
    def is_bitwise(self) -> bool:
        """Whether all nodes end with the same bits."""

    @property
    def n_rounds(self) -> int:
        """Neighbour exchanges of one averaging: the paper's B."""

    @property
    def n_letters(self) -> int:
        """Messages of one averaging, summed over all directed links."""

    @property
    def n_queued(self) -> int:
        """Messages that the busiest node of each round sends, summed over the rounds.

        They leave one after the other, so this is what bandwidth is charged for.
        """

    def rounds(self, node: NodeId, value: Array, step: int) -> Rounds:
        """One node's rounds; returns its average."""

    def order(self, step: int) -> Sequence[NodeId]:
        """The order in which `mix` asks for the nodes' values, each once."""

    def mix(self, values: Values, step: int) -> Array:
        """All nodes at once: their values to their averages, stacked (M, ...)."""


def seconds(
    averaging: Averaging, n_bytes: int, *, latency: float, bandwidth: float
) -> float:
    """Time of one averaging: rounds x latency + bytes / bandwidth (bits a second)."""
    wire = averaging.n_queued * 8 * n_bytes / bandwidth
    return averaging.n_rounds * latency + wire


def run_rounds(
    averaging: Averaging, values: Sequence[Array], step: int = 0
) -> list[Array]:
    """Let every node run its rounds, carrying the letters by hand.

    This is what a network does; `Averaging.mix` is its shortcut.
    """
    nodes = [averaging.rounds(node, value, step) for node, value in enumerate(values)]
    results: dict[NodeId, Array] = {}
    inboxes: list[dict[NodeId, Array] | None] = [None] * len(nodes)
    while len(results) < len(nodes):
        swaps: dict[NodeId, Swap] = {}
        for i, node in enumerate(nodes):
            try:
                inbox = inboxes[i]
                swaps[i] = next(node) if inbox is None else node.send(inbox)
            except StopIteration as stop:
                results[i] = stop.value
        inboxes = [
            {j: swaps[j].letters[i] for j in swaps[i].senders} if i in swaps else None
            for i in range(len(nodes))
        ]
    return [results[i] for i in range(len(nodes))]
