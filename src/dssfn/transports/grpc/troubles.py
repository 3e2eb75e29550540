"""What TLS and gRPC say when a connection fails, and what that most likely means."""

from __future__ import annotations

import os

import grpc.aio

# Errors of a neighbour that this node dials.
DIALLING = {
    "certificate has expired": "its certificate has expired and its organisation must "
    "replace it, or a clock is wrong",
    "CERTIFICATE_VERIFY_FAILED": "its certificate is not signed by an authority in "
    "this node's `authorities` file, or has expired",
    "Hostname Verification": "the node that answers there has another node's "
    "certificate; is the address right?",
    "Socket closed": "the connection was closed during the TLS handshake. Either that "
    "node is just stopping, or this node's certificate is not signed "
    "by an authority in its `authorities` file",
    "WRONG_VERSION_NUMBER": "what answers there does not speak TLS. Is it another "
    "port, or a proxy?",
    "handshake": "what answers there does not speak TLS as a node does",
}
# Errors of somebody who dials this node; gRPC does not tell who it was.
ANSWERING = {
    "unable to get local issuer certificate": "it is not signed by an authority in "
    "this node's `authorities` file. If a "
    "neighbour cannot connect, compare that "
    "file with the neighbour's",
    "self-signed certificate": "it is not signed by an authority in this node's "
    "`authorities` file",
    "certificate has expired": "it must be renewed, or a clock is wrong",
    "certificate is not yet valid": "a clock is wrong",
    "bad packet length": "the other end does not accept this node's certificate, or "
    "presented none of its own",
    "unknown ca": "this node's certificate is not signed by an authority in the other "
    "end's `authorities` file. Compare that file with this node's",
}


def likely_cause(text: str, causes: dict[str, str]) -> tuple[str, str]:
    """Return the first sign that is found in an error's text, and what it means.

    Both are empty if none is found.

    >>> likely_cause("certificate has expired", ANSWERING)[1]
    'it must be renewed, or a clock is wrong'
    """
    found = (item for item in causes.items() if item[0] in text)
    return next(found, ("", ""))


def in_own_words(exc: BaseException) -> str:
    """Return what happened in this node's words: the other end's are not shown."""
    if isinstance(exc, grpc.aio.AioRpcError):
        return f"its stream ended ({exc.code().name.lower()})"
    if isinstance(exc, ConnectionError) and exc.errno:
        return os.strerror(exc.errno)
    return str(exc) or type(exc).__name__
