"""A node makes its key and asks for a certificate; only its name is signed."""

from __future__ import annotations

import json
import os
import shutil
import stat
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

import dssfn.setup.member_certificates as member_certificates
from dssfn.errors import IdentityError
from dssfn.node.identity import read_identity
from dssfn.node.spec import load_node
from tests.support.commands import dssfn, wrong
from tests.support.federations import DATA, identity, init
from tests.support.odd_certificates import pem_of


@pytest.fixture
def fed(tmp_path):
    init(tmp_path / "fed", *DATA, nodes="north,south")
    return tmp_path / "fed"


@pytest.fixture
def ask(tmp_path):
    """A request of somebody's own making, with its key, in files."""

    def asking(*extensions, common_name="north", key=None):
        key = key or ec.generate_private_key(ec.SECP256R1())
        subject = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
        builder = x509.CertificateSigningRequestBuilder(x509.Name(subject))
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        is_edwards = isinstance(key, ed25519.Ed25519PrivateKey)
        made = builder.sign(key, None if is_edwards else hashes.SHA256())
        (tmp_path / "own.key").write_bytes(pem_of(key))
        (tmp_path / "own.key").chmod(0o600)
        path = tmp_path / "own.csr"
        path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        return path

    return asking


def sign(fed, request, *args, name="north"):
    result = dssfn("federation", "sign", fed, name, request, "--json", *args)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def names(*values):
    return x509.SubjectAlternativeName(
        [
            x509.DNSName(one) if isinstance(one, str) else x509.IPAddress(one)
            for one in values
        ]
    )


def check_is_norths_and_no_more(certificate, key, fed):
    """Accepted for north, and for nothing else."""
    read_identity(certificate, key, fed / "ca" / "ca.crt", "north")
    made = x509.load_pem_x509_certificate(certificate.read_bytes())
    found = {type(one.value): one.value for one in made.extensions}
    assert list(found[x509.SubjectAlternativeName]) == [x509.DNSName("north")]
    assert made.subject.rfc4514_string() == "CN=north"
    assert found[x509.BasicConstraints] == x509.BasicConstraints(False, None)
    assert not found[x509.KeyUsage].key_cert_sign
    assert len(found[x509.ExtendedKeyUsage]) == 2
    assert len(found) == 6  # with the two identifiers of keys


CERT_SIGN = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
BEYOND = {
    "an authority": ([x509.BasicConstraints(True, 5)], "CA:TRUE"),
    "signing": ([CERT_SIGN], "to sign certificates"),
    "another name": ([names("south")], "the name 'south'"),
    "two names": ([names("north", "south")], "the name 'south'"),
    "a wildcard": ([names("*")], "the name '*'"),
    "a NUL byte": ([names("south\0.evil.example")], r"the name 'south\x00.evil"),
    "an escape code": ([names("\x1b[2Jsouth")], r"the name '\x1b[2Jsouth'"),
    "an address": ([names(ip_address("10.0.0.7"))], "the name '10.0.0.7'"),
    "another use": (
        [x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING])],
        "the use 1.3.6.1.5.5.7.3.3",
    ),
    "anything": (
        [x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\0")],
        "the extension 1.2.3.4",
    ),
    "what cannot be read": (
        [
            x509.UnrecognizedExtension(
                x509.ObjectIdentifier("2.5.29.17"), b"\x30\x03\x82\x01\xff"
            )
        ],
        "cannot be read",
    ),
}


@pytest.mark.parametrize(("extensions", "told"), BEYOND.values(), ids=BEYOND)
def test_a_request_that_asks_for_more_gets_a_node_certificate_and_is_told_of(
    fed, ask, tmp_path, extensions, told
):
    request = ask(*extensions)
    result = dssfn("federation", "sign", fed, "north", request)
    assert result.exit_code == 0, result.output
    assert told in result.stdout
    assert result.stdout.replace("\n", "").isprintable()
    check_is_norths_and_no_more(fed / "north" / "node.crt", tmp_path / "own.key", fed)
    assert any(told in one for one in sign(fed, request)["not_given"])


def test_a_request_of_another_node_is_the_wrong_file(fed, ask):
    before = (fed / "north" / "node.crt").read_bytes()
    key = ec.generate_private_key(ec.SECP256R1())
    wrong = ask(common_name="south", key=key)
    result = dssfn("federation", "sign", fed, "north", wrong)
    assert result.exit_code == 2
    assert "it belongs to south: it asks for its name" in result.stderr
    sign(fed, wrong, name="south")
    result = dssfn("federation", "sign", fed, "north", ask(key=key))
    assert result.exit_code == 2
    assert "it belongs to south: it has its key" in result.stderr
    assert (fed / "north" / "node.crt").read_bytes() == before


def test_a_request_and_its_signature_make_an_identity(fed, tmp_path):
    home = tmp_path / "home"
    result = dssfn("node", "request", "north", "--out", home, "--json")
    made = json.loads(result.stdout)
    assert {path.name for path in home.iterdir()} == {"node.key", "node.csr"}
    if os.name == "posix":
        assert stat.S_IMODE((home / "node.key").stat().st_mode) == 0o600
    key = serialization.load_pem_private_key((home / "node.key").read_bytes(), None)
    assert isinstance(key.curve, ec.SECP256R1)
    signed = sign(fed, home / "node.csr", "--days", 90)
    assert signed["fingerprint"] == made["fingerprint"]
    assert signed["not_given"] == []
    for part in ("node.crt", "ca.crt", "node.toml", "plan.toml"):
        shutil.copy(fed / "north" / part, home)
    assert identity(home).name == "north"
    assert signed["expires"] == identity(home).expires.isoformat()
    check_is_norths_and_no_more(home / "node.crt", home / "node.key", fed)


def test_node_check_is_content_with_a_certificate_by_request(fed, tmp_path):
    home = tmp_path / "home"
    dssfn("node", "request", "north", "--out", home)
    sign(fed, home / "node.csr")
    for part in ("node.crt", "ca.crt", "node.toml", "plan.toml"):
        shutil.copy(fed / "north" / part, home)
    load_node(home / "node.toml")
    result = dssfn("node", "check", home / "node.toml", "--json")
    found = {one["what"]: one for one in json.loads(result.stdout)["findings"]}
    assert found["certificate"]["is_good"] is True
    assert found["certificate"]["text"].startswith("north, valid until")


def test_what_people_read_names_the_files_and_one_fingerprint(fed, tmp_path):
    told = dssfn("node", "request", "north", "--out", tmp_path / "home").stdout
    signed = dssfn("federation", "sign", fed, "north", tmp_path / "home" / "node.csr")
    lines = [line for line in told.splitlines() if len(line.split()) == 16]
    assert any(set(line.strip()) <= set("0123456789abcdef ") for line in lines)
    assert any(line in signed.stdout.splitlines() for line in lines)
    assert "asked for" not in signed.stdout
    for part in ("node.crt", "ca.crt", "node.key.old-1"):
        assert str(fed / "north" / part) in signed.stdout
    assert "federation sign" in told


def test_a_key_is_never_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert dssfn("node", "request", "north").exit_code == 0
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert "node.key` exists already" in wrong("node", "request", "north")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    (tmp_path / "node.key").unlink()
    (tmp_path / "node.key").symlink_to("nowhere")
    assert "node.key" in wrong("node", "request", "north")
    (tmp_path / "node.key").unlink()
    assert "node.csr" in wrong("node", "request", "north")
    assert not (tmp_path / "node.key").exists()


def test_a_request_needs_a_name_and_a_folder(tmp_path):
    for name in ("../x", "*", "North", "", "a\0b"):
        error = wrong("node", "request", name, "--out", tmp_path / "x")
        assert "`NAME` must consist of" in error
    assert "not a file" in wrong("node", "request", "node.toml")
    assert not (tmp_path / "x").exists()
    (tmp_path / "file").write_text("")
    assert "`--out`" in wrong("node", "request", "a", "--out", tmp_path / "file")
    long = ".".join(["node" * 10] * 4)
    assert dssfn("node", "request", long, "--out", tmp_path / "x").exit_code == 0


def test_a_request_that_cannot_be_written_leaves_no_key(tmp_path, monkeypatch):
    def broken(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dssfn.setup.certificate_request.write_atomically", broken)
    result = dssfn("node", "request", "north", "--out", tmp_path / "home")
    assert result.exit_code == 1
    assert list((tmp_path / "home").iterdir()) == []


def test_a_key_that_was_made_for_a_node_does_not_stay_beside_another_certificate(
    fed, ask
):
    old = identity(fed / "north")
    shown = sign(fed, ask())
    home = fed / "north"
    assert not (home / "node.key").exists()
    assert (home / "node.key.old-1").read_bytes() == old.key_pem
    assert (home / "node.crt.old-1").read_bytes() == old.certificate_pem
    kept = [str(home / part) for part in ("node.crt.old-1", "node.key.old-1")]
    assert shown["kept"] == kept
    assert sign(fed, ask())["kept"] == [str(home / "node.crt.old-2")]
    if os.name == "posix":
        assert stat.S_IMODE((home / "node.key.old-1").stat().st_mode) == 0o600


def test_a_key_that_belongs_to_the_request_stays(fed):
    home = fed / "north"
    (home / "node.key").unlink()
    assert dssfn("node", "request", "north", "--out", home).exit_code == 0
    sign(fed, home / "node.csr")
    assert identity(home).name == "north"


def test_an_interrupted_signature_keeps_the_old_pair(fed, ask, monkeypatch):
    old = identity(fed / "north")
    write = member_certificates.write_atomically

    def broken(path, content, **kwargs):
        if path.name == "ca.crt":
            raise KeyboardInterrupt
        write(path, content, **kwargs)

    monkeypatch.setattr(member_certificates, "write_atomically", broken)
    result = dssfn("federation", "sign", fed, "north", ask())
    assert result.exit_code == 130
    assert identity(fed / "north") == old


def refused(fed, request, name="north"):
    before = {path: path.read_bytes() for path in fed.rglob("*") if path.is_file()}
    error = wrong("federation", "sign", fed, name, request)
    after = {path: path.read_bytes() for path in fed.rglob("*") if path.is_file()}
    assert after == before
    return error


@pytest.mark.parametrize(
    ("key", "told"),
    [
        (rsa.generate_private_key(65537, 1024), "RSA of 1024 bits"),
        (ec.generate_private_key(ec.SECP521R1()), "got EC"),
        (ec.generate_private_key(ec.SECP256K1()), "got EC"),
        (ed25519.Ed25519PrivateKey.generate(), "got Ed25519"),
    ],
    ids=["short RSA", "P-521", "secp256k1", "Ed25519"],
)
def test_a_key_that_tls_does_not_take_is_not_signed(fed, ask, key, told):
    assert told in refused(fed, ask(key=key))


@pytest.mark.parametrize(
    "key",
    [rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP384R1())],
    ids=["RSA", "P-384"],
)
def test_other_good_kinds_of_keys_are_signed(fed, ask, tmp_path, key):
    sign(fed, ask(key=key))
    check_is_norths_and_no_more(fed / "north" / "node.crt", tmp_path / "own.key", fed)


def test_a_request_that_its_key_has_not_signed_is_refused(fed, ask, write):
    pem = ask().read_bytes()
    der = bytearray(
        x509.load_pem_x509_csr(pem).public_bytes(serialization.Encoding.DER)
    )
    place = der.index(b"north")
    der[place : place + 5] = b"south"  # somebody changed it on the way
    changed = x509.load_der_x509_csr(bytes(der))
    forged = write("x.csr", changed.public_bytes(serialization.Encoding.PEM))
    assert "must be signed by its own key" in refused(fed, forged)


def test_a_file_that_is_no_request_is_refused_and_named(fed, ask, write, tmp_path):
    pem = ask().read_bytes()
    key = (tmp_path / "own.key").read_bytes()
    crt = (fed / "south" / "node.crt").read_bytes()
    cut = pem[: len(pem) // 2] + b"!" + pem[len(pem) // 2 :]
    der = x509.load_pem_x509_csr(pem).public_bytes(serialization.Encoding.DER)
    for content, told in {
        b"": "it is empty", b"hello\n": "something else", b"\xff" * 9: "something else",
        crt: "a certificate, which is already signed", cut: "damaged", der: "DER",
        key: "holds a private key", pem + key: "must never leave its node",
    }.items():  # fmt: skip
        error = refused(fed, write("odd.csr", content))
        assert told in error
        assert "odd.csr" in error
    assert "cannot be read" in refused(fed, tmp_path / "nothing.csr")
    assert "cannot be read" in refused(fed, tmp_path)


def test_a_request_is_signed_for_a_node_of_the_plan_alone(fed, ask):
    request = ask()
    assert "north, south" in refused(fed, request, "west")
    for name in ("../../x", "*", "ca", "North"):
        assert repr(name) in refused(fed, request, name)
    result = wrong("federation", "sign", fed, "north", request, "--days", 0)
    assert "`--days`" in result
    (fed / "ca" / "ca.key").unlink()
    assert "ca.key" in refused(fed, request)


def test_a_certificate_by_request_does_not_fit_another_key(fed, ask):
    old = (fed / "north" / "node.key").read_bytes()
    sign(fed, ask())
    (fed / "north" / "node.key").write_bytes(old)
    with pytest.raises(IdentityError, match="another key"):
        identity(fed / "north")
