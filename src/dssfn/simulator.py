"""Simulator: M programs in lockstep in one process, with an account of the traffic.

It stands where a network would: it takes each node's message, mixes all of them as the
consensus scheme says, and hands every node its own average. Nodes share nothing else.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from dssfn._typing import Array, NodeId
from dssfn.config import Plan, bytes_of
from dssfn.consensus import Averaging
from dssfn.errors import DataError
from dssfn.lockstep import Workers, drive
from dssfn.network import Network
from dssfn.planning import BYTES_PER_SCALAR, settle
from dssfn.programs import Message, Program
from dssfn.shard import Samples
from dssfn.topology import Topology
from dssfn.training import LayerRecord, train_node

Result = TypeVar("Result")


@dataclass(slots=True)
class Traffic:
    """What went over the links.

    Parameters
    ----------
    rounds : int
        Neighbour exchanges: B, summed over all averagings.
    scalars_per_node : int
        Message size summed over the rounds: the paper's Q n B K.
    bytes_total : int
        Payload over all directed links.
    """

    rounds: int = 0
    scalars_per_node: int = 0
    bytes_total: int = 0

    def add(self, averaging: Averaging, size: int) -> None:
        """Account for one averaging of `size` numbers."""
        self.rounds += averaging.n_rounds
        self.scalars_per_node += averaging.n_rounds * size
        self.bytes_total += averaging.n_letters * size * BYTES_PER_SCALAR


@dataclass(frozen=True, slots=True)
class Simulation:
    """The outcome of a simulated training.

    Parameters
    ----------
    networks : tuple of Network
        One per node; equal up to the accuracy of the averages.
    history : tuple of LayerRecord
        One per layer.
    traffic : Traffic
        All exchanges together.
    traffic_by_layer : dict
        The same by layer; -1 holds what was agreed on before layer 0.
    consensus : str
        The averaging scheme that was used.
    seconds : float
        Wall time.
    """

    networks: tuple[Network, ...]
    history: tuple[LayerRecord, ...]
    traffic: Traffic
    traffic_by_layer: dict[int, Traffic]
    consensus: str
    seconds: float

    @property
    def node_spread(self) -> float:
        """Largest relative distance between two nodes' output matrices of a layer."""
        layers = zip(*(network.outputs for network in self.networks), strict=True)
        return max(map(spread, layers))


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
        programs = [
            train_node(
                shard,
                plan,
                n_nodes=topology.n_nodes,
                memory=None if budget is None else budget // topology.n_nodes,
                n_threads=workers.threads_per_node,
                on_layer=book.write if node == 0 else None,
            )
            for node, shard in enumerate(shards)
        ]
        networks = run_programs(
            programs,
            averaging,
            workers,
            on_message=lambda message: book.account(averaging, message),
            on_average=on_average,
        )
    return book.closed(networks, averaging, time.perf_counter() - start)


def spread(matrices: Sequence[Array]) -> float:
    """Largest distance between two of several matrices, relative to the first."""
    distinct = list({id(O): O for O in matrices}.values())
    size = float(np.linalg.norm(distinct[0])) or 1.0
    # All pairs by one product; taking off the first keeps small differences exact.
    D = np.stack([(O - distinct[0]).ravel() for O in distinct])
    products = D @ D.T
    squares = np.diag(products)
    largest = (squares[:, None] + squares - 2 * products).max()
    return math.sqrt(max(float(largest), 0.0)) / size


@dataclass(slots=True)
class Book:
    """History and traffic while they are being made.

    Parameters
    ----------
    on_layer : callable, optional
        Told of every finished layer, with the layer's traffic.
    """

    on_layer: Callable[[LayerRecord, Traffic], None] | None
    history: list[LayerRecord] = field(default_factory=list)
    traffic: Traffic = field(default_factory=Traffic)
    by_layer: defaultdict[int, Traffic] = field(
        default_factory=lambda: defaultdict(Traffic)
    )

    def account(self, averaging: Averaging, message: Message) -> None:
        """Add what one averaging sends."""
        for traffic in (self.traffic, self.by_layer[message.layer]):
            traffic.add(averaging, message.size)

    def write(self, record: LayerRecord) -> None:
        """Keep how a layer ended."""
        self.history.append(record)
        if self.on_layer:
            self.on_layer(record, self.by_layer[record.layer])

    def closed(
        self, networks: Iterable[Network], averaging: Averaging, seconds: float
    ) -> Simulation:
        """The outcome of the training that this book was kept of."""
        return Simulation(
            networks=tuple(networks),
            history=tuple(self.history),
            traffic=self.traffic,
            traffic_by_layer=dict(self.by_layer),
            consensus=averaging.name,
            seconds=seconds,
        )


def run_programs(
    programs: Sequence[Program[Result]],
    averaging: Averaging,
    workers: Workers,
    *,
    on_message: Callable[[Message], None] | None = None,
    on_average: Callable[[Message, Array], None] | None = None,
) -> list[Result]:
    """Run one program per node and average their messages, all in this process.

    Parameters
    ----------
    programs : sequence of Program
        One for each node of the graph.
    averaging : Averaging
        How averages are found.
    workers : Workers
        Run the nodes side by side.
    on_message, on_average : callable, optional
        Called before and after every average with the first node's message, and with
        the average that this node receives.
    """
    steps = itertools.count()

    def answer(messages: Sequence[Message]) -> list[Array]:
        step = next(steps)
        if on_message:
            on_message(messages[0])
        values = _Values(messages, averaging.order(step), workers)
        averages = list(averaging.mix(values, step))
        if on_average:
            on_average(messages[0], averages[0])
        return averages

    return drive(programs, answer, workers)


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
