"""A dssfn command that keeps all bytes which its transport writes.

Run as `python -m tests.support.recorded FILE federation statistics node.toml`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from dssfn.cli.main import run
from dssfn.transports.grpc import client, server
from dssfn.transports.grpc.streams import GrpcStream

LENGTH = 8  # bytes before every envelope


def written(path: Path) -> Iterator[bytes]:
    """All envelopes in a file."""
    content = path.read_bytes()
    while content:
        end = LENGTH + int.from_bytes(content[:LENGTH], "little")
        yield content[LENGTH:end]
        content = content[end:]


def record(path: Path) -> None:
    """Append all that any stream writes to a file."""

    class Recorded(GrpcStream):
        def __init__(self, read, write, *more, **named):
            async def kept(data):
                with path.open("ab") as file:
                    file.write(len(data).to_bytes(LENGTH, "little") + data)
                await write(data)

            super().__init__(read, kept, *more, **named)

    client.GrpcStream = server.GrpcStream = Recorded


if __name__ == "__main__":
    record(Path(sys.argv.pop(1)))
    run()
