"""Ask a running node for its status."""

from __future__ import annotations

from http.client import HTTPConnection, HTTPException

import msgspec

from dssfn.errors import TransportError
from dssfn.federation import split_address
from dssfn.node.spec import NodeSpec
from dssfn.status import JSON, Status

PATIENCE = 5.0  # seconds
MOST_BYTES = 16_000_000  # of an answer: whoever listens there may be somebody else
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # what listens everywhere is here


def ask_status(spec: NodeSpec) -> Status:
    """Return the status of a node that runs on this machine.

    Parameters
    ----------
    spec : NodeSpec
        The node's file, whose `page` says where to ask.

    Raises
    ------
    TransportError
        If the node has no page, does not run, or another program answers there.
    """
    if spec.page is None:
        raise TransportError(
            f'{spec.name} has no status page. Put `page = "127.0.0.1:9401"` into its '
            "file, and start it again: it resumes from its checkpoint."
        )
    try:
        answer = _get(spec.page)
    except (OSError, HTTPException) as exc:
        why = getattr(exc, "strerror", None) or str(exc) or type(exc).__name__
        raise TransportError(
            f"{spec.name} does not answer at {spec.page} ({why}). Start it with "
            "`dssfn node run`. If it is running, its file had another `page`, or "
            "none, when it was started."
        ) from exc
    status = _decoded(answer)
    if status is None or status.node != spec.name:
        who = f"the node {status.node}" if status else "another program"
        raise TransportError(
            f"`page`: {who} answers at {spec.page}, not {spec.name}. Choose a port "
            "that nothing else uses."
        )
    return status


def _get(address: str) -> bytes:
    host, port = split_address(address)
    connection = HTTPConnection(_ANYWHERE.get(host, host), port, timeout=PATIENCE)
    try:
        connection.request("GET", JSON)
        return connection.getresponse().read(MOST_BYTES)
    finally:
        connection.close()


def _decoded(answer: bytes) -> Status | None:
    try:
        return msgspec.json.decode(answer, type=Status)
    except msgspec.DecodeError:
        return None
