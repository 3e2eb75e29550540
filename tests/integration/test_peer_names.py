"""Whom a node takes somebody for who shows a certificate with odd names, over TLS."""

from __future__ import annotations

import logging
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import cycle

import grpc
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from dssfn.node.preflight import reach
from dssfn.node.spec import NodeSpec
from dssfn.setup.pki import Credential, issue, make_authority
from dssfn.transports.base import Tag
from dssfn.transports.grpc import GrpcTransport, Neighbour, Rules, Terms
from tests.support.intruder import Intruder, Words
from tests.support.lab import Proxy
from tests.support.odd_certificates import (
    NOT_NORTHS,
    certificate_for,
    certify,
    identity_with,
)

pytestmark = pytest.mark.grpc

AUTHORITY = make_authority("signs anything")
MEMBERS = frozenset({"north", "south"})
TERMS = Terms(b"{}", "r", lambda other: iter(()), Rules(7, 1000, 3), MEMBERS)
TAG = Tag(0, 0, 0, (1,))
LONG = 120.0  # seconds, on any machine

odd_names = pytest.mark.parametrize(
    ("names", "common_name"), NOT_NORTHS.values(), ids=NOT_NORTHS
)


def _transport(
    name, peer, credential=None, *, trusted=AUTHORITY, address=None, deadline=LONG
):
    """A node with one neighbour, which it dials if it has an address."""
    credential = credential or issue(AUTHORITY, name)
    return closing(
        GrpcTransport(
            name,
            [Neighbour(1 if peer == "north" else 0, peer, address)],
            TERMS,
            identity_with(name, credential, trusted),
            listen=None if address else "127.0.0.1:0",
            deadline=deadline,
        )
    )


def _is_connected(transport, peer):
    return transport.accounts()[peer][1]


def _until(condition):
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@odd_names
def test_a_node_that_answers_refuses_a_certificate_with_odd_names(
    names, common_name, tmp_path
):
    with _transport("east", "north") as east:
        intruder = Intruder(east.port, AUTHORITY.certificate_pem, tmp_path, 1)
        words = Words("north", TERMS.plan, TERMS.random, TERMS.rules, 1)
        odd = certificate_for(AUTHORITY, names, common_name)
        with intruder.channel(odd, "east") as channel:
            code, text = intruder.say(channel, words.hello())
        assert code is grpc.StatusCode.PERMISSION_DENIED
        assert text.isprintable()
        assert east.accounts()["north"][0].n_connections == 0


@odd_names
def test_a_node_that_dials_refuses_a_certificate_with_odd_names(
    names, common_name, caplog
):
    odd = certificate_for(AUTHORITY, names, common_name)
    with _transport("north", "east", odd) as north:
        address = f"127.0.0.1:{north.port}"
        with (
            caplog.at_level(logging.DEBUG, "dssfn.node"),
            _transport("east", "north", address=address) as east,
        ):
            _until(
                lambda: (
                    f"north cannot be reached at {address}" in caplog.text
                    or _is_connected(east, "north")
                )
            )
            assert not _is_connected(east, "north")
        assert north.accounts()["east"][0].n_connections == 0


@pytest.fixture
def check_of_north(tmp_path):
    """What `dssfn node check` finds at east of a north that listens somewhere."""

    def check(address, *, trusted=AUTHORITY):
        credential = issue(AUTHORITY, "east")
        files = [tmp_path / part for part in ("node.crt", "node.key")]
        credential.write(*files)
        spec = NodeSpec(
            name="east", plan="", data="", authorities="",
            certificate=str(files[0]), key=str(files[1]),
        )  # fmt: skip
        identity = identity_with("east", credential, trusted)
        return reach(spec, identity, "north", address)

    return check


@odd_names
def test_a_check_refuses_a_certificate_with_odd_names(
    names, common_name, check_of_north
):
    odd = certificate_for(AUTHORITY, names, common_name)
    with _transport("north", "east", odd) as north:
        finding = check_of_north(f"127.0.0.1:{north.port}")
    assert finding.is_good is False
    assert "north cannot be reached" in finding.text


def test_a_check_judges_certificates_as_the_run_does(check_of_north):
    good = issue(AUTHORITY, "north")
    between = certify("between", AUTHORITY, ca=True)
    with _transport("north", "east", good) as north:
        address = f"127.0.0.1:{north.port}"
        assert check_of_north(address).is_good
        foreign = check_of_north(address, trusted=make_authority("another"))
        assert foreign.is_good is False
    with _transport("north", "east", good, trusted=between) as north:
        # It does not trust the authority of this node.
        assert check_of_north(f"127.0.0.1:{north.port}").is_good is False
    assert check_of_north(address).is_good is None  # nobody is there


def test_a_node_that_dials_names_the_address_where_a_stranger_answers(caplog):
    foreign = issue(make_authority("somebody else"), "north")
    another = issue(AUTHORITY, "south")
    for credential, told in ((foreign, "is not signed"), (another, "is for south")):
        with _transport("north", "east", credential) as stranger:
            address = f"127.0.0.1:{stranger.port}"
            with _transport("east", "north", address=address):
                words = f"north cannot be reached at {address}: its certificate {told}"
                _until(lambda words=words: words in caplog.text)


class _TwoFaced(Proxy):
    """Leads to one port and to another in turn."""

    def __init__(self, *ports):
        self.n_accepted = 0
        self._ports = cycle(ports)
        super().__init__(ports[0])

    def _accept(self):
        self.target = next(self._ports)
        super()._accept()
        self.n_accepted += 1


def test_who_shows_another_certificate_on_the_second_look_gets_no_further():
    odd = certificate_for(AUTHORITY, ["north\0.evil.example"], None)
    with (
        _transport("north", "east") as true,
        _transport("north", "east", odd) as false,
        closing(_TwoFaced(true.port, false.port)) as between,
        _transport(
            "east", "north", address=f"127.0.0.1:{between.port}", deadline=4.0
        ) as east,
    ):
        _until(lambda: between.n_accepted >= 4)
        assert not _is_connected(east, "north")
        for node in (true, false):
            assert node.accounts()["east"][0].n_connections == 0


def _exchange(one, other):
    with ThreadPoolExecutor(1) as pool:
        here = pool.submit(one.exchange, TAG, {(0, 1): np.ones(1)}, [(1, 0)])
        there = other.exchange(TAG, {(1, 0): np.zeros(1)}, [(0, 1)])
        assert here.result(LONG)[1, 0] == [0.0]
        assert there[0, 1] == [1.0]


@pytest.mark.parametrize(
    ("names", "common_name"),
    [(["north"], "north"), (["north"], None), (["spare.example", "north"], "north")],
)
def test_nodes_meet_whose_certificates_carry_names_of_nodes_alone(names, common_name):
    _meet(certificate_for(AUTHORITY, names, common_name), AUTHORITY)


def _meet(credential, trusted):
    """North, with this credential, is dialled by east, and dials it."""
    with (
        _transport("north", "east", credential, trusted=trusted) as north,
        _transport(
            "east", "north", trusted=trusted, address=f"127.0.0.1:{north.port}"
        ) as east,
    ):
        _exchange(east, north)
    with (
        _transport("east", "north", trusted=trusted) as east,
        _transport(
            "north", "east", credential, trusted=trusted,
            address=f"127.0.0.1:{east.port}",
        ) as north,
    ):  # fmt: skip
        _exchange(east, north)


def test_nodes_dial_directly_whatever_proxy_the_environment_names(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        proxy = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    for variable in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(variable, proxy)
    for variable in ("no_proxy", "no_grpc_proxy"):
        monkeypatch.delenv(variable, raising=False)
    _meet(issue(AUTHORITY, "north"), AUTHORITY)


def _bundle(*credentials):
    """Certificates one below the other, with words in between as some tools write."""
    words = "\nZertifikat für Nörd:\n".encode()
    pem = words.join(one.certificate_pem for one in credentials)
    return Credential(pem, credentials[0].key_pem)


@pytest.mark.parametrize("trusts_the_root", [True, False])
def test_nodes_meet_over_a_chain_of_certificates(trusts_the_root):
    root = certify("root", ca=True)
    between = certify("between", root, ca=True)
    key = rsa.generate_private_key(65537, 2048)
    north = certify("north", between, dns=["north"], key=key)
    trusted = root if trusts_the_root else between
    _meet(_bundle(north, between), _bundle(AUTHORITY, trusted))
