"""Neighbours over gRPC with TLS on both sides: one long-lived stream per edge."""

from __future__ import annotations

from dssfn.errors import InputError

try:
    import grpc.aio  # noqa: F401
    from google.protobuf import message  # noqa: F401
except ImportError as exc:  # pragma: no cover
    raise InputError(
        "Nodes need gRPC. Install it with: pip install 'dssfn[grpc]'"
    ) from exc

from dssfn.transports.grpc.attendance import Attendance
from dssfn.transports.grpc.credentials import Credentials, Keyring
from dssfn.transports.grpc.reception import Terms
from dssfn.transports.grpc.switchboard import Neighbour
from dssfn.transports.grpc.transport import GrpcTransport
from dssfn.transports.grpc.wire import LARGEST_SIZE, Rules

__all__ = [
    "LARGEST_SIZE",
    "Attendance",
    "Credentials",
    "GrpcTransport",
    "Keyring",
    "Neighbour",
    "Rules",
    "Terms",
]
