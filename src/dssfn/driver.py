"""Driver: the programs of the nodes of one host, over a transport.

How this works. A program yields what it wants averaged. The averaging scheme turns that
into rounds, and a round into letters to neighbours. Letters between two nodes of this
host are handed over here; the transport carries the others. So one process with one
node, and a rank of a cluster with five, run the same lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from dssfn._typing import Agreed, Array, NodeId
from dssfn.consensus import Averaging, Swap
from dssfn.lockstep import Finished, Workers, advance, run_agreed
from dssfn.training import Message, NodeProgram
from dssfn.transports import Arc, Tag, Transport

Result = TypeVar("Result")


def drive(
    programs: Mapping[NodeId, NodeProgram[Result]],
    averaging: Averaging,
    transport: Transport,
    *,
    step: int = 0,
    n_cores: int | None = None,
    on_message: Callable[[Message], None] | None = None,
) -> dict[NodeId, Result]:
    """Answer the programs of this host's nodes until they return.

    Parameters
    ----------
    programs : mapping
        One program for each node of this host; all walk in step.
    averaging : Averaging
        The scheme, the same on all hosts.
    transport : Transport
        Carries letters to the neighbours elsewhere.
    step : int
        How many averagings were done before, as after a restart.
    n_cores : int, optional
        That this host may use; by default all.
    on_message : callable, optional
        Told of what is going to be averaged, with the first node's message.
    """
    nodes = sorted(programs)
    walking = [programs[node] for node in nodes]
    with Workers(len(nodes), n_cores) as workers:
        requests = workers.map(advance, walking, [None] * len(nodes))
        while not isinstance(requests[0], Finished):
            if isinstance(requests[0], Agreed):
                replies: list[Any] = run_agreed(requests, workers)
            else:
                if on_message:
                    on_message(requests[0])
                made = workers.map(lambda message: message.make(), requests)
                layer, values = requests[0].layer, dict(zip(nodes, made, strict=True))
                del made
                means = average(values, averaging, transport, layer=layer, step=step)
                replies = [means[node] for node in nodes]
                del values, means
                step += 1
            requests = workers.map(advance, walking, replies)
    return dict(zip(nodes, (one.result for one in requests), strict=True))


def average(
    values: Mapping[NodeId, Array],
    averaging: Averaging,
    transport: Transport,
    *,
    layer: int,
    step: int,
) -> dict[NodeId, Array]:
    """The averages that this host's nodes get for their values."""
    shape = next(iter(values.values())).shape
    rounds = {i: averaging.rounds(i, value, step) for i, value in values.items()}
    inboxes: dict[NodeId, dict[NodeId, Array] | None] = dict.fromkeys(rounds)
    for number in range(averaging.n_rounds):
        swaps = {i: _send(rounds[i], inboxes[i]) for i in rounds}
        tag = Tag(layer, step, number, shape)
        inboxes = dict(_swap(swaps, tag, transport))
    means = {i: _last(rounds[i], inboxes[i]) for i in rounds}
    if averaging.is_bitwise:  # one copy of equal numbers is enough
        means = dict.fromkeys(means, next(iter(means.values())))
    return means


def _swap(
    swaps: Mapping[NodeId, Swap], tag: Tag, transport: Transport
) -> dict[NodeId, dict[NodeId, Array]]:
    """What every node here receives in a round."""
    letters: dict[Arc, Array] = {
        (i, j): value for i, swap in swaps.items() for j, value in swap.letters.items()
    }
    expected = [(j, i) for i, swap in swaps.items() for j in swap.senders]
    came = transport.exchange(
        tag,
        {link: value for link, value in letters.items() if link[1] not in swaps},
        [link for link in expected if link[0] not in swaps],
    )
    inboxes: dict[NodeId, dict[NodeId, Array]] = {i: {} for i in swaps}
    for link in expected:
        inboxes[link[1]][link[0]] = letters[link] if link in letters else came[link]
    return inboxes


def _send(rounds: Any, inbox: dict[NodeId, Array] | None) -> Swap:
    swap: Swap = next(rounds) if inbox is None else rounds.send(inbox)
    return swap


def _last(rounds: Any, inbox: dict[NodeId, Array] | None) -> Array:
    try:
        _send(rounds, inbox)
    except StopIteration as stop:
        mean: Array = stop.value
        return mean
    raise AssertionError("an averaging must end after its last round")
