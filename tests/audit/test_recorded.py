"""Which letters of a recording an audit is about."""

from __future__ import annotations

import numpy as np
import pytest

from dssfn.audit import read_recording
from dssfn.errors import DataError
from dssfn.programs import INPUTS
from dssfn.topology import build_topology
from dssfn.transports import Tag, memory_network
from dssfn.transports.recording import RecordingTransport

STAR = build_topology("star", 2)
FROM_THE_START = ((INPUTS, 0), (0, 1), (0, 2))  # layers and averagings
RESUMED = ((0, 3), (0, 4))  # how good layer 0 is, which is the last


def record(folder, epoch, places):
    """Let node 0 keep what node 1 sends to it in one attempt: its number."""
    one, two = memory_network([[0], [1]], [(1, 0)], deadline=5)
    one.epoch = epoch
    kept = RecordingTransport(one, folder)
    for layer, step in places:
        tag = Tag(layer, step, 0, (1,), "<i8")
        two.exchange(tag, {(1, 0): np.array([epoch])}, [])
        kept.exchange(tag, {}, [(1, 0)])
    kept._file.close()


def test_the_first_layer_is_that_of_the_attempt_which_solved_it(tmp_path):
    record(tmp_path, 0, FROM_THE_START)
    record(tmp_path, 1, RESUMED)
    found = read_recording(tmp_path, STAR)
    steps = {(layer, step) for layer, step, *_ in found.letters}
    assert steps == {*FROM_THE_START}
    assert {values.item() for values in found.letters.values()} == {0}


def test_of_several_attempts_from_the_start_the_last_counts(tmp_path):
    record(tmp_path, 0, FROM_THE_START[:2])
    record(tmp_path, 1, FROM_THE_START)
    record(tmp_path, 2, RESUMED)
    found = read_recording(tmp_path, STAR)
    assert {values.item() for values in found.letters.values()} == {1}


def test_a_recording_that_began_after_the_first_layer_is_refused(tmp_path):
    record(tmp_path, 1, RESUMED)
    with pytest.raises(DataError, match=r"resumed from a checkpoint.*--fresh"):
        read_recording(tmp_path, STAR)
