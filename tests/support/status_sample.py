"""The status of a node that nobody runs, to draw and to print."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dssfn.status import (
    LayerStatus,
    LinkStatus,
    LogLine,
    NodeStatus,
    State,
    Status,
)
from dssfn.topology import build_topology

STATES = (State.HERE, State.SLOW, State.GONE, State.UNSEEN, State.FINISHED)


def sample_status(
    n_nodes: int = 5,
    *,
    kind: str = "circular",
    degree: int | None = None,
    names: Sequence[str] | None = None,
    n_layers: int = 9,
    states: Sequence[State] = STATES,
    n_lines: int = 12,
) -> Status:
    """Node 0 of a graph, whose neighbours are in all states, one after the other."""
    topology = build_topology(kind, n_nodes, degree=degree)
    names = names or [f"hospital-{k}" for k in range(n_nodes)]
    neighbours = topology.neighbours(0)
    known = {j: states[k % len(states)] for k, j in enumerate(neighbours)}
    slow = [names[j] for j, state in known.items() if state is State.SLOW]
    rng = np.random.default_rng(0)
    return Status(
        node=names[0],
        plan="59e93844102d3542",
        version="0.1.0",
        made_at="2026-03-04T10:20:30+00:00",
        seconds=4321.5,
        doing=f"trains layer {n_layers}"
        + (f"; waiting for {', '.join(slow)}" if slow else ""),
        waits_for=tuple(slow),
        layer=n_layers,
        depth=20,
        solved=n_layers,
        step=3 * n_layers,
        round=1,
        restarts=1,
        certificate_ends="2026-03-20",
        certificate_days=16,
        graph=topology.name,
        edges=tuple(topology.edges()),
        nodes=tuple(
            _node(k, name, known, slow, n_layers) for k, name in enumerate(names)
        ),
        links=tuple(
            LinkStatus(
                name=names[j],
                is_connected=known[j] in (State.HERE, State.SLOW),
                letters_sent=1234,
                letters_received=1230,
                bytes_sent=int(rng.integers(10**9)),
                bytes_received=int(rng.integers(10**7)),
                seconds_waited=float(rng.exponential(100)),
                connections=int(rng.integers(1, 9)),
            )
            for j in neighbours
        ),
        layers=tuple(
            LayerStatus(
                layer=k,
                relative_cost=0.7**k,
                train_error_db=round(-5 - 1.5 * k, 2),
                validation_error_db=round(-4.5 - 5 * (1 - 0.6**k), 2),
                units=300,
            )
            for k in range(n_layers)
        ),
        log=tuple(
            LogLine("2026-03-04T10:20:11+00:00", "INFO", f"layer {k}  -12.34 dB")
            for k in range(n_lines)
        ),
    )


def _node(
    k: int, name: str, known: dict[int, State], slow: list[str], layer: int
) -> NodeStatus:
    if k == 0:
        return NodeStatus(
            name=name, state=State.THIS, layer=layer, waits_for=tuple(slow)
        )
    if k not in known:
        return NodeStatus(name=name, state=State.UNKNOWN)
    is_up = known[k] in (State.HERE, State.SLOW)
    return NodeStatus(
        name=name,
        state=known[k],
        since=75.0 * k,
        layer=layer - 1 if is_up else None,
    )
