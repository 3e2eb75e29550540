"""A node whose open port is attacked all the time ends with the same model.

What TLS proves is who holds a key. With a stolen key and a hello that is right in every
field, while the genuine neighbour is away, an intruder cannot be told from that
neighbour after a restart: it is let in, all nodes go back to the last layer they share,
and what it sends in good form is used. Nothing can be done about that here; revoke the
certificate. But it must not take the node's process down, and once it has left and the
genuine neighbour is back, nothing of it may be left in the model.

A neighbour with its own key may be faulty or hostile as well. It can always keep the
others from finishing, by not taking part or by sending wrong numbers in good form. It
must not cost them more than that: no memory, disk or processor without end, none of
their finished layers, no false word in their log.
"""

from __future__ import annotations

import re
import time
import urllib.request
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import numpy as np
import pytest

from dssfn.modelfile import load_network
from dssfn.network import random_digest
from dssfn.node.connect import largest_letter
from dssfn.node.spec import load_node
from dssfn.planning import settle_federation
from dssfn.setup import pki
from dssfn.transports.grpc import Rules
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.epochs import RESTARTS
from dssfn.transports.grpc.link import MOST_AHEAD
from dssfn.transports.grpc.server import CALLS, MOMENT
from dssfn.transports.grpc.switchboard import CHATTER
from tests.support.barrage import ENDS, REFUSALS, Barrage
from tests.support.false_neighbour import FalseNeighbour
from tests.support.intruder import Intruder, Words
from tests.support.lab import Lab, free_port
from tests.support.revocation_lists import list_of

pytestmark = pytest.mark.grpc
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs /proc"
)

MOST_GROWTH = 64e6  # bytes; a single bomb, or all inputs kept, would take more
TARGET = "n1"  # of the path n0 - n1 - n2: it dials n0, and n2 dials it


class Attack:
    """All that is done to one node of a lab."""

    def __init__(self, lab: Lab, folder: Path, seed: int, scale: int) -> None:
        self.lab, self.scale = lab, scale
        authority = lab.authority.certificate_pem
        self.intruder = Intruder(lab.ports[TARGET], authority, folder, seed)
        _, federation = load_node(lab.node_file(TARGET))
        plan, _ = settle_federation(federation)
        rules = Rules(
            run=int(federation.fingerprint()[:16], 16),
            largest=largest_letter(plan, len(federation.nodes)),
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
            for _ in range(40 * self.scale):
                hello = intruder.damaged(words.hello())
                assert intruder.say(channel, hello)[0] in ENDS
                frame = intruder.damaged(words.frame())
                assert intruder.say(channel, words.hello(), frame)[0] in ENDS

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


@needs_proc
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
        lab.wait_for("n2", "layer 1/4")
        lab.kill("n2")
        attack.with_bad_words("n2", is_away=True)  # it was there, and is gone
        grown = attack.memory() - before
        assert lab.is_running(TARGET)
        assert lab.is_running("n0")
        lab.start("n2")
        assert lab.wait() == {"n0": 0, "n1": 0, "n2": 0}
        (disturbed,) = lab.digests()
        print(f"{attack.intruder.n_sent} inputs, {grown / 1e6:.1f} MB")
        assert attack.intruder.n_sent >= 1000 * scale
        assert grown < MOST_GROWTH
        _check_log((lab.folder(TARGET) / "out" / "node.log").read_text())
        lab.start(fresh=True)
        assert lab.wait() == {"n0": 0, "n1": 0, "n2": 0}
        assert lab.digests() == {disturbed}
    finally:
        lab.close()


def _check_log(text: str) -> None:
    """Refusals of every kind are told to the operator, and counted beyond a few."""
    for reason in (
        "refused a connection: ",
        "n9 is not a neighbour of n1",
        "n0 is already connected, from another process",
        "do not agree: `protocol`",
        "more like this that were not logged",
    ):
        assert reason in text, f"not logged: {reason}"
    assert "\x1b" not in text
    assert "\nERROR all is lost" not in text
    assert len(text) < LONGEST_LOG


@needs_proc
@pytest.mark.parametrize(
    ("n_inputs", "deadline"),
    [(2_000, 10.0), pytest.param(100_000, 60.0, marks=pytest.mark.slow)],
)
def test_no_number_of_hostile_inputs_changes_the_model(tmp_path, n_inputs, deadline):
    """On the path n0 - n1 - n2 - n3, where n2 comes late, and n3 later, and again.

    So first one neighbour of n1 is away, then both are connected to it, before the
    training and in the middle of it.
    """
    lab = Lab(tmp_path, 4, kind="path", deadline=deadline)
    try:
        barrage = _barrage(lab, tmp_path)
        lab.start("n0", TARGET)
        lab.wait_for(TARGET, "n0 is connected")
        attack = Attack(lab, tmp_path, seed=0, scale=1)
        before, begin = attack.memory(), time.monotonic()
        barrage.send(n_inputs * 2 // 10, away="n2")
        lab.start("n2")
        lab.wait_for(TARGET, "n2 is back after a restart")
        barrage.send(n_inputs * 6 // 10)
        lab.start("n3")
        lab.wait_for("n2", "layer 1/4")
        lab.kill("n3")
        barrage.send(n_inputs * 2 // 10)
        grown, seconds = attack.memory() - before, time.monotonic() - begin
        assert all(map(lab.is_running, ("n0", TARGET, "n2")))
        lab.start("n3")
        assert lab.wait() == dict.fromkeys(lab.names, 0)
        (disturbed,) = lab.digests()
        for kind, count in sorted(barrage.sent.items()):
            print(f"{count:7,} {kind}")
        total = barrage.sent.total()
        print(f"{total:7,} in {seconds:.0f} s, {grown / 1e6:.1f} MB more in memory")
        assert total >= n_inputs
        assert len(barrage.sent) > 20
        assert grown < MOST_GROWTH
        log = _log(lab)
        assert len(log) < LONGEST_LOG * (1 + seconds / 60)
        assert "was revoked" in log
        assert "Traceback" not in lab.printed(TARGET)
        # For n2 and its false double, and for n3; for nobody else.
        assert "starting again together, attempt 3" not in log
        lab.start(fresh=True)
        assert lab.wait() == dict.fromkeys(lab.names, 0)
        assert lab.digests() == {disturbed}
    finally:
        lab.close()


def _barrage(lab, folder):
    """All who have no business at n1, and two who hold its neighbours' keys."""
    attack = Attack(lab, folder, seed=17, scale=1)
    trusted, now = lab.authority, datetime.now(UTC)
    revoked = pki.issue(trusted, "n2")
    (lab.folder(TARGET) / "crl.pem").write_bytes(list_of(trusted, revoked))
    lab.add_setting(TARGET, 'revoked = "crl.pem"')
    day = timedelta(days=1)
    return Barrage(
        attack.intruder,
        TARGET,
        words={name: attack.words[name] for name in ("n0", "n2")},
        stolen={name: attack.stolen(name) for name in ("n0", "n2")},
        outsiders={
            "a member that is no neighbour": pki.issue(trusted, "n9"),
            "a revoked certificate": revoked,
        },
        strangers={
            "no certificate": None,
            "a foreign authority's": pki.issue(pki.make_authority("lab"), "n2"),
            "a certificate that has ended": pki.issue(
                trusted, "n2", days=1, now=now - 9 * day
            ),
        },
    )


SECONDS = 8.0  # that an attack lasts: four deadlines
DEADLINE = 2.0
LONGEST_LOG = 100_000  # characters


@pytest.fixture
def federation(tmp_path):
    """The path n0 - n1 - n2, where n2 is played by the test."""
    made = []

    def make(**settings):
        settings = {"consensus": "gossip", **settings}
        lab = Lab(tmp_path, 3, kind="path", deadline=DEADLINE, **settings)
        made.append(lab)
        attack = Attack(lab, tmp_path, seed=1, scale=1)
        words, key = attack.words["n2"], attack.stolen("n2")
        return lab, attack, FalseNeighbour(attack.intruder, words, key, TARGET)

    yield make
    for lab in made:
        lab.close()


def _log(lab, name=TARGET):
    return (lab.folder(name) / "out" / "node.log").read_text()


def _deadlines(begin):
    """How many deadlines have passed: what a neighbour may do grows with them."""
    return (time.monotonic() - begin) / DEADLINE


def _ends_well(lab):
    """The genuine neighbour comes, and all end with the undisturbed model.

    Nodes that have given the false one up are started again, as a service is.
    """
    lab.start(*(name for name in lab.names if not lab.is_up(name)))
    for _ in range(3):
        codes = lab.wait()
        failed = [name for name, code in codes.items() if code]
        if not failed:
            break
        lab.start(*failed)
    assert codes == {"n0": 0, "n1": 0, "n2": 0}
    (disturbed,) = lab.digests()
    lab.start(fresh=True)
    assert lab.wait() == {"n0": 0, "n1": 0, "n2": 0}
    assert lab.digests() == {disturbed}


@needs_proc
@pytest.mark.parametrize("how", ["epochs", "incarnations"])
def test_a_neighbour_cannot_make_others_start_again_without_end(federation, how):
    lab, attack, false = federation()
    lab.start("n0", TARGET)
    lab.wait_for(TARGET, "n0 is connected")
    before = peak = attack.memory()
    begin, epoch = time.monotonic(), 0
    end = begin + SECONDS
    while time.monotonic() < end and lab.is_running(TARGET):  # or it has given up
        with suppress(OSError):
            peak = attack.memory()
        new = {"incarnation": attack.intruder.random.getrandbits(60) + 1}
        with false.talk(**(new if how == "incarnations" else {})) as talk:
            for number in range(1, 200):
                epoch += how == "epochs"
                if time.monotonic() > end or not talk.say(
                    false.claim(number, 0, epoch=epoch)  # and it confirms nothing
                ):
                    break
    assert peak - before < MOST_GROWTH
    for name in ("n0", TARGET):
        n_restarts = _log(lab, name).count("starting again together")
        assert 1 <= n_restarts <= RESTARTS + _deadlines(begin) + 1
        assert len(_log(lab, name)) < LONGEST_LOG
    assert "n2 was restarted" in _log(lab, "n0")  # who, also where it is no neighbour
    for name in ("n0", TARGET):
        lab.kill(name)
    _ends_well(lab)


def test_a_neighbour_that_makes_others_start_again_in_vain_is_given_up(federation):
    lab, attack, false = federation(n_layers=12, width=150)
    lab.start()
    lab.wait_for(TARGET, "layer 2/12")
    lab.kill("n2")
    end = time.monotonic() + 300
    while lab.is_running(TARGET):
        assert time.monotonic() < end
        with false.talk(incarnation=attack.intruder.random.getrandbits(60) + 1) as talk:
            talk.is_over.wait(0.3)
    assert lab.processes[TARGET].wait(300) == 1
    assert "Node n2 has made all nodes start again" in lab.printed(TARGET)
    lab.wait_for("n0", "n1 is gone: it gave up waiting for n2")


def test_a_neighbour_that_confirms_nothing_is_given_up(federation):
    lab, _, false = federation()
    lab.start("n0", TARGET)
    lab.wait_for(TARGET, "n0 is connected")
    with false.talk() as talk:
        answered = false.take_part(
            talk, lambda: not lab.is_running(TARGET), confirms=False
        )
    assert lab.processes[TARGET].wait(300) == 1
    assert answered <= 2 * MOST_AHEAD
    assert "Node n2 has confirmed none of the last" in lab.printed(TARGET)


def test_a_neighbour_cannot_wipe_out_what_others_have_saved(federation):
    lab, _, false = federation(n_layers=12, width=150)
    lab.start()
    lab.wait_for(TARGET, "layer 3/12")
    lab.kill("n2")
    lab.wait_for(TARGET, "n2 is gone")
    n_saved = len(re.findall(r"layer \d+/12", _log(lab)))
    with false.talk() as talk:
        false.take_part(
            talk, lambda: "layer 0 begins\n" in _log(lab)[-300:], n_layers=0
        )
        false.take_part(talk, lambda: _log(lab).count("layer 0/12") > 1)
    for name in ("n0", TARGET):
        lab.kill(name)
    lab.start()
    assert lab.wait() == {"n0": 0, "n1": 0, "n2": 0}
    (last,) = re.findall(r"resuming after layer (\d+)", _log(lab))
    assert int(last) + 1 >= n_saved
    assert f"layer {int(last) + 1} begins" in _log(lab) or int(last) + 1 > n_saved
    assert len(lab.digests()) == 1
    disturbed = load_network(lab.model(TARGET)).output
    lab.start(fresh=True)
    assert lab.wait() == {"n0": 0, "n1": 0, "n2": 0}
    undisturbed = load_network(lab.model(TARGET)).output
    # Gossip leaves rounding, which is averaged away when nodes meet again.
    distance = np.linalg.norm(disturbed - undisturbed)
    assert distance < 1e-6 * np.linalg.norm(undisturbed)


def test_numbers_far_too_large_end_the_node_that_gets_them_and_no_other(federation):
    lab, _, false = federation(consensus="chebyshev")
    lab.start("n0", TARGET)
    lab.wait_for(TARGET, "n0 is connected")
    with false.talk() as talk:
        false.take_part(talk, lambda: not lab.is_running(TARGET), value=1.7e308)
    assert lab.processes[TARGET].wait(300) == 1
    assert "not finite" in lab.printed(TARGET)
    lab.wait_for("n0", "n1 is gone: its numbers are no longer finite")


@pytest.mark.parametrize("what", ["status", "letter"])
def test_a_flood_over_a_stream_is_read_slowly(federation, what):
    lab, _, false = federation()
    port = free_port()
    lab.add_setting(TARGET, f'metrics = "127.0.0.1:{port}"')
    lab.start("n0", TARGET)
    lab.wait_for(TARGET, "n0 is connected")
    status = pb.Envelope(status=pb.Status(layer=1)).SerializeToString()
    data = status if what == "status" else false.claim(1, 0)
    begin = time.monotonic()
    with false.talk() as talk:
        while time.monotonic() < begin + SECONDS:
            assert talk.say(data), "it was cut off"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            text = answer.read().decode()
    (received,) = (
        float(line.split()[1])
        for line in text.splitlines()
        if line.startswith('dssfn_peer_received_bytes_total{peer="n2"}')
    )
    # Its hello counts as well.
    most = CHATTER + 32 * _deadlines(begin) + len(false.words.hello()) / len(data)
    assert received / len(data) <= most + 1
    _ends_well(lab)


def test_a_flood_of_calls_by_others_is_answered_slowly_and_counted(federation):
    lab, attack, _ = federation()
    lab.start("n0", TARGET)
    lab.wait_for(TARGET, "n0 is connected")
    credential = pki.issue(lab.authority, "n9")
    n_calls, begin = 0, time.monotonic()
    with attack.intruder.channel(credential, TARGET) as channel:
        while time.monotonic() < begin + SECONDS:
            code, text = attack.intruder.say(channel, b"x")
            assert (code, text) == (grpc.StatusCode.PERMISSION_DENIED, "no neighbour")
            n_calls += 1
    n_deadlines = _deadlines(begin)
    waited = n_deadlines * DEADLINE / MOMENT
    assert n_calls <= CALLS * (1 + n_deadlines) + waited + 1
    assert _log(lab).count("is no neighbour") <= 4 * (1 + n_deadlines)
    _ends_well(lab)


def test_no_word_of_a_neighbour_reaches_a_terminal_or_a_log(federation):
    lab, _, false = federation()
    lab.start("n0", TARGET)
    lab.wait_for(TARGET, "n0 is connected")
    evil = "\x1b[2Jforged\nERROR all is lost"
    with false.talk(restarted=evil, epoch=1) as talk:
        talk.until("hello")
        status = pb.Status(waiting_for=[evil, "n0"], agreeing=[evil])
        talk.say(pb.Envelope(status=status).SerializeToString())
        talk.say(false.claim(1, 0, epoch=2, restarted=evil))
        lab.wait_for(TARGET, "attempt 2: n2 was restarted")
        goodbye = pb.Goodbye(reason=3, waiting_for=[evil, "n0"])
        # Older versions had a text there.
        data = goodbye.SerializeToString() + b"\x12\x07" + b"\x1b[2Jold"
        goodbye = pb.Goodbye.FromString(data)
        talk.say(pb.Envelope(goodbye=goodbye).SerializeToString())
        lab.wait_for(TARGET, "n2 is gone: it gave up waiting for n0")
    for name in ("n0", TARGET):
        for text in (_log(lab, name), lab.printed(name)):
            assert "\x1b" not in text
            assert "forged" not in text
            assert "all is lost" not in text
