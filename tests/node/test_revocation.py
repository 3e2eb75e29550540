"""A list of revoked certificates is trusted as a whole, or refused as a whole."""

from __future__ import annotations

import base64
import logging
import shutil
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dssfn.errors import IdentityError
from dssfn.node.revocation import NOTHING_REVOKED, read_revocations
from dssfn.setup.pki import issue, make_authority
from tests.support.odd_certificates import certify
from tests.support.revocation_lists import NOW, list_of, loaded

AUTHORITY, OTHER = make_authority("lab"), make_authority("own")
NORTH, SOUTH = issue(AUTHORITY, "north"), issue(AUTHORITY, "south")


def read(pem, *authorities):
    roots = [loaded(one) for one in authorities or (AUTHORITY,)]
    return read_revocations("crl.pem", pem, roots, "ca.crt")


def refused(pem, *authorities):
    with pytest.raises(IdentityError) as caught:
        read(pem, *authorities)
    assert "`crl.pem`" in str(caught.value)
    return str(caught.value)


def test_a_list_names_what_counts_no_more():
    revoked = read(list_of(AUTHORITY, NORTH))
    assert loaded(NORTH) in revoked
    assert loaded(SOUTH) not in revoked
    assert revoked.moment_of(loaded(NORTH)) == NOW
    assert revoked.ends == NOW + timedelta(days=99)
    assert loaded(NORTH) not in NOTHING_REVOKED
    assert loaded(NORTH) not in read(list_of(AUTHORITY))


def test_a_file_may_hold_lists_of_several_authorities():
    theirs = issue(OTHER, "north")
    end = NOW + timedelta(days=9)
    pem = b"of the lab\n" + list_of(AUTHORITY, NORTH) + list_of(OTHER, theirs, end=end)
    revoked = read(pem, AUTHORITY, OTHER)
    assert loaded(NORTH) in revoked
    assert loaded(theirs) in revoked
    assert revoked.ends == end
    # A serial number is one of its authority alone.
    same = x509.load_pem_x509_crl(list_of(OTHER, NORTH))
    mine = read(same.public_bytes(serialization.Encoding.PEM), OTHER)
    assert loaded(NORTH) not in mine


def test_a_certificate_on_hold_counts_no_more():
    hold = x509.CRLReason(x509.ReasonFlags.certificate_hold), False
    assert loaded(NORTH) in read(list_of(AUTHORITY, NORTH, entry_extensions=[hold]))


def test_what_is_no_list_is_refused():
    good = list_of(AUTHORITY, NORTH)
    der = x509.load_pem_x509_crl(good).public_bytes(serialization.Encoding.DER)
    assert "it is empty" in refused(b"")
    assert "it holds something else" in refused(b"nonsense")
    assert "openssl crl -inform der" in refused(der)
    assert "holds a certificate" in refused(NORTH.certificate_pem)
    assert "holds a private key" in refused(NORTH.key_pem)
    assert "damaged" in refused(good[: len(good) // 2])
    assert "damaged" in refused(good + good[: len(good) // 2])
    assert "damaged" in refused(good.replace(b"\nMI", b"\nMJ"))


GOOD = x509.load_pem_x509_crl(list_of(AUTHORITY, NORTH)).public_bytes(
    serialization.Encoding.DER
)


@example(0.1640625, 15)  # a name that cannot be read
@example(0.0390625, 1)  # a version that there is not
@pytest.mark.filterwarnings("ignore:Attribute's length")
@settings(max_examples=500)
@given(st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_a_list_that_was_changed_anywhere_is_refused_or_says_the_same(where, change):
    changed = bytearray(GOOD)
    changed[int(where * len(changed))] ^= change
    body = base64.encodebytes(changed)
    pem = b"-----BEGIN X509 CRL-----\n" + body + b"-----END X509 CRL-----\n"
    try:
        revoked = read(pem)
    except IdentityError:
        return
    # How many bits of the signature's last byte are left out is not signed.
    assert revoked == read(list_of(AUTHORITY, NORTH))


def test_a_list_must_be_signed_by_an_authority():
    assert "that is not one of them" in refused(list_of(OTHER, NORTH))
    by_another_key = list_of(AUTHORITY, NORTH, key=OTHER)
    assert "is not by that authority's key" in refused(by_another_key)
    node = issue(AUTHORITY, "lab-node")
    assert "may not sign lists" in refused(list_of(node), node)
    silent = certify("signs no lists", ca=True, sign=False)
    assert "may not sign lists" in refused(list_of(silent), silent)
    assert not read(list_of(certified := certify("own", ca=True)), certified).moments


def test_a_list_has_its_time(caplog):
    day = timedelta(days=1)
    ended = refused(list_of(AUTHORITY, start=NOW - 9 * day, end=NOW - day))
    assert "expired on" in ended
    assert "dssfn federation revoke" in ended
    early = list_of(AUTHORITY, start=NOW + day, end=NOW + 2 * day)
    assert "is not valid before" in refused(early)
    with caplog.at_level(logging.WARNING):
        read(list_of(AUTHORITY, end=datetime.now(UTC) + 3 * day))
    assert "Get a newer one in time" in caplog.text


def _point(**fields):
    empty = dict.fromkeys(("full_name", "relative_name", "only_some_reasons"))
    kinds = dict.fromkeys(
        (
            "only_contains_user_certs",
            "only_contains_ca_certs",
            "indirect_crl",
            "only_contains_attribute_certs",
        ),
        False,
    )
    return x509.IssuingDistributionPoint(**{**empty, **kinds, **fields})


def test_a_list_that_does_not_say_all_is_refused():
    for extension, word in (
        (_point(indirect_crl=True), "other authorities"),
        (_point(only_contains_ca_certs=True), "leaves some certificates out"),
        (
            _point(only_some_reasons=frozenset([x509.ReasonFlags.key_compromise])),
            "leaves some certificates out",
        ),
        (x509.DeltaCRLIndicator(3), "only changes"),
        (
            x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3"), b"\5\0"),
            "critical extension 1.2.3",
        ),
    ):
        pem = list_of(AUTHORITY, NORTH, extensions=[(extension, True)])
        assert word in refused(pem)
    whose = x509.CertificateIssuer([x509.DirectoryName(loaded(OTHER).subject)]), True
    pem = list_of(AUTHORITY, NORTH, entry_extensions=[whose])
    assert "an entry with a critical" in refused(pem)
    users = _point(only_contains_user_certs=True), True
    number = x509.CRLNumber(3), False
    assert read(list_of(AUTHORITY, NORTH, extensions=[users, number])).moments


CONFIG = """
[ca]
default_ca = own
[own]
database = index.txt
crlnumber = number
default_md = sha256
default_crl_days = 30
"""


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl")
def test_a_list_of_openssl_is_read(tmp_path):
    AUTHORITY.write(tmp_path / "ca.crt", tmp_path / "ca.key")
    (tmp_path / "north.crt").write_bytes(NORTH.certificate_pem)
    (tmp_path / "own.cnf").write_text(CONFIG)
    (tmp_path / "index.txt").write_text("")
    (tmp_path / "number").write_text("1000\n")
    signer = ["-config", "own.cnf", "-cert", "ca.crt", "-keyfile", "ca.key"]
    for command in (["-revoke", "north.crt"], ["-gencrl", "-out", "crl.pem"]):
        subprocess.run(
            ["openssl", "ca", *signer, *command],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )
    revoked = read((tmp_path / "crl.pem").read_bytes())
    assert loaded(NORTH) in revoked
    assert loaded(SOUTH) not in revoked
