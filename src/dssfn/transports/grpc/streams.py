"""Streams in use: envelopes both ways, heartbeats, and the end.

All of this happens in one event loop, which has a thread of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc.aio
from cryptography import x509

from dssfn.errors import ProtocolError
from dssfn.transports.grpc.credentials import Keyring
from dssfn.transports.grpc.link import Link
from dssfn.transports.grpc.peer_names import end_of
from dssfn.transports.grpc.switchboard import BEATS, Switchboard
from dssfn.transports.grpc.troubles import in_own_words

SERVICE, METHOD = "dssfn.v1.Exchange", "Link"
LAST_WORDS = 2.0  # seconds that a neighbour has to read them


@dataclass(eq=False, slots=True)
class GrpcStream:
    """A stream in use: how to read and write, and how to wake or end it."""

    read: Callable[[], Awaitable[Any]]
    write: Callable[[bytes], Awaitable[None]]
    loop: asyncio.AbstractEventLoop
    certificate: x509.Certificate  # of the other end
    hang_up: Callable[[], Awaitable[None]] | None = None  # at the end that dialled
    is_due: bool = False  # a heartbeat
    more: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        """Say that there is something to send, from any thread."""
        self.loop.call_soon_threadsafe(self.more.set)

    def end(self) -> None:
        """Close the stream, from any thread."""
        self.loop.call_soon_threadsafe(self.over.set)

    async def receive(self) -> bytes | None:
        """Return the next envelope; None at the end."""
        data = await self.read()
        return None if data is grpc.aio.EOF else data


class Streams:
    """All streams of a node, and all tasks that keep them.

    Parameters
    ----------
    board : Switchboard
        Takes what comes, and gives what must be sent.
    loop : asyncio.AbstractEventLoop
        The event loop that all streams run in.
    keyring : Keyring
        Knows which certificates were revoked.
    """

    def __init__(
        self, board: Switchboard, loop: asyncio.AbstractEventLoop, keyring: Keyring
    ) -> None:
        self.loop = loop
        self._keyring = keyring
        self.last_words: bytes | None = None  # once the node leaves
        self._board = board
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_use: set[GrpcStream] = set()

    def spawn(self, work: Any, name: str = "dial") -> asyncio.Task[None]:
        """Start a task that ends with the streams."""
        task: asyncio.Task[None] = self.loop.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def promptly(self) -> asyncio.Timeout:
        """Return the time limit of one step at the other end before letters flow."""
        return asyncio.timeout(max(1.0, self._board.deadline / 2))

    async def end(self) -> None:
        """Write the last words to all neighbours, and end all tasks."""
        for stream in self._in_use:
            stream.more.set()
        # A neighbour that reads gets the last words within moments.
        ending = [task for task in self._tasks if task.get_name() == "stream"]
        if ending:
            await asyncio.wait(ending, timeout=LAST_WORDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def carry(self, stream: GrpcStream, link: Link, *first: bytes) -> None:
        """Use a stream that was attached to its link until it ends."""
        task = self.spawn(self._use(stream, link, first), name="stream")
        # It may be cancelled before its first line.
        task.add_done_callback(
            lambda _: self._board.ended(link, stream, "its stream ended")
        )
        await task

    async def _use(
        self, stream: GrpcStream, link: Link, first: tuple[bytes, ...]
    ) -> None:
        """Carry envelopes both ways until either end stops."""
        self._in_use.add(stream)
        works = [
            self.loop.create_task(work)
            for work in (
                self._read(stream, link),
                self._write(stream, link, first),
                self._beat(stream, link),
                stream.over.wait(),
            )
        ]
        why = "its stream ended"
        try:
            done, _ = await asyncio.wait(works, return_when=asyncio.FIRST_COMPLETED)
            failures = [exc for task in done if (exc := task.exception())]
            if failures:
                why = in_own_words(failures[0])
        finally:
            for task in works:
                task.cancel()
            await asyncio.gather(*works, return_exceptions=True)
            self._in_use.discard(stream)
            # If it has ended, TLS will refuse it, and not say whom it has refused.
            ended = end_of(stream.certificate)
            trouble = f"its certificate {ended}" if ended else ""
            self._board.ended(link, stream, why, trouble)

    async def _read(self, stream: GrpcStream, link: Link) -> None:
        while (data := await stream.receive()) is not None:
            pause = self._board.receive(link, stream, data)
            if pause is None:
                return
            if pause:
                await asyncio.sleep(pause)

    async def _write(
        self, stream: GrpcStream, link: Link, first: tuple[bytes, ...]
    ) -> None:
        """Write all that is sent: gRPC takes one write at a time."""
        for data in first:
            await stream.write(data)
        number = 0
        while True:
            while letter := self._board.next_letter(link, number):
                number = letter.number
                await stream.write(letter.frame)
            while roll := self._board.roll(link):
                await stream.write(roll)
            if stream.is_due:
                stream.is_due = False
                await stream.write(self._board.status(link))
            if self.last_words is not None:
                await stream.write(self.last_words)
                await self._hang_up(stream)
                return
            await stream.more.wait()
            stream.more.clear()

    async def _hang_up(self, stream: GrpcStream) -> None:
        """Wait until the other end has read the last words, if this end dialled.

        A call that its caller ends is cancelled at the other end, with all that was not
        read yet; one that the other end ends was read to its end.
        """
        if stream.hang_up is not None:
            await stream.hang_up()
            await stream.over.wait()  # or until the reader finds that it is over

    async def _beat(self, stream: GrpcStream, link: Link) -> None:
        while True:
            await asyncio.sleep(self._board.deadline / BEATS)
            if self._board.is_silent(link):
                raise ProtocolError("it is silent")
            # A certificate that has ended was good when the stream began, and that
            # does for its life; one that was revoked may be in anybody's hands.
            if self._keyring.current().is_revoked(stream.certificate):
                raise ProtocolError("its certificate was revoked")
            stream.is_due = True
            stream.more.set()
