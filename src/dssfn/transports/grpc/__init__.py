"""Neighbours over gRPC with TLS on both sides: one long-lived stream per edge."""

from __future__ import annotations

from dssfn.transports.grpc.reception import Terms
from dssfn.transports.grpc.switchboard import Neighbour
from dssfn.transports.grpc.transport import Credentials, GrpcTransport
from dssfn.transports.grpc.wire import LARGEST_SIZE, Rules

__all__ = [
    "LARGEST_SIZE",
    "Credentials",
    "GrpcTransport",
    "Neighbour",
    "Rules",
    "Terms",
]
