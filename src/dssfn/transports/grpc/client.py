"""The end of a stream that dials: who answers is looked at first, then greeted.

A stream that breaks is dialled again, at growing intervals.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import grpc.aio
from cryptography.hazmat.primitives.serialization import Encoding

from dssfn.errors import ProtocolError, TransportError
from dssfn.transports.grpc.credentials import Keyring
from dssfn.transports.grpc.peer_names import certificate_of_peer
from dssfn.transports.grpc.refusals import CODES, Refusal, Refused
from dssfn.transports.grpc.streams import METHOD, SERVICE, GrpcStream, Streams
from dssfn.transports.grpc.switchboard import BEATS, Neighbour, Switchboard
from dssfn.transports.grpc.troubles import DIALLING, in_own_words, likely_cause
from dssfn.transports.grpc.wire import excerpt

log = logging.getLogger("dssfn.node")

FIRST_PAUSE = 0.05  # seconds before a stream is dialled again; then twice as long


@dataclass(frozen=True, slots=True)
class Client:
    """The end that dials neighbours.

    Parameters
    ----------
    board : Switchboard
        Connects the streams with the training.
    streams : Streams
        Carries the streams that were dialled.
    keyring : Keyring
        Certificate and key of this node, taken anew for every connection.
    options : sequence of tuples
        Options of every gRPC channel.
    """

    board: Switchboard
    streams: Streams
    keyring: Keyring
    options: Sequence[tuple[str, int]]

    async def keep_dialling(self, neighbour: Neighbour, address: str) -> None:
        """Dial a neighbour again and again, until this node leaves."""
        pause = FIRST_PAUSE
        while self.streams.last_words is None:
            connected = self.streams.loop.time()
            try:
                await self._dial(neighbour, address)
            except Refused as exc:
                self._note_refusal(neighbour.name, exc)
            except (grpc.aio.AioRpcError, TransportError, OSError) as exc:
                self._note_trouble(neighbour.name, address, exc)
            except (Exception, asyncio.CancelledError) as exc:
                # gRPC also cancels, and fails in ways of its own. Whatever it was, a
                # neighbour that is dialled no more would be lost for good.
                if self.streams.last_words is not None:
                    raise
                name = neighbour.name
                log.warning("%s at %s: %r", name, address, exc, extra={"peer": name})
            if self.streams.loop.time() - connected > 2 * pause + 1:
                pause = FIRST_PAUSE  # it was there
            await asyncio.sleep(pause * random.uniform(0.7, 1.3))
            pause = min(2 * pause, self.board.deadline / BEATS)

    async def _dial(self, neighbour: Neighbour, address: str) -> None:
        mine = self.keyring.current()
        async with self.streams.promptly():
            theirs = await certificate_of_peer(neighbour.name, address, mine)
        # gRPC trusts the certificate that was looked at, and no other.
        credentials = grpc.ssl_channel_credentials(
            theirs.public_bytes(Encoding.PEM), mine.key_pem, mine.certificate_pem
        )
        options = [
            *self.options,
            ("grpc.ssl_target_name_override", neighbour.name),
            ("grpc.enable_http_proxy", 0),  # the way of the first look
        ]
        async with grpc.aio.secure_channel(address, credentials, options) as channel:
            call = channel.stream_stream(f"/{SERVICE}/{METHOD}")()
            stream = GrpcStream(
                call.read,
                call.write,
                self.streams.loop,
                theirs,
                hang_up=call.done_writing,
            )
            try:
                async with self.streams.promptly():
                    await stream.write(self.board.hello(neighbour.name))
                    data = await stream.receive()
                if data is None:
                    raise ProtocolError("it hung up")
                link = self.board.greet(data, [neighbour.name], stream)
            except grpc.aio.AioRpcError as exc:
                self._raise_if_refused(neighbour.name, exc)
                raise
            await self.streams.carry(stream, link)
            with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                await call.done_writing()

    def _raise_if_refused(self, name: str, exc: grpc.aio.AioRpcError) -> None:
        """Raise why the other end refuses, in words of this end alone."""
        for refusal, code in CODES.items():
            if exc.code() is code and exc.details() == refusal.value:
                raise Refused(f"{name} refuses this node: {refusal.value}", refusal)

    def _note_refusal(self, name: str, exc: Refused) -> None:
        self.board.seldom.note((name, exc.refusal), logging.ERROR, str(exc))
        if exc.refusal in (Refusal.CERTIFICATE, Refusal.REVOKED):
            self.board.hindered(name, "a certificate is refused")

    def _note_trouble(self, name: str, address: str, exc: Exception) -> None:
        """Log once in a while why a neighbour cannot be reached, if that is known."""
        text = in_own_words(exc)
        details = exc.details() if isinstance(exc, grpc.aio.AioRpcError) else ""
        log.debug("%s at %s: %s %s", name, address, text, excerpt(details or ""))
        sign, meaning = likely_cause(details or text, DIALLING)
        self.board.hindered(name, f"{address}: {meaning or text}")
        if sign:
            line = f"{name} cannot be reached at {address}: {meaning}"
            self.board.seldom.note((name, sign), logging.ERROR, line, peer=name)
