"""Letters that a node received are kept, and read back as they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.errors import DataError
from dssfn.transports import Tag, memory_network
from dssfn.transports.recording import (
    LETTERS_FILE,
    RecordingTransport,
    recorded_letters,
)


def recorded(folder, tag, values):
    """Let node 1 keep what node 0 sends to it."""
    one, two = memory_network([[0], [1]], [(0, 1)], deadline=5)
    two.epoch = 3
    kept = RecordingTransport(two, folder)
    one.exchange(tag, {(0, 1): values}, [])
    came = kept.exchange(tag, {}, [(0, 1)])
    kept._file.close()
    return came


@settings(max_examples=30)
@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6),
    st.integers(-2, 9),
    st.booleans(),
)
def test_what_came_is_kept(tmp_path_factory, numbers, layer, is_exact):
    folder = tmp_path_factory.mktemp("kept")
    dtype = "<i8" if is_exact else "<f8"
    values = np.array(numbers, dtype=np.int64).astype(dtype)
    for step in range(2):
        tag = Tag(layer, step, 1, values.shape, dtype)
        came = recorded(folder, tag, values)
        assert np.array_equal(came[0, 1], values)
    found = list(recorded_letters(folder))
    assert [head.step for head, _ in found] == [0, 1]
    for head, kept in found:
        assert (head.epoch, head.layer, head.round) == (3, layer, 1)
        assert (head.sender, head.receiver) == (0, 1)
        assert kept.dtype == dtype
        assert kept.tobytes() == values.tobytes()


def test_only_the_owner_can_read_them(tmp_path):
    recorded(tmp_path, Tag(0, 0, 0, (1,), "<i8"), np.array([5]))
    assert (tmp_path / LETTERS_FILE).stat().st_mode & 0o077 == 0


def test_damaged_files_are_refused(tmp_path):
    with pytest.raises(DataError, match="--record"):
        list(recorded_letters(tmp_path))
    recorded(tmp_path, Tag(0, 0, 0, (3,), "<i8"), np.array([1, 2, 3]))
    path = tmp_path / LETTERS_FILE
    whole = path.read_bytes()
    for content in (
        whole[:-1],
        whole[:2],
        whole[:20],
        b"\xff" * 40,
        whole.replace(b'"<i8"', b'"|O8"'),
        whole.replace(b"[3]", b"[-]"),
        whole.replace(b"[3]", b"[-3]"),
        whole.replace(b"[3]", b"[99999999]"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match="damaged"):
            list(recorded_letters(tmp_path))
