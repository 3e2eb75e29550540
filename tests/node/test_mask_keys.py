"""Nodes agree on masks by keys that are their own, or not at all."""

from __future__ import annotations

import ssl
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import msgspec
import numpy as np
import pytest

from dssfn.config import Plan
from dssfn.errors import IdentityError, PlanError, ProtocolError
from dssfn.federation import STATISTICS, TRAINING, Federation, Graph, Member
from dssfn.masking import EphemeralKey, mask_partners
from dssfn.node.agreement import Assembly
from dssfn.node.few_rows import check_nodes
from dssfn.node.identity import Identity
from dssfn.node.mask_keys import (
    Announcement,
    MaskKeys,
    _digest_of,
    mask_keys_of,
)
from dssfn.node.revocation import Revocations
from dssfn.progress import Progress
from dssfn.setup import pki
from dssfn.transports import memory_network
from tests.support.revocation_lists import NOW, loaded

NAMES = ("north", "south", "east", "west")
PLAN = Plan(n_features=2, classes=("no", "yes"))
AUTHORITY = pki.make_authority("four")


def federation(kind="star", **settings):
    nodes = tuple(Member(name) for name in NAMES)
    return Federation(nodes, Graph(kind=kind), PLAN, **settings)


def identity(name, authority=AUTHORITY, trusts=AUTHORITY, credential=None, **fields):
    credential = credential or pki.issue(authority, name)
    return Identity(
        name,
        credential.certificate_pem,
        credential.key_pem,
        trusts.certificate_pem,
        fields.pop("expires", credential.expires),
        **fields,
    )


def keys_of(name, plan=None, command=TRAINING, **of_identity):
    return MaskKeys(plan or federation(), command, identity(name, **of_identity))


def agreed(every, epochs=(0, 0, 0, 0)):
    """The masks of all nodes, which meet over memory."""
    topology = federation().topology()
    arcs = [(i, j) for i in range(4) for j in topology.neighbours(i)]
    transports = memory_network([[node] for node in range(4)], arcs, deadline=20)

    def one(node, transport, keys, epoch):
        transport.epoch = epoch
        return keys.agree(Assembly(node, topology, transport), transport.epoch)

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(one, range(4), transports, every, epochs))


def test_partners_share_secrets_that_change_with_every_attempt():
    every = [keys_of(name) for name in NAMES]
    seen = set()
    for _ in range(2):
        masks = agreed(every)
        for node, others in enumerate(mask_partners(4)):
            assert sorted(masks[node].secrets[node]) == sorted(others)
            for other in others:
                secret = masks[node].secrets[node][other]
                assert secret == masks[other].secrets[other][node]
                seen.add(secret)
    assert len(seen) == 2 * 6  # pairs
    values = [np.arange(5) * node for node in range(4)]
    for node, one in enumerate(values):
        masks[node].cover(node, one, 0)
    assert sum(values).tolist() == [0, 6, 12, 18, 24]


STRANGER = pki.make_authority("stranger")
OTHER_PLAN = federation(min_rows=7)


@pytest.mark.parametrize(
    ("third", "epochs", "why"),
    [
        (lambda: keys_of("east", authority=STRANGER), (0,) * 4, "must be signed by"),
        (lambda: keys_of("west"), (0,) * 4, "must carry the node's name"),
        (lambda: keys_of("east", OTHER_PLAN), (0,) * 4, "its signature does not match"),
        (
            lambda: keys_of("east", command=STATISTICS),
            (0,) * 4,
            "its signature does not",
        ),
        (lambda: keys_of("east"), (0, 0, 1, 0), "its signature does not match"),
    ],
)
def test_a_key_that_is_not_the_node_s_own_is_refused(third, epochs, why):
    """By its certificate, its plan, its command, and the attempt that it is for."""
    every = [keys_of("north"), keys_of("south"), third(), keys_of("west")]
    with pytest.raises(ProtocolError, match=f"name of (east|north).*{why}"):
        agreed(every, epochs)


def _of_version_9(pem):
    der = bytearray(ssl.PEM_cert_to_DER_cert(pem.decode()))
    der[der.index(b"\xa0\x03\x02\x01\x02") + 4] = 8
    return ssl.DER_cert_to_PEM_cert(bytes(der)).encode()


def test_an_announcement_that_was_changed_on_its_way_is_refused():
    keys = keys_of("north")
    other = keys_of("south")
    claim = other._claim("south", 0, bytes(range(32)))
    from dssfn.node.signatures import signature_of

    good = Announcement(
        bytes(range(32)),
        signature_of(other.keyring.key_pem, claim),
        other.keyring.certificate_pem,
    )
    assert (
        keys._verified("south", 0, msgspec.msgpack.encode(good), keys.keyring)
        == good.public
    )
    for changes in (
        {"public": bytes(32)},
        {"signature": good.signature[:-1] + bytes([good.signature[-1] ^ 1])},
        {"signature": b""},
        {"certificate_pem": keys.keyring.certificate_pem},
        {"certificate_pem": b""},
        {"certificate_pem": b"-----BEGIN CERTIFICATE-----\n"},
        {"certificate_pem": _of_version_9(good.certificate_pem)},
    ):
        bad = msgspec.structs.replace(good, **changes)
        with pytest.raises(ProtocolError, match="in the name of south is not its own"):
            keys._verified("south", 0, msgspec.msgpack.encode(bad), keys.keyring)
    nested = msgspec.msgpack.encode([good.public, good.signature, b"", "more"])
    short = msgspec.msgpack.encode(msgspec.structs.replace(good, public=b"short"))
    deep = b"\x94" + msgspec.msgpack.encode(good)[1:] + b"\x91" * 5000 + b"\x90"
    for record in (
        b"",
        b"nonsense",
        msgspec.msgpack.encode([1, 2]),
        nested,
        short,
        deep,
    ):
        with pytest.raises(ProtocolError, match="in the name of south"):
            keys._verified("south", 0, record, keys.keyring)


def test_a_plan_says_whether_messages_are_masked():
    north = identity("north")
    assert mask_keys_of(federation(), TRAINING, north) is not None
    assert mask_keys_of(federation(secure=False), TRAINING, north) is None
    dense = {"training": PLAN.replace(units="dense")}
    nodes = tuple(Member(name) for name in NAMES)
    with pytest.raises(PlanError, match=r"`secure`.*secure = false"):
        Federation(nodes, Graph(kind="star"), **dense)
    assert not Federation(nodes, Graph(kind="star"), **dense, secure=False).secure


def test_two_nodes_must_agree_to_learn_each_other_s_sums():
    nodes = (Member("north", "n:1"), Member("south"))
    two = Federation(nodes, Graph(kind="path"), PLAN)
    assert not two.hides_nodes
    with pytest.raises(PlanError, match=r"at least 3, the plan.s `min_nodes`.*got 2"):
        check_nodes(two)
    check_nodes(msgspec.structs.replace(two, min_nodes=2))
    check_nodes(federation())
    assert federation().hides_nodes
    with pytest.raises(PlanError, match="`min_nodes` must be at least 1"):
        federation(min_nodes=0)


def test_a_member_that_announces_another_s_key_is_found(monkeypatch):
    """It would share that node's masks with a third, which then cancel each other."""
    made = []

    class Same(EphemeralKey):
        def __init__(self, node):
            super().__init__(node)
            if made and node == 2:
                self.public = made[0]
            made.append(self.public)

    monkeypatch.setattr("dssfn.node.mask_keys.EphemeralKey", Same)
    with pytest.raises(ProtocolError, match="announced the same mask key"):
        agreed([keys_of(name) for name in NAMES])


def test_nodes_that_go_on_from_different_layers_share_no_masks():
    key = np.random.default_rng(0).normal(size=4)
    assert _digest_of(None) == b""
    one, other = (Progress(({"O": key + k},), (1,)) for k in (0, 1e-9))
    assert _digest_of(one) != _digest_of(other)
    assert _digest_of(one) == _digest_of(Progress(({"O": key.copy()},), (1,)))


ENDED = pki.issue(AUTHORITY, "east", days=1, now=NOW - timedelta(days=9))
STOLEN = pki.issue(AUTHORITY, "east")
LATER = NOW + timedelta(days=9)  # of a clock that is behind
REVOKED = Revocations({(loaded(STOLEN).issuer, loaded(STOLEN).serial_number): NOW})


@pytest.mark.parametrize(
    ("own", "theirs", "why"),
    [
        ({"credential": ENDED, "expires": LATER}, {}, "a certificate that expired on"),
        ({"credential": STOLEN}, {"revoked": REVOKED}, "a certificate that was revoke"),
    ],
)
def test_a_key_signed_with_a_certificate_that_counts_no_more_is_refused(
    own, theirs, why
):
    every = [keys_of(name, **theirs) for name in NAMES]
    every[2] = keys_of("east", **own)
    with pytest.raises(ProtocolError, match=f"Node east signed .* {why}") as caught:
        agreed(every)
    assert "organisation must replace" in str(caught.value)


@pytest.mark.parametrize(
    ("own", "why"),
    [
        ({"credential": ENDED}, "of east expired on"),
        ({"credential": STOLEN, "revoked": REVOKED}, "of east with .* was revoked on"),
    ],
)
def test_a_node_whose_certificate_counts_no_more_says_so_and_signs_nothing(own, why):
    keys = keys_of("east", **own)
    with pytest.raises(IdentityError, match=f"certificate {why}.*checkpoint"):
        keys.agree(None, 0)


def test_keys_are_signed_with_the_certificate_of_the_moment():
    class Renewed:
        shown = [identity("east"), identity("east")]

        def current(self):
            return self.shown.pop()

    keys = MaskKeys(federation(), TRAINING, Renewed())
    others = [keys_of(name) for name in NAMES]
    for _ in range(2):
        agreed([others[0], others[1], keys, others[3]])
    assert not Renewed.shown
