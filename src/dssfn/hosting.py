"""The nodes of one host: their programs, and the record of what they did.

The simulator hosts all nodes, a rank of an MPI job some of them. Who answers the
programs is decided elsewhere.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dssfn._typing import Array, NodeId
from dssfn.config import Plan
from dssfn.consensus import Averaging
from dssfn.ensemble import AgreedScores
from dssfn.planning import BYTES_PER_SCALAR
from dssfn.programs import MembersOf, Message, Program
from dssfn.progress import Progress
from dssfn.records import LayerRecord
from dssfn.shard import Samples
from dssfn.training import Model, scores_of, train_node


@dataclass(slots=True)
class Traffic:
    """The traffic over the links.

    Parameters
    ----------
    rounds : int
        Rounds of exchange with neighbours: B, summed over all averagings.
    scalars_per_node : int
        Message size summed over the rounds: the paper's Q n B K.
    bytes_total : int
        Bytes of payload over all directed links.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dssfn import DSSFNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> traffic = DSSFNClassifier(4, random_state=0).fit(X, y).traffic_
    >>> traffic.rounds > 0 and traffic.bytes_total > 0
    True
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
    """The outcome of a training, as one host saw it.

    Parameters
    ----------
    networks : tuple of Model
        One per node of this process; they are equal up to the accuracy of the averages.
    history : tuple of LayerRecord
        One record per layer.
    traffic : Traffic
        All exchanges together.
    traffic_by_layer : dict
        The same by layer; -1 holds what was agreed on before layer 0, and the last
        layer also holds what was agreed on after it.
    traffic_after : Traffic
        The part of it after the last layer was solved, for the model's scores.
    consensus : str
        The averaging scheme that was used.
    seconds : float
        Wall time of the training.
    scores : AgreedScores, optional
        How well the model does on validation samples, if there were any.

    Examples
    --------
    >>> import numpy as np
    >>> from dssfn import Plan, Shard, build_topology, simulate
    >>> X, T = np.arange(12.0).reshape(1, 12), np.eye(2)[:, np.arange(12) % 2]
    >>> shards = [Shard(X[:, m::3], T[:, m::3]) for m in range(3)]
    >>> plan = Plan(n_features=1, classes=("a", "b"), n_layers=1, width=5)
    >>> result = simulate(shards, plan, build_topology("complete", 3))
    >>> len(result.networks), len(result.history)
    (3, 2)
    """

    networks: tuple[Model, ...]
    history: tuple[LayerRecord, ...]
    traffic: Traffic
    traffic_by_layer: dict[int, Traffic]
    traffic_after: Traffic
    consensus: str
    seconds: float
    scores: AgreedScores | None = None

    @property
    def node_spread(self) -> float:
        """The largest relative distance between two nodes' matrices of a layer."""
        layers = zip(*(network.outputs for network in self.networks), strict=True)
        return max(map(spread, layers))


def spread(matrices: Sequence[Array]) -> float:
    """Return the largest distance between two matrices, relative to the first."""
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
    """History and traffic while the training runs.

    Parameters
    ----------
    on_layer : callable, optional
        Called with every finished layer and its traffic.
    """

    on_layer: Callable[[LayerRecord, Traffic], None] | None
    history: list[LayerRecord] = field(default_factory=list)
    progress: Progress | None = None  # what the nodes have agreed on so far
    traffic: Traffic = field(default_factory=Traffic)
    by_layer: defaultdict[int, Traffic] = field(
        default_factory=lambda: defaultdict(Traffic)
    )
    up_to_record: Traffic = field(default_factory=Traffic)  # of the last layer

    def account(self, averaging: Averaging, message: Message) -> None:
        """Add the traffic of one averaging."""
        for traffic in (self.traffic, self.by_layer[message.layer]):
            traffic.add(averaging, message.size)

    def write(self, record: LayerRecord) -> None:
        """Keep the record of a finished layer."""
        self.history.append(record)
        self.up_to_record = replace(self.by_layer[record.layer])
        if self.on_layer:
            self.on_layer(record, self.by_layer[record.layer])

    def keep(self, progress: Progress) -> None:
        """Keep what the nodes have agreed on."""
        self.progress = progress

    def _after(self) -> Traffic:
        """Return the traffic of the last layer since its record was written."""
        total, before = self.by_layer[self.history[-1].layer], self.up_to_record
        return Traffic(
            rounds=total.rounds - before.rounds,
            scalars_per_node=total.scalars_per_node - before.scalars_per_node,
            bytes_total=total.bytes_total - before.bytes_total,
        )

    def closed(
        self, networks: Iterable[Model], averaging: Averaging, seconds: float
    ) -> Simulation:
        """Return the outcome of the training that was recorded."""
        models = tuple(networks)
        assert self.progress is not None
        return Simulation(
            networks=models,
            history=tuple(self.history),
            traffic=self.traffic,
            traffic_by_layer=dict(self.by_layer),
            traffic_after=self._after(),
            consensus=averaging.name,
            seconds=seconds,
            scores=scores_of(models[0].plan, self.progress),
        )


def start_programs(
    shards: Sequence[Samples],
    plan: Plan,
    *,
    nodes: Sequence[NodeId],
    n_nodes: int,
    memory: int | None,
    n_threads: int,
    book: Book,
    members_of: MembersOf | None = None,
) -> list[Program[Model]]:
    """Return the programs of a host's nodes, the first of which writes the book.

    Parameters
    ----------
    shards : sequence of Samples
        One per node of this host.
    plan : Plan
        The plan with nothing left open.
    nodes : sequence of int
        Their numbers.
    n_nodes : int
        The number of nodes of the whole network.
    memory : int, optional
        Bytes that the nodes of this host may use together.
    n_threads : int
        Threads that one node may use.
    book : Book
        Records how the layers end.
    members_of : callable, optional
        Who takes part in an averaging, where nodes may come and go.
    """
    share = None if memory is None else memory // len(shards)
    return [
        train_node(
            shard,
            plan,
            n_nodes=n_nodes,
            node=node,
            memory=share,
            n_threads=n_threads,
            members_of=members_of,
            on_progress=None if place else book.keep,
            on_layer=None if place else book.write,
        )
        for place, (node, shard) in enumerate(zip(nodes, shards, strict=True))
    ]
