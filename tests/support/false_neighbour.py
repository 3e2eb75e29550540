"""A neighbour with a genuine key that does not do what it should."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import grpc
import numpy as np

from dssfn.node.agreement import AGREEMENT, LAYERS
from dssfn.setup.pki import Credential
from dssfn.transports.base import Tag
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.wire import encode_frame
from tests.support.intruder import METHOD, Intruder, Words

OPENING = Tag(AGREEMENT, LAYERS, 0, (1,))  # the first letter that nodes exchange


class Talk:
    """A stream to a node: what is said is up to the test, what comes is kept."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._words: queue.Queue[bytes | None] = queue.Queue(maxsize=8)
        self._call = channel.stream_stream(METHOD)(iter(self._words.get, None))
        self.heard: list[bytes] = []
        self.is_over = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def say(self, data: bytes) -> bool:
        """Send an envelope; returns whether the node still listens."""
        while not self.is_over.is_set():
            with suppress(queue.Full):
                self._words.put(data, timeout=0.1)
                return True
        return False

    def until(self, kind: str, seconds: float = 300.0) -> list[pb.Envelope]:
        """All envelopes so far, once there is one of some kind."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = [pb.Envelope.FromString(data) for data in list(self.heard)]
            if any(one.WhichOneof("content") == kind for one in found):
                return found
            time.sleep(0.01)
        raise AssertionError(f"no {kind} came")

    def how_it_ended(self) -> tuple[object, ...]:
        """Status, details and metadata: all that is said beside the envelopes."""
        call = self._call
        return (
            call.code(),
            call.details(),
            call.initial_metadata(),
            (call.trailing_metadata()),
        )

    def close(self) -> None:
        self._call.cancel()
        self._words = queue.Queue()
        self.is_over.set()
        self._reader.join(60)

    def _read(self) -> None:
        with suppress(grpc.RpcError):
            for data in self._call:
                self.heard.append(data)
        self.is_over.set()


class FalseNeighbour:
    """Speaks for one node with that node's key.

    Parameters
    ----------
    intruder : Intruder
        Knows the port.
    words : Words
        Of the node that it speaks for.
    credential : Credential
        That node's own.
    target : str
        The name of the node that it talks to.
    """

    def __init__(
        self, intruder: Intruder, words: Words, credential: Credential, target: str
    ) -> None:
        self.words = words
        self._intruder, self._credential, self._target = intruder, credential, target

    @contextmanager
    def talk(self, **hello: object) -> Iterator[Talk]:
        """A stream that begins with a right hello, but for some changes."""
        with self._intruder.channel(self._credential, self._target) as channel:
            talk = Talk(channel)
            talk.say(self.words.hello(**hello))
            try:
                yield talk
            finally:
                talk.close()

    def letter(
        self,
        number: int,
        values: np.ndarray,
        *,
        tag: Tag = OPENING,
        epoch: int = 0,
        received: int = 0,
        restarted: str = "",
    ) -> bytes:
        run = self.words.rules.run
        return encode_frame(run, number, received, epoch, tag, values, restarted)

    def claim(self, number: int, n_layers: int, **fields: object) -> bytes:
        """How many layers it says to have, as nodes do when they meet."""
        return self.letter(number, np.array([float(n_layers)]), **fields)

    def take_part(
        self,
        talk: Talk,
        until: Callable[[], bool],
        *,
        n_layers: int | None = None,
        value: float | None = None,
        confirms: bool = True,
    ) -> int:
        """Answer every letter with its own content, as one that always agrees does.

        That is enough where all neighbours send in every round, as with gossip.

        Parameters
        ----------
        n_layers : int, optional
            What it claims to have instead.
        value : float, optional
            What it sends instead of all other numbers.
        confirms : bool
            Whether it says what has come.

        Returns how many letters it has answered.
        """
        answered = heard = 0
        end = time.monotonic() + 300
        while not until() and not talk.is_over.is_set():
            assert time.monotonic() < end, "nothing happens"
            for data in talk.heard[heard:]:
                heard += 1
                frame = pb.Envelope.FromString(data).frame
                if not frame.number:
                    continue
                answered += 1
                shape, dtype = tuple(frame.shape), frame.dtype
                tag = Tag(frame.layer, frame.step, frame.round, shape, dtype)
                values = np.frombuffer(frame.values, dtype).reshape(shape)
                if tag.layer != AGREEMENT and value is not None:
                    values = np.full(shape, value, dtype)
                if tag[:2] == OPENING[:2] and n_layers is not None:
                    values = np.full(shape, n_layers, dtype)
                received = frame.number if confirms else 0
                epoch = frame.epoch
                talk.say(
                    self.letter(
                        answered, values, tag=tag, epoch=epoch, received=received
                    )
                )
            time.sleep(0.002)
        return answered
