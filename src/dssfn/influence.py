"""No node can send more than its rows allow.

How this works. A message of integers says what its sums can be (`dssfn.sum_bounds`),
for samples of whatever weight. Every node holds the total to that. Without masks nodes
also state how much their samples weigh before they train, and every letter that comes
over a link of the tree is held to what the nodes beyond the link have stated: so a node
that sends other sums is named by those that it sends them to. Masks hide who it was.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dssfn._typing import NodeId, Numbers
from dssfn.consensus import Averaging, Tree
from dssfn.errors import ProtocolError
from dssfn.programs import INPUTS, Message

MOST_NAMED = 8

WHO_IT_IS = (
    "It cannot be determined which one. Ask all nodes for their recordings (`dssfn "
    "node run --record`), or leave out one node after another."
)
MASKS_HIDE_IT = (
    "Masks hide which one. Stop, and rehearse with `secure = false` on made-up data "
    "that all agree on, where the node is named; or leave out one node after another; "
    "or ask all nodes for their recordings (`dssfn node run --record`)."
)
IT_IS_KNOWN = (
    "Stop, and ask its organisation what that node runs and for its recording (`dssfn "
    "node run --record`), or train without it."
)


@dataclass(frozen=True, slots=True)
class Stated:
    """What all nodes have stated of their samples before they train.

    Parameters
    ----------
    names : sequence of str
        The names of all nodes.
    weights : sequence of float
        How much the samples of each weigh: how many they are, if they have no weights.

    Examples
    --------
    >>> Stated(("a", "b", "c"), (3.0, 4.0, 5.0)).of([0, 2])
    8.0
    """

    names: Sequence[str]
    weights: Sequence[float]

    def of(self, nodes: Collection[NodeId]) -> float:
        """Return how much the samples of some nodes weigh."""
        return math.fsum(self.weights[node] for node in nodes)

    @property
    def total(self) -> float:
        """How much the samples of all nodes weigh."""
        return math.fsum(self.weights)


def check_total(
    message: Message, total: Numbers, stated: Stated | None, *, is_masked: bool
) -> None:
    """Refuse a total that the samples of all nodes cannot give.

    Parameters
    ----------
    message : Message
        A message of which it is the total.
    total : array
        The total, or an average, which has no bounds.
    stated : Stated, optional
        What all nodes have stated.
    is_masked : bool
        Whether masks hide who has sent what.
    """
    if message.bounds is None:
        return
    fault = message.bounds.fault(total, math.inf if stated is None else stated.total)
    if fault:
        raise ProtocolError(
            f"Some node has sent sums for {_place(message)} that no data can produce: "
            f"{fault}. {MASKS_HIDE_IT if is_masked else WHO_IT_IS}"
        )


def check_share(
    message: Message, sums: Numbers, stated: Stated, nodes: Sequence[NodeId], by: NodeId
) -> None:
    """Refuse sums that the samples of some nodes cannot give, and name these.

    Parameters
    ----------
    message : Message
        A message of the same kind.
    sums : array
        What came, of these nodes together.
    stated : Stated
        What all nodes have stated.
    nodes : sequence of int
        The nodes.
    by : int
        The one of them that it came from.
    """
    if message.bounds is None:
        return
    weight = stated.of(nodes)
    if fault := message.bounds.fault(sums, weight):
        raise ProtocolError(
            f"{_named(stated.names, nodes, by)} sent sums for {_place(message)} that "
            f"rows with its announced weight of {weight:g} cannot produce: {fault}. "
            f"{IT_IS_KNOWN}"
        )


@dataclass(slots=True)
class Inspection:
    """Holds the letters of one averaging to what was stated of the nodes beyond.

    Parameters
    ----------
    message : Message
        A message of this host.
    averaging : Tree
        The tree along which letters go.
    stated : Stated
        What all nodes have stated.
    step : int
        The number of the averaging.
    """

    message: Message
    averaging: Tree
    stated: Stated
    step: int
    _sent: dict[tuple[NodeId, NodeId], Numbers] = field(default_factory=dict)

    def look(
        self,
        sent: Mapping[tuple[NodeId, NodeId], Numbers],
        came: Mapping[tuple[NodeId, NodeId], Numbers],
    ) -> None:
        """Look at the letters of a round; links are (sender, receiver)."""
        self._sent.update(sent)
        for (sender, receiver), sums in sorted(came.items(), key=lambda one: one[0]):
            before = self._sent.get((receiver, sender))
            if before is not None:
                with np.errstate(over="ignore"):
                    sums = sums - before
            beyond = self.averaging.beyond(self.step, sender, receiver)
            check_share(self.message, sums, self.stated, beyond, sender)


def inspection_of(
    message: Message, averaging: Averaging, stated: Stated | None, step: int
) -> Inspection | None:
    """Return what looks at the letters of an averaging, if they can be looked at."""
    if stated is None or message.bounds is None or not isinstance(averaging, Tree):
        return None
    return Inspection(message, averaging, stated, step)


def _place(message: Message) -> str:
    """Return what a message is about.

    >>> _place(Message.of(np.zeros(1))), _place(Message.of(np.zeros(1)).about(2))
    ('the scale of the inputs', 'layer 2')
    """
    return (
        "the scale of the inputs"
        if message.layer == INPUTS
        else f"layer {message.layer}"
    )


def _named(names: Sequence[str], nodes: Sequence[NodeId], by: NodeId) -> str:
    """Return who may have sent something.

    >>> _named(("a", "b", "c"), [1], 1), _named(("a", "b", "c"), [0, 1, 2], 1)
    ('b', 'b, or a or c behind it,')
    """
    behind = [names[node] for node in nodes if node != by]
    if not behind:
        return names[by]
    if len(behind) > MOST_NAMED:
        return f"{names[by]}, or one of {len(behind)} nodes behind it,"
    return f"{names[by]}, or {' or '.join(behind)} behind it,"
