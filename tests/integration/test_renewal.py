"""Certificates are renewed, and revoked, while nodes are connected and train."""

from __future__ import annotations

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import grpc
import numpy as np
import pytest

from dssfn.node.revocation import Revocations
from dssfn.setup import pki
from dssfn.setup.pki import issue
from dssfn.transports.base import Tag
from dssfn.transports.grpc import GrpcTransport, Neighbour, Rules, Terms
from dssfn.transports.grpc.peer_names import check_standing, end_of
from dssfn.transports.grpc.refusals import CODES, Refusal, Refused
from tests.support.intruder import Intruder, Words
from tests.support.lab import Lab, Proxy
from tests.support.odd_certificates import identity_with
from tests.support.revocation_lists import NOW, list_of, loaded

pytestmark = pytest.mark.grpc

AUTHORITY = pki.make_authority("lab")
MEMBERS = frozenset({"north", "south"})
TERMS = Terms(b"{}", "r", lambda other: iter(()), Rules(7, 1000, 3), MEMBERS)
DEADLINE = 4.0
LONG = 120.0  # seconds, on any machine
DAY = timedelta(days=1)
ENDED = issue(AUTHORITY, "south", days=1, now=NOW - 9 * DAY)


class Keys:
    """A keyring whose content a test decides."""

    def __init__(self, name, credential=None):
        credential = credential or issue(AUTHORITY, name)
        self.identity = identity_with(name, credential, AUTHORITY)

    def current(self):
        return self.identity

    def revoke(self, *credentials):
        keys = [(loaded(one).issuer, loaded(one).serial_number) for one in credentials]
        revoked = Revocations(dict.fromkeys(keys, NOW))
        self.identity = replace(self.identity, revoked=revoked)


def _north(keys):
    """A node that answers, whose neighbour south dials."""
    neighbours = [Neighbour(1, "south", None)]
    listen = {"listen": "127.0.0.1:0", "deadline": DEADLINE}
    return closing(GrpcTransport("north", neighbours, TERMS, keys, **listen))


def _south(keys, port):
    neighbours = [Neighbour(0, "north", f"127.0.0.1:{port}")]
    return closing(GrpcTransport("south", neighbours, TERMS, keys, deadline=DEADLINE))


def _until(condition):
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def _connections(transport):
    ((account, is_up),) = transport.accounts().values()
    return account.n_connections if is_up else 0


def _heard(transport):
    """Bytes that came over a transport's only link."""
    ((account, _),) = transport.accounts().values()
    return account.bytes_received


@contextmanager
def _both(north_keys, south_keys):
    """Both ends, connected over a proxy that can cut the connection."""
    with ExitStack() as stack:
        north = stack.enter_context(_north(north_keys))
        proxy = stack.enter_context(closing(Proxy(north.port)))
        south = stack.enter_context(_south(south_keys, proxy.port))
        _until(lambda: _connections(north) == _connections(south) == 1)
        yield north, south, proxy


def test_both_ends_show_a_renewed_certificate_at_the_next_connection(caplog):
    north_keys, south_keys = Keys("north"), Keys("south")
    first = north_keys.identity, south_keys.identity
    with _both(north_keys, south_keys) as (north, south, proxy):
        north_keys.identity = Keys("north").identity
        south_keys.identity = Keys("south").identity
        # Whoever still shows the old ones is refused from now on.
        for keys, one in ((south_keys, first[0]), (north_keys, first[1])):
            old = pki.Credential(one.certificate_pem, one.key_pem)
            keys.identity = replace(keys.identity, revoked=Revocations())
            keys.revoke(old)
        with caplog.at_level(logging.INFO, "dssfn.node"):
            proxy.cut()
            _until(lambda: _connections(south) >= 2 and _connections(north) >= 2)
        assert "revoked certificate" not in caplog.text


def test_new_authorities_count_at_the_next_connection():
    other = pki.make_authority("another")
    both = AUTHORITY.certificate_pem + other.certificate_pem
    north_keys = Keys("north")
    south_keys = Keys("south", issue(other, "south"))
    with _north(north_keys) as north, _south(south_keys, north.port) as south:
        _until(lambda: south._by_name["north"].trouble)  # it is refused meanwhile
        assert not _connections(south)
        north_keys.identity = replace(north_keys.identity, authorities_pem=both)
        _until(lambda: _connections(south) == 1)


@pytest.mark.parametrize("where", ["north", "south"])
def test_a_revoked_neighbour_is_refused_at_either_end(where, caplog):
    north_keys, south_keys = Keys("north"), Keys("south")
    stolen = south_keys if where == "north" else north_keys
    judge = north_keys if where == "north" else south_keys
    shown = stolen.identity
    judge.revoke(pki.Credential(shown.certificate_pem, shown.key_pem))
    with (
        caplog.at_level(logging.INFO, "dssfn.node"),
        _north(north_keys) as north,
        _south(south_keys, north.port) as south,
    ):
        _until(lambda: "was revoked" in caplog.text)
        assert not _connections(north)
        assert not _connections(south)
        if where == "north":  # the other end learns one fixed word
            _until(lambda: "north refuses this node: revoked" in caplog.text)
            assert "refused south from" in caplog.text
        # With a new key all is well, without a restart.
        stolen.identity = replace(
            Keys(shown.name).identity, revoked=stolen.identity.revoked
        )
        _until(lambda: _connections(south) == _connections(north) == 1)


@pytest.mark.parametrize("where", ["north", "south"])
def test_a_stream_ends_when_its_certificate_is_revoked(where, caplog):
    north_keys, south_keys = Keys("north"), Keys("south")
    judge, judged = north_keys, south_keys
    if where == "south":
        judge, judged = judged, judge
    with _north(north_keys) as north, _south(south_keys, north.port) as south:
        _until(lambda: _connections(north) == _connections(south) == 1)
        shown = judged.identity
        with caplog.at_level(logging.INFO, "dssfn.node"):
            judge.revoke(pki.Credential(shown.certificate_pem, shown.key_pem))
            name = shown.name
            _until(
                lambda: f"{name} is gone: its certificate was revoked" in caplog.text
            )
            _until(lambda: not _connections(north) and not _connections(south))


def test_whoever_holds_a_revoked_key_takes_no_room_of_the_neighbour(tmp_path):
    """It is refused before a word of it is read, and waits among strangers."""
    stolen = issue(AUTHORITY, "south")
    keys = Keys("north")
    keys.revoke(stolen)
    with _north(keys) as north:
        intruder = Intruder(north.port, AUTHORITY.certificate_pem, tmp_path, 1)
        words = Words("south", TERMS.plan, TERMS.random, TERMS.rules, 1)
        with intruder.channel(stolen, "north") as channel:
            for data in (words.hello(), b"\xff", words.frame()):
                code, text = intruder.say(channel, data)
                assert code is grpc.StatusCode.PERMISSION_DENIED
                assert text == Refusal.REVOKED.value
            with intruder.stalled([channel], 4), _south(Keys("south"), north.port) as s:
                _until(lambda: _connections(s) == 1)
        assert north._server._n_open[""] <= 4


def test_a_certificate_that_ended_does_for_the_life_of_a_stream_alone(caplog):
    """Letters still pass, and who waits for the next stream is told why it fails."""
    north_keys, south_keys = Keys("north"), Keys("south")
    with _both(north_keys, south_keys) as (north, south, proxy):
        # As if time had passed: streams remember what they were begun with.
        for stream in north._streams._in_use:
            stream.certificate = loaded(ENDED)
        before = _heard(north)
        _until(lambda: _heard(north) > before + 8)  # some signs of life
        assert _connections(north) == 1
        south_keys.identity = Keys("south", ENDED).identity
        with caplog.at_level(logging.INFO, "dssfn.node"):
            proxy.cut()
            _until(lambda: not _connections(north))
            link = north._by_name["south"]
            assert "its certificate expired on" in link.described(9.0)
        south_keys.identity = Keys("south").identity
        _until(lambda: _connections(south) > 1)


def test_a_neighbour_whose_certificate_has_ended_is_named_by_who_dials(caplog):
    north = issue(AUTHORITY, "north", days=1, now=NOW - 9 * DAY)
    with (
        _north(Keys("north", north)) as answering,
        caplog.at_level(logging.INFO, "dssfn.node"),
        _south(Keys("south"), answering.port),
    ):
        _until(lambda: "its certificate has expired" in caplog.text)
    line = next(text for text in caplog.messages if "has expired" in text)
    assert line.startswith("north cannot be reached at 127.0.0.1:")
    assert "organisation must replace" in line


def test_a_session_that_goes_on_is_judged_by_its_certificate():
    mine = Keys("north").identity
    check_standing(loaded(issue(AUTHORITY, "south")), mine)
    with pytest.raises(Refused, match="its certificate expired on") as caught:
        check_standing(loaded(ENDED), mine)
    assert caught.value.refusal is Refusal.CERTIFICATE
    assert end_of(loaded(issue(AUTHORITY, "south"))) == ""


def test_no_word_of_a_refusal_tells_more_than_its_kind():
    assert set(CODES) == set(Refusal)
    for word in Refusal:
        assert word.value.replace(" ", "").isalpha()
        assert len(word.value) < 24


# --- real nodes -----------------------------------------------------------------------


@pytest.fixture
def make_lab(tmp_path):
    made = []

    def make(*args, **kwargs):
        made.append(Lab(tmp_path, *args, **kwargs))
        return made[-1]

    yield make
    for lab in made:
        lab.close()


def _renew(lab, name, credential=None):
    folder = lab.folder(name)
    made = credential or issue(lab.authority, name)
    made.write(folder / "node.crt", folder / "node.key")


def _credential(lab, name):
    folder = lab.folder(name)
    return pki.Credential(
        (folder / "node.crt").read_bytes(), (folder / "node.key").read_bytes()
    )


def test_nodes_that_train_take_new_certificates_and_lists(make_lab):
    lab = make_lab(3, kind="path", deadline=4.0)
    for name in lab.names:
        lab.add_setting(name, 'revoked = "crl.pem"')
        (lab.folder(name) / "crl.pem").write_bytes(list_of(lab.authority))
    lab.start("n0", "n1")
    lab.wait_for("n0", "n1 is connected")
    stolen = _credential(lab, "n1")
    # A pair that does not match is not taken, and said once.
    new = issue(lab.authority, "n1")
    (lab.folder("n1") / "node.crt").write_bytes(new.certificate_pem)
    lab.wait_for("n1", "the new certificate, key or authorities cannot be used")
    _renew(lab, "n1", new)
    lab.wait_for("n1", "loaded a new certificate")
    for name in lab.names:
        (lab.folder(name) / "crl.pem").write_bytes(list_of(lab.authority, stolen))
    lab.wait_for("n0", "n1 is gone: its certificate was revoked")
    lab.wait_for("n0", "n1 is back")
    lab.start("n2")
    assert lab.wait() == {"n0": 0, "n1": 0, "n2": 0}
    (disturbed,) = lab.digests()
    assert lab.printed("n1").count("so the old one stays") == 1
    lab.start(fresh=True)
    assert lab.wait() == {"n0": 0, "n1": 0, "n2": 0}
    assert lab.digests() == {disturbed}


@pytest.mark.slow
def test_a_certificate_that_ends_while_nodes_wait_is_renewed_without_a_restart(
    make_lab,
):
    lab = make_lab(3, kind="path", deadline=8.0)
    life = timedelta(seconds=40)
    short = issue(lab.authority, "n1", days=1, now=datetime.now(UTC) - DAY + life)
    _renew(lab, "n1", short)
    lab.start("n0", "n1")
    lab.wait_for("n0", "n1 is connected")
    lab.wait_for("n1", "The certificate of n1 expired on")
    lab.wait_for("n1", "it is loaded without a restart")
    assert lab.is_running("n0")
    assert lab.is_running("n1")
    # n2 comes late, and will not talk to it until it is renewed.
    lab.start("n2")
    lab.wait_for("n2", "n1 cannot be reached")
    lab.wait_for("n2", "its certificate has expired")
    _renew(lab, "n1")
    assert lab.wait() == {"n0": 0, "n1": 0, "n2": 0}
    (disturbed,) = lab.digests()
    lab.start(fresh=True)
    assert lab.wait() == {"n0": 0, "n1": 0, "n2": 0}
    assert lab.digests() == {disturbed}


@pytest.mark.slow
def test_nodes_that_regroup_after_a_certificate_has_ended_name_it(make_lab):
    """n0 ends while all wait for n2's new process, which only n1 talks to."""
    lab = make_lab(3, kind="path", deadline=8.0, n_layers=40, width=300)
    life = timedelta(seconds=40)
    short = issue(lab.authority, "n0", days=1, now=datetime.now(UTC) - DAY + life)
    _renew(lab, "n0", short)
    lab.start()
    lab.wait_for("n2", "layer 0/40")
    lab.kill("n2")
    lab.wait_for("n0", "The certificate of n0 expired on")
    lab.start("n2")
    assert lab.processes["n0"].wait(300) == 2
    assert "The certificate of n0 expired on" in lab.printed("n0").splitlines()[-1]
    assert "resumes from its checkpoint" in lab.printed("n0")
    lab.wait_for("n1", "n0 is gone: its certificate or key cannot be used")
    _renew(lab, "n0")
    lab.start("n0")
    assert lab.wait() == {"n0": 0, "n1": 0, "n2": 0}
    assert len(lab.digests()) == 1


def test_numbers_pass_between_neighbours_after_a_renewal():
    north_keys, south_keys = Keys("north"), Keys("south")
    tag = Tag(0, 0, 0, (3,))
    values = np.arange(3.0)
    with (
        _both(north_keys, south_keys) as (north, south, proxy),
        ThreadPoolExecutor(2) as pool,
    ):
        north_keys.identity = Keys("north").identity
        proxy.cut()
        here = pool.submit(north.exchange, tag, {(0, 1): values}, [(1, 0)])
        there = pool.submit(south.exchange, tag, {(1, 0): -values}, [(0, 1)])
        assert (here.result(LONG)[1, 0] == -values).all()
        assert (there.result(LONG)[0, 1] == values).all()
