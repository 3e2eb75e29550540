"""The end of a stream that is dialled: who calls is let in or turned away.

Whoever calls may be a stranger, a neighbour that is faulty, or somebody with a stolen
key. So calls are counted and limited before anything that they say is looked at.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
from cryptography import x509

from dssfn.errors import TransportError
from dssfn.transports.grpc.credentials import Credentials, Keyring
from dssfn.transports.grpc.link import Link
from dssfn.transports.grpc.pace import Budget
from dssfn.transports.grpc.peer_names import (
    certificate_of_caller,
    check_standing,
    names_on,
)
from dssfn.transports.grpc.refusals import CODES, Refusal, Refused, refusal_of
from dssfn.transports.grpc.streams import METHOD, SERVICE, GrpcStream, Streams
from dssfn.transports.grpc.switchboard import Switchboard
from dssfn.transports.grpc.troubles import in_own_words
from dssfn.transports.grpc.wire import excerpt

HANDSHAKE = 10.0  # seconds for a stranger to say who it is, on any machine
STRANGERS = 256  # connections beside the neighbours', so that files can be opened
STREAMS = 4  # at once over one connection; a neighbour needs one, or two for a moment
STRANGE_CALLS = 8  # at once of all who are no neighbours
# Calls that are answered at once, for every neighbour and for all others together; then
# 64 in every deadline. More of them are kept waiting for a moment each, so that a flood
# costs little.
CALLS, MOMENT = 64, 0.05
TURNED_AWAY = 256  # calls that may wait for a refusal, beside those that are let in


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who has shown a certificate with names that nodes may have.

    Parameters
    ----------
    certificate : x509.Certificate
        The certificate.
    names : sequence of str
        The names on it.
    who : str
        The neighbour whom it is for; empty for all others, and for whoever holds a
        certificate that was revoked: it takes up no room of that neighbour's.
    """

    certificate: x509.Certificate
    names: Sequence[str]
    who: str


class Server:
    """The end that answers those who dial.

    Parameters
    ----------
    board : Switchboard
        Connects the streams with the training.
    streams : Streams
        Carries the streams that were let in.
    keyring : Keyring
        Certificate and key of this node, taken anew for every connection.
    options : sequence of tuples
        Options of the gRPC server.
    """

    def __init__(
        self,
        board: Switchboard,
        streams: Streams,
        keyring: Keyring,
        options: Sequence[tuple[str, int]],
    ) -> None:
        self.port: int | None = None  # the port that was opened
        self._board = board
        self._streams = streams
        self._keyring = keyring
        self._shown: Credentials | None = None  # to those who dial
        self._options = options
        self._calls: dict[str, Budget] = {}
        self._n_open: Counter[str] = Counter()  # calls, by neighbour

    async def open(self, listen: str) -> None:
        """Open a port, and answer there until `stop`."""
        time_to_speak = round(1000 * max(HANDSHAKE, self._board.deadline / 2))
        n_neighbours = len(self._board.reception.neighbours)
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
        credentials = grpc.dynamic_ssl_server_credentials(
            self._renewed(), self._renewed, require_client_authentication=True
        )
        try:
            self.port = server.add_secure_port(listen, credentials)
        except RuntimeError as exc:
            raise TransportError(
                f"`listen`: {listen} cannot be opened. Either another program uses "
                "the port, or this machine has no such address. Stop that program, or "
                "choose another address."
            ) from exc
        await server.start()
        self._server = server

    async def stop(self) -> None:
        """Close the port, if one was opened."""
        if self.port is not None:
            await self._server.stop(grace=0.5)

    def _renewed(self) -> grpc.ServerCertificateConfiguration | None:
        """Return what to show from now on; None if it is what was shown before.

        gRPC asks before every handshake, in a thread of its own.
        """
        mine = self._keyring.current()
        if mine is self._shown:
            return None
        self._shown = mine
        return grpc.ssl_server_certificate_configuration(
            [(mine.key_pem, mine.certificate_pem)],
            root_certificates=mine.authorities_pem,
        )

    async def _answer(self, _: Any, context: Any) -> None:
        try:
            certificate = certificate_of_caller(context.auth_context())
            caller = self._caller(certificate)
        except Exception as exc:
            await self._turn_away(context, (), "", exc)
            return  # never: an aborted call does not go on
        stream = GrpcStream(
            context.read, context.write, self._streams.loop, certificate
        )
        self._n_open[caller.who] += 1
        try:
            link = await self._hear(context, stream, caller)
            if link is not None:
                await self._streams.carry(stream, link, self._board.hello(link.name))
        finally:
            self._n_open[caller.who] -= 1

    def _caller(self, certificate: x509.Certificate) -> Caller:
        names = names_on(certificate)
        is_revoked = self._keyring.current().is_revoked(certificate)
        who = "" if is_revoked else self._neighbour_among(names)
        return Caller(certificate, names, who)

    async def _hear(
        self, context: Any, stream: GrpcStream, caller: Caller
    ) -> Link | None:
        """Hear a caller's first words, or turn it away; None if it says nothing."""
        try:
            await self._slow_down(caller.who)
            self._board.reception.check_names(caller.names)
            check_standing(caller.certificate, self._keyring.current())
            # Apart from the first write: gRPC cannot end a call if that is cancelled.
            await context.send_initial_metadata(())
            async with self._streams.promptly():
                data = await stream.receive()
            if data is None:
                return None
            return self._board.greet(data, caller.names, stream)
        except Exception as exc:
            # Whatever it was: gRPC would send an exception's text to the other end.
            await self._turn_away(context, caller.names, caller.who, exc, stream)
            return None  # never: an aborted call does not go on

    def _neighbour_among(self, names: Sequence[str]) -> str:
        """Return the neighbour who calls; an empty name for all others."""
        neighbours = self._board.reception.neighbours
        return next((name for name in names if name in neighbours), "")

    async def _slow_down(self, who: str) -> None:
        """Keep a caller waiting that calls too often; refuse one with too many calls.

        Whoever has a neighbour's key takes up no room but that neighbour's.
        """
        is_one_too_many = self._n_open[who] > (STREAMS if who else STRANGE_CALLS)
        period = self._board.deadline / CALLS
        budget = self._calls.setdefault(who, Budget(CALLS, period))
        is_too_fast = not budget.spend(self._streams.loop.time())
        if is_too_fast and self._n_open[who] < TURNED_AWAY // 2:
            await asyncio.sleep(MOMENT)
        if is_one_too_many:
            raise Refused("it has too many calls open", Refusal.TOO_MANY)

    async def _turn_away(
        self,
        context: Any,
        names: Sequence[str],
        who: str,
        exc: Exception,
        stream: GrpcStream | None = None,
    ) -> None:
        """Log why a caller is refused, and tell it one of a few words."""
        shown = excerpt(" ".join(names)) or "somebody"
        text = f"refused {shown} from {context.peer()}: {in_own_words(exc)}"
        refusal = refusal_of(exc)
        self._board.tally.note((who, refusal), logging.WARNING, text)
        if refusal is Refusal.REVOKED and (neighbour := self._neighbour_among(names)):
            self._board.hindered(neighbour, "its certificate was revoked")
        if refusal is Refusal.ANOTHER_PLAN and stream is not None:
            # It finds the difference itself, if it reads.
            with suppress(TimeoutError):
                async with self._streams.promptly():
                    await stream.write(self._board.hello(who))
        await context.abort(CODES[refusal], refusal.value)
