"""A node whose open port is attacked all the time ends with the same model.

What TLS proves is who holds a key. With a stolen key and a hello that is right in every
field, while the genuine neighbour is away, an intruder cannot be told from that
neighbour after a restart: it is let in, all nodes go back to the last layer they share,
and what it sends in good form is used. Nothing can be done about that here; revoke the
certificate. But it must not take the node's process down, and once it has left and the
genuine neighbour is back, nothing of it may be left in the model.

One more limit: a neighbour that was never there before and comes with another plan
stops the node, by design, for then one of the two plan files is wrong. With a stolen
key that could be forged as well. So the intruder says a right hello first.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest

from dssfn.network import random_digest
from dssfn.node import pki
from dssfn.node.runtime import largest_letter, settled
from dssfn.node.spec import load_node
from dssfn.transports.grpc import Rules
from tests.intruder import Intruder, Words
from tests.lab import Lab

pytestmark = pytest.mark.grpc

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
MOST_GROWTH = 64e6  # bytes; a single bomb, or all inputs kept, would take more
TARGET = "n1"  # of the path n0 - n1 - n2: it dials n0, and n2 dials it


class Attack:
    """All that is done to one node of a lab."""

    def __init__(self, lab: Lab, folder: Path, seed: int, scale: int) -> None:
        self.lab, self.scale = lab, scale
        authority = lab.authority.certificate_pem
        self.intruder = Intruder(lab.ports[TARGET], authority, folder, seed)
        _, federation = load_node(lab.node_file(TARGET))
        plan, _ = settled(federation)
        rules = Rules(
            run=int(federation.fingerprint()[:16], 16),
            largest=largest_letter(plan),
            n_layers=plan.n_layers,
        )
        agreed, digest = federation.agreed(), random_digest(plan)
        self.words = {
            name: Words(name, agreed, digest, rules, seed) for name in lab.names
        }

    def stolen(self, name: str) -> pki.Credential:
        folder = self.lab.folder(name)
        return pki.Credential(
            (folder / "node.crt").read_bytes(), (folder / "node.key").read_bytes()
        )

    def by_strangers(self) -> None:
        """Without a certificate that opens anything."""
        intruder, some = self.intruder, self.intruder.random
        for _ in range(150 * self.scale):
            intruder.send_bytes(some.randbytes(some.randint(0, 2000)))
        genuine = intruder.client_hello()
        for _ in range(150 * self.scale):
            intruder.send_bytes(intruder.damaged(genuine))
        now, trusted = datetime.now(UTC), self.lab.authority
        for credential in (
            None,
            pki.issue(trusted, "n2", days=1, now=now - timedelta(days=9)),
            pki.issue(trusted, "n2", now=now + timedelta(days=9)),
            pki.issue(pki.make_authority("lab"), "n2"),  # of the same name
            pki.make_authority("n2"),
        ):
            for _ in range(10 * self.scale):
                assert not intruder.is_let_in(credential)

    def by_others(self) -> None:
        """With a certificate of the authority, for nobody who is a neighbour."""
        for name in ("n9", "localhost", TARGET, "x" * 60):
            credential = pki.issue(self.lab.authority, name)
            with self.intruder.channel(credential, TARGET) as channel:
                for data in (b"", self.words["n2"].hello(), b"\xff" * 9):
                    code, text = self.intruder.say(channel, data)
                    assert code is grpc.StatusCode.PERMISSION_DENIED
                    assert "no neighbour" in text

    def below_grpc(self, name: str) -> None:
        """With a neighbour's key, HTTP/2 that is none."""
        for _ in range(60 * self.scale):
            self.intruder.send_http2(self.stolen(name), self.intruder.http2_garbage())

    def with_bad_words(self, name: str, *, is_away: bool) -> None:
        """With a neighbour's key, words of every kind."""
        intruder, words = self.intruder, self.words[name]
        with intruder.channel(self.stolen(name), TARGET) as channel:
            code, text = intruder.say(channel, words.hello())
            assert (code is grpc.StatusCode.OK) == is_away, text
            if not is_away:
                assert "connected already" in text
            for method in (
                "/",
                "/a/b",
                "/dssfn.v1.Exchange/",
                "/dssfn.v2.Exchange/Link",
            ):
                code, _ = intruder.say(channel, b"x", method=method)
                assert code is grpc.StatusCode.UNIMPLEMENTED
            assert intruder.say(channel)[0] is grpc.StatusCode.OK  # nothing was said
            for data in (*words.bad_hellos(), *words.bad_starts()):
                assert intruder.say(channel, data)[0] in REFUSALS, data[:80]
            for data in words.bad_frames():
                code, _ = intruder.say(channel, words.hello(), data)
                assert code in ENDS, data[:80]
            for several in words.odd_words():
                assert intruder.say(channel, words.hello(), *several)[0] in ENDS
            good = (words.hello(incarnation=5), words.frame())
            for _ in range(120 * self.scale):
                changed = [intruder.damaged(data) for data in good]
                assert intruder.say(channel, changed[0])[0] in ENDS
                assert intruder.say(channel, good[0], changed[1])[0] in ENDS

    def with_bombs(self, name: str) -> None:
        """Little bytes that unpack to many."""
        bomb = b"\0" * 2**26
        channel = self.intruder.channel(self.stolen(name), TARGET, packed=True)
        with channel as packed:
            for _ in range(3):
                code, _ = self.intruder.say(packed, bomb)
                assert code is grpc.StatusCode.UNIMPLEMENTED  # not even looked at

    def by_crowds(self, name: str) -> None:
        """Connections and streams that are held, with nothing said."""
        intruder = self.intruder
        with intruder.crowd(400 * self.scale):
            # Those who are in stay in; the node is not out of files.
            assert self.lab.is_running(TARGET)
            assert self.n_files() < 400
        with intruder.channel(self.stolen(name), TARGET) as channel:
            with intruder.stalled([channel], 40):
                pass
            # There is room again.
            assert intruder.say(channel)[0] in ENDS

    def n_files(self) -> int:
        pid = self.lab.processes[TARGET].pid
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))

    def memory(self) -> int:
        """The most that the node ever had in memory, in bytes."""
        pid = self.lab.processes[TARGET].pid
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
        raise AssertionError("no VmHWM")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("scale", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_a_node_under_attack_ends_with_the_model_of_one_that_is_left_alone(
    tmp_path, scale
):
    lab = Lab(tmp_path, 3, kind="path", deadline=20.0, solver="admm", n_iter=150)
    try:
        attack = Attack(lab, tmp_path, seed=scale, scale=scale)
        lab.start("n0", "n1")
        lab.wait_for(TARGET, "n0 is connected")
        before = attack.memory()
        attack.by_strangers()
        attack.by_others()
        attack.below_grpc("n2")
        attack.with_bad_words("n2", is_away=True)  # it has not come yet
        attack.with_bad_words("n0", is_away=False)  # it is connected
        attack.with_bombs("n2")
        attack.by_crowds("n2")
        lab.start("n2")
        lab.wait_for("n2", "layer 1/4", 120)
        lab.kill("n2")
        attack.with_bad_words("n2", is_away=True)  # it was there, and is gone
        grown = attack.memory() - before
        assert lab.is_running(TARGET)
        assert lab.is_running("n0")
        lab.start("n2")
        assert lab.wait(180) == {"n0": 0, "n1": 0, "n2": 0}
        (disturbed,) = lab.digests()
        print(f"{attack.intruder.n_sent} inputs, {grown / 1e6:.1f} MB")
        assert attack.intruder.n_sent >= 1000 * scale
        assert grown < MOST_GROWTH
        _check_log((lab.folder(TARGET) / "out" / "node.log").read_text())
        lab.start(fresh=True)
        assert lab.wait(180) == {"n0": 0, "n1": 0, "n2": 0}
        assert lab.digests() == {disturbed}
    finally:
        lab.close()


def _check_log(text: str) -> None:
    """Refusals of every kind are told to the operator."""
    for reason in (
        "refused a connection: ",
        "n9 is no neighbour of n1",
        "n0 is connected already, as another process",
        "it did not say hello first",
        "that are no envelope",
        "its hello has no incarnation",
        "do not agree: `protocol`",
        "do not agree: `digest of the random matrices`",
        "`run` of a frame must be",
        "`shape` of a frame must be",
        "`checksum` of a frame must be",
        "cannot follow",
        "letters, of which",
        "it said hello twice",
    ):
        assert reason in text, f"not logged: {reason}"
    assert "\x1b" not in text
    assert "\nERROR all is lost" not in text
