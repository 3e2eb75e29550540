"""A node's own identity: its certificate, its key, and the authorities it trusts.

`read_identity` finds out before anything starts what TLS would only hint at in the
middle of a handshake.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from dssfn.errors import IdentityError
from dssfn.node.revocation import NOTHING_REVOKED, Revocations, read_revocations
from dssfn.node.verification import (
    certificates_in,
    check_dates,
    check_name,
    check_pair,
    check_signers,
    check_uses,
    day,
)

# isort: split
from cryptography import x509

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Identity:
    """A node's verified name, certificate and key.

    Parameters
    ----------
    name : str
        The node's name, which its certificate carries.
    certificate_pem : bytes
        Its certificate, and those between it and an authority if there are any.
    key_pem : bytes
        Its key; never shown when this object is printed.
    authorities_pem : bytes
        The certificates of the authorities that may vouch for other nodes.
    expires : datetime
        When the certificate ends, in UTC.
    revoked : Revocations
        The certificates that count no more.
    """

    name: str
    certificate_pem: bytes = field(repr=False)
    key_pem: bytes = field(repr=False)
    authorities_pem: bytes = field(repr=False)
    expires: datetime
    revoked: Revocations = field(default=NOTHING_REVOKED, repr=False)

    def current(self) -> Identity:
        """Return this identity, which is never renewed."""
        return self

    def is_revoked(self, certificate: x509.Certificate) -> bool:
        """Return whether a certificate counts no more, as this node knows."""
        return certificate in self.revoked

    def check_usable(self) -> None:
        """Check that other nodes still take this certificate.

        Raises
        ------
        IdentityError
            It has ended since it was read, or was revoked.
        """
        if fault := self.fault():
            raise IdentityError(
                f"{fault} Replace it (see docs/certificates.md) and start this node "
                "again: it resumes from its checkpoint."
            )

    def fault(self) -> str:
        """Return why other nodes take this certificate no more; empty if they do."""
        if datetime.now(UTC) > self.expires:
            return (
                f"The certificate of {self.name} expired on {day(self.expires)}, so "
                "other nodes no longer accept it."
            )
        own = x509.load_pem_x509_certificate(self.certificate_pem)
        moment = self.revoked.moment_of(own)
        if moment is None:
            return ""
        return (
            f"The certificate of {self.name} with the serial number "
            f"{own.serial_number:x} was revoked on {day(moment)}, so other nodes no "
            "longer accept it."
        )


def read_identity(
    certificate: str | Path, key: str | Path, authorities: str | Path, name: str
) -> Identity:
    """Read a node's identity and verify it, before anything starts.

    Parameters
    ----------
    certificate : str or Path
        PEM: the node's certificate first; those between it and an authority may follow.
    key : str or Path
        PEM: its key, without a passphrase.
    authorities : str or Path
        PEM: the certificates of one or more authorities.
    name : str
        The node's name, which the certificate must carry as a DNS name.

    Raises
    ------
    IdentityError
        A file is missing or damaged, key and certificate do not belong together, the
        certificate is another node's, not valid today, not for both ends of a
        connection, or signed by none of the authorities.
    """
    certificate_pem = read_pem(certificate, "the node's certificate")
    key_pem = read_pem(key, "the node's key")
    authorities_pem = read_pem(authorities, "the authorities' certificates")
    chain = certificates_in(certificate, certificate_pem)
    roots = certificates_in(authorities, authorities_pem)
    check_pair(chain, certificate, key_pem, key)
    check_name(chain[0], certificate, name)
    check_dates(chain[0], certificate)
    check_uses(chain[0], certificate)
    check_signers(chain, certificate, roots, authorities)
    _warn_if_readable(Path(key))
    return Identity(
        name, certificate_pem, key_pem, authorities_pem, chain[0].not_valid_after_utc
    )


def read_revoked(
    revoked: str | Path | None, authorities: str | Path, authorities_pem: bytes
) -> Revocations:
    """Return the certificates that count no more, by a file of lists if there is one.

    Parameters
    ----------
    revoked : str or Path, optional
        PEM: lists of revoked certificates, each signed by one of the authorities.
    authorities, authorities_pem : str or Path, bytes
        The file of the authorities, and its content.
    """
    if revoked is None:
        return NOTHING_REVOKED
    pem = read_pem(revoked, "a revocation list")
    roots = certificates_in(authorities, authorities_pem)
    return read_revocations(revoked, pem, roots, authorities)


def read_pem(path: str | Path, what: str) -> bytes:
    """Return the content of a PEM file; `what` says what it must be."""
    try:
        return Path(path).read_bytes()
    except OSError as exc:
        raise IdentityError(
            f"`{path}` must be {what}, but cannot be read: {exc.strerror}. `dssfn "
            "federation init` creates such files; docs/certificates.md describes "
            "other ways."
        ) from exc


def _warn_if_readable(key: Path) -> None:
    if os.name == "posix" and is_open(key.stat(), os.geteuid()):
        _log.warning(
            "The private key `%s` can be read by other users of this machine. Run "
            "`chmod 600` on it.",
            key,
        )


def is_open(key: os.stat_result, user: int) -> bool:
    """Return whether a key can be used by others than this user.

    A key of root may be read by its group, as PostgreSQL has it too: so services, and
    pods in Kubernetes, are given a key that they cannot change.
    """
    of_root = key.st_uid == 0 != user
    return bool(key.st_mode & (0o037 if of_root else 0o077))
