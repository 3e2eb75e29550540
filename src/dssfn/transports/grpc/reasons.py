"""The fixed words that may leave a node: why it goes, and why it turns somebody away.

An exception's text may hold a cell of a table, a label or a path. It stays in the log
of the node that raised it; the others are told one of these words.
"""

from __future__ import annotations

from enum import Enum

from dssfn.errors import TransportError


class Reason(Enum):
    """Why a node leaves. Names are those of `Goodbye.Reason` in exchange.proto."""

    UNKNOWN = "it left without a reason that is known here"
    FINISHED = "it has finished"
    STOPPED = "stopped by its operator"
    GAVE_UP = "it gave up waiting"
    DATA = "its data cannot be used"
    PLAN = "its plan or another setting cannot be used"
    IDENTITY = "its certificate or key cannot be used"
    DISK = "a file of its own could not be read or written"
    MEMORY = "it ran out of memory"
    NUMBERS = "its arithmetic left the finite numbers"
    NETWORK = "one of its neighbours broke the protocol"
    FAULT = "an unexpected error"


class Refusal(Enum):
    """Why a stream is refused; the value is all that the other end is told."""

    CERTIFICATE = "certificate"
    NO_NEIGHBOUR = "no neighbour"
    ANOTHER_NAME = "another name"
    ANOTHER_PLAN = "another plan"
    CONNECTED = "connected already"
    TOO_OFTEN = "restarted too often"
    TOO_MANY = "too many calls"
    PROTOCOL = "protocol error"
    LATE = "too late"
    FAULT = "fault"


class Refused(TransportError):
    """This end does not talk to the other one; the text is for this node's log."""

    def __init__(self, text: str, refusal: Refusal) -> None:
        super().__init__(text)
        self.refusal = refusal
