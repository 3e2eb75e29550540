"""The status of a node: what its training and its transport know, and nothing else.

Who reads it may be a stranger to this node's data. So it is made of names and numbers
of the plan, figures that all nodes agreed on, times and traffic; see `dssfn.status`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dssfn._version import __version__
from dssfn.node.log_tail import LogTail
from dssfn.node.renewal import Keyring
from dssfn.node.runtime import NodeTraining
from dssfn.records import LayerRecord
from dssfn.status import LayerStatus, LinkStatus, LogLine, NodeStatus, State, Status
from dssfn.transports import Reason, Sighting

# Of the deadline. A neighbour that is connected speaks four times within it, and is
# slow if it has not for half of it, or if this node has waited for it so long.
SLOW = 0.5
DAY = 86_400.0  # seconds


@dataclass(slots=True)
class StatusSource:
    """Finds out the status of a node whenever it is called, from any thread.

    Parameters
    ----------
    training : NodeTraining
        The training.
    plan : str
        The first digits of the plan's fingerprint.
    keyring : Keyring
        Knows the node's certificate.
    tail : LogTail
        Keeps the latest lines of the log.
    """

    training: NodeTraining
    plan: str
    keyring: Keyring
    tail: LogTail
    has_left: bool = False  # the others, with its model
    _started: float = field(default_factory=time.monotonic)

    def __call__(self) -> Status:
        """Return the status now."""
        return status_of(
            self.training,
            plan=self.plan,
            certificate_ends=self.keyring.current().expires,
            seconds=time.monotonic() - self._started,
            log=self.tail.lines(),
            has_left=self.has_left,
        )


def status_of(
    training: NodeTraining,
    *,
    plan: str,
    certificate_ends: datetime,
    seconds: float,
    log: Sequence[LogLine] = (),
    has_left: bool = False,
) -> Status:
    """Return the status of a node.

    Parameters
    ----------
    training : NodeTraining
        The training, which may go on meanwhile.
    plan : str
        The first digits of the plan's fingerprint.
    certificate_ends : datetime
        When the node's certificate ends.
    seconds : float
        How long the node has been running.
    log : sequence of LogLine
        Lines of the log that may be shown.
    has_left : bool
        Whether the node has its model and has left the others.
    """
    transport, topology = training.transport, training.topology
    seen, at, progress = transport.sightings(), transport.at, training.progress
    solved = progress.n_layers if progress else 0
    layer = None if training.is_complete or not transport.have_met else solved
    waits_for = tuple(name for name, one in seen.items() if one.waited is not None)
    left = certificate_ends - datetime.now(UTC)
    return Status(
        node=training.names[training.node],
        plan=plan,
        version=__version__,
        made_at=datetime.now().astimezone().isoformat(timespec="seconds"),
        seconds=seconds,
        doing=_doing(training, layer, waits_for, has_left=has_left),
        waits_for=waits_for,
        layer=layer,
        depth=None if training.plan.finds_size else training.plan.depth,
        solved=solved,
        step=at.step if at.layer >= 0 else -1,
        round=at.round,
        restarts=transport.epoch,
        certificate_ends=f"{certificate_ends:%Y-%m-%d}",
        certificate_days=int(left.total_seconds() // DAY),
        graph=topology.name,
        edges=tuple(topology.edges()),
        nodes=tuple(_nodes(training, seen, layer, waits_for)),
        links=tuple(_link(name, one) for name, one in seen.items()),
        layers=tuple(_layers(list(training.records.values()))),
        log=tuple(log),
    )


def _doing(
    training: NodeTraining,
    layer: int | None,
    waits_for: Sequence[str],
    *,
    has_left: bool,
) -> str:
    if has_left:
        return "has its model and measures how well it does here"
    names = ", ".join(waits_for)
    if not training.transport.have_met:
        what = "is connecting to the other nodes"
    elif layer is None:
        what = "compares its model with the others'"
    elif layer == 0 and training.transport.at.layer < 0:
        what = "agrees with the others on how to begin"
    else:
        what = f"trains layer {layer}"
    return f"{what}; waiting for {names}" if names else what


def _nodes(
    training: NodeTraining,
    seen: dict[str, Sighting],
    layer: int | None,
    waits_for: tuple[str, ...],
) -> Iterable[NodeStatus]:
    """Yield what is known of every node of the plan: little of those far away."""
    deadline, most = training.transport.deadline, training.plan.most_layers
    for number, name in enumerate(training.names):
        one, since = seen.get(name), None
        if number == training.node:
            state = State.THIS
        elif one is None:
            state = State.UNKNOWN
        else:
            state, since = state_of(one, deadline)
        part = None if training.members is None else number in training.members
        state = _as_member(state, part)
        yield NodeStatus(
            name=name,
            state=state,
            since=since,
            layer=layer if state is State.THIS else _layer_of(one, most),
            waits_for=(
                waits_for if state is State.THIS else one.waiting_for if one else ()
            ),
            takes_part=part,
        )


def _as_member(state: State, takes_part: bool | None) -> State:
    """Return what a node does, as far as it follows from whether it takes part."""
    if takes_part is False and state in (State.GONE, State.UNSEEN, State.UNKNOWN):
        return State.LEFT_OUT
    return State.HERE if takes_part and state is State.UNKNOWN else state


def _layer_of(one: Sighting | None, most: int) -> int | None:
    """Return the layer of a neighbour, which may say anything of itself."""
    if one is None or one.layer is None or not 0 <= one.layer <= most:
        return None
    return one.layer


def state_of(one: Sighting, deadline: float) -> tuple[State, float]:
    """Return what a neighbour does, and for how many seconds it has.

    Parameters
    ----------
    one : Sighting
        What is known of it.
    deadline : float
        The round deadline in seconds.
    """
    if not one.is_up:
        if one.reason is Reason.FINISHED:
            return State.FINISHED, one.since
        return (State.GONE if one.was_seen else State.UNSEEN), one.since
    # One that itself waits for others is not to blame.
    waited = 0.0 if one.waited is None or one.waiting_for else one.waited
    late = max(one.silent, waited)
    return (State.SLOW, late) if late > SLOW * deadline else (State.HERE, one.since)


def _link(name: str, one: Sighting) -> LinkStatus:
    return LinkStatus(
        name=name,
        is_connected=one.is_up,
        letters_sent=one.n_sent,
        letters_received=one.n_received,
        bytes_sent=one.account.bytes_sent,
        bytes_received=one.account.bytes_received,
        seconds_waited=one.account.seconds_waited + (one.waited or 0.0),
        connections=one.account.n_connections,
    )


def _layers(records: list[LayerRecord]) -> Iterable[LayerStatus]:
    """Yield the layers; digits that could tell of single samples are left out."""
    records.sort(key=lambda record: record.layer)
    for record in records:
        error = record.validation_error_db
        yield LayerStatus(
            layer=record.layer,
            relative_cost=_rounded(record.cost, records[0].cost),
            train_error_db=round(record.train_error_db, 2),
            validation_error_db=None if error is None else round(error, 2),
            units=record.width,
        )


def _rounded(cost: float, first: float) -> float:
    return float(f"{cost / first:.4g}") if first > 0 else 1.0
