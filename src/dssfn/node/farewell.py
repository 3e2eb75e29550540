"""How a node leaves: what the others are told, and what its operator reads.

An error's text may hold a value, a label or a path, so it never leaves the node; the
others learn its kind.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dssfn.errors import (
    AgreementError,
    DataError,
    IdentityError,
    InputError,
    NumericalError,
    PeerTimeout,
    TransportError,
)
from dssfn.node.runtime import NodeTraining
from dssfn.transports import Reason

log = logging.getLogger("dssfn.node")

# The first kind that fits counts.
KINDS: tuple[tuple[type[BaseException], Reason], ...] = (
    (KeyboardInterrupt, Reason.STOPPED),
    (SystemExit, Reason.STOPPED),
    (PeerTimeout, Reason.GAVE_UP),
    (AgreementError, Reason.PLAN),
    (TransportError, Reason.NETWORK),
    (DataError, Reason.DATA),
    (IdentityError, Reason.IDENTITY),
    (InputError, Reason.PLAN),
    (NumericalError, Reason.NUMBERS),
    (ArithmeticError, Reason.NUMBERS),
    (MemoryError, Reason.MEMORY),
    (OSError, Reason.DISK),
)


def reason_of(exc: BaseException) -> Reason:
    """Return the kind of an error, which is all that other nodes learn of it.

    >>> reason_of(DataError("`age` must be a number, got 'unknown'.")).name
    'DATA'
    """
    kinds = (reason for kind, reason in KINDS if isinstance(exc, kind))
    return next(kinds, Reason.FAULT)


@contextmanager
def farewell(training: NodeTraining, node: Path) -> Iterator[None]:
    """Tell the others the reason if a training fails, and the operator how to go on."""
    try:
        yield
    except BaseException as exc:
        reason = reason_of(exc)
        training.transport.close(reason)
        if reason is Reason.STOPPED:
            log.error("stopped. %s", how_to_go_on(training, node))
        elif reason is Reason.GAVE_UP:
            log.error("%s", how_to_go_on(training, node))
        else:
            log.error("%s (the others are told: %s)", exc, reason.value)
        raise
    training.transport.close(Reason.FINISHED)


def how_to_go_on(training: NodeTraining, node: Path) -> str:
    """Return what is saved of a training, and the command that goes on from there."""
    solved = training.furthest.n_layers if training.furthest else 0
    most = "" if training.plan.finds_size else f" of {training.plan.depth + 1}"
    return (
        f"{solved}{most} layers are saved; to go on from there: dssfn node run {node}"
    )
