"""What nodes state of their samples before they train without masks.

Whoever sends sums is held to what it has stated (see `dssfn.influence`). The statements
of all nodes reach every node; one that is changed on its way is noticed by its owner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dssfn._typing import NodeId
from dssfn.consensus import Flood
from dssfn.driver import run_over
from dssfn.errors import ProtocolError
from dssfn.exact.limbs import ExactTally
from dssfn.exact.tally_bounds import TallyBounds
from dssfn.influence import Stated
from dssfn.programs import Message, Program
from dssfn.topology import Topology
from dssfn.transports import Transport

ALL_NODES = "all nodes together"
SILENT = -1.0  # in the place of a node that has not been heard of


def state_weights(
    transport: Transport,
    topology: Topology,
    weights: Mapping[NodeId, float],
    names: Sequence[str],
    *,
    layer: int,
    step: int,
) -> Stated:
    """Let all nodes state how much their samples weigh, and return what they stated.

    Parameters
    ----------
    transport : Transport
        Carries letters to the neighbours elsewhere.
    topology : Topology
        The graph of all nodes.
    weights : mapping
        How much the samples of each node of this host weigh.
    names : sequence of str
        The names of all nodes.
    layer, step : int
        What the letters are about.

    Raises
    ------
    ProtocolError
        If others have heard something else of this host's nodes.
    """
    mine = {node: np.full(topology.n_nodes, SILENT) for node in weights}
    for node, weight in weights.items():
        mine[node][node] = weight
    highest = Flood(topology, np.maximum)
    found = run_over(transport, highest, mine, layer=layer, step=step)
    heard = next(iter(found.values()))
    for node, weight in weights.items():
        if heard[node] != weight:
            raise ProtocolError(
                f"Some node has announced, in the name of {names[node]}, that its "
                f"samples weigh {heard[node]:g}, which is not what {names[node]} "
                "says. Ask all organisations what their nodes run."
            )
    if not (is_number := np.isfinite(heard) & (heard >= 0)).all():
        wrong = int(is_number.argmin())
        raise ProtocolError(
            f"{names[wrong]} must announce how much its samples weigh, a number that "
            f"is not negative; it announced {heard[wrong]:g}. Ask its organisation "
            "what that node runs."
        )
    return Stated(tuple(names), tuple(heard.tolist()))


def weigh_together(weight: float) -> Program[Stated]:
    """Find how much the samples of all nodes weigh, and of none by itself.

    Parameters
    ----------
    weight : float
        How much the samples of this node weigh.
    """
    tally = ExactTally(1)
    tally.add(np.array([[weight]]))
    bounds = TallyBounds(np.zeros(1), np.full(1, np.inf))
    total = yield Message.of(tally.numbers(), bounds)
    return Stated((ALL_NODES,), tuple(ExactTally.read(total).tolist()))
