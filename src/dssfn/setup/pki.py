"""A small certificate authority, and the certificates that it signs.

A certificate binds a key to a node's name; whoever holds the key is that node. Nodes
trust what one of their authorities has signed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dssfn._atomic import write_atomically
from dssfn.errors import IdentityError, InputError
from dssfn.node.identity import read_pem
from dssfn.node.verification import (  # says what to install
    USES,
    PublicKey,
    certificates_in,
    check_pair,
    day,
    is_authority,
)
from dssfn.node_names import check_node_name

# isort: split
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

NODE_DAYS = 825  # the longest that common TLS libraries accept of a server
AUTHORITY_DAYS = 3650

_LONGEST_COMMON_NAME = 64  # X.520
_CLOCK_SKEW = timedelta(hours=1)
_LATEST = datetime(9999, 12, 31, tzinfo=UTC)  # a certificate can hold no later date


@dataclass(frozen=True, slots=True)
class Credential:
    """A certificate with its key, both as PEM."""

    certificate_pem: bytes
    key_pem: bytes = field(repr=False)

    def write(self, certificate: Path, key: Path) -> None:
        """Write both to files; nobody but the owner can read the key's."""
        write_atomically(key, self.key_pem, private=True)
        write_atomically(certificate, self.certificate_pem)

    @property
    def expires(self) -> datetime:
        """The end of the certificate's validity."""
        return expiry(self.certificate_pem)


def expiry(certificate_pem: bytes) -> datetime:
    """Return the end of a certificate's validity, in UTC."""
    return x509.load_pem_x509_certificate(certificate_pem).not_valid_after_utc


def make_authority(
    name: str, *, days: int = AUTHORITY_DAYS, now: datetime | None = None
) -> Credential:
    """Return a new certificate authority, which signs itself.

    Parameters
    ----------
    name : str
        What people call it; cut after 64 characters.
    days : int
        How long it is valid.
    now : datetime, optional
        The start of its validity, less an hour for clocks that are behind.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _common_name(name[:_LONGEST_COMMON_NAME])
    builder = _valid_for(days, now).subject_name(subject).issuer_name(subject)
    builder = (
        builder.public_key(key.public_key())
        # It signs nodes, and no other authorities.
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(_key_id(key.public_key()), critical=False)
    )
    return _credential(_pem(builder.sign(key, hashes.SHA256())), key)


def issue(
    authority: Credential,
    name: str,
    *,
    days: int = NODE_DAYS,
    now: datetime | None = None,
) -> Credential:
    """Return a new key and certificate for one node, for both ends of a connection.

    Parameters
    ----------
    authority : Credential
        The authority, as `make_authority` returns it.
    name : str
        The node's name in the plan.
    days : int
        How long it is valid, but never longer than the authority.
    now : datetime, optional
        The start of its validity, less an hour for clocks that are behind.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = certify(authority, name, key.public_key(), days=days, now=now)
    return _credential(certificate, key)


def certify(
    authority: Credential,
    name: str,
    public_key: PublicKey,
    *,
    days: int = NODE_DAYS,
    now: datetime | None = None,
) -> bytes:
    """Return a certificate as PEM for a key that the node made itself.

    Parameters
    ----------
    authority, name, days, now
        As for `issue`.
    public_key : PublicKey
        The node's public key. All else in the certificate is decided here.
    """
    check_node_name("The `name` in a certificate", name)
    signer = x509.load_pem_x509_certificate(authority.certificate_pem)
    signing_key = _signing_key(authority)
    builder = _valid_for(days, now, until=signer.not_valid_after_utc)
    subject = subject_of(name)
    # A name too long for the subject is in the other field alone, then critical.
    is_alone = not list(subject)
    builder = (
        builder.subject_name(subject)
        .issuer_name(signer.subject)
        .public_key(public_key)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), is_alone)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([oid for oid, _ in USES]), critical=False)
        .add_extension(_key_id(public_key), critical=False)
        .add_extension(_authority_key_id(signing_key), critical=False)
    )
    return _pem(builder.sign(signing_key, hashes.SHA256()))


def sign_list(
    authority: Credential,
    revoked: Iterable[x509.RevokedCertificate],
    *,
    days: int | None = None,
    now: datetime | None = None,
) -> bytes:
    """Return a list of revoked certificates (an X.509 CRL) as PEM.

    Parameters
    ----------
    authority : Credential
        The authority that signs the list and has signed the certificates.
    revoked : iterable of x509.RevokedCertificate
        All that count no more.
    days : int, optional
        How long the list is valid; by default, and at the most, as the authority.
    now : datetime, optional
        The start of its validity, less an hour for clocks that are behind.
    """
    signer = x509.load_pem_x509_certificate(authority.certificate_pem)
    key = _signing_key(authority)
    start, end = _period(days, now, signer.not_valid_after_utc)
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(signer.subject)
        .last_update(start)
        .next_update(end)
        # Numbers must rise from list to list, and time does.
        .add_extension(x509.CRLNumber(time.time_ns()), critical=False)
        .add_extension(_authority_key_id(key), critical=False)
    )
    for one in revoked:
        builder = builder.add_revoked_certificate(one)
    made = builder.sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM)


def _signing_key(
    authority: Credential,
) -> ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey:
    key = serialization.load_pem_private_key(authority.key_pem, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey)
    return key


def _authority_key_id(
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey,
) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())


def _period(
    days: int | None, now: datetime | None, until: datetime = _LATEST
) -> tuple[datetime, datetime]:
    """Return the start and the end of a validity, which ends with its signer's."""
    if days is not None and days < 1:
        raise InputError(f"`days` must be at least 1, got {days}.")
    start = datetime.now(UTC) if now is None else now
    longest = (until - start).days
    if longest < 0:
        raise IdentityError(
            f"The authority's certificate expired on {day(until)}, so it cannot sign "
            "any more. Set up a new federation, or add a new authority."
        )
    is_cut = days is None or days > longest
    end = until if is_cut else start + timedelta(days=days or 0)
    return start - _CLOCK_SKEW, end


def _valid_for(
    days: int, now: datetime | None, until: datetime = _LATEST
) -> x509.CertificateBuilder:
    start, end = _period(days, now, until)
    return (
        x509.CertificateBuilder()
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
    )


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def subject_of(name: str) -> x509.Name:
    """Return the subject of a node's certificate; empty if the name does not fit."""
    fits = len(name) <= _LONGEST_COMMON_NAME
    return _common_name(name) if fits else x509.Name([])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _key_id(public_key: PublicKey) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(public_key)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _credential(certificate: bytes, key: ec.EllipticCurvePrivateKey) -> Credential:
    return Credential(certificate, key_as_pem(key))


def key_as_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a private key as its file holds it, without a passphrase."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def read_authority(certificate: str | Path, key: str | Path) -> Credential:
    """Return an authority that `make_authority` made, to sign more certificates."""
    certificate_pem = read_pem(certificate, "the authority's certificate")
    key_pem = read_pem(key, "the authority's key")
    own = certificates_in(certificate, certificate_pem)[0]
    if not is_authority(own):
        raise IdentityError(f"`{certificate}` must be an authority's, not a node's.")
    check_pair([own], certificate, key_pem, key)
    return Credential(certificate_pem, key_pem)
