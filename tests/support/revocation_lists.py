"""Lists of revoked certificates as any authority might make them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from dssfn.setup.pki import Credential

NOW = datetime.now(UTC).replace(microsecond=0)


def loaded(credential):
    return x509.load_pem_x509_certificate(credential.certificate_pem)


def list_of(
    authority: Credential,
    *revoked: Credential,
    start=NOW - timedelta(hours=1),
    end=NOW + timedelta(days=99),
    extensions=(),
    entry_extensions=(),
    key=None,
) -> bytes:
    """A list by an authority, or in its name by another key."""
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(loaded(authority).subject)
        .last_update(start).next_update(end)
    )  # fmt: skip
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    for one in revoked:
        entry = x509.RevokedCertificateBuilder(loaded(one).serial_number, NOW)
        for extension, critical in entry_extensions:
            entry = entry.add_extension(extension, critical)
        builder = builder.add_revoked_certificate(entry.build())
    pem = (key or authority).key_pem
    signing_key = serialization.load_pem_private_key(pem, None)
    made = builder.sign(signing_key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM)
