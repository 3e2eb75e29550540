"""Why a stream is refused: the fixed words that are told, and the error with more.

As with the reasons for which a node leaves, nobody else is told an exception's text.
"""

from __future__ import annotations

from enum import Enum

from dssfn.errors import TransportError


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
