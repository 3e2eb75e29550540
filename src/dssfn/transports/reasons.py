"""The fixed words by which a node that leaves says why.

An exception's text may hold a cell of a table, a label or a path. It stays in the log
of the node that raised it; the others are told one of these words.
"""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """Why a node leaves; the names are those of `Goodbye.Reason` in exchange.proto."""

    UNKNOWN = "it left without giving a known reason"
    FINISHED = "it has finished"
    STOPPED = "stopped by its operator"
    GAVE_UP = "it gave up waiting"
    DATA = "its data cannot be used"
    PLAN = "its plan or another setting cannot be used"
    IDENTITY = "its certificate or key cannot be used"
    DISK = "a file of its own could not be read or written"
    MEMORY = "it ran out of memory"
    NUMBERS = "its numbers are no longer finite"
    NETWORK = "one of its neighbours broke the protocol"
    FAULT = "an unexpected error"
