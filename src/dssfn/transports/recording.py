"""A transport that keeps a copy of every letter that a node receives.

So an organisation can look at what it was shown of others, and others at what they
would show. The file holds one letter after the other: the length of its head, the head
as JSON, and its numbers.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np

from dssfn._typing import NodeId, Numbers
from dssfn.errors import DataError
from dssfn.transports.base import (
    DTYPES,
    Account,
    Arc,
    Group,
    Letters,
    ResilientTransport,
    Sighting,
    Tag,
)
from dssfn.transports.reasons import Reason

LETTERS_FILE = "letters.bin"
_LENGTH = 4  # bytes of the length of a head
_LONGEST_HEAD = 10_000


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a letter is: its place in the training, and between which nodes it went."""

    epoch: int
    layer: int
    step: int
    round: int
    shape: tuple[int, ...]
    dtype: str
    sender: NodeId
    receiver: NodeId

    @property
    def n_bytes(self) -> int:
        """The size of its numbers."""
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize


class RecordingTransport:
    """Another transport, whose incoming letters are kept in a file.

    Parameters
    ----------
    carrier : ResilientTransport
        Carries the letters.
    folder : Path
        A folder that exists; only its owner can read what is written there.
    """

    def __init__(self, carrier: ResilientTransport, folder: Path) -> None:
        self._carrier = carrier

        def opener(name: str, flags: int) -> int:
            return os.open(name, flags, 0o600)

        self._file: BinaryIO = open(folder / LETTERS_FILE, "ab", opener=opener)  # noqa: SIM115

    def exchange(
        self, tag: Tag, letters: Letters, expected: Collection[Arc]
    ) -> dict[Arc, Numbers]:
        """Swap letters, and keep those that came."""
        came = self._carrier.exchange(tag, letters, expected)
        for (sender, receiver), values in sorted(came.items()):
            head = Head(
                self.epoch, tag.layer, tag.step, tag.round, tag.shape, tag.dtype,
                sender, receiver,
            )  # fmt: skip
            text = msgspec.json.encode(head)
            self._file.write(len(text).to_bytes(_LENGTH, "little") + text)
            self._file.write(np.ascontiguousarray(values, tag.dtype).tobytes())
        self._file.flush()
        return came

    def close(self, reason: Reason = Reason.STOPPED) -> None:
        """Leave, and tell the neighbours the reason and nothing else."""
        self._file.close()
        self._carrier.close(reason)

    @property
    def deadline(self) -> float:
        """Seconds within which a neighbour that is connected sends a heartbeat."""
        return self._carrier.deadline

    @deadline.setter
    def deadline(self, seconds: float) -> None:
        self._carrier.deadline = seconds

    @property
    def patience(self) -> float:
        """Seconds to wait for a neighbour that is gone."""
        return self._carrier.patience

    @patience.setter
    def patience(self, seconds: float) -> None:
        self._carrier.patience = seconds

    @property
    def have_met(self) -> bool:
        """Whether all nodes have met."""
        return self._carrier.have_met

    @have_met.setter
    def have_met(self, have_met: bool) -> None:
        self._carrier.have_met = have_met

    @property
    def at(self) -> Tag:
        """The exchange that the training is in."""
        return self._carrier.at

    @property
    def epoch(self) -> int:
        """The number of times that nodes had to go back together."""
        return self._carrier.epoch

    def join(self) -> None:
        """Go on with all others after `Regroup`."""
        self._carrier.join()

    def gather(self) -> Group | None:
        """Wait for nodes to go on with; None where all nodes must take part."""
        return self._carrier.gather()

    @property
    def newcomers(self) -> bool:
        """Whether nodes wait to be taken into the group that was gathered."""
        return self._carrier.newcomers

    @property
    def is_settled(self) -> bool:
        """Whether another member of the last group holds the finished model."""
        return self._carrier.is_settled

    def finish(self) -> None:
        """Say that this node holds the finished model."""
        self._carrier.finish()

    def accounts(self) -> dict[str, tuple[Account, bool]]:
        """Return the traffic with every neighbour, and whether it is connected."""
        return self._carrier.accounts()

    def sightings(self) -> dict[str, Sighting]:
        """Return what is known of every neighbour now."""
        return self._carrier.sightings()


def recorded_letters(folder: Path) -> Iterator[tuple[Head, Numbers]]:
    """Yield all letters that were kept in a folder, in the order in which they came."""
    path = folder / LETTERS_FILE
    try:
        file = path.open("rb")
    except OSError as exc:
        raise DataError(
            f"`{folder}` must be a folder written by `dssfn node run --record`, but "
            f"`{LETTERS_FILE}` in it cannot be read: {exc.strerror}."
        ) from exc
    with file:
        while length := file.read(_LENGTH):
            yield _next(file, int.from_bytes(length, "little"), path)


def _next(file: BinaryIO, n_head: int, path: Path) -> tuple[Head, Numbers]:
    damaged = DataError(f"`{path}` is damaged or incomplete. Record it again.")
    if n_head > _LONGEST_HEAD:
        raise damaged
    try:
        head = msgspec.json.decode(file.read(n_head), type=Head)
    except msgspec.DecodeError as exc:
        raise damaged from exc
    if head.dtype not in DTYPES or min(head.shape, default=0) < 0:
        raise damaged
    content = file.read(head.n_bytes)
    if len(content) < head.n_bytes:
        raise damaged
    return head, np.frombuffer(content, head.dtype).reshape(head.shape)
