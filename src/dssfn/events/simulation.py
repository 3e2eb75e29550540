"""A training in simulated time, over links that lose, delay and repeat letters.

The programs are those of `dssfn.simulator`; what differs is who answers them. There all
nodes walk in step over perfect links. Here every node has its own pace, letters take
their time or are lost, nodes come and go, and a party at each node sees to it that the
right averages come out (`dssfn.parties`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

from dssfn._typing import NodeId
from dssfn.config import AUTO, Plan, bytes_of
from dssfn.consensus import Averaging
from dssfn.consensus.push_sum import PushSum
from dssfn.consensus.resending import Resending
from dssfn.events.account import Posts
from dssfn.events.conditions import DAY, Conditions
from dssfn.events.engine import Engine
from dssfn.events.host import Host
from dssfn.events.links import PERFECT, LinkModel, Links
from dssfn.events.nodes import SECONDS_PER_NUMBER, NodeModel
from dssfn.events.shared import Shared
from dssfn.hosting import Book, Simulation, Traffic, start_programs
from dssfn.influence import Stated
from dssfn.lockstep import Workers
from dssfn.parties import PartyScheme
from dssfn.planning import choose_parties, settle
from dssfn.programs import Message, Program
from dssfn.records import LayerRecord
from dssfn.registry import PARTIES
from dssfn.shard import Samples
from dssfn.topology import Topology
from dssfn.trace import Trace
from dssfn.training import check_network

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class EventSimulation:
    """The outcome of a training in simulated time.

    Parameters
    ----------
    training : Simulation
        Networks, history and scores, as the simulator in lockstep has them. Its traffic
        is what the same training takes over perfect links.
    scheme : str
        The scheme that found the averages.
    seconds : float
        Simulated time until the last node had its model.
    posts : Posts
        What was sent, and what became of it.
    posts_by_layer : dict
        The same by layer; -1 is what was agreed on before layer 0.
    lockstep_letters : int
        Letters of the same training over perfect links, by the plan's scheme and with
        all nodes in step.
    trace : Trace
        What happened, event by event.
    """

    training: Simulation
    scheme: str
    seconds: float
    posts: Posts
    posts_by_layer: dict[int, Posts]
    lockstep_letters: int
    trace: Trace

    @property
    def letter_ratio(self) -> float:
        """Letters that were sent, for each that perfect links would have needed."""
        return self.posts.letters / max(self.lockstep_letters, 1)


def simulate_events(
    shards: Sequence[Samples],
    plan: Plan,
    topology: Topology,
    *,
    links: Links = PERFECT,
    nodes: Mapping[NodeId, NodeModel] = MappingProxyType({}),
    scheme: str | PartyScheme | None = None,
    seed: int = 0,
    deadline: float = DAY,
    seconds_per_number: float = SECONDS_PER_NUMBER,
    memory: float | str | None = None,
    trace: Trace | None = None,
    on_layer: Callable[[LayerRecord, Traffic], None] | None = None,
) -> EventSimulation:
    """Train on M shards over a graph whose links and nodes are not perfect.

    Parameters
    ----------
    shards : sequence of Samples
        One per node.
    plan : Plan
        What all nodes agreed on.
    topology : Topology
        Who talks to whom.
    links : LinkModel or callable
        What links do to letters: one model for all, or a function of the sender and the
        receiver.
    nodes : mapping
        How fast nodes are and when they are there; those left out are as usual.
    scheme : str or PartyScheme, optional
        How averages are found: a name in `dssfn.registry.PARTIES`, or a scheme. By
        default ("auto") the plan's, whose letters are sent again until they are
        acknowledged; push-sum, if some links carry letters one way only.
    seed : int
        Decides what is lost and delayed; the plan has its own.
    deadline : float
        Seconds of simulated time after which nodes give up with a `PeerTimeout`.
    seconds_per_number : float
        How fast nodes compute, as in `dssfn.events.nodes`.
    memory : int or str, optional
        Bytes that all nodes together may use, or a size such as "2GB".
    trace : Trace, optional
        Keeps what happens, also if the training fails; by default a new one.
    on_layer : callable, optional
        Called with every layer that node 0 has finished, and its traffic.

    Examples
    --------
    >>> import numpy as np
    >>> from dssfn.events import Independent, LinkModel, Lognormal
    >>> from dssfn.shard import Shard, one_hot
    >>> from dssfn.simulator import simulate
    >>> from dssfn.topology import build_topology
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(3, 40)), one_hot(np.arange(40) % 2, 2)
    >>> shards = [Shard(X[:, m::4], T[:, m::4]) for m in range(4)]
    >>> plan = Plan(n_features=3, classes=("a", "b"), n_layers=2, width=20)
    >>> ring = build_topology("circular", 4)
    >>> links = LinkModel(loss=Independent(0.3), delay=Lognormal(0.02))
    >>> result = simulate_events(shards, plan, ring, links=links)
    >>> best = simulate(shards, plan, ring).networks[0]
    >>> bool((result.training.networks[3].output == best.output).all())
    True
    """
    check_network(shards, plan, topology)
    conditions = Conditions(links, nodes, seed, deadline, seconds_per_number)
    conditions.check(topology.n_nodes)
    start = time.perf_counter()
    plan, averaging = settle(plan, topology)
    parties = _parties(scheme, plan, topology, averaging, links)
    book, n_letters = Book(on_layer), 0

    def on_message(message: Message) -> None:
        nonlocal n_letters
        book.account(averaging, message)
        n_letters += averaging.n_letters

    trace = Trace() if trace is None else trace
    with Workers(len(shards)) as workers:
        programs = start_programs(
            shards,
            plan,
            nodes=range(len(shards)),
            n_nodes=topology.n_nodes,
            memory=None if memory is None else bytes_of(memory),
            n_threads=workers.threads_per_node,
            book=book,
        )
        networks, engine = run_programs(
            programs,
            parties,
            conditions,
            topology=topology,
            n_samples=[shard.n_samples for shard in shards],
            trace=trace,
            stated=_stated(plan, shards),
            on_message=on_message,
        )
    training = book.closed(networks, averaging, time.perf_counter() - start)
    return EventSimulation(
        training=replace(training, consensus=parties.name),
        scheme=parties.name,
        seconds=engine.now,
        posts=engine.account.total,
        posts_by_layer=dict(engine.account.by_layer),
        lockstep_letters=n_letters,
        trace=trace,
    )


def run_programs(
    programs: Sequence[Program[Result]],
    scheme: PartyScheme,
    conditions: Conditions,
    *,
    topology: Topology | None = None,
    n_samples: Sequence[int] | None = None,
    trace: Trace | None = None,
    stated: Stated | None = None,
    on_message: Callable[[Message], None] | None = None,
) -> tuple[list[Result], Engine]:
    """Run one program per node in simulated time.

    Parameters
    ----------
    programs : sequence of Program
        One for each node of the graph.
    scheme : PartyScheme
        How averages are found.
    conditions : Conditions
        What links and nodes are like.
    topology : Topology, optional
        Who talks to whom, for programs that send letters of their own.
    n_samples : sequence of int, optional
        How many samples each node has, which decides how long it computes; by default
        none.
    trace : Trace, optional
        Keeps what happens.
    stated : Stated, optional
        How much the samples of every node weigh, by which totals are judged.
    on_message : callable, optional
        Called with node 0's messages before they are averaged.

    Returns the results of all programs, and the engine, which knows time and letters.
    """
    shared = Shared(len(programs))
    hosts = [
        Host(
            node,
            program,
            scheme.seat(node),
            shared,
            neighbours=() if topology is None else topology.neighbours(node),
            stated=stated,
        )
        for node, program in enumerate(programs)
    ]
    hosts[0].on_message = on_message
    n_samples = n_samples or [0] * len(programs)
    if trace is None:
        trace = Trace(keeps_posts=False)
    engine = Engine(hosts, n_samples, conditions, trace)
    try:
        engine.run()
    finally:
        for program in programs:
            program.close()
    return [host.result for host in hosts], engine


def _parties(
    scheme: str | PartyScheme | None,
    plan: Plan,
    topology: Topology,
    averaging: Averaging,
    links: Links,
) -> PartyScheme:
    """Return the scheme that serves: that of the plan, a named one, or a given one."""
    if not (scheme is None or isinstance(scheme, str)):
        return scheme
    losses = _losses(topology, links)
    if scheme is None or scheme == AUTO:
        scheme = choose_parties(topology, averaging, losses)
    if scheme is None:
        return Resending(averaging)
    if scheme == PushSum.name:
        return PushSum(topology.n_nodes, [arc for arc in losses if losses[arc] < 1])
    named: PartyScheme = PARTIES[scheme](topology, plan.tol)
    return named


def _losses(topology: Topology, links: Links) -> dict[tuple[NodeId, NodeId], float]:
    """Return the share of letters that every arc loses."""
    edges = topology.edges()
    arcs = [*edges, *((j, i) for i, j in edges)]
    if isinstance(links, LinkModel):
        return dict.fromkeys(arcs, links.loss.mean)
    return {(i, j): links(i, j).loss.mean for i, j in arcs}


def _stated(plan: Plan, shards: Sequence[Samples]) -> Stated | None:
    if not plan.is_exact:
        return None
    names = tuple(f"Node {node}" for node in range(len(shards)))
    return Stated(names, tuple(shard.weight for shard in shards))
