"""Nothing of a node's data, files or people leaves it when it fails.

Markers are planted wherever an error could pick them up: cells, labels, file names, the
user's name. Then all bytes that a neighbour gets, and all files of the other nodes, are
searched for them.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager

import grpc
import numpy as np
import pytest

from dssfn import errors
from dssfn.node.farewell import farewell
from dssfn.setup import pki
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.reception import AnotherPlan
from dssfn.transports.grpc.refusals import Refusal, Refused
from tests.integration.test_hostile import TARGET, Attack
from tests.integration.test_streams import AUTHORITY, _intruder, _listener
from tests.support.false_neighbour import FalseNeighbour, Talk
from tests.support.lab import Lab

pytestmark = pytest.mark.grpc

MARKER = "planted-marker-0815"


def _classes(base):
    for kind in base.__subclasses__():
        if kind is not AnotherPlan:  # it is made of a whole hello
            yield kind
            yield from _classes(kind)


# Every error of this package, and the others that can end a node.
KINDS = [
    errors.DssfnError,
    *_classes(errors.DssfnError),
    KeyboardInterrupt,
    SystemExit,
    MemoryError,
    OSError,
    PermissionError,
    FloatingPointError,
    ZeroDivisionError,
    np.linalg.LinAlgError,
    ValueError,
    RuntimeError,
    KeyError,
    UnicodeDecodeError,
]


def _raised(kind):
    if kind is UnicodeDecodeError:
        return kind("utf-8", MARKER.encode(), 0, 1, MARKER)
    if issubclass(kind, OSError):
        return kind(13, MARKER, f"/home/{MARKER}/data.csv")
    more = (Refusal.FAULT,) if kind is Refused else ()
    return kind(f"got {MARKER!r}", *more)


@pytest.mark.parametrize("kind", dict.fromkeys(KINDS), ids=lambda kind: kind.__name__)
def test_the_text_of_an_error_never_leaves_a_node(kind, tmp_path, caplog):
    with _listener(20.0) as node:
        intruder, words = _intruder(node.port, tmp_path)
        with intruder.channel(pki.issue(AUTHORITY, "n1"), "n0") as channel:
            talk = Talk(channel)
            talk.say(words.hello())
            talk.until("hello")
            with pytest.raises(kind), farewell(node, lambda: f"go on from {MARKER}"):
                raise _raised(kind)
            assert talk.is_over.wait(300)
            everything = b"".join(talk.heard) + repr(talk.how_it_ended()).encode()
            talk.close()
    (last,) = (
        one.goodbye
        for one in map(pb.Envelope.FromString, talk.heard)
        if one.WhichOneof("content") == "goodbye"
    )
    assert last.reason not in (pb.Goodbye.UNKNOWN, pb.Goodbye.FINISHED)
    assert MARKER.encode() not in everything
    # It is there for the node's own operator.
    assert MARKER in caplog.text


def test_an_error_while_somebody_calls_is_told_by_one_word(tmp_path, monkeypatch):
    with _listener(20.0) as node:
        intruder, words = _intruder(node.port, tmp_path)

        def fail(*arguments):
            raise RuntimeError(MARKER)

        monkeypatch.setattr(node, "greet", fail)
        with intruder.channel(pki.issue(AUTHORITY, "n1"), "n0") as channel:
            code, text = intruder.say(channel, words.hello())
    assert (code, text) == (grpc.StatusCode.INTERNAL, "fault")


@contextmanager
def _failing_lab(tmp_path):
    """The path n0 - n1 - n2: n2 is played by the test and hears all that n1 says."""
    lab = Lab(tmp_path, 3, kind="path", deadline=2.0, consensus="gossip")
    try:
        attack = Attack(lab, tmp_path, seed=1, scale=1)
        words, key = attack.words["n2"], attack.stolen("n2")
        yield lab, FalseNeighbour(attack.intruder, words, key, TARGET)
    finally:
        lab.close()


FAULTS = {
    "cell": lambda rows: [*rows[:-5], f"{MARKER}{rows[-5][3:]}", *rows[-4:]],
    "label": lambda rows: [*rows[:-1], rows[-1].rpartition(",")[0] + f",{MARKER}"],
    "gap": lambda rows: [*rows[:-1], f"{MARKER},,{rows[-1]}"],
}


@pytest.mark.parametrize("fault", [*FAULTS, "file", "interrupt"])
def test_planted_markers_are_found_in_no_other_nodes_bytes_and_files(
    tmp_path, fault, monkeypatch
):
    with _failing_lab(tmp_path) as (lab, false):
        data = lab.folder(TARGET) / "data.csv"
        hidden = data.with_name(f"{MARKER}.csv")
        data.rename(hidden)
        settings = lab.node_file(TARGET).read_text().replace("data.csv", hidden.name)
        # With so little memory the node does not keep its samples: it reads them again.
        lab.node_file(TARGET).write_text(f'memory = "1MB"\n{settings}')
        for variable in ("USER", "LOGNAME"):
            monkeypatch.setenv(variable, f"{MARKER}-user")
        lab.start("n0", TARGET)
        lab.wait_for(TARGET, "n0 is connected")
        # It has looked at its file; now the file goes bad.
        if fault in FAULTS:
            rows = hidden.read_text().splitlines()
            hidden.write_text("\n".join(FAULTS[fault](rows)) + "\n")
        elif fault == "file":
            hidden.unlink()
        with false.talk() as talk:
            if fault == "interrupt":
                talk.until("status")
                lab.send(TARGET, signal.SIGINT)
            false.take_part(talk, lambda: not lab.is_running(TARGET))
            assert talk.is_over.wait(300)
            heard = b"".join(talk.heard)
        assert lab.processes[TARGET].wait(300) != 0
        lab.wait_for("n0", "n1 is gone")
        lab.kill("n0")
        assert b"n1" in heard  # the test listens
        assert MARKER in lab.printed(TARGET) or fault == "interrupt"
        assert MARKER.encode() not in heard
        for path in lab.folder("n0").rglob("*"):
            if path.is_file():
                assert MARKER.encode() not in path.read_bytes(), path
