"""Carriers of letters between neighbours: in memory, over MPI, over gRPC."""

from __future__ import annotations

from dssfn.transports.base import Arc, Letters, Tag, Transport
from dssfn.transports.memory import memory_network

__all__ = ["Arc", "Letters", "Tag", "Transport", "memory_network"]
