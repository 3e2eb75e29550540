"""Envelopes as bytes, and their checked values.

Whatever a neighbour sends is checked here before anything else sees it.
"""

from __future__ import annotations

import math
import sys
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from dssfn._plain_text import printable
from dssfn._typing import Numbers
from dssfn.errors import ProtocolError
from dssfn.transports.base import DTYPES, Tag
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.reasons import Reason

PROTOCOL = 4
ITEM = 8  # bytes
OVERHEAD = 4096  # of a frame beside its values, at the most
MOST_AXES = 4
LONGEST_TEXT = 300  # of what others say, in a log
LARGEST_SIZE = (2**31 - 1 - OVERHEAD) // ITEM  # gRPC's and protobuf's limit


@dataclass(frozen=True, slots=True)
class Frame:
    """A checked frame."""

    number: int
    received: int
    epoch: int
    tag: Tag
    values: Numbers
    restarted: str = ""  # the node for which its epoch began


@dataclass(frozen=True, slots=True)
class Rules:
    """The limits of a frame of this training.

    Parameters
    ----------
    run : int
        The number of the training, derived from the plan.
    largest : int
        How many numbers a letter may have.
    n_layers : int
        The number of hidden layers, L of the plan.
    """

    run: int
    largest: int
    n_layers: int

    @property
    def most_bytes(self) -> int:
        """The most bytes of an envelope, which is one with the largest letter."""
        return self.largest * ITEM + OVERHEAD


def encode_frame(
    run: int,
    number: int,
    received: int,
    epoch: int,
    tag: Tag,
    values: Numbers,
    restarted: str = "",
) -> bytes:
    """Return an envelope with a letter, as bytes."""
    # Bytes may be put in order; a letter of another kind than its tag is a fault here.
    data = np.asarray(values).astype(tag.dtype, casting="equiv", copy=False).tobytes()
    frame = pb.Frame(
        number=number,
        received=received,
        run=run,
        epoch=epoch,
        layer=tag.layer,
        step=tag.step,
        round=tag.round,
        shape=tag.shape,
        dtype=tag.dtype,
        checksum=zlib.crc32(data),
        values=data,
        restarted=restarted,
    )
    return bytes(pb.Envelope(frame=frame).SerializeToString())


def decode(data: bytes) -> pb.Envelope:
    """Return an envelope with some content."""
    try:
        envelope: pb.Envelope = pb.Envelope.FromString(data)
    except DecodeError as exc:
        raise ProtocolError(
            f"it sent {len(data)} bytes that are not an envelope"
        ) from exc
    if envelope.WhichOneof("content") is None:
        raise ProtocolError("it sent an envelope without content")
    return envelope


def check_frame(frame: pb.Frame, rules: Rules) -> Frame:
    """Return a frame whose every field is as it must be."""
    _demand(frame.run == rules.run, "run", f"{rules.run:x}", f"{frame.run:x}")
    rule = " or ".join(DTYPES)
    _demand(frame.dtype in DTYPES, "dtype", rule, repr(frame.dtype[:16]))
    _demand(frame.layer <= rules.n_layers + 1, "layer", rules.n_layers, frame.layer)
    shape = tuple(frame.shape[: MOST_AXES + 1])
    _demand(
        # An axis of length 0 must not hide one that no array can have.
        len(shape) <= MOST_AXES and math.prod(n or 1 for n in shape) <= rules.largest,
        "shape",
        f"at most {rules.largest} numbers",
        shape,
    )
    data = frame.values  # protobuf makes a copy every time
    size = math.prod(shape) * ITEM
    _demand(len(data) == size, "values", f"{size} bytes", len(data))
    checksum = zlib.crc32(data)
    _demand(frame.checksum == checksum, "checksum", checksum, frame.checksum)
    values: NDArray[Any] = np.frombuffer(data, dtype=frame.dtype).reshape(shape)
    if sys.byteorder == "big":
        values = values.astype(values.dtype.newbyteorder("="))
    # Every integer is finite.
    _demand(bool(np.isfinite(values).all()), "values", "finite numbers", "others")
    tag = Tag(frame.layer, frame.step, frame.round, shape, frame.dtype)
    return Frame(
        frame.number, frame.received, frame.epoch, tag, values, frame.restarted
    )


def check_reason(goodbye: pb.Goodbye) -> Reason:
    """Return why a neighbour leaves; later versions may know more reasons."""
    if goodbye.reason not in pb.Goodbye.Reason.values():
        return Reason.UNKNOWN
    return Reason[pb.Goodbye.Reason.Name(goodbye.reason)]


def excerpt(text: str) -> str:
    """Return somebody's words for a log: not too long, and in one line."""
    shown = text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + ".."
    return printable(shown)


def _demand(kept: bool, field: str, rule: object, came: object) -> None:
    if not kept:
        raise ProtocolError(f"`{field}` of a frame must be {rule}, got {came}")
