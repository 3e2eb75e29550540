"""Certificates of other authorities, some with names that no node may have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import NameOID

from dssfn.node.identity import Identity
from dssfn.setup.pki import Credential

NOW = datetime.now(UTC).replace(microsecond=0)

# Names of a certificate that is not north's, though it may look so: DNS names and
# others in the one field, and the common name.
NOT_NORTHS = {
    "a NUL byte": (["north\0.evil.example"], None),
    "a NUL byte at the end": (["north\0"], None),
    "a NUL byte in the second name": (["north", "south\0.evil.example"], "north"),
    "a NUL byte in the common name": ([], "north\0.evil.example"),
    "a common name alone": ([], "north"),
    "another common name": (["north"], "south.evil.example"),
    "a common name with a NUL byte": (["north"], "north\0.evil.example"),
    "upper case": (["NORTH"], None),
    "a dot at the end": (["north."], None),
    "a wildcard": (["north", "*.example"], None),
    "an IP address": (["north", ip_address("127.0.0.1")], None),
    "nothing": ([], None),
}


def pem_of(key: PrivateKeyTypes) -> bytes:
    """A private key as its file holds it."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def certify(name, signer=None, *, ca=False, key=None, dns=(), uses=None, sign=True,
            start=NOW - timedelta(days=1), end=NOW + timedelta(days=99)):  # fmt: skip
    """A certificate as some other authority might make it, with its key."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer, issuer_key = subject, key
    if signer is not None:
        issuer = x509.load_pem_x509_certificate(signer.certificate_pem).subject
        issuer_key = serialization.load_pem_private_key(signer.key_pem, None)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject).issuer_name(issuer).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start).not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca, None), critical=True)
    )  # fmt: skip
    if dns:
        names = [x509.DNSName(one) for one in dns]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
    if uses:
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), False)
    if not sign:
        usage = x509.KeyUsage(False, False, True, False, False, False, False, False,
                              False)  # fmt: skip
        builder = builder.add_extension(usage, True)
    made = builder.sign(issuer_key, hashes.SHA256())
    return Credential(made.public_bytes(serialization.Encoding.PEM), pem_of(key))


def certificate_for(
    authority: Credential, names: list[object], common_name: str | None
) -> Credential:
    """What an authority signs that does not look at names, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    signer = x509.load_pem_x509_certificate(authority.certificate_pem)
    signing_key = serialization.load_pem_private_key(authority.key_pem, None)
    attributes = []
    if common_name is not None:
        attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(attributes)).issuer_name(signer.subject)
        .public_key(key.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=99))
    )  # fmt: skip
    if names:
        kinds = [
            x509.DNSName(one) if isinstance(one, str) else x509.IPAddress(one)
            for one in names
        ]
        builder = builder.add_extension(x509.SubjectAlternativeName(kinds), False)
    made = builder.sign(signing_key, hashes.SHA256())
    return Credential(made.public_bytes(serialization.Encoding.PEM), pem_of(key))


def identity_with(name: str, credential: Credential, authority: Credential) -> Identity:
    """An identity that nobody has verified."""
    return Identity(
        name,
        credential.certificate_pem,
        credential.key_pem,
        authority.certificate_pem,
        credential.expires,
    )
