"""Hostile inputs of many kinds at a node's open port, as many as one likes.

What is sent follows from a seed; only which inputs overlap in time does not. Everything
goes to a port of this machine.

Some whom the node cannot know take part: strangers, holders of foreign, ended and
revoked certificates, and a member that is no neighbour. Others hold a key that was
stolen from a neighbour. While that one is connected, nothing that they say may count.
While it is away they are let in, so they send what must be found out by itself; with
well-formed letters of another step they could stop the node, by its own rules.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import ssl
import struct
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field

import grpc
import grpc.aio
import numpy as np

from dssfn.setup.pki import Credential
from dssfn.transports.base import FLOAT64, INT64
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.server import STRANGE_CALLS, STREAMS
from tests.support.intruder import DEEP_JSON, METHOD, PATIENCE, Intruder, Words, http2

Send = Callable[[], Awaitable[None]]
Say = Callable[[tuple[bytes, ...]], Awaitable[None]]

REFUSALS = (
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNIMPLEMENTED,
)
# Streams end well after anything that comes behind a good hello.
ENDS = (*REFUSALS, grpc.StatusCode.OK, grpc.StatusCode.CANCELLED)
LANES = 6  # connections at once below gRPC
HELD = 0.1  # seconds that a stream is held open, with nothing said
CUT_SHORT = "Internal error from Core"  # of the client here: it could not say all
HTTP = b"GET / HTTP/1.1\r\nHost: node\r\n\r\n"


@dataclass
class Barrage:
    """Sends hostile inputs.

    Parameters
    ----------
    intruder : Intruder
        Knows the port, and makes bytes.
    target : str
        The name of the node.
    words : mapping
        What each neighbour would say, by its name.
    stolen : mapping
        The keys of the neighbours, by their names.
    outsiders : mapping
        Certificates that TLS lets in, of nobody whom the node talks to.
    strangers : mapping
        Certificates that TLS lets not in; None for none at all.
    """

    intruder: Intruder
    target: str
    words: Mapping[str, Words]
    stolen: Mapping[str, Credential]
    outsiders: Mapping[str, Credential]
    strangers: Mapping[str, Credential | None]
    sent: Counter[str] = field(default_factory=Counter)  # by kind
    _contexts: dict[str, ssl.SSLContext] = field(default_factory=dict)

    @property
    def random(self) -> random.Random:
        return self.intruder.random

    def send(self, n_inputs: int, *, away: str | None = None) -> None:
        """Send so many inputs; whoever is let in without a key that opens is an error.

        `away` is the neighbour, if any, that is not connected.
        """
        asyncio.run(self._send(n_inputs, away))

    async def _send(self, n_inputs: int, away: str | None) -> None:
        end = self.sent.total() + n_inputs
        async with AsyncExitStack() as stack:
            groups = await self._groups(stack, away)
            queues = {name: asyncio.Queue[Send | None](8) for name in groups}
            async with asyncio.TaskGroup() as tasks:
                for name, (n_lanes, _) in groups.items():
                    for _ in range(n_lanes):
                        tasks.create_task(_work(queues[name]))
                names = list(groups)
                weights = [_WEIGHTS[name.split()[0]] for name in names]
                while self.sent.total() < end:
                    (name,) = self.random.choices(names, weights)
                    await queues[name].put(next(groups[name][1]))
                for name, (n_lanes, _) in groups.items():
                    for _ in range(n_lanes):
                        await queues[name].put(None)

    async def _groups(
        self, stack: AsyncExitStack, away: str | None
    ) -> dict[str, tuple[int, Iterator[Send]]]:
        """Who sends what, and how much of it at once."""
        groups = {
            "bytes": (LANES, self._bytes()),
            "handshakes": (2, self._handshakes()),
            "http2": (2, self._http2()),
        }
        for name, credential in self.outsiders.items():
            channel = await stack.enter_async_context(self._channel(credential))
            n_lanes = STRANGE_CALLS // len(self.outsiders)
            groups[f"outsider {name}"] = n_lanes, self._outside(channel, name)
        for name, credential in self.stolen.items():
            channel = await stack.enter_async_context(self._channel(credential))
            say = self._let_in if name == away else self._inside
            groups[f"stolen {name}"] = STREAMS, say(channel, name)
        return groups

    def _note(self, kind: str, n: int = 1) -> None:
        self.sent[kind] += n
        self.intruder.n_sent += n

    # Below TLS.

    def _bytes(self) -> Iterator[Send]:
        some, hello = self.random, self.intruder.client_hello()
        while True:
            kind = some.choice(["raw bytes", "broken TLS", "TLS records", "no TLS"])
            if kind == "raw bytes":
                data = some.randbytes(some.randint(0, 2000))
            elif kind == "broken TLS":
                data = self.intruder.damaged(hello)
            elif kind == "TLS records":
                head = struct.pack(">BHH", some.randrange(20, 25), 0x0303, 65535)
                data = hello * some.randrange(2) + head + some.randbytes(200)
            else:
                data = some.choice([HTTP, self.intruder.http2_garbage()])
            self._note(kind)
            yield lambda data=data: self._leave(data)

    async def _leave(self, data: bytes) -> None:
        with suppress(ConnectionError):
            _, writer = await asyncio.open_connection("127.0.0.1", self.intruder.port)
            writer.write(data)
            await writer.drain()
            writer.close()
            await writer.wait_closed()

    # With TLS.

    def _handshakes(self) -> Iterator[Send]:
        while True:
            name = self.random.choice(list(self.strangers))
            self._note(f"TLS with {name}")
            yield lambda name=name: self._be_refused(name)

    async def _be_refused(self, name: str) -> None:
        came = await self._exchange(name, self.strangers[name], HTTP)
        assert not came, f"{name} was let in"

    def _http2(self) -> Iterator[Send]:
        while True:
            name = self.random.choice(list(self.stolen))
            if self.random.random() < 0.5:
                data, kind, n = self.intruder.http2_garbage(), "HTTP/2 garbage", 1
            else:
                data, kind, n = self._claims(), "huge lengths", STREAMS
            self._note(kind, n)
            yield lambda name=name, data=data: self._below_grpc(name, data)

    async def _below_grpc(self, name: str, data: bytes) -> None:
        await self._exchange(name, self.stolen[name], data)

    def _claims(self) -> bytes:
        """Streams with messages that are longer than they are, they say."""
        parts = [self.intruder.opening()]
        for stream in range(1, 2 * STREAMS, 2):
            length = self.random.choice([2**32 - 1, 2**31, 2**28, 10**6])
            packed = self.random.randrange(2)
            message = struct.pack(">BI", packed, length) + self.random.randbytes(50)
            parts += [self.intruder.call(stream), http2(0, 0, stream, message)]
        return b"".join(parts)

    async def _exchange(
        self, name: str, credential: Credential | None, data: bytes
    ) -> bytes:
        """What the node answers to some bytes over TLS, at first."""
        context = self._context(name, credential)
        try:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", self.intruder.port, ssl=context
            )
            try:
                writer.write(data)
                return await asyncio.wait_for(reader.read(1), PATIENCE)
            finally:
                writer.transport.abort()
        except (ssl.SSLError, ConnectionError):
            return b""

    def _context(self, name: str, credential: Credential | None) -> ssl.SSLContext:
        if name not in self._contexts:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_alpn_protocols(["h2"])
            if credential is not None:
                files = [self.intruder.folder / f"barrage.{part}" for part in "ck"]
                credential.write(*files)
                context.load_cert_chain(*files)
            self._contexts[name] = context
        return self._contexts[name]

    # Over gRPC.

    def _channel(self, credential: Credential) -> grpc.aio.Channel:
        return grpc.aio.secure_channel(
            f"127.0.0.1:{self.intruder.port}",
            grpc.ssl_channel_credentials(
                self.intruder.authority, credential.key_pem, credential.certificate_pem
            ),
            [
                ("grpc.ssl_target_name_override", self.target),
                ("grpc.use_local_subchannel_pool", 1),
            ],
        )

    def _outside(self, channel: grpc.aio.Channel, name: str) -> Iterator[Send]:
        """Any words, none of which is read."""
        words = next(iter(self.words.values()))
        while True:
            for data in ((), (words.hello(),), (words.frame(),), (b"\xff" * 9,)):
                self._note(name)
                yield lambda data=data: self._refused(channel, data)

    def _inside(self, channel: grpc.aio.Channel, name: str) -> Iterator[Send]:
        """Words of every kind with a neighbour's key, while that one is connected."""
        words = self.words[name]
        kinds = list(self._kinds(words).items())
        while True:
            for kind, said in kinds:
                self._note(f"stolen key: {kind}")
                data = next(said)
                yield lambda data=data: self._refused(channel, data)
            self._note("stolen key: half-open streams")
            yield lambda: self._hold(channel)
            self._note("stolen key: unknown methods")
            method = self.random.choice(["/", "/a/b", "/dssfn.v2.Exchange/Link"])
            yield lambda method=method: self._refused(channel, (b"x",), method)

    def _let_in(self, channel: grpc.aio.Channel, name: str) -> Iterator[Send]:
        """Words with the key of a neighbour that is away, which are read."""
        words = self.words[name]
        kinds = {
            "malformed letters": self._bad_letters(words),
            "NaN and infinity": self._not_finite(words),
            "replayed hellos": self._replayed(words),
        }
        while True:
            for kind, said in kinds.items():
                self._note(f"key of one that is away: {kind}")
                data = next(said)
                yield lambda data=data: self._ended(channel, data)
            self._note("key of one that is away: half-open streams")
            yield lambda: self._hold(channel)

    def _kinds(self, words: Words) -> dict[str, Iterator[tuple[bytes, ...]]]:
        return {
            "malformed protobuf": self._malformed(words),
            "bad hellos": ((one,) for one in _endless(words.bad_hellos)),
            "no hello first": ((one,) for one in _endless(words.bad_starts)),
            "replayed hellos": self._replayed(words),
            "other incarnations": self._incarnations(words),
            "letters of a wrong run, shape, type or layer": self._letters(words),
            "NaN and infinity": self._not_finite(words),
            "heartbeats": self._heartbeats(words),
            "floods": self._floods(words),
        }

    def _malformed(self, words: Words) -> Iterator[tuple[bytes, ...]]:
        while True:
            yield (self.intruder.damaged(words.hello()),)
            yield words.hello(), self.intruder.damaged(words.frame())
            yield (self.random.randbytes(self.random.randint(1, 3000)),)
            yield (b"\x0a\xff\xff\xff\xff\x0f",)  # a hello of 4 GB, it says

    def _replayed(self, words: Words) -> Iterator[tuple[bytes, ...]]:
        same = words.hello()
        while True:
            yield (same,)
            yield same, same

    def _incarnations(self, words: Words) -> Iterator[tuple[bytes, ...]]:
        while True:
            number, epoch = self.random.getrandbits(63) + 1, self.random.getrandbits(20)
            yield (words.hello(incarnation=number, epoch=epoch, knows=number),)

    def _letters(self, words: Words) -> Iterator[tuple[bytes, ...]]:
        some, bad = self.random, self._bad_letters(words)
        while True:
            yield next(bad)
            yield words.hello(), words.frame(layer=some.randint(-(2**31), 0))
            yield words.hello(), words.frame(dtype=INT64)
            yield words.hello(), words.frame(step=some.getrandbits(63))

    def _bad_letters(self, words: Words) -> Iterator[tuple[bytes, ...]]:
        """Letters that are not well-formed."""
        some = self.random
        while True:
            for change in (
                {"run": words.rules.run ^ (1 + some.getrandbits(60))},
                {
                    "shape": [
                        3 + some.getrandbits(31) for _ in range(some.randint(0, 6))
                    ]
                },
                {"dtype": some.choice(["", "<f4", "|O", "<U8", "x" * 999])},
                {"layer": words.rules.n_layers + 2 + some.getrandbits(30)},
                {"number": 2 + some.getrandbits(63)},
                {"epoch": 2**60 + some.getrandbits(60)},
                {"values": some.randbytes(some.randint(0, 31))},
                {"checksum": 1 + some.getrandbits(16)},
                {"received": 2**32 + some.getrandbits(60)},
            ):
                yield words.hello(), words.frame(**change)

    def _not_finite(self, words: Words) -> Iterator[tuple[bytes, ...]]:
        for bad in itertools.cycle((np.nan, np.inf, -np.inf)):
            values = np.full(4, bad).tobytes()
            yield words.hello(), words.frame(values=values, dtype=FLOAT64)

    def _heartbeats(self, words: Words) -> Iterator[tuple[bytes, ...]]:
        while True:
            status = pb.Status(
                received=self.random.getrandbits(63),
                layer=self.random.randint(-9, 99),
                waiting_for=["n0", "\x1b[2Jforged"],
                agreeing=[DEEP_JSON.decode()[:99]] * 20,
            )
            envelope = pb.Envelope(status=status).SerializeToString()
            yield (envelope,)
            yield words.hello(), envelope

    def _floods(self, words: Words) -> Iterator[tuple[bytes, ...]]:
        beat = pb.Envelope(status=pb.Status(layer=1)).SerializeToString()
        while True:
            yield words.hello(), *(beat,) * 200
            yield words.hello(), *(words.frame(),) * 50

    async def _refused(
        self,
        channel: grpc.aio.Channel,
        data: tuple[bytes, ...],
        method: str = METHOD,
    ) -> None:
        """Say something over a new stream, which must be refused."""
        code, text = await self._say(channel, data, method)
        is_nothing = not data and code is grpc.StatusCode.OK
        assert code in REFUSALS or is_nothing or text == CUT_SHORT, (code, text, data)

    async def _ended(self, channel: grpc.aio.Channel, data: tuple[bytes, ...]) -> None:
        """Say something over a new stream, which must end, and not by a fault."""
        code, text = await self._say(channel, data, METHOD)
        assert code in ENDS or text == CUT_SHORT, (code, text, data)

    async def _say(
        self, channel: grpc.aio.Channel, data: tuple[bytes, ...], method: str
    ) -> tuple[grpc.StatusCode, str]:
        call = channel.stream_stream(method)(_all(data), timeout=PATIENCE)
        with suppress(grpc.aio.AioRpcError):
            async for _ in call:
                pass
        return await call.code(), await call.details()

    async def _hold(self, channel: grpc.aio.Channel) -> None:
        call = channel.stream_stream(METHOD)(_nothing())
        await asyncio.sleep(HELD)
        call.cancel()


_WEIGHTS = {"bytes": 34, "handshakes": 5, "http2": 4, "outsider": 10, "stolen": 18}


async def _work(queue: asyncio.Queue[Send | None]) -> None:
    while (send := await queue.get()) is not None:
        await send()


async def _all(data: tuple[bytes, ...]) -> AsyncIterator[bytes]:
    for one in data:
        yield one


async def _nothing() -> AsyncIterator[bytes]:
    await asyncio.sleep(PATIENCE)
    yield b""


def _endless(words: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
    while True:
        yield from words()
