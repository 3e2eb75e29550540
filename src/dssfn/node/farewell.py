"""How a node leaves: what the others are told, and what its operator reads.

An error's text may hold a value, a label or a path, so it never leaves the node; the
others learn its kind.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dssfn.errors import (
    AgreementError,
    DataError,
    IdentityError,
    InputError,
    NumericalError,
    PeerTimeout,
    TransportError,
)
from dssfn.transports import Reason, ResilientTransport

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
def farewell(
    transport: ResilientTransport, how_to_go_on: Callable[[], str]
) -> Iterator[None]:
    """Tell the others the reason if this node fails, and its operator how to go on."""
    try:
        yield
    except BaseException as exc:
        reason = reason_of(exc)
        transport.close(reason)
        if reason is Reason.STOPPED:
            log.error("stopped. %s", how_to_go_on())
        elif reason is Reason.GAVE_UP:
            log.error("%s %s", exc, how_to_go_on())
        else:
            log.error("%s (told the other nodes: %s)", exc, reason.value)
        raise
    transport.close(Reason.FINISHED)
