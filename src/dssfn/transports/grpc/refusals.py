"""Why a stream is refused: the fixed words that are told, and the error with more.

As with the reasons for which a node leaves, nobody else is told an exception's text.
"""

from __future__ import annotations

from enum import Enum

import grpc

from dssfn.errors import ProtocolError, TransportError


class Refusal(Enum):
    """Why a stream is refused; the value is all that the other end is told."""

    CERTIFICATE = "certificate"
    REVOKED = "revoked certificate"
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


# How gRPC carries each of them.
CODES = {
    Refusal.NO_NEIGHBOUR: grpc.StatusCode.PERMISSION_DENIED,
    Refusal.CERTIFICATE: grpc.StatusCode.PERMISSION_DENIED,
    Refusal.REVOKED: grpc.StatusCode.PERMISSION_DENIED,
    Refusal.ANOTHER_NAME: grpc.StatusCode.PERMISSION_DENIED,
    Refusal.ANOTHER_PLAN: grpc.StatusCode.FAILED_PRECONDITION,
    Refusal.CONNECTED: grpc.StatusCode.UNAVAILABLE,
    Refusal.TOO_OFTEN: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Refusal.TOO_MANY: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Refusal.PROTOCOL: grpc.StatusCode.INVALID_ARGUMENT,
    Refusal.LATE: grpc.StatusCode.UNAVAILABLE,
    Refusal.FAULT: grpc.StatusCode.INTERNAL,
}


def refusal_of(exc: Exception) -> Refusal:
    """Return the word for an error while somebody called; its text is not told."""
    if isinstance(exc, Refused):
        return exc.refusal
    if isinstance(exc, ProtocolError):
        return Refusal.PROTOCOL
    return Refusal.LATE if isinstance(exc, TimeoutError) else Refusal.FAULT
