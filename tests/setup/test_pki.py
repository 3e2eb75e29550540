from __future__ import annotations

import os
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID as Use

from dssfn.errors import IdentityError, InputError
from dssfn.setup.pki import issue, make_authority, read_authority

NOW = datetime.now(UTC).replace(microsecond=0)
BOTH = (Use.CLIENT_AUTH, Use.SERVER_AUTH)


@pytest.fixture(scope="module")
def authority():
    return make_authority("a lab")


def test_a_node_certificate_says_what_tls_wants_to_know(authority):
    made = issue(authority, "a", now=NOW)
    node = x509.load_pem_x509_certificate(made.certificate_pem)
    signer = x509.load_pem_x509_certificate(authority.certificate_pem)
    found = {type(one.value): one for one in node.extensions}
    assert node.subject.rfc4514_string() == "CN=a"
    names = found[x509.SubjectAlternativeName].value
    assert names.get_values_for_type(x509.DNSName) == ["a"]
    assert set(found[x509.ExtendedKeyUsage].value) == set(BOTH)
    assert found[x509.BasicConstraints].critical
    assert not found[x509.BasicConstraints].value.ca
    assert found[x509.KeyUsage].value.digital_signature
    assert isinstance(node.public_key().curve, ec.SECP256R1)
    assert (
        found[x509.AuthorityKeyIdentifier].value.key_identifier
        == signer.extensions.get_extension_for_class(
            x509.SubjectKeyIdentifier
        ).value.digest
    )
    assert node.not_valid_before_utc == NOW - timedelta(hours=1)
    assert signer.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert (signer.not_valid_after_utc - NOW).days in (3649, 3650)


@pytest.mark.parametrize("days", [0, -3])
def test_a_validity_of_no_days_is_refused(authority, days):
    with pytest.raises(InputError, match="`days` must be at least 1"):
        issue(authority, "a", days=days)


def test_days_beyond_the_calendar_end_with_it():
    assert make_authority("for ever", days=10**7).expires.year == 9999


@pytest.mark.skipif(os.name == "nt", reason="modes are a POSIX matter")
def test_a_key_is_written_for_its_owner_alone(authority, tmp_path):
    old = os.umask(0)
    try:
        authority.write(tmp_path / "c", tmp_path / "k")
        authority.write(tmp_path / "c", tmp_path / "k")  # over the first
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "k").stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "k"]


def test_an_authority_is_read_back(authority, tmp_path):
    files = tmp_path / "c", tmp_path / "k"
    authority.write(*files)
    assert read_authority(*files) == authority
    issue(authority, "a").write(*files)
    with pytest.raises(IdentityError, match="an authority's, not a node's"):
        read_authority(*files)
    files[0].write_bytes(authority.certificate_pem)
    with pytest.raises(IdentityError, match="another key"):
        read_authority(*files)


def test_the_extra_is_named_where_cryptography_is_missing(tmp_path):
    code = (
        "import sys; sys.modules['cryptography'] = None\n"
        "import dssfn.cli.main\n"  # other commands work without it
        "import dssfn.setup.pki"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "InputError" in shown.stderr
    assert "pip install 'dssfn[grpc]'" in shown.stderr
    code = (
        "import sys; sys.modules['cryptography'] = None\n"
        "sys.argv[1:] = 'federation init fed --nodes a,b'.split()\n"
        "from dssfn.cli.main import run; run()"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert shown.returncode == 2
    assert shown.stderr.startswith("Error: ")
    assert "pip install 'dssfn[grpc]'" in shown.stderr
    assert list(tmp_path.iterdir()) == []
