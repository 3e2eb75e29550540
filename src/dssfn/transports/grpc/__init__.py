"""Neighbours over gRPC with TLS on both sides: one long-lived stream per edge."""

from __future__ import annotations

from dssfn.errors import TransportError

try:
    from dssfn.transports.grpc.credentials import Credentials
    from dssfn.transports.grpc.reception import Terms
    from dssfn.transports.grpc.switchboard import Neighbour
    from dssfn.transports.grpc.transport import GrpcTransport
    from dssfn.transports.grpc.wire import LARGEST_SIZE, Rules
except ModuleNotFoundError as exc:  # pragma: no cover
    raise TransportError(
        "gRPC is not installed. Install it with: pip install 'dssfn[grpc]'"
    ) from exc

__all__ = [
    "LARGEST_SIZE",
    "Credentials",
    "GrpcTransport",
    "Neighbour",
    "Rules",
    "Terms",
]
