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
from dssfn.transports.base import DTYPES, FLOAT64, INT64, Tag
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.wire import (
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
shapes = npst.array_shapes(min_dims=0, max_dims=MOST_AXES, min_side=0, max_side=3)
finite = npst.arrays(
    np.float64, shapes, elements=st.floats(allow_nan=False, allow_infinity=False)
) | npst.arrays(np.int64, shapes)


@st.composite
def letters(draw):
    """A letter as a node may send it: number, received, epoch, tag, values."""
    values = draw(finite)
    layer = draw(st.integers(-2, RULES.n_layers))
    step, round_ = draw(st.integers(-(2**63), 2**63 - 1)), draw(uint32)
    tag = Tag(layer, step, round_, values.shape, values.dtype.str)
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
    assert (frame.values.shape, frame.values.dtype) == (values.shape, values.dtype)
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
    dtype=st.sampled_from(DTYPES) | st.text(max_size=40),
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
    assert frame.tag.dtype in DTYPES
    assert frame.values.dtype == frame.tag.dtype
    assert frame.values.shape == frame.tag.shape
    assert frame.values.size <= RULES.largest
    assert np.isfinite(frame.values).all()
    assert frame.tag.layer <= RULES.n_layers + 1


@pytest.mark.parametrize("shape", [(0, 2**32 - 1, 2**32 - 1), (2**31, 0, 2**31)])
def test_an_empty_axis_hides_no_axis_that_an_array_cannot_have(shape):
    assert math.prod(shape) == 0
    frame = pb.Frame(run=RULES.run, dtype=FLOAT64, shape=shape)
    with pytest.raises(ProtocolError, match="shape"):
        check_frame(frame, RULES)


def _frame(data, **changes):
    fields = {"run": RULES.run, "shape": [2], "checksum": zlib.crc32(data), **changes}
    return pb.Frame(values=data, **fields)


@pytest.mark.parametrize(
    "dtype", ["", "f8", "i8", "<f4", "<i4", "<u8", ">f8", ">i8", "=i8", "int64", "|O"]
)
def test_no_other_kind_of_numbers_is_read(dtype):
    with pytest.raises(ProtocolError, match=r"`dtype` .* must be <f8 or <i8, got"):
        check_frame(_frame(b"\0" * 16, dtype=dtype), RULES)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_bytes", [0, 8, 15, 17, 24])
def test_values_of_another_length_than_the_shape_says_are_refused(dtype, n_bytes):
    with pytest.raises(ProtocolError, match=r"`values` .* must be 16 bytes"):
        check_frame(_frame(b"\0" * n_bytes, dtype=dtype), RULES)


def test_the_bits_of_a_number_that_is_not_finite_are_an_integer_like_any_other():
    data = np.array([np.nan, -np.inf]).tobytes()
    with pytest.raises(ProtocolError, match=r"`values` .* must be finite numbers"):
        check_frame(_frame(data, dtype=FLOAT64), RULES)
    frame = check_frame(_frame(data, dtype=INT64), RULES)
    assert (frame.values.dtype, frame.values.tobytes()) == (np.int64, data)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_letter_of_another_kind_than_its_tag_is_never_sent(dtype):
    (other,) = set(DTYPES) - {dtype}
    tag = Tag(0, 0, 0, (1,), dtype)
    with pytest.raises(TypeError, match="Cannot cast"):
        encode_frame(RULES.run, 1, 0, 0, tag, np.ones(1, other))


@given(st.text(max_size=2 * LONGEST_TEXT))
def test_words_for_a_log_are_short_and_in_one_line(text):
    shown = printable(text)
    assert shown.isprintable()
    assert len(shown) <= LONGEST_TEXT + 2
