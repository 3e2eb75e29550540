"""Simulator: M programs in lockstep in one process, with an account of the traffic.

It stands where a network would: it takes each node's message, mixes all of them as the
consensus scheme says, and hands every node its own average, or the total of integers.
Nodes share nothing else, unless their sums are exact: then they are run as one, which
gives the same bits.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from dssfn._typing import NodeId, Numbers
from dssfn.config import Plan, bytes_of
from dssfn.consensus import Attending, Averaging
from dssfn.exact.bounds import MOST_NODE_SAMPLES
from dssfn.federation import check_secure
from dssfn.hosting import Book, Simulation, Traffic, start_programs
from dssfn.influence import Stated, check_share, check_total
from dssfn.lockstep import Workers, drive
from dssfn.masking import Masks, leaving, mask_partners, masks_in_one_place
from dssfn.planning import settle
from dssfn.programs import Message, Program
from dssfn.records import LayerRecord
from dssfn.shard import Joined, Samples
from dssfn.topology import Topology
from dssfn.training import check_network, check_samples

Result = TypeVar("Result")


def simulate(
    shards: Sequence[Samples],
    plan: Plan,
    topology: Topology,
    *,
    memory: float | str | None = None,
    apart: bool = False,
    secure: bool = False,
    took_part: Sequence[tuple[int, Sequence[NodeId]]] = (),
    on_layer: Callable[[LayerRecord, Traffic], None] | None = None,
    on_average: Callable[[Message, Any], None] | None = None,
) -> Simulation:
    """Train one network on the shards of M nodes, all simulated in this process.

    Parameters
    ----------
    shards : sequence of Samples
        One per node: a `Shard`, or a file that is read in chunks.
    plan : Plan
        What all nodes agreed on.
    topology : Topology
        Who talks to whom.
    memory : int or str, optional
        Memory limit for all nodes together in bytes, or a size such as "2GB". What does
        not fit is kept in temporary files.
    apart : bool
        Run every node separately, even if all of them could be run as one with the same
        result.
    secure : bool
        Mask the nodes' messages, as real networks do. The result is the same.
    took_part : sequence of (int, nodes)
        Who takes part, if not all nodes do: pairs of the number of an averaging, from
        0, and the nodes that take part from there on. The other nodes receive the
        result. Result files of real networks hold these pairs as `stints`.
    on_layer : callable, optional
        Called with every finished layer and its traffic.
    on_average : callable, optional
        Called after every average with the first node's message and its average.

    Returns
    -------
    Simulation
        The nodes' networks, a record of every layer, and the traffic.

    Raises
    ------
    InputError
        If there is not one shard for each node, shards do not fit the plan, or an
        argument is of another type.

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
    check_network(shards, plan, topology)
    budget = None if memory is None else bytes_of(memory)
    start = time.perf_counter()
    plan, averaging = settle(plan, topology)
    book, masks = Book(on_layer), None
    elastic = None
    if took_part:
        elastic = Attending(topology, took_part)
        elastic.check(plan, secure=secure)
        averaging = elastic
    if secure:
        check_secure(plan)
        masks = masks_in_one_place(mask_partners(topology.n_nodes))
    hosted = shards if apart or secure or elastic else _hosted(shards, plan)
    stated = None
    if plan.is_exact and not secure and not elastic and len(hosted) > 1:
        names = tuple(f"Node {node}" for node in range(len(hosted)))
        stated = Stated(names, tuple(shard.weight for shard in hosted))
    with Workers(len(hosted)) as workers:
        programs = start_programs(
            hosted,
            plan,
            nodes=range(len(hosted)),
            n_nodes=topology.n_nodes,
            memory=budget,
            n_threads=workers.threads_per_node,
            book=book,
            members_of=elastic.order if elastic else None,
        )
        networks = run_programs(
            programs,
            averaging,
            workers,
            masks=masks,
            stated=stated,
            on_message=lambda message: book.account(averaging, message),
            on_average=on_average,
        )
    if len(hosted) < len(shards):
        networks *= len(shards)
    return book.closed(networks, averaging, time.perf_counter() - start)


def _hosted(shards: Sequence[Samples], plan: Plan) -> Sequence[Samples]:
    """Return the samples of the programs to run: one for each node, or for all.

    Where sums are exact, the total of all nodes' messages is, to the last bit, the
    message of one node that holds all their samples. So all nodes are run as one,
    unless it matters who they are, as where each adds its noise.
    """
    for shard in shards:
        check_samples(shard, plan)
    together = Joined(shards)
    told_apart = plan.folds == "nodes" or plan.publish_scores or plan.is_private
    if not plan.is_exact or told_apart or together.n_samples > MOST_NODE_SAMPLES:
        return shards
    return [together]


def run_programs(
    programs: Sequence[Program[Result]],
    averaging: Averaging,
    workers: Workers,
    *,
    masks: Masks | None = None,
    stated: Stated | None = None,
    on_message: Callable[[Message], None] | None = None,
    on_average: Callable[[Message, Any], None] | None = None,
) -> list[Result]:
    """Run one program per node and average their messages, all in this process.

    Parameters
    ----------
    programs : sequence of Program
        One for each node of the graph, or one for all of them, whose sums are exact.
    averaging : Averaging
        The averaging scheme.
    workers : Workers
        Runs the nodes side by side.
    masks : Masks, optional
        What hides the messages of all nodes, each of which has a program then.
    stated : Stated, optional
        How much the samples of every node weigh, by which its messages are judged.
    on_message, on_average : callable, optional
        Called before and after every average with the first node's message, and with
        the average that this node receives.
    """
    steps = itertools.count()

    def answer(messages: Sequence[Message]) -> list[Numbers]:
        step = next(steps)
        if on_message:
            on_message(messages[0])
        if len(messages) == 1:
            averages = [messages[0].make()]
        else:
            make = [
                partial(_left, message, node, step=step, masks=masks, stated=stated)
                for node, message in enumerate(messages)
            ]
            values = _Values(make, averaging.order(step), workers)
            averages = list(averaging.mix(values, step))
        if masks is not None:
            masks.hear(averages[0])
        check_total(messages[0], averages[0], stated, is_masked=masks is not None)
        if on_average:
            on_average(messages[0], averages[0])
        return averages

    return drive(programs, answer, workers)


def _left(
    message: Message,
    node: NodeId,
    *,
    step: int,
    masks: Masks | None,
    stated: Stated | None,
) -> Numbers:
    """Return the numbers that leave a node, held to what it has stated."""
    values = leaving(message, node, step=step, masks=masks)
    if stated is not None:
        check_share(message, values, stated, [node], node)
    return values


class _Values:
    """The nodes' messages, made just before they are asked for and then dropped."""

    def __init__(
        self,
        make: Sequence[Callable[[], Numbers]],
        order: Sequence[NodeId],
        workers: Workers,
    ) -> None:
        self._ahead = workers.ahead(make[node] for node in order)
        self._order = iter(order)

    def __getitem__(self, node: NodeId) -> Numbers:
        assert node == next(self._order)
        values: Numbers = next(self._ahead)
        return values
