"""gRPC streams: who dials, who listens, and the two ends of a stream.

A thread of its own runs an event loop with the server and one task for every neighbour
that this end dials. A stream that breaks is dialled again, at growing intervals.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from dssfn.errors import PlanError, ProtocolError, TransportError
from dssfn.transports.grpc.link import Link
from dssfn.transports.grpc.pace import Budget
from dssfn.transports.grpc.peer_names import certificate_of_peer, names_of_peer
from dssfn.transports.grpc.reception import Terms
from dssfn.transports.grpc.refusals import Refusal, Refused
from dssfn.transports.grpc.switchboard import BEATS, Neighbour, Switchboard
from dssfn.transports.grpc.troubles import DIALLING, likely_cause
from dssfn.transports.grpc.wire import excerpt
from dssfn.transports.reasons import Reason

try:
    import grpc
    import grpc.aio
except ImportError as exc:  # pragma: no cover
    raise TransportError(
        "gRPC is not installed. Install it with: pip install 'dssfn[grpc]'"
    ) from exc

log = logging.getLogger("dssfn.node")

SERVICE, METHOD = "dssfn.v1.Exchange", "Link"
FIRST_PAUSE = 0.05  # seconds before a stream is dialled again; then twice as long
HANDSHAKE = 10.0  # seconds for a stranger to say who it is, on any machine
STRANGERS = 256  # connections beside the neighbours', so that files can be opened
STREAMS = 4  # at once over one connection; a neighbour needs one, or two for a moment
STRANGE_CALLS = 8  # at once of all who are no neighbours
# Calls that are answered at once, for every neighbour and for all others together; then
# 64 in every deadline. More of them are kept waiting for a moment each, so that a flood
# costs little.
CALLS, MOMENT = 64, 0.05
TURNED_AWAY = 256  # calls that may wait for a refusal, beside those that are let in
CODES = {
    Refusal.NO_NEIGHBOUR: grpc.StatusCode.PERMISSION_DENIED,
    Refusal.CERTIFICATE: grpc.StatusCode.PERMISSION_DENIED,
    Refusal.ANOTHER_NAME: grpc.StatusCode.PERMISSION_DENIED,
    Refusal.ANOTHER_PLAN: grpc.StatusCode.FAILED_PRECONDITION,
    Refusal.CONNECTED: grpc.StatusCode.UNAVAILABLE,
    Refusal.TOO_OFTEN: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Refusal.TOO_MANY: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Refusal.PROTOCOL: grpc.StatusCode.INVALID_ARGUMENT,
    Refusal.LATE: grpc.StatusCode.UNAVAILABLE,
    Refusal.FAULT: grpc.StatusCode.INTERNAL,
}


class Credentials(Protocol):
    """Certificate, key, and the certificates of those who vouch for others, as PEM."""

    @property
    def certificate_pem(self) -> bytes:
        """This node's, and any that lead to an authority."""

    @property
    def key_pem(self) -> bytes:
        """The certificate's."""

    @property
    def authorities_pem(self) -> bytes:
        """Who may vouch for other nodes."""


@dataclass(eq=False, slots=True)
class _Stream:
    """A stream in use: how to read and write, and how to wake or end it."""

    read: Callable[[], Awaitable[Any]]
    write: Callable[[bytes], Awaitable[None]]
    loop: asyncio.AbstractEventLoop
    is_due: bool = False  # a sign of life
    more: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        self.loop.call_soon_threadsafe(self.more.set)

    def end(self) -> None:
        self.loop.call_soon_threadsafe(self.over.set)

    async def receive(self) -> bytes | None:
        """The next envelope; None at the end."""
        data = await self.read()
        return None if data is grpc.aio.EOF else data


class GrpcTransport(Switchboard):
    """Letters to neighbours over gRPC with TLS on both sides.

    Parameters
    ----------
    name : str
        This node's.
    neighbours : sequence of Neighbour
        Those with an address are dialled, the others dial.
    terms : Terms
        What both ends of a link must agree on.
    credentials : Credentials
    listen : str, optional
        Address to open, as "0.0.0.0:7400"; port 0 for any free one.
    deadline : float
        The round deadline in seconds.
    """

    def __init__(
        self,
        name: str,
        neighbours: Sequence[Neighbour],
        terms: Terms,
        credentials: Credentials,
        *,
        listen: str | None = None,
        deadline: float = 30.0,
    ) -> None:
        super().__init__(name, neighbours, terms, deadline=deadline)
        self.port: int | None = None  # that was opened
        self._neighbours = neighbours
        self._credentials = credentials
        self._listen = listen
        most = max(terms.rules.most_bytes, 2 * self.reception.longest_plan)
        self._options = [
            ("grpc.max_receive_message_length", most),
            ("grpc.max_send_message_length", most),
            ("grpc.use_local_subchannel_pool", 1),  # or pauses are shared
            ("grpc.so_reuseport", 0),  # a port in use is an error
            # Little bytes can be unpacked to many: none are.
            ("grpc.compression_enabled_algorithms_bitset", 1),
        ]
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._streams: dict[_Stream, Link] = {}
        self._last_words: bytes | None = None
        self._calls: dict[str, Budget] = {}
        self._n_open: Counter[str] = Counter()  # calls, by neighbour
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="dssfn-streams", daemon=True
        )
        self._thread.start()
        try:
            self._call(self._start())
        except BaseException:
            self._end_loop()
            raise

    def close(self, reason: Reason = Reason.STOPPED) -> None:
        """Say goodbye to all neighbours and end all streams.

        Parameters
        ----------
        reason : Reason
            All that the others are told.
        """
        if self._thread.is_alive():
            self.is_leaving = True
            self._last_words = self.farewell(reason)
            self._call(self._stop())
            self._end_loop()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _start(self) -> None:
        if self._listen is not None:
            await self._open(self._listen)
        for neighbour in self._neighbours:
            if neighbour.address is not None:
                self._spawn(self._keep_dialling(neighbour, neighbour.address))

    async def _open(self, listen: str) -> None:
        time_to_speak = round(1000 * max(HANDSHAKE, self.deadline / 2))
        n_neighbours = len(self._neighbours)
        server = grpc.aio.server(
            options=[
                *self._options,
                ("grpc.server_handshake_timeout_ms", time_to_speak),
                ("grpc.max_connection_idle_ms", time_to_speak),
                ("grpc.max_allowed_incoming_connections", n_neighbours + STRANGERS),
                ("grpc.max_concurrent_streams", STREAMS),
            ],
            # A few more than neighbours, so that strangers cannot take up memory.
            maximum_concurrent_rpcs=STREAMS * n_neighbours + TURNED_AWAY,
        )
        handler = grpc.stream_stream_rpc_method_handler(self._answer)
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler}),)
        )
        mine = self._credentials
        credentials = grpc.ssl_server_credentials(
            [(mine.key_pem, mine.certificate_pem)],
            root_certificates=mine.authorities_pem,
            require_client_auth=True,
        )
        try:
            self.port = server.add_secure_port(listen, credentials)
        except RuntimeError as exc:
            raise PlanError(
                f"`listen`: {listen} cannot be opened. Another program may use the "
                "port, or this machine has no such address. End that program, or "
                "choose another address."
            ) from exc
        await server.start()
        self._server = server

    async def _stop(self) -> None:
        for stream in self._streams:
            stream.more.set()
        # A neighbour that reads gets the last words within moments.
        ending = [task for task in self._tasks if task.get_name() == "stream"]
        if ending:
            await asyncio.wait(ending, timeout=min(2.0, self.deadline))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.port is not None:
            await self._server.stop(grace=0.5)

    def _spawn(self, work: Any, name: str = "dial") -> asyncio.Task[None]:
        task: asyncio.Task[None] = self._loop.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _promptly(self) -> asyncio.Timeout:
        """The time that the other end has for one step before letters flow."""
        return asyncio.timeout(max(1.0, self.deadline / 2))

    # This end dials.

    async def _keep_dialling(self, neighbour: Neighbour, address: str) -> None:
        pause = FIRST_PAUSE
        while self._last_words is None:
            connected = self._loop.time()
            try:
                await self._dial(neighbour, address)
            except Refused as exc:
                self._note_refusal(neighbour.name, exc)
            except (grpc.aio.AioRpcError, TransportError, OSError) as exc:
                self._note_trouble(neighbour.name, address, exc)
            except (Exception, asyncio.CancelledError) as exc:
                # gRPC also cancels, and fails in ways of its own. Whatever it was, a
                # neighbour that is dialled no more would be lost for good.
                if self._last_words is not None:
                    raise
                log.warning("%s at %s: %r", neighbour.name, address, exc)
            if self._loop.time() - connected > 2 * pause + 1:
                pause = FIRST_PAUSE  # it was there
            await asyncio.sleep(pause * random.uniform(0.7, 1.3))
            pause = min(2 * pause, self.deadline / BEATS)

    async def _dial(self, neighbour: Neighbour, address: str) -> None:
        mine = self._credentials
        async with self._promptly():
            theirs = await certificate_of_peer(
                neighbour.name, address, mine.authorities_pem
            )
        # gRPC trusts the certificate that was looked at, and no other.
        credentials = grpc.ssl_channel_credentials(
            theirs, mine.key_pem, mine.certificate_pem
        )
        options = [
            *self._options,
            ("grpc.ssl_target_name_override", neighbour.name),
            ("grpc.enable_http_proxy", 0),  # the way of the first look
        ]
        async with grpc.aio.secure_channel(address, credentials, options) as channel:
            call = channel.stream_stream(f"/{SERVICE}/{METHOD}")()
            stream = _Stream(call.read, call.write, self._loop)
            try:
                async with self._promptly():
                    await stream.write(self.hello(neighbour.name))
                    data = await stream.receive()
                if data is None:
                    raise ProtocolError("it hung up")
                link = self.greet(data, [neighbour.name], stream)
            except grpc.aio.AioRpcError as exc:
                self._raise_if_refused(neighbour.name, exc)
                raise
            await self._carry(stream, link)
            with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                await call.done_writing()

    def _raise_if_refused(self, name: str, exc: grpc.aio.AioRpcError) -> None:
        """Say in words of this end why the other one refuses; its own are not shown."""
        for refusal, code in CODES.items():
            if exc.code() is code and exc.details() == refusal.value:
                raise Refused(f"{name} refuses this node: {refusal.value}", refusal)

    def _note_refusal(self, name: str, exc: Refused) -> None:
        self.seldom.note((name, exc.refusal), logging.ERROR, str(exc))
        if exc.refusal is Refusal.CERTIFICATE:
            self.hindered(name, "its certificate is refused")

    def _note_trouble(self, name: str, address: str, exc: Exception) -> None:
        """Tell once in a while why a neighbour cannot be reached, if that is known."""
        text = _text(exc)
        details = exc.details() if isinstance(exc, grpc.aio.AioRpcError) else ""
        log.debug("%s at %s: %s %s", name, address, text, excerpt(details or ""))
        sign, meaning = likely_cause(details or text, DIALLING)
        self.hindered(name, f"{address}: {meaning or text}")
        if sign:
            line = f"{name} cannot be reached at {address}: {meaning}"
            self.seldom.note((name, sign), logging.ERROR, line)

    # The other end dials.

    async def _answer(self, _: Any, context: Any) -> None:
        stream = _Stream(context.read, context.write, self._loop)
        names: list[str] = []
        who = ""
        try:
            names = names_of_peer(context.auth_context())
            who = self._neighbour_among(names)
        except Exception as exc:
            await self._turn_away(context, stream, names, exc)
        self._n_open[who] += 1
        try:
            link = await self._hear(context, stream, names)
            if link is not None:
                await self._carry(stream, link, self.hello(link.name))
        finally:
            self._n_open[who] -= 1

    async def _hear(
        self, context: Any, stream: _Stream, names: Sequence[str]
    ) -> Link | None:
        """Hear a caller's first words, or turn it away; None if it says nothing."""
        try:
            await self._slow_down(self._neighbour_among(names))
            self.reception.check_names(names)
            # Apart from the first write: gRPC cannot end a call if that is cancelled.
            await context.send_initial_metadata(())
            async with self._promptly():
                data = await stream.receive()
            return None if data is None else self.greet(data, names, stream)
        except Exception as exc:
            # Whatever it was: gRPC would send an exception's text to the other end.
            await self._turn_away(context, stream, names, exc)
            return None  # never: an aborted call does not go on

    def _neighbour_among(self, names: Sequence[str]) -> str:
        """The neighbour who calls; nothing for all others."""
        neighbours = self.reception.neighbours
        return next((name for name in names if name in neighbours), "")

    async def _slow_down(self, who: str) -> None:
        """Keep a caller waiting that calls too often; refuse one with too many calls.

        Whoever has a neighbour's key takes up no room but that neighbour's.
        """
        is_one_too_many = self._n_open[who] > (STREAMS if who else STRANGE_CALLS)
        budget = self._calls.setdefault(who, Budget(CALLS, self.deadline / CALLS))
        if not budget.spend(self._loop.time()) and self._n_open[who] < TURNED_AWAY // 2:
            await asyncio.sleep(MOMENT)
        if is_one_too_many:
            raise Refused("it has too many calls open", Refusal.TOO_MANY)

    async def _turn_away(
        self, context: Any, stream: _Stream, names: Sequence[str], exc: Exception
    ) -> None:
        """Log why a caller is refused, and tell it one of a few words."""
        who = self._neighbour_among(names)
        shown = excerpt(" ".join(names)) or "somebody"
        text = f"refused {shown} from {context.peer()}: {_text(exc)}"
        refusal = _refusal(exc)
        self.tally.note((who, refusal), logging.WARNING, text)
        if refusal is Refusal.ANOTHER_PLAN:
            # It finds the difference itself, if it reads.
            with suppress(TimeoutError):
                async with self._promptly():
                    await stream.write(self.hello(who))
        await context.abort(CODES[refusal], refusal.value)

    # Both ends.

    async def _carry(self, stream: _Stream, link: Link, *first: bytes) -> None:
        """Use a stream that was attached to its link until it ends."""
        task = self._spawn(self._use(stream, link, first), name="stream")
        # It may be cancelled before its first line.
        task.add_done_callback(lambda _: self.ended(link, stream, "its stream ended"))
        await task

    async def _use(self, stream: _Stream, link: Link, first: tuple[bytes, ...]) -> None:
        """Carry envelopes both ways until either end stops."""
        self._streams[stream] = link
        works = [
            self._loop.create_task(work)
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
                why = _text(failures[0])
        finally:
            for task in works:
                task.cancel()
            await asyncio.gather(*works, return_exceptions=True)
            del self._streams[stream]
            self.ended(link, stream, why)

    async def _read(self, stream: _Stream, link: Link) -> None:
        while (data := await stream.receive()) is not None:
            pause = self.receive(link, stream, data)
            if pause is None:
                return
            if pause:
                await asyncio.sleep(pause)

    async def _write(
        self, stream: _Stream, link: Link, first: tuple[bytes, ...]
    ) -> None:
        """All that is sent: gRPC takes one write at a time."""
        for data in first:
            await stream.write(data)
        number = 0
        while True:
            while letter := self.next_letter(link, number):
                number = letter.number
                await stream.write(letter.frame)
            if stream.is_due:
                stream.is_due = False
                await stream.write(self.status(link))
            if self._last_words is not None:
                await stream.write(self._last_words)
                return
            await stream.more.wait()
            stream.more.clear()

    async def _beat(self, stream: _Stream, link: Link) -> None:
        while True:
            await asyncio.sleep(self.deadline / BEATS)
            if self.is_silent(link):
                raise ProtocolError("it is silent")
            stream.is_due = True
            stream.more.set()


def _refusal(exc: Exception) -> Refusal:
    if isinstance(exc, Refused):
        return exc.refusal
    if isinstance(exc, ProtocolError):
        return Refusal.PROTOCOL
    return Refusal.LATE if isinstance(exc, TimeoutError) else Refusal.FAULT


def _text(exc: BaseException) -> str:
    """What happened, in words of this node: those of the other end are not shown."""
    if isinstance(exc, grpc.aio.AioRpcError):
        return f"its stream ended ({exc.code().name.lower()})"
    if isinstance(exc, ConnectionError) and exc.errno:
        return os.strerror(exc.errno)
    return str(exc) or type(exc).__name__
