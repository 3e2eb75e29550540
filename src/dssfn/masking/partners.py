"""Who shares masks with whom."""

from __future__ import annotations

import math

from dssfn._typing import NodeId
from dssfn.errors import PlanError
from dssfn.topology import build_topology

ALL_UP_TO = 16  # nodes: all others are partners
FEWEST = 4  # partners, where there are so many others


def mask_partners(
    n_nodes: int, degree: int | None = None
) -> tuple[tuple[NodeId, ...], ...]:
    """Return the mask partners of every node, the same for whoever knows the plan.

    To see through a node's masks, all of its partners have to work together.

    Parameters
    ----------
    n_nodes : int
        The number of nodes.
    degree : int, optional
        How many partners a node has; by default all others among up to 16 nodes, else
        about 2 log2 of their number, on a random regular graph.

    Examples
    --------
    >>> mask_partners(3)
    ((1, 2), (0, 2), (0, 1))
    >>> len(mask_partners(1000)[7])
    20
    """
    if degree is None:
        everybody = n_nodes - 1
        degree = (
            everybody if n_nodes <= ALL_UP_TO else 2 * math.ceil(math.log2(n_nodes))
        )
    check_mask_degree(n_nodes, degree)
    if degree == n_nodes - 1:
        nodes = range(n_nodes)
        return tuple(tuple(other for other in nodes if other != node) for node in nodes)
    graph = build_topology("regular", n_nodes, degree=degree)
    return tuple(tuple(graph.neighbours(node)) for node in range(n_nodes))


def check_mask_degree(n_nodes: int, degree: int) -> None:
    """Refuse a number of mask partners that the nodes of a plan cannot all have.

    Parameters
    ----------
    n_nodes : int
        The number of nodes.
    degree : int
        How many partners a node is to have.
    """
    others = n_nodes - 1
    least = min(FEWEST, others)
    if not least <= degree <= others:
        rule = f"lie in {least}..{others}" if least < others else f"be {others}"
        raise PlanError(
            f"`mask_degree` must {rule} for {n_nodes} nodes, got {degree}. Leave it "
            "out for the usual number of partners."
        )
    if n_nodes * degree % 2:
        raise PlanError(
            f"`mask_degree` must be even for an odd number of nodes, {n_nodes}; got "
            f"{degree}."
        )
