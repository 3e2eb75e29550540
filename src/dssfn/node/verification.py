"""The rules that a node's certificate must keep, one function each.

Each of them takes the file's name for its error message. Other modules import
this one before the package cryptography, so that a missing package is reported here.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias, TypeVar

from dssfn.errors import IdentityError, InputError

try:
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.x509.oid import ExtendedKeyUsageOID
except ImportError as exc:  # pragma: no cover
    raise InputError(
        "Certificates need the package cryptography. Install it with: "
        "pip install 'dssfn[grpc]'"
    ) from exc

from dssfn.certificate_names import UNREADABLE, listed, names_in

WARN_DAYS = 14  # before a certificate ends
USES = (
    (ExtendedKeyUsageOID.CLIENT_AUTH, "clientAuth"),
    (ExtendedKeyUsageOID.SERVER_AUTH, "serverAuth"),
)

# What gRPC takes; with other keys its handshake fails and says little.
_CURVES = (ec.SECP256R1, ec.SECP384R1)
_LEAST_RSA_BITS = 2048
_RENEW = "`dssfn federation certificate` or `sign`, or your own authority"

PublicKey: TypeAlias = ec.EllipticCurvePublicKey | rsa.RSAPublicKey

_Kind = TypeVar("_Kind", bound=x509.ExtensionType)

_log = logging.getLogger(__name__)


def certificates_in(path: str | Path, pem: bytes) -> list[x509.Certificate]:
    """Return all certificates of a PEM file; there must be one at least."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except (ValueError, x509.InvalidVersion) as exc:
        raise IdentityError(
            f"`{path}` must hold a certificate as PEM, with a line '-----BEGIN "
            f"CERTIFICATE-----', but {what_came(pem, 'CERTIFICATE', 'x509')}."
        ) from exc


def what_came(pem: bytes, wanted: str, tool: str) -> str:
    """Return what a file holds instead of what it should, and what to do.

    Parameters
    ----------
    pem : bytes
        The file's content.
    wanted : str
        The kind of content, as a line of PEM calls it.
    tool : str
        The command of openssl that reads it.
    """
    if b"PRIVATE KEY-----" in pem:
        return "it holds a private key, which belongs in a file of its own"
    if f"-----BEGIN {wanted}-----".encode() in pem:
        return "the one in it is damaged; copy the file again"
    if b"CERTIFICATE REQUEST-----" in pem:
        return "it holds a request; have your authority sign it"
    if b"-----BEGIN CERTIFICATE-----" in pem:
        return "it holds a certificate, which is already signed"
    if pem[:1] == b"\x30":
        return f"it seems to be DER; `openssl {tool} -inform der -in FILE` converts it"
    return "it is empty" if not pem.strip() else "it holds something else"


def check_pair(
    chain: Sequence[x509.Certificate],
    certificate: str | Path,
    key_pem: bytes,
    key: str | Path,
) -> None:
    """Check that the key is of a kind that TLS takes and fits the first certificate."""
    public = public_key_of(key_pem, key)
    owners = [_public_key(one) == public for one in chain]
    if owners[0]:
        return
    if any(owners):
        raise IdentityError(
            f"`{certificate}` must begin with the node's own certificate, but that "
            f"one comes as number {owners.index(True) + 1}. Put it first."
        )
    raise IdentityError(
        f"The key `{key}` must belong to the certificate `{certificate}`, but that is "
        f"for another key. Copy both again, or create new ones together: {_RENEW}."
    )


def _public_key(certificate: x509.Certificate) -> object:
    try:
        return certificate.public_key()
    except (ValueError, UnsupportedAlgorithm):
        return None


def public_key_of(pem: bytes, path: str | Path) -> PublicKey:
    """Return the public half of a private key, which must be of a kind TLS takes."""
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except TypeError as exc:
        raise IdentityError(
            f"The key `{path}` must have no passphrase, as a node starts unattended. "
            "`openssl pkey -in FILE -out NEW` removes it; protect the file instead."
        ) from exc
    except (ValueError, UnsupportedAlgorithm) as exc:
        is_certificate = b"-----BEGIN CERTIFICATE-----" in pem
        came = "it holds a certificate" if is_certificate else "there is none"
        raise IdentityError(
            f"`{path}` must hold a private key as PEM, with a line '-----BEGIN PRIVATE "
            f"KEY-----', but {came} that can be read."
        ) from exc
    return checked_kind(key.public_key(), f"The key `{path}`")


def checked_kind(key: object, what: str) -> PublicKey:
    """Return a public key, which must be of a kind that TLS takes."""
    if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, _CURVES):
        return key
    if isinstance(key, rsa.RSAPublicKey) and key.key_size >= _LEAST_RSA_BITS:
        return key
    kind = type(key).__name__.strip("_").removesuffix("PublicKey")
    size = f" of {key.key_size} bits" if isinstance(key, rsa.RSAPublicKey) else ""
    raise IdentityError(
        f"{what} must be ECDSA on P-256 or P-384, or RSA of at least "
        f"{_LEAST_RSA_BITS} bits; got {kind}{size}. Create another key and "
        "certificate."
    )


def check_name(own: x509.Certificate, path: str | Path, name: str) -> None:
    """Check that the certificate has the node's name as a DNS name, and none odd."""
    names = names_in(own, f"The certificate `{path}`")
    if name not in names:
        raise IdentityError(
            f"The certificate `{path}` must carry the node's name {name!r} as a DNS "
            f"name (subjectAltName), but carries {listed(list(map(repr, names)))}. "
            "Correct `name` in the node's file, or get a certificate for it: "
            f"{_RENEW}."
        )


def check_dates(own: x509.Certificate, path: str | Path) -> None:
    """Check that the certificate is valid today, and warn if it ends soon."""
    now = datetime.now(UTC)
    start, end = own.not_valid_before_utc, own.not_valid_after_utc
    if now > end:
        raise IdentityError(
            f"The certificate `{path}` expired on {day(end)}; it is now {day(now)}. "
            f"Renew it: {_RENEW}."
        )
    if now < start:
        raise IdentityError(
            f"The certificate `{path}` is not valid before {day(start)}; it is now "
            f"{day(now)}. Wait, or correct this machine's clock."
        )
    if end - now < timedelta(days=WARN_DAYS):
        _log.warning(
            "The certificate `%s` expires on %s. Renew it in time: %s.",
            path, day(end), _RENEW,
        )  # fmt: skip


def check_uses(own: x509.Certificate, path: str | Path) -> None:
    """Check that the certificate is for both ends: a node both calls and answers."""
    missing = []
    uses = _extension(own, x509.ExtendedKeyUsage, path)
    if uses is not None and ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE not in uses:
        missing = [f"extendedKeyUsage {word}" for oid, word in USES if oid not in uses]
    usage = _extension(own, x509.KeyUsage, path)
    if usage is not None and not usage.digital_signature:
        missing.append("keyUsage digitalSignature")
    if missing:
        raise IdentityError(
            f"The certificate `{path}` must be for clients and servers, as a node is "
            f"both, but it lacks {' and '.join(missing)}. Ask your authority for one "
            "with clientAuth, serverAuth and digitalSignature."
        )


def check_signers(
    chain: Sequence[x509.Certificate],
    certificate: str | Path,
    roots: Sequence[x509.Certificate],
    authorities: str | Path,
) -> None:
    """Check that a chain leads from the certificate up to one of the authorities."""
    reached, doubts = [chain[0]], ""
    for current in reached:  # grows while it is walked
        for signer in (*roots, *chain[1:]):
            if signer in reached or not _signed(current, signer):
                continue
            if fault := _fault(signer):
                doubts = f" `{_subject(signer)}` {fault}."
            elif signer in roots:
                return
            else:
                reached.append(signer)
    last = reached[-1]
    if not doubts and any(one.subject == last.issuer for one in roots):
        doubts = " One of them has the same name, but another key."
    known = ", ".join(sorted({f"`{_subject(one)}`" for one in roots}))
    raise IdentityError(
        f"The certificate `{certificate}` must be signed by an authority in "
        f"`{authorities}`, which holds {known}, but `{_subject(last)}` was signed by "
        f"`{_issuer(last)}`.{doubts} Use this federation's file of authorities; "
        "intermediate certificates go after the node's own."
    )


def _signed(certificate: x509.Certificate, signer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(signer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def is_authority(certificate: x509.Certificate) -> bool:
    """Return whether a certificate says that its owner may sign others."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return False
    return found.value.ca


def _fault(signer: x509.Certificate) -> str:
    """Return why a signer does not count; empty if it does."""
    if not is_authority(signer):
        return "signed it, but is not an authority (basicConstraints)"
    now = datetime.now(UTC)
    start, end = signer.not_valid_before_utc, signer.not_valid_after_utc
    if start <= now <= end:
        return ""
    return (
        f"signed it, but is valid only from {day(start)} to {day(end)}; it is now "
        f"{day(now)}"
    )


def _extension(
    certificate: x509.Certificate, kind: type[_Kind], path: str | Path
) -> _Kind | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None
    except UNREADABLE as exc:
        raise IdentityError(
            f"The certificate `{path}` must follow X.509, but its extensions do not: "
            f"{exc}. Have it reissued."
        ) from exc


def _subject(certificate: x509.Certificate) -> str:
    return certificate.subject.rfc4514_string() or "no name"


def _issuer(certificate: x509.Certificate) -> str:
    return certificate.issuer.rfc4514_string() or "no name"


def day(moment: datetime) -> str:
    """Return a moment as messages show it."""
    return f"{moment:%Y-%m-%d %H:%M} UTC"
