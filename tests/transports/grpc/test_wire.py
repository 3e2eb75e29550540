"""Whatever comes off the wire is either right in every field, or a ProtocolError."""

from __future__ import annotations

import math
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from dssfn.errors import ProtocolError
from dssfn.transports.base import Tag
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.wire import (
    DTYPE,
    LONGEST_TEXT,
    MOST_AXES,
    Rules,
    check_frame,
    decode,
    encode_frame,
    printable,
)

RULES = Rules(run=0xABCD, largest=200, n_layers=3)

uint64 = st.integers(0, 2**64 - 1)
uint32 = st.integers(0, 2**32 - 1)
finite = npst.arrays(
    np.float64,
    npst.array_shapes(min_dims=0, max_dims=MOST_AXES, min_side=0, max_side=3),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)


@st.composite
def letters(draw):
    """A letter as a node may send it: number, received, epoch, tag, values."""
    values = draw(finite)
    layer = draw(st.integers(-2, RULES.n_layers))
    step, round_ = draw(st.integers(-(2**63), 2**63 - 1)), draw(uint32)
    tag = Tag(layer, step, round_, values.shape)
    return draw(uint64), draw(uint64), draw(uint64), tag, values


def _read(data):
    """A frame, or None for another envelope."""
    envelope = decode(data)
    if envelope.WhichOneof("content") != "frame":
        return None
    return check_frame(envelope.frame, RULES)


def _check(read, data):
    """What is read has a good form; what is refused is so in a few plain words."""
    try:
        frame = read(data)
    except ProtocolError as exc:
        words = str(exc)
    else:
        words = ""
        if frame is not None:
            _check_form(frame)
    assert len(words) < 500
    assert words.isprintable()


@given(letters())
def test_a_letter_comes_out_to_the_last_bit(letter):
    number, received, epoch, tag, values = letter
    frame = _read(encode_frame(RULES.run, number, received, epoch, tag, values))
    assert (frame.number, frame.received, frame.epoch) == (number, received, epoch)
    assert frame.tag == tag
    assert frame.values.shape == values.shape
    assert frame.values.tobytes() == values.tobytes()


@given(st.binary(max_size=300))
def test_bytes_are_an_envelope_or_a_protocol_error(data):
    _check(_read, data)


@given(letters(), st.data())
def test_a_damaged_letter_is_read_in_good_form_or_refused(letter, data):
    good = encode_frame(RULES.run, *letter)
    bad = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(bad) - 1))
        bad[at] = data.draw(st.integers(0, 255))
    bad = bad[: data.draw(st.integers(1, len(bad)))]
    _check(_read, bytes(bad))


@given(
    run=st.just(RULES.run) | uint64,
    layer=st.integers(-(2**31), 2**31 - 1),
    shape=st.lists(st.sampled_from([0, 1, 2, 5, 201, 2**16, 2**32 - 1]), max_size=7),
    dtype=st.just(DTYPE) | st.text(max_size=40),
    values=st.binary(max_size=64) | finite.map(np.ndarray.tobytes),
    checksum=st.none() | uint32,
    others=st.fixed_dictionaries(
        {"number": uint64, "received": uint64, "epoch": uint64, "round": uint32}
    ),
)
def test_a_frame_of_any_fields_is_in_good_form_or_refused(
    run, layer, shape, dtype, values, checksum, others
):
    frame = pb.Frame(
        run=run,
        layer=layer,
        shape=shape,
        dtype=dtype,
        values=values,
        checksum=zlib.crc32(values) if checksum is None else checksum,
        **others,
    )
    _check(lambda one: check_frame(one, RULES), frame)


def _check_form(frame):
    assert frame.values.dtype == np.float64
    assert frame.values.shape == frame.tag.shape
    assert frame.values.size <= RULES.largest
    assert np.isfinite(frame.values).all()
    assert frame.tag.layer <= RULES.n_layers + 1


@pytest.mark.parametrize("shape", [(0, 2**32 - 1, 2**32 - 1), (2**31, 0, 2**31)])
def test_an_empty_axis_hides_no_axis_that_an_array_cannot_have(shape):
    assert math.prod(shape) == 0
    frame = pb.Frame(run=RULES.run, dtype=DTYPE, shape=shape)
    with pytest.raises(ProtocolError, match="shape"):
        check_frame(frame, RULES)


@given(st.text(max_size=2 * LONGEST_TEXT))
def test_words_for_a_log_are_short_and_in_one_line(text):
    shown = printable(text)
    assert shown.isprintable()
    assert len(shown) <= LONGEST_TEXT + 2
