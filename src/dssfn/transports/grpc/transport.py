"""GrpcTransport: the letters of one node, over gRPC streams that come and go.

A thread of its own runs an event loop with the server and one task for every neighbour
that this end dials.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

from dssfn.transports.grpc.attendance import Attendance
from dssfn.transports.grpc.client import Client
from dssfn.transports.grpc.credentials import Keyring
from dssfn.transports.grpc.elastic import ElasticSwitchboard
from dssfn.transports.grpc.reception import Terms
from dssfn.transports.grpc.server import Server
from dssfn.transports.grpc.streams import Streams
from dssfn.transports.grpc.switchboard import Neighbour
from dssfn.transports.reasons import Reason


class GrpcTransport(ElasticSwitchboard):
    """Letters to neighbours over gRPC with TLS on both sides.

    Parameters
    ----------
    name : str
        This node's name.
    neighbours : sequence of Neighbour
        Those with an address are dialled, the others dial.
    terms : Terms
        What both ends of a link must agree on.
    keyring : Keyring
        Certificate and key of this node, and the authorities that it trusts.
    listen : str, optional
        Address to open, as "0.0.0.0:7400"; port 0 for any free one.
    deadline : float
        The round deadline in seconds.
    attendance : Attendance, optional
        Knows who takes part, where nodes may go on without some others.
    """

    def __init__(
        self,
        name: str,
        neighbours: Sequence[Neighbour],
        terms: Terms,
        keyring: Keyring,
        *,
        listen: str | None = None,
        deadline: float = 30.0,
        attendance: Attendance | None = None,
    ) -> None:
        super().__init__(
            name, neighbours, terms, deadline=deadline, attendance=attendance
        )
        most = max(terms.rules.most_bytes, 2 * self.reception.longest_plan)
        options = [
            ("grpc.max_receive_message_length", most),
            ("grpc.max_send_message_length", most),
            ("grpc.use_local_subchannel_pool", 1),  # or pauses are shared
            ("grpc.so_reuseport", 0),  # a port in use is an error
            # Little bytes can be unpacked to many: none are.
            ("grpc.compression_enabled_algorithms_bitset", 1),
        ]
        self._loop = asyncio.new_event_loop()
        self._streams = Streams(self, self._loop, keyring)
        self._client = Client(self, self._streams, keyring, options)
        self._server = Server(self, self._streams, keyring, options)
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="dssfn-streams", daemon=True
        )
        self._thread.start()
        try:
            self._call(self._start(neighbours, listen))
        except BaseException:
            self._end_loop()
            raise

    @property
    def port(self) -> int | None:
        """The port that was opened."""
        return self._server.port

    def close(self, reason: Reason = Reason.STOPPED) -> None:
        """Say goodbye to all neighbours and end all streams.

        Parameters
        ----------
        reason : Reason
            The reason, which is all that the others are told.
        """
        if self._thread.is_alive():
            self.is_leaving = True
            self._streams.last_words = self.farewell(reason)
            self._call(self._stop())
            self._end_loop()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _start(self, neighbours: Sequence[Neighbour], listen: str | None) -> None:
        if listen is not None:
            await self._server.open(listen)
        for one in neighbours:
            if one.address is not None:
                self._streams.spawn(self._client.keep_dialling(one, one.address))

    async def _stop(self) -> None:
        await self._streams.end()
        await self._server.stop()
