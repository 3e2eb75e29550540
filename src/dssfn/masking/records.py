"""Short texts of all nodes as one array of integers, which letters can carry."""

from __future__ import annotations

import numpy as np

from dssfn._typing import Integers, NodeId, Numbers
from dssfn.errors import ProtocolError

_WORD = 8  # bytes of an integer


def record_size(most_bytes: int) -> int:
    """Return how many integers a record of at most so many bytes takes.

    >>> record_size(32)
    5
    """
    return 1 + -(-most_bytes // _WORD)


def packed(content: bytes, node: NodeId, n_nodes: int, most_bytes: int) -> Integers:
    """Return the records of all nodes, of which one is known.

    Every row is a node's: the number of bytes, which is zero if the record is not
    known, and the bytes.
    """
    if not 0 < len(content) <= most_bytes:
        raise ProtocolError(
            f"a record must have 1 to {most_bytes} bytes, got {len(content)}"
        )
    records = np.zeros((n_nodes, record_size(most_bytes)), dtype=np.int64)
    padded = content.ljust(_WORD * (record_size(most_bytes) - 1), b"\0")
    records[node, 0] = len(content)
    records[node, 1:] = np.frombuffer(padded, dtype="<i8")
    return records


def united(known: Numbers, came: Numbers) -> Numbers:
    """Return the records of two arrays; of a node that both know, the first one's."""
    return np.where(known[:, :1] != 0, known, came)


def unpacked(records: Integers) -> list[bytes]:
    """Return the records of all nodes, empty where they are not known.

    >>> unpacked(packed(b"key", 1, 2, 32))
    [b'', b'key']
    """
    found = []
    for row in records:
        n_bytes, content = int(row[0]), row[1:].astype("<i8").tobytes()
        if not 0 <= n_bytes <= len(content):
            raise ProtocolError(f"a record cannot have {n_bytes} bytes")
        found.append(content[:n_bytes])
    return found
