"""An intruder at a node's open port: bytes, TLS, HTTP/2, envelopes of every bad kind.

It speaks to ports of this machine only. All that it sends follows from a seed.
"""

from __future__ import annotations

import itertools
import random
import socket
import ssl
import struct
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import grpc
import numpy as np

from dssfn.setup.pki import Credential
from dssfn.transports.base import FLOAT64, INT64, Tag
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.wire import PROTOCOL, Rules, encode_frame

METHOD = "/dssfn.v1.Exchange/Link"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
PATIENCE = 300.0  # seconds; a node that does not answer for so long hangs
DEEP_JSON = b"[" * 20_000


class Intruder:
    """Attacks one port.

    Parameters
    ----------
    port : int
        Of a node on this machine.
    authority : bytes
        PEM of those whom the node trusts.
    folder : Path
        For certificates, which `ssl` reads from files alone.
    seed : int
    """

    def __init__(self, port: int, authority: bytes, folder: Path, seed: int) -> None:
        self.port = port
        self.authority = authority
        self.folder = folder
        self.random = random.Random(seed)
        self.n_sent = 0  # inputs: connections, or streams on one

    # Below gRPC.

    def connect(self) -> socket.socket:
        self.n_sent += 1
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def send_bytes(self, data: bytes) -> None:
        """Send bytes over TCP, and leave."""
        with suppress(ConnectionError), self.connect() as bare:
            bare.sendall(data)

    def client_hello(self) -> bytes:
        """How a real client of TLS begins."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        out = ssl.MemoryBIO()
        tls = context.wrap_bio(ssl.MemoryBIO(), out)
        with suppress(ssl.SSLWantReadError):
            tls.do_handshake()
        return out.read()

    def damaged(self, data: bytes) -> bytes:
        """Some bytes changed, left out, or added at the end."""
        changed = bytearray(data)
        kind = self.random.randrange(3)
        if kind == 0:
            for _ in range(self.random.randint(1, 8)):
                changed[self.random.randrange(len(changed))] = self.random.randrange(
                    256
                )
        elif kind == 1:
            del changed[self.random.randrange(len(changed)) :]
        else:
            changed += self.random.randbytes(self.random.randint(1, 64))
        return bytes(changed)

    @contextmanager
    def secured(self, credential: Credential | None) -> Iterator[ssl.SSLSocket]:
        """A connection with TLS, with a certificate or without."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        if credential is not None:
            certificate, key = (
                self.folder / "intruder.crt",
                self.folder / "intruder.key",
            )
            credential.write(certificate, key)
            context.load_cert_chain(certificate, key)
        with self.connect() as bare, context.wrap_socket(bare) as tls:
            yield tls

    def is_let_in(self, credential: Credential | None) -> bool:
        """Whether the node speaks HTTP/2 to the holder of a certificate."""
        try:
            with self.secured(credential) as tls:
                tls.sendall(PREFACE + b"\0\0\0\4\0\0\0\0\0")
                return bool(tls.recv(1))
        except (ssl.SSLError, ConnectionError):
            return False

    def send_http2(self, credential: Credential, data: bytes) -> None:
        """Send bytes where HTTP/2 is expected, and leave."""
        with suppress(ssl.SSLError, ConnectionError), self.secured(credential) as tls:
            tls.sendall(data)
            tls.recv(1)

    def http2_garbage(self) -> bytes:
        """Frames of HTTP/2 with random types, flags, streams and payloads."""
        frames = [PREFACE, b"\0\0\0\4\0\0\0\0\0"] if self.random.random() < 0.8 else []
        for _ in range(self.random.randint(1, 12)):
            payload = self.random.randbytes(self.random.randint(0, 200))
            kind, flags = self.random.randrange(12), self.random.randrange(256)
            stream = self.random.choice([0, 1, 2, 3, 2**31 - 1])
            frames += [http2(kind, flags, stream, payload)]
        return b"".join(frames)

    def opening(self) -> bytes:
        """How a client of HTTP/2 begins that lets nothing come back over streams."""
        no_window = struct.pack(">HI", 4, 0)  # SETTINGS_INITIAL_WINDOW_SIZE
        return PREFACE + http2(4, 0, 0, no_window)

    def call(self, stream: int) -> bytes:
        """The beginning of a stream, as HTTP/2 carries it."""
        headers = {
            ":method": "POST",
            ":scheme": "https",
            ":path": METHOD,
            ":authority": "node",
            "content-type": "application/grpc",
            "te": "trailers",
        }
        block = b"".join(
            b"\0"
            + bytes([len(key)])
            + key.encode()
            + bytes([len(value)])
            + value.encode()
            for key, value in headers.items()
        )
        return http2(1, 4, stream, block)  # HEADERS, which end here

    def call_without_reading(self, tls: ssl.SSLSocket, data: bytes) -> None:
        """Begin a stream with some envelope, and let nothing come back over it."""
        message = b"\0" + struct.pack(">I", len(data)) + data
        tls.sendall(self.opening() + self.call(1) + http2(0, 0, 1, message))  # DATA

    # Through gRPC.

    @contextmanager
    def channel(
        self, credential: Credential, target: str, *, packed: bool = False
    ) -> Iterator[grpc.Channel]:
        """A connection of gRPC's own."""
        credentials = grpc.ssl_channel_credentials(
            self.authority, credential.key_pem, credential.certificate_pem
        )
        options = [
            ("grpc.ssl_target_name_override", target),
            ("grpc.use_local_subchannel_pool", 1),
        ]
        with grpc.secure_channel(
            f"127.0.0.1:{self.port}",
            credentials,
            options,
            compression=grpc.Compression.Gzip if packed else None,
        ) as channel:
            yield channel

    def say(
        self, channel: grpc.Channel, *data: bytes, method: str = METHOD
    ) -> tuple[grpc.StatusCode, str]:
        """Send envelopes over a new stream, and return how the node ends it."""
        self.n_sent += 1
        call = channel.stream_stream(method)(iter(data), timeout=PATIENCE)
        with suppress(grpc.RpcError):
            for _ in call:
                pass
        code: grpc.StatusCode = call.code()
        assert code is not grpc.StatusCode.DEADLINE_EXCEEDED, "the node hangs"
        return code, call.details() or ""

    @contextmanager
    def stalled(
        self, channels: Iterable[grpc.Channel], n_streams: int
    ) -> Iterator[None]:
        """Hold streams open on which nothing is said."""
        with ExitStack() as stack:
            for channel in channels:
                for _ in range(n_streams):
                    self.n_sent += 1
                    silence, over = _silence()
                    call = channel.stream_stream(METHOD)(silence)
                    stack.callback(call.cancel)
                    stack.callback(over)
            yield

    @contextmanager
    def crowd(self, n_connections: int) -> Iterator[None]:
        """Hold connections open on which nothing is said."""
        with ExitStack() as stack:
            for _ in range(n_connections):
                stack.enter_context(self.connect())
            yield


def http2(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """A frame of HTTP/2."""
    length = struct.pack(">I", len(payload))[1:]
    return length + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def _silence() -> tuple[Iterator[bytes], Callable[[], None]]:
    """Nothing to send until it is over, and how to end it."""
    over = threading.Event()

    def nothing() -> Iterator[bytes]:
        over.wait(PATIENCE)
        yield from ()

    return nothing(), over.set


class Words:
    """Envelopes of a node that is not who it says, or not in its right mind.

    Parameters
    ----------
    name : str
        Of the node whose key was stolen.
    plan : bytes
    random_digest : str
    rules : Rules
        Of the training.
    seed : int
    """

    def __init__(
        self, name: str, plan: bytes, random_digest: str, rules: Rules, seed: int
    ) -> None:
        self.name = name
        self.plan = plan
        self.random_digest = random_digest
        self.rules = rules
        self.random = random.Random(seed)
        self.incarnation = self.random.getrandbits(62) + 1
        self.attempts = itertools.count(1)

    def hello(self, **changes: object) -> bytes:
        """What a process of that node would say first, but for some changes."""
        fields = {
            "protocol": PROTOCOL,
            "node": self.name,
            "plan": self.plan,
            "random": self.random_digest,
            "incarnation": self.incarnation,
            "attempt": next(self.attempts),
            **changes,
        }
        return pb.Envelope(hello=pb.Hello(**fields)).SerializeToString()

    def frame(self, **changes: object) -> bytes:
        """A frame that is well-formed, but for some changes."""
        data = np.array([[1.0, 2.0], [3.0, 4.0]]).tobytes()
        fields = {
            "number": 1,
            "run": self.rules.run,
            "layer": 0,
            "step": 5,
            "round": 3,
            "shape": [2, 2],
            "dtype": FLOAT64,
            "values": data,
            **changes,
        }
        fields.setdefault("checksum", zlib.crc32(fields["values"]))
        return pb.Envelope(frame=pb.Frame(**fields)).SerializeToString()

    def bad_hellos(self) -> Iterator[bytes]:
        """None of which may be accepted."""
        for name in ("", "n9", self.name + "x", self.name.upper(), "a\nb", "x" * 5000):
            yield self.hello(node=name)
        for protocol in (0, PROTOCOL - 1, PROTOCOL + 1, 2**32 - 1):
            yield self.hello(protocol=protocol)
        for plan in (b"", b"{}", b"null", b'"\xff\xfe"', DEEP_JSON, b"9" * 50_000):
            yield self.hello(plan=plan)
        yield self.hello(plan=self.plan.replace(b'"seed":', b'"seed":1'))
        for digest in ("", "0" * 64, "\x1b[2J", "x" * 50_000):
            yield self.hello(random=digest)
        yield self.hello(incarnation=0)
        yield self.hello(epoch=2**64 - 1)
        yield self.hello(epoch=2**62)

    def bad_starts(self) -> Iterator[bytes]:
        """First words that are no hello."""
        yield b""
        yield b"\x0a"  # a field that ends too early
        yield b"\xff" * 100
        yield self.frame()
        yield pb.Envelope(status=pb.Status(received=3)).SerializeToString()
        for reason in range(5):
            yield _goodbye(reason)
        yield self.hello()[:-3]

    def bad_frames(self) -> Iterator[bytes]:
        """Any of which ends the stream, and does nothing else."""
        yield self.frame(run=self.rules.run ^ 1)
        yield self.frame(run=0)
        for dtype in ("", "<f4", ">f8", "<i4", ">i8", "<u8", "|O", "<f8" * 2000):
            yield self.frame(dtype=dtype)
        for shape in (
            [1] * 5,
            [1] * 10_000,
            [2**32 - 1] * 4,
            [2**16] * 4,
            [0, 2**32 - 1, 2**32 - 1, 2**32 - 1],
            [self.rules.largest + 1],
            [2, 3],
            [],
            [4, 0],
        ):
            yield self.frame(shape=shape)
        yield self.frame(checksum=1)
        for number in (np.nan, np.inf, -np.inf):
            yield self.frame(values=np.array([[1.0, number], [0, 0]]).tobytes())
        yield self.frame(values=b"")
        yield self.frame(values=b"\0" * 31)
        yield self.frame(layer=2**31 - 1)
        for number in (2, 17, 2**64 - 1):
            yield self.frame(number=number)
        yield self.frame(received=1 << 40)
        for epoch in (2**64 - 1, 2**63, 2**40):
            yield self.frame(epoch=epoch)
        yield self.frame(epoch=2**32, received=1 << 40)
        yield pb.Envelope(status=pb.Status(received=1 << 40)).SerializeToString()
        yield self.hello()
        yield b""
        yield b"\x12\xff\xff\xff\xff\x0f"  # a frame of 4 GB, it says
        # As long as gRPC lets through, and longer.
        yield b"\x12" + b"\0" * (self.rules.most_bytes - 1)
        yield b"\0" * (4 * self.rules.most_bytes + 2**20)

    def odd_words(self) -> Iterator[tuple[bytes, ...]]:
        """Well-formed, and still of no use, or meant to stop the training."""
        yield (self.frame(),) * 3  # replayed
        yield (self.frame(), self.frame(number=3), self.frame(number=2))
        yield tuple(self.frame(number=k) for k in range(1, 40))  # far ahead
        for change in (
            {"layer": -(2**31)},
            {"step": -(2**63)},
            {"round": 2**32 - 1},
            {"shape": [4]},
            {"dtype": INT64},
            {"shape": [], "values": b"\0" * 8},
            {"shape": [0], "values": b""},
            {"epoch": 1000},
        ):
            yield (self.frame(**change),)
        # As the first letter of an agreement should be, with another content.
        right = Tag(-2, 0, 0, (1,))
        for epoch in (0, 1, 100):
            yield (encode_frame(self.rules.run, 1, 0, epoch, right, np.array([-9.0])),)
        names = ["\x1b[2J" * 1000] * 1000
        yield (pb.Envelope(status=pb.Status(waiting_for=names)).SerializeToString(),)
        for reason in range(5):
            yield (_goodbye(reason),)
        yield ()


def _goodbye(reason: int) -> bytes:
    text = "forged\nERROR all is lost\x1b[2J" * 50
    goodbye = pb.Goodbye(reason=reason, waiting_for=[text] * 50)
    return pb.Envelope(goodbye=goodbye).SerializeToString()
