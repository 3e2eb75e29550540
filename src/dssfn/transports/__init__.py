"""Carriers of letters between neighbours: in memory, over MPI, over gRPC."""

from __future__ import annotations

from dssfn.transports.base import (
    DTYPES,
    FLOAT64,
    INT64,
    WAIT_WHEN_GONE,
    Account,
    Arc,
    Group,
    Letters,
    ResilientTransport,
    Sighting,
    Tag,
    Transport,
)
from dssfn.transports.memory import memory_network
from dssfn.transports.reasons import Reason
from dssfn.transports.renumbered import Renumbered

__all__ = [
    "DTYPES",
    "FLOAT64",
    "INT64",
    "WAIT_WHEN_GONE",
    "Account",
    "Arc",
    "Group",
    "Letters",
    "Reason",
    "Renumbered",
    "ResilientTransport",
    "Sighting",
    "Tag",
    "Transport",
    "memory_network",
]
