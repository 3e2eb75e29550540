"""Carriers of letters between neighbours: in memory, over MPI, over gRPC."""

from __future__ import annotations

from dssfn.transports.base import Letters, Link, Tag, Transport
from dssfn.transports.memory import memory_network

__all__ = ["Letters", "Link", "Tag", "Transport", "memory_network"]
