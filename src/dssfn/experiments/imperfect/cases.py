"""Which networks are looked at, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dssfn.events import Conditions

CONTENDERS = {
    "perfect": "tree, perfect links",
    "tree": "tree, resending",
    "push-sum": "push-sum",
    "relaxed": "relaxed ADMM",
}
"""Ways to solve a layer, by the names that tables and figures give them."""

LOSSES = {"loss 0": 0.0, "loss 10": 0.1, "loss 30": 0.3, "loss 50": 0.5}
SLOW, AWAY, BURSTS = "slow", "away", "bursts"
TROUBLES = {
    **{name: f"{100 * share:.0f} % lost" for name, share in LOSSES.items()},
    SLOW: "30 % lost, one node 10 times slower",
    AWAY: "30 % lost, two nodes away for a third of the time",
    BURSTS: "50 % lost in bursts, two nodes away for a third of the time",
}
"""What is wrong, by the names that tables give it."""

DELAY = 0.02  # seconds: the median of a lognormal delay
PERIOD = 0.9  # seconds, for a third of which nodes are away
N_PERIODS = 2000
BURST = 5.0  # letters lost in a row, on average


@dataclass(frozen=True, slots=True)
class Case:
    """A layer and a graph.

    Parameters
    ----------
    data : str
        The name of the data set.
    width : int
        Random units of the layer.
    n_iter : int
        Iterations of relaxed ADMM.
    n_nodes, degree : int
        Size and degree of the circular graph.
    """

    data: str
    width: int
    n_iter: int
    n_nodes: int = 20
    degree: int = 2


FULL = (Case("satimage", 100, 1000), Case("letter", 100, 1000))
QUICK = (Case("digits", 12, 60, n_nodes=5, degree=1),)


def conditions_of(case: Case, trouble: str, seed: int) -> Conditions:
    """Return the links and nodes of a simulated network."""
    from dssfn.events import (
        Bursts,
        Conditions,
        Independent,
        LinkModel,
        Lognormal,
        NodeModel,
    )

    loss = Independent(LOSSES.get(trouble, 0.3))
    links = LinkModel(loss=loss, delay=Lognormal(DELAY))
    nodes = {}
    if trouble == SLOW:
        nodes = {1: NodeModel(slowness=10.0)}
    if trouble in (AWAY, BURSTS):
        times = [(PERIOD * k, PERIOD * (k + 1 / 3)) for k in range(1, N_PERIODS)]
        away = NodeModel(away=tuple(times))
        nodes = {1: away, case.n_nodes // 2: away}
    if trouble == BURSTS:
        links = LinkModel(loss=Bursts(0.5, BURST), delay=Lognormal(DELAY))
    return Conditions(links, nodes, seed)
