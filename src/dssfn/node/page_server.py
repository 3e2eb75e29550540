"""The server of a status page: one thread, which the node never waits for.

How this works. One thread runs an event loop that answers one request on each
connection and closes it. What a client can cost is bounded: few connections at a time,
short requests, and a few seconds for all of it. Nothing that a client does is waited
for when the node ends.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import (
    AbstractContextManager,
    contextmanager,
    nullcontext,
    suppress,
)

from dssfn.errors import TransportError
from dssfn.federation import split_address
from dssfn.node.page import FAILED, Answer, Rendering, StatusPages
from dssfn.status import Status

MOST_CONNECTIONS = 16
LONGEST_REQUEST = 8192  # bytes
PATIENCE = 5.0  # seconds for a request and its answer

log = logging.getLogger("dssfn.node")


def open_port(address: str) -> socket.socket:
    """Return a socket that listens for those who want to see the page.

    Raises
    ------
    TransportError
        If the address is taken, or is not one of this machine.
    """
    host, port = split_address(address)
    try:
        family, _, _, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(where[:2], family=family, backlog=MOST_CONNECTIONS)
    except (OSError, UnicodeError) as exc:
        why = getattr(exc, "strerror", None) or exc
        raise TransportError(
            f"`page`: {address} cannot be opened ({why}). Either another program uses "
            "the port, or this machine has no such address. Stop that program, or "
            "choose another address."
        ) from exc


def open_to_others(port: socket.socket) -> Iterator[str]:
    """Yield a warning if other machines can reach a socket."""
    host, number = port.getsockname()[:2]
    if not ipaddress.ip_address(host.partition("%")[0]).is_loopback:
        yield (
            f"`page`: anyone who can reach port {number} of {host} can read this "
            "node's status without a password. Use 127.0.0.1, and an ssh tunnel to "
            "read it from elsewhere."
        )


@contextmanager
def serve_page(port: socket.socket, pages: StatusPages) -> Iterator[None]:
    """Answer requests in a thread of its own until the context ends.

    Parameters
    ----------
    port : socket
        As `open_port` returns it; it is closed at the end.
    pages : StatusPages
        The answers.
    """
    server = _Server(port, pages)
    thread = threading.Thread(target=server.run, name="status page", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.stop()
        thread.join(PATIENCE)


class PagePort:
    """The port of a node's status page, opened before the node meets the others.

    Parameters
    ----------
    address : str, optional
        The setting `page`; without one there is no page.
    rendering : Rendering, optional
        Makes the page; without it there is the JSON alone.

    Raises
    ------
    TransportError
        If the address cannot be opened.
    """

    def __init__(self, address: str | None, rendering: Rendering | None) -> None:
        self._host = split_address(address)[0] if address is not None else ""
        self._port = open_port(address) if address is not None else None
        self._rendering = rendering

    def warnings(self) -> Iterator[str]:
        """Yield what the node's operator should know."""
        if self._port is not None:
            yield from open_to_others(self._port)

    def serve(self, source: Callable[[], Status]) -> AbstractContextManager[None]:
        """Return a context in which the status is shown, if there is a page."""
        if self._port is None:
            return nullcontext()
        pages = StatusPages(source, self._host, self._rendering)
        return serve_page(self._port, pages)

    def close(self) -> None:
        """Close the port."""
        if self._port is not None:
            self._port.close()


class _Server:
    """The loop that answers; `stop` may be called from any thread."""

    def __init__(self, port: socket.socket, pages: StatusPages) -> None:
        self._port, self._pages = port, pages
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self._busy: set[asyncio.Task[None]] = set()

    def run(self) -> None:
        """Answer until `stop` is called."""
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    def stop(self) -> None:
        """End, whatever clients do."""
        with suppress(RuntimeError):  # it has ended by itself
            self._loop.call_soon_threadsafe(self._stopped.set)

    async def _serve(self) -> None:
        server = await asyncio.start_server(
            self._meet, sock=self._port, limit=LONGEST_REQUEST
        )
        await self._stopped.wait()
        server.close()
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)

    async def _meet(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            if len(self._busy) < MOST_CONNECTIONS:
                self._busy.add(task)
                async with asyncio.timeout(PATIENCE):
                    await self._talk(reader, writer)
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # whoever asked is gone, or too slow; or the node ends
        finally:
            self._busy.discard(task)
            writer.transport.abort()

    async def _talk(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return
        text = head[:-4].decode("latin-1")
        answer = self._answer(text)
        writer.write(_encoded(answer, self._pages.policy, text.startswith("HEAD ")))
        await writer.drain()
        writer.write_eof()
        await reader.read(1)  # until it has hung up: what is on its way is not cut off

    def _answer(self, text: str) -> Answer:
        try:
            return self._pages.answer(text)
        except Exception:  # a fault here must not look like one of the network
            log.debug("the status page failed", exc_info=True)
            return FAILED


def _encoded(answer: Answer, policy: str, is_head: bool) -> bytes:
    body = answer.body.encode()
    head = (
        f"HTTP/1.1 {answer.line}\r\n"
        f"Content-Type: {answer.kind}\r\n"
        f"Content-Length: {len(body)}\r\n"
        f"Content-Security-Policy: {policy}\r\n"
        "Cache-Control: no-store\r\n"
        "Connection: close\r\n"
        "Cross-Origin-Opener-Policy: same-origin\r\n"
        "Cross-Origin-Resource-Policy: same-origin\r\n"
        "Referrer-Policy: no-referrer\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "X-Frame-Options: DENY\r\n"
        f"{answer.more}\r\n"
    )
    return head.encode("latin-1") + (b"" if is_head else body)
