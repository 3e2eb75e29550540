"""The interface of every averaging scheme, and how to run one by hand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Kind, NodeId, Numbers

Letters: TypeAlias = Mapping[NodeId, Numbers]
"""What a node sends to, or has received from, its neighbours in one round."""


class Swap(NamedTuple):
    """One node's part in a round: what it sends, and who sends to it."""

    letters: Letters
    senders: Collection[NodeId]


Rounds: TypeAlias = Generator[Swap, Letters, Numbers]
"""One node's side of an averaging: yields swaps, receives the letters that came."""


Carry: TypeAlias = Callable[
    [int, Mapping[tuple[NodeId, NodeId], Numbers], Collection[tuple[NodeId, NodeId]]],
    Mapping[tuple[NodeId, NodeId], Numbers],
]
"""Swaps one round's letters with nodes elsewhere; links are (sender, receiver)."""


class Values(Protocol):
    """The nodes' values: an array (M, ...), or an object that makes them one by one."""

    def __getitem__(self, node: NodeId, /) -> Numbers:
        """Return the value of one node."""


class RoundByRound(Protocol):
    """A way to find something out together, as one node carries it out."""

    @property
    def n_rounds(self) -> int:
        """The number of exchanges with the neighbours: the paper's B."""

    def rounds(self, node: NodeId, value: Numbers, step: int) -> Rounds:
        """Run one node's rounds, and return what it found from its own value."""


class Averaging(RoundByRound, Protocol):
    """A way to average over a graph.

    A scheme is a value that can be executed in two ways. One node runs it *round by
    round*: `rounds` yields what goes to each neighbour and receives what they sent,
    whatever carries it. The simulator runs it *for all nodes at once*: `mix` takes
    their values and gives what every node would hold at the end. Both do the same
    arithmetic up to rounding, and a test holds them to it.

    Values are float64, and every node ends with their average; or int64, and every node
    ends with their total, which is exact. A scheme that cannot add integers refuses
    them with a `PlanError`.

    `step` is the number of the averaging within a training, the same on all nodes.
    """

    @property
    def name(self) -> str:
        """The name of the scheme in reports."""

    @property
    def is_bitwise(self) -> bool:
        """Whether all nodes end with the same bits."""

    @property
    def n_letters(self) -> int:
        """The number of letters of one averaging, over all directed links."""

    @property
    def n_queued(self) -> int:
        """The letters that the busiest node of each round sends, summed over rounds.

        They leave one after the other, so this is what bandwidth is charged for.
        """

    def order(self, step: int) -> Sequence[NodeId]:
        """Return the order in which `mix` asks for the nodes' values, each once."""

    def mix(self, values: Values, step: int) -> NDArray[Any]:
        """Return what all nodes end with, stacked (M, ...), from their values."""


def wants_total(values: Numbers) -> bool:
    """Return whether the total of values is wanted, and not their average."""
    return values.dtype == np.int64


def seconds(
    averaging: Averaging, n_bytes: int, *, latency: float, bandwidth: float
) -> float:
    """Return the time of one averaging: rounds x latency + bytes / bandwidth.

    The bandwidth is in bits per second.
    """
    wire = averaging.n_queued * 8 * n_bytes / bandwidth
    return averaging.n_rounds * latency + wire


def run_rounds(
    scheme: RoundByRound,
    values: Mapping[NodeId, Kind],
    step: int = 0,
    carry: Carry | None = None,
) -> dict[NodeId, Kind]:
    """Let some nodes run their rounds, and return what each of them found.

    Parameters
    ----------
    scheme : RoundByRound
        An averaging scheme, or another way to find something out together.
    values : mapping
        What each of these nodes holds.
    step : int
        The number of the averaging within a training.
    carry : callable, optional
        Swaps letters with the nodes elsewhere; called once in every round with the
        number of the round, the letters, and the links on which others are expected.
        Left out if all nodes are here.
    """
    nodes = {i: scheme.rounds(i, value, step) for i, value in values.items()}
    inboxes: dict[NodeId, Any] = dict.fromkeys(nodes)  # None starts a generator
    for number in range(scheme.n_rounds):
        swaps = {i: node.send(inboxes[i]) for i, node in nodes.items()}
        letters = {(i, j): x for i in swaps for j, x in swaps[i].letters.items()}
        expected = [(j, i) for i, swap in swaps.items() for j in swap.senders]
        if carry is not None:
            away = {link: x for link, x in letters.items() if link[1] not in nodes}
            letters |= carry(number, away, [e for e in expected if e[0] not in nodes])
        inboxes = {i: {} for i in nodes}
        for sender, i in expected:
            inboxes[i][sender] = letters[sender, i]
    return {i: _result(node, inboxes[i]) for i, node in nodes.items()}


def _result(rounds: Rounds, inbox: Letters) -> Any:
    try:
        rounds.send(inbox)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("a scheme must end after its last round")
