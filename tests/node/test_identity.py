from __future__ import annotations

import logging
import os
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID as Use

from dssfn.errors import IdentityError
from dssfn.node.identity import Identity, is_open, read_identity
from dssfn.setup.pki import Credential, issue, make_authority
from tests.support.handshake import meet
from tests.support.odd_certificates import (
    NOT_NORTHS,
    certificate_for,
    certify,
)

NOW = datetime.now(UTC).replace(microsecond=0)
BOTH = (Use.CLIENT_AUTH, Use.SERVER_AUTH)


@pytest.fixture(scope="module")
def authority():
    return make_authority("a lab")


@pytest.fixture
def read(tmp_path):
    """Write the three files as given and read them as node a's."""

    def reader(node, *authorities, name="a", between=(), key=None):
        chain = b"".join(one.certificate_pem for one in (node, *between))
        (tmp_path / "node.crt").write_bytes(chain)
        (tmp_path / "node.key").write_bytes(key or node.key_pem)
        (tmp_path / "node.key").chmod(0o600)
        bundle = b"".join(one.certificate_pem for one in authorities)
        (tmp_path / "ca.crt").write_bytes(bundle)
        files = (tmp_path / part for part in ("node.crt", "node.key", "ca.crt"))
        return read_identity(*files, name)

    return reader


@pytest.fixture
def refused(read):
    def reader(*args, **kwargs):
        with pytest.raises(IdentityError) as caught:
            read(*args, **kwargs)
        return str(caught.value)

    return reader


def test_what_an_authority_issues_is_an_identity(authority, read, caplog):
    node = issue(authority, "a")
    identity = read(node, authority)
    assert identity == Identity(
        "a", node.certificate_pem, node.key_pem, authority.certificate_pem, node.expires
    )
    assert (identity.expires - NOW).days in (824, 825)
    assert not caplog.records


def test_a_key_is_not_shown_when_an_identity_is_printed(authority, read):
    assert "PRIVATE" not in repr(read(issue(authority, "a"), authority))
    assert "PRIVATE" not in repr(issue(authority, "a"))


def test_a_name_too_long_for_the_subject_is_still_a_name(authority, read):
    name = ".".join(["node" * 10] * 4)
    assert read(issue(authority, name), authority, name=name).name == name


def test_a_certificate_does_not_outlive_its_authority(read):
    short = make_authority("short", days=20)
    node = issue(short, "a", days=9999)
    assert node.expires == short.expires
    assert read(node, short).expires == short.expires
    with pytest.raises(IdentityError, match="cannot sign any more"):
        issue(make_authority("old", days=1, now=NOW - timedelta(days=9)), "a")


def test_two_authorities_in_one_bundle(authority, read):
    other = make_authority("another lab")
    for signer in (authority, other):
        assert read(issue(signer, "a"), authority, other)


def test_a_chain_through_certificates_in_between(read):
    root = certify("root", ca=True)
    first = certify("first", root, ca=True)
    second = certify("second", first, ca=True)
    node = certify("a", second, dns=["a"], uses=BOTH)
    assert read(node, root, between=(second, first))
    assert read(node, root, between=(first, second))  # in any order
    assert read(node, root, between=(second, first, root))  # the root is no harm
    assert read(node, first, between=(second,))  # an authority need not be a root


def test_a_gap_in_the_chain_is_named(refused):
    root = certify("root", ca=True)
    first = certify("first", root, ca=True)
    node = certify("a", first, dns=["a"])
    error = refused(node, root)
    assert "`CN=a` was signed by `CN=first`" in error
    assert "holds `CN=root`" in error


def test_a_node_cannot_vouch_for_another(authority, refused):
    node = issue(authority, "b")
    forged = certify("a", node, dns=["a"])
    assert "is not an authority" in refused(forged, authority, between=(node,))


def test_an_authority_that_has_ended_vouches_for_nobody(refused):
    old = certify("old", ca=True, end=NOW - timedelta(hours=1))
    error = refused(certify("a", old, dns=["a"]), old)
    assert f"to {NOW - timedelta(hours=1):%Y-%m-%d}" in error


def test_a_foreign_authority_is_named(authority, refused):
    error = refused(issue(make_authority("foreign"), "a"), authority)
    assert "ca.crt" in error
    assert "`CN=foreign`" in error
    assert "`CN=a lab`" in error
    assert "another key" in refused(issue(make_authority("a lab"), "a"), authority)


def test_the_certificate_of_another_node_is_refused(authority, refused):
    error = refused(issue(authority, "b"), authority)
    assert "'a'" in error
    assert "carries 'b'" in error
    assert "no DNS name at all" in refused(certify("a", authority), authority)
    wild = certify("a", authority, dns=["*"])
    assert "carries '*'" in refused(wild, authority)


@pytest.mark.parametrize(("names", "common_name"), NOT_NORTHS.values(), ids=NOT_NORTHS)
def test_a_node_does_not_use_a_certificate_with_odd_names(
    authority, refused, names, common_name
):
    odd = certificate_for(authority, names, common_name)
    error = refused(odd, authority, name="north")
    assert "node.crt" in error
    assert "subjectAltName" in error
    assert error.isprintable()


def test_a_certificate_may_carry_the_names_of_several_nodes(authority, read):
    several = certificate_for(authority, ["south", "north"], "south")
    assert read(several, authority, name="north").name == "north"


def test_somebody_s_many_long_names_do_not_fill_the_screen(authority, refused):
    names = [f"{k}_{'x' * 2000}" for k in range(500)]
    assert len(refused(certificate_for(authority, names, None), authority)) < 3000


def test_a_certificate_that_has_ended_is_refused(authority, refused):
    node = certify("a", authority, dns=["a"], start=NOW - timedelta(days=9),
                   end=NOW - timedelta(days=2))  # fmt: skip
    error = refused(node, authority)
    assert f"expired on {NOW - timedelta(days=2):%Y-%m-%d}" in error
    assert "dssfn federation certificate" in error


def test_a_certificate_that_is_not_yet_valid_is_refused(authority, refused):
    node = issue(authority, "a", now=NOW + timedelta(days=3))
    error = refused(node, authority)
    assert f"not valid before {NOW + timedelta(days=3, hours=-1):%Y-%m-%d}" in error
    assert "clock" in error


def test_a_near_end_is_a_warning(authority, read, caplog):
    with caplog.at_level(logging.WARNING):
        read(issue(authority, "a", days=15), authority)
        assert not caplog.records
        read(issue(authority, "a", days=13, now=NOW), authority)
    assert f"{NOW + timedelta(days=13):%Y-%m-%d}" in caplog.text


@pytest.mark.skipif(os.name == "nt", reason="modes are a POSIX matter")
def test_a_key_that_others_can_read_is_a_warning(authority, tmp_path, caplog):
    issue(authority, "a").write(tmp_path / "c", tmp_path / "k")
    (tmp_path / "ca").write_bytes(authority.certificate_pem)
    (tmp_path / "k").chmod(0o644)
    read_identity(tmp_path / "c", tmp_path / "k", tmp_path / "ca", "a")
    assert "chmod 600" in caplog.text


def test_a_key_of_another_certificate_is_refused(authority, refused):
    node, other = issue(authority, "a"), issue(authority, "a")
    error = refused(node, authority, key=other.key_pem)
    assert "node.key" in error
    assert "node.crt" in error
    assert "another key" in error


def test_the_own_certificate_must_come_first(authority, refused):
    node = issue(authority, "a")
    error = refused(authority, authority, between=(node,), key=node.key_pem)
    assert "number 2" in error


def test_a_use_at_one_end_only_is_refused(authority, read, refused):
    for uses, lacking in ((BOTH[:1], "serverAuth"), (BOTH[1:], "clientAuth")):
        error = refused(certify("a", authority, dns=["a"], uses=uses), authority)
        assert f"lacks extendedKeyUsage {lacking}" in error
    for uses in (None, BOTH, (Use.ANY_EXTENDED_KEY_USAGE,)):
        assert read(certify("a", authority, dns=["a"], uses=uses), authority)
    mute = certify("a", authority, dns=["a"], sign=False)
    assert "digitalSignature" in refused(mute, authority)


def test_kinds_of_keys(authority, read, refused):
    def node(key):
        return certify("a", authority, dns=["a"], key=key)

    assert read(node(ec.generate_private_key(ec.SECP384R1())), authority)
    assert read(node(rsa.generate_private_key(65537, 2048)), authority)
    odd = {
        "Ed25519": ed25519.Ed25519PrivateKey.generate(),
        "RSA": rsa.generate_private_key(65537, 1024),
        "EC": ec.generate_private_key(ec.SECP521R1()),
    }
    for kind, key in odd.items():
        assert f"got {kind}" in refused(node(key), authority)


@pytest.mark.parametrize("part", ["node.crt", "node.key", "ca.crt"])
def test_a_missing_file_is_named(authority, read, tmp_path, part):
    read(issue(authority, "a"), authority)
    (tmp_path / part).unlink()
    files = [tmp_path / name for name in ("node.crt", "node.key", "ca.crt")]
    with pytest.raises(IdentityError, match=rf"{part}.*No such file") as caught:
        read_identity(*files, "a")
    assert "dssfn federation init" in str(caught.value)
    (tmp_path / part).mkdir()
    with pytest.raises(IdentityError, match=rf"{part}.*directory"):
        read_identity(*files, "a")


@pytest.mark.parametrize("part", ["node.crt", "node.key", "ca.crt"])
@pytest.mark.parametrize("content", [b"", b"garbage\n", b"\x30\x82\x01", b"\xff" * 99])
def test_garbage_is_refused_and_named(authority, read, tmp_path, part, content):
    read(issue(authority, "a"), authority)
    (tmp_path / part).write_bytes(content)
    files = [tmp_path / name for name in ("node.crt", "node.key", "ca.crt")]
    with pytest.raises(IdentityError, match=rf"{part}.*PEM"):
        read_identity(*files, "a")


def test_what_lies_in_the_wrong_file_is_recognised(authority, refused):
    node = issue(authority, "a")
    swapped = Credential(node.key_pem, node.certificate_pem)
    assert "holds a private key" in refused(swapped, authority)
    error = refused(node, authority, key=node.certificate_pem)
    assert "holds a certificate" in error
    middle = len(node.certificate_pem) // 2
    cut = node.certificate_pem[:middle] + b"!" + node.certificate_pem[middle:]
    assert "damaged" in refused(Credential(cut, node.key_pem), authority)
    request = b"-----BEGIN CERTIFICATE REQUEST-----\n"
    assert "have your authority sign" in refused(
        Credential(request, node.key_pem), authority
    )


def test_a_key_with_a_passphrase_is_refused(authority, refused):
    node = issue(authority, "a")
    locked = serialization.load_pem_private_key(node.key_pem, None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"word"),
    )
    assert "passphrase" in refused(node, authority, key=locked)


def test_identities_meet_over_grpc(authority, read):
    root = certify("root", ca=True)
    between = certify("between", root, ca=True)
    named = ".".join(["node" * 10] * 4)
    lab = read(issue(authority, named), authority, root, name=named)
    own = read(certify("a", between, dns=["a"]), authority, root, between=[between])
    partial = read(certify("b", between, dns=["b"]), authority, between, name="b")
    key = rsa.generate_private_key(65537, 2048)
    large = ec.generate_private_key(ec.SECP384R1())
    old = read(certify("c", authority, dns=["c"], key=key), authority, name="c")
    wide = read(certify("d", authority, dns=["d"], key=large), authority, name="d")
    assert meet(lab, own) == "a"
    assert meet(own, lab) == named
    assert meet(partial, partial) == "b"
    assert meet(old, wide) == "d"


@pytest.mark.parametrize(
    ("mode", "owner", "user", "expected"),
    [
        (0o600, 1000, 1000, False),
        (0o640, 1000, 1000, True),
        (0o604, 1000, 1000, True),
        (0o640, 0, 1000, False),  # as Kubernetes mounts a Secret for a group
        (0o660, 0, 1000, True),
        (0o644, 0, 1000, True),
        (0o640, 0, 0, True),
        (0o600, 0, 0, False),
    ],
)
def test_a_key_is_open_unless_it_is_its_owners_or_of_root_for_a_group(
    mode, owner, user, expected
):
    found = os.stat_result((mode, 0, 0, 1, owner, 0, 0, 0, 0, 0))
    assert is_open(found, user) is expected
