"""Who is missing when nodes give up."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dssfn._typing import NodeId
from dssfn.errors import PeerTimeout
from dssfn.events.host import Host
from dssfn.events.nodes import NodeModel


def gave_up(
    hosts: Sequence[Host], models: Sequence[NodeModel], deadline: float
) -> PeerTimeout:
    """Return the error of a training that has not ended by its deadline.

    Missing are the nodes that are away; if there are none, those that have not answered
    for long; if all do, those that are behind.
    """
    waiting = [host for host in hosts if not host.is_finished]
    missing = (
        _absent(models, deadline) or _silent(waiting, deadline) or _behind(waiting)
    )
    who = "; ".join(f"node {node}: {why}" for node, why in missing.items())
    step = min(host.step for host in waiting)
    return PeerTimeout(
        f"{len(waiting)} of {len(hosts)} nodes have not finished by `deadline` = "
        f"{deadline:g} s of simulated time, the slowest in averaging {step}. Missing: "
        f"{who}. Raise `deadline`, or check the links and which nodes are away.",
        peer=str(next(iter(missing))),
    )


def _absent(models: Sequence[NodeModel], now: float) -> dict[NodeId, str]:
    """Return the nodes that are not there."""
    return {
        node: f"gone since {model.gone:g} s"
        if model.next_present(now) == math.inf
        else f"away until {model.next_present(now):g} s"
        for node, model in enumerate(models)
        if not model.is_present(now)
    }


def _silent(waiting: Sequence[Host], now: float) -> dict[NodeId, str]:
    """Return the nodes that have not answered, for at least half the longest time."""
    unanswered = [
        (since, node, host.node)
        for host in waiting
        for node, since in host.unanswered.items()
    ]
    longest = now - min(unanswered, default=(now, -1, -1))[0]
    return {
        node: f"node {by} has had no answer from it since {since:g} s"
        for since, node, by in sorted(unanswered, reverse=True)
        if now - since >= longest / 2
    }


def _behind(waiting: Sequence[Host]) -> dict[NodeId, str]:
    """Return the nodes that are in the earliest averaging."""
    step = min(host.step for host in waiting)
    return {
        host.node: f"it is still in averaging {step}"
        for host in waiting
        if host.step == step
    }
