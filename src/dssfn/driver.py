"""Driver: the programs of the nodes of one host, over a transport.

How this works. A program yields what it wants averaged, or added up. The averaging
scheme turns that into rounds, and a round into letters to neighbours. Letters between
two nodes of this host are handed over here; the transport carries the others. So one
process with one node, and a rank of a cluster with five, run the same lines.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TypeVar

from dssfn import lockstep
from dssfn._typing import Kind, NodeId, Numbers
from dssfn.consensus import Averaging, RoundByRound, run_rounds
from dssfn.errors import ProtocolError
from dssfn.influence import Inspection, Stated, check_total, inspection_of
from dssfn.lockstep import Workers
from dssfn.masking import Masks, leaving
from dssfn.programs import Message, Program
from dssfn.transports import Arc, Letters, Tag, Transport

Result = TypeVar("Result")


def drive(
    programs: Mapping[NodeId, Program[Result]],
    averaging: Averaging,
    transport: Transport,
    *,
    step: int = 0,
    n_cores: int | None = None,
    masks: Masks | None = None,
    stated: Stated | None = None,
    known: Sequence[Numbers] = (),
    on_message: Callable[[Message], None] | None = None,
    on_total: Callable[[Numbers], None] | None = None,
) -> dict[NodeId, Result]:
    """Run the programs of this host's nodes until they return.

    Parameters
    ----------
    programs : mapping
        One program for each node of this host; all walk in step.
    averaging : Averaging
        The averaging scheme, the same on all hosts.
    transport : Transport
        Carries letters to the neighbours elsewhere.
    step : int
        How many averagings were done before, as after a restart.
    n_cores : int, optional
        How many cores this host may use; by default all of them.
    masks : Masks, optional
        What hides the messages of this host's nodes, which must all be exact.
    stated : Stated, optional
        What all nodes have stated of their samples, or what they weigh altogether.
    known : sequence of arrays
        The averages of the first messages, if they were found before; they are checked
        like those that are found now.
    on_message : callable, optional
        Called before every average with the first node's message.
    on_total : callable, optional
        Called with every average that was not known, as soon as it is found.
    """
    nodes = sorted(programs)
    found_before = deque(known)

    def answer(messages: Sequence[Message]) -> list[Numbers]:
        nonlocal step
        if on_message:
            on_message(messages[0])
        if found_before:
            step += 1
            total = found_before.popleft()
            _check_known(messages[0], total, masks)
            return [total] * len(nodes)
        made = workers.map(partial(leaving, step=step, masks=masks), messages, nodes)
        values = dict(zip(nodes, made, strict=True))
        message = messages[0]
        means = average(
            values,
            averaging,
            transport,
            layer=message.layer,
            step=step,
            # Of masked letters nothing can be said.
            inspection=inspection_of(
                message, averaging, None if masks else stated, step
            ),
        )
        step += 1
        mean = means[nodes[0]]
        if masks is not None:
            masks.hear(mean)
        check_total(message, mean, stated, is_masked=masks is not None)
        if on_total:
            on_total(mean)
        return [means[node] for node in nodes]

    with Workers(len(nodes), n_cores) as workers:
        walking = [programs[node] for node in nodes]
        results = lockstep.drive(walking, answer, workers)
    return dict(zip(nodes, results, strict=True))


def _check_known(message: Message, total: Numbers, masks: Masks | None) -> None:
    """Refuse what cannot be the total of a message: others may have handed it over.

    Masks follow from all totals so far, from such ones too.
    """
    if (total.shape, total.dtype) != (message.shape, message.dtype):
        raise ProtocolError(
            "the totals of a layer that is not solved yet, which a neighbour has "
            "handed over, are not those of this training"
        )
    if masks is not None:
        masks.hear(total)
    check_total(message, total, None, is_masked=masks is not None)


def average(
    values: Mapping[NodeId, Kind],
    averaging: Averaging,
    transport: Transport,
    *,
    layer: int,
    step: int,
    inspection: Inspection | None = None,
) -> dict[NodeId, Kind]:
    """Return the averages that this host's nodes get for their values.

    Of int64 values they get the totals. An inspection looks at every letter.
    """
    means = run_over(
        transport, averaging, values, layer=layer, step=step, inspection=inspection
    )
    if averaging.is_bitwise:  # one copy of equal numbers is enough
        means = dict.fromkeys(means, next(iter(means.values())))
    return means


def run_over(
    transport: Transport,
    scheme: RoundByRound,
    values: Mapping[NodeId, Kind],
    *,
    layer: int,
    step: int,
    inspection: Inspection | None = None,
) -> dict[NodeId, Kind]:
    """Let this host's nodes run the rounds of a scheme with all others.

    Parameters
    ----------
    transport : Transport
        Carries letters to the neighbours elsewhere.
    scheme : RoundByRound
        An averaging scheme, or another way to find something out together.
    values : mapping
        What each node of this host holds.
    layer, step : int
        The layer and the averaging that the letters belong to.
    inspection : Inspection, optional
        Looks at the letters of every round.
    """
    value = next(iter(values.values()))
    shape, dtype = value.shape, value.dtype.newbyteorder("<").str

    def carry(number: int, letters: Letters, expected: Collection[Arc]) -> Letters:
        tag = Tag(layer, step, number, shape, dtype)
        came = transport.exchange(tag, letters, expected)
        if inspection is not None:
            inspection.look(letters, came)
        return came

    return run_rounds(scheme, values, step, carry)
