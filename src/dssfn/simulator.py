"""Simulator: M programs in lockstep in one process, with an account of the traffic.

It stands where a network would: it takes each node's message, mixes all of them as the
consensus scheme says, and hands every node its own average. Nodes share nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from dssfn._typing import Agreed, Array, NodeId
from dssfn.config import Plan, bytes_of
from dssfn.consensus import Averaging
from dssfn.errors import DataError
from dssfn.hosting import Book, Simulation, Traffic, start_programs
from dssfn.lockstep import Finished, Workers, advance, run_agreed
from dssfn.network import Network
from dssfn.planning import settle
from dssfn.shard import Samples
from dssfn.topology import Topology
from dssfn.training import LayerRecord, Message, NodeProgram

__all__ = ["Simulation", "Traffic", "simulate"]


def simulate(
    shards: Sequence[Samples],
    plan: Plan,
    topology: Topology,
    *,
    memory: float | str | None = None,
    on_layer: Callable[[LayerRecord, Traffic], None] | None = None,
    on_average: Callable[[Message, Array], None] | None = None,
) -> Simulation:
    """Train on M shards over a graph, all nodes in this process.

    Parameters
    ----------
    shards : sequence of Samples
        One per node: a `Shard`, or a file that is read in chunks.
    plan : Plan
        What all nodes agreed on.
    topology : Topology
        Who talks to whom.
    memory : int or str, optional
        Bytes that all nodes together may use, or a size such as "2GB". Features that
        do not fit are kept in temporary files.
    on_layer : callable, optional
        Told of every finished layer, with the layer's traffic.
    on_average : callable, optional
        Told of every average, as the first node gets it, with that node's message.

    Examples
    --------
    >>> import numpy as np
    >>> from dssfn.shard import Shard, one_hot
    >>> from dssfn.topology import build_topology
    >>> rng = np.random.default_rng(0)
    >>> X, codes = rng.normal(size=(3, 40)), np.arange(40) % 2
    >>> T = one_hot(codes, 2)
    >>> shards = [Shard(X[:, m::4], T[:, m::4]) for m in range(4)]
    >>> plan = Plan(n_features=3, classes=("a", "b"), n_layers=2, width=20)
    >>> result = simulate(shards, plan, build_topology("circular", 4))
    >>> len(result.history), bool(result.node_spread < 1e-8)
    (3, True)
    """
    if len(shards) != topology.n_nodes:
        raise DataError(
            f"`shards` must hold one shard for each of the {topology.n_nodes} nodes, "
            f"got {len(shards)}."
        )
    budget = None if memory is None else bytes_of(memory)
    start = time.perf_counter()
    plan, averaging = settle(plan, topology)
    book = Book(on_layer)
    with Workers(len(shards)) as workers:
        programs = start_programs(
            shards,
            plan,
            n_nodes=topology.n_nodes,
            memory=budget,
            n_threads=workers.threads_per_node,
            book=book,
        )
        networks = _drive(programs, averaging, book, workers, on_average)
    return book.closed(networks, averaging, time.perf_counter() - start)


def _drive(
    programs: Sequence[NodeProgram[Network]],
    averaging: Averaging,
    book: Book,
    workers: Workers,
    on_average: Callable[[Message, Array], None] | None,
) -> list[Network]:
    """Answer all programs, which walk in step, until they return."""
    step = 0
    requests = workers.map(advance, programs, [None] * len(programs))
    while not isinstance(requests[0], Finished):
        if isinstance(requests[0], Agreed):
            replies = run_agreed(requests, workers)
        else:
            book.account(averaging, requests[0])
            values = _Values(requests, averaging.order(step), workers)
            replies = list(averaging.mix(values, step))
            if on_average:
                on_average(requests[0], replies[0])
            step += 1
        requests = workers.map(advance, programs, replies)
    return [finished.result for finished in requests]


class _Values:
    """The nodes' messages, made a little before they are asked for and then let go."""

    def __init__(
        self,
        messages: Sequence[Message],
        order: Sequence[NodeId],
        workers: Workers,
    ) -> None:
        self._ahead = workers.ahead(messages[node].make for node in order)
        self._order = iter(order)

    def __getitem__(self, node: NodeId) -> Array:
        assert node == next(self._order)
        values: Array = next(self._ahead)
        return values
