"""Lists of certificates that count no more (X.509 CRLs), signed by their authorities.

gRPC does not look at such lists, so nodes compare certificates with them themselves. A
list that cannot be trusted is refused as a whole: what it leaves out would count.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dssfn.errors import IdentityError
from dssfn.node.verification import WARN_DAYS, day, is_authority, what_came

# isort: split
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

from dssfn.certificate_names import UNREADABLE

_LABEL = "X509 CRL"
_BLOCK = re.compile(rb"-----BEGIN X509 CRL-----.*?-----END X509 CRL-----", re.DOTALL)
_RENEW = "`dssfn federation revoke`, or the authority that signed it, issues a new one"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Revocations:
    """Certificates that count no more.

    Parameters
    ----------
    moments : mapping
        When each was revoked, by the name of its authority and its serial number.
    ends : datetime, optional
        When the first of the lists ends; None if none of them does.
    """

    moments: Mapping[tuple[x509.Name, int], datetime] = field(default_factory=dict)
    ends: datetime | None = None

    def __contains__(self, certificate: x509.Certificate) -> bool:
        """Return whether a certificate was revoked."""
        return self.moment_of(certificate) is not None

    def moment_of(self, certificate: x509.Certificate) -> datetime | None:
        """Return when a certificate was revoked; None if it was not."""
        return self.moments.get((certificate.issuer, certificate.serial_number))


NOTHING_REVOKED = Revocations()


def read_revocations(
    path: str | Path,
    pem: bytes,
    roots: Sequence[x509.Certificate],
    authorities: str | Path,
    *,
    at_any_time: bool = False,
) -> Revocations:
    """Return what the lists of a PEM file say; each must be trusted and up to date.

    Parameters
    ----------
    path : str or Path
        The file, for the messages.
    pem : bytes
        Its content: one list at least, of any of the authorities.
    roots : sequence of x509.Certificate
        The authorities, which must have signed the lists.
    authorities : str or Path
        Their file, for the messages.
    at_any_time : bool
        Whether a list may have ended, as before it is replaced by a newer one.

    Raises
    ------
    IdentityError
        A list is missing, damaged, out of date, signed by nobody who may, or of a kind
        that does not name all revoked certificates of its authority.
    """
    moments: dict[tuple[x509.Name, int], datetime] = {}
    ends = []
    for revoked in _lists_in(path, pem):
        _check_signer(revoked, path, roots, authorities)
        if not at_any_time:
            _check_dates(revoked, path)
        moments |= _entries(revoked, path)
        if revoked.next_update_utc is not None:
            ends.append(revoked.next_update_utc)
    return Revocations(moments, min(ends, default=None))


def _lists_in(path: str | Path, pem: bytes) -> list[x509.CertificateRevocationList]:
    try:
        found = [_parsed(block) for block in _BLOCK.findall(pem)]
    except (ValueError, TypeError, x509.InvalidVersion):
        found = []
    if len(found) != pem.count(b"-----BEGIN X509 CRL-----") or not found:
        raise IdentityError(
            f"`{path}` must hold a revocation list (CRL) as PEM, with a line "
            f"'-----BEGIN {_LABEL}-----', but {what_came(pem, _LABEL, 'crl')}."
        )
    return found


def _parsed(pem: bytes) -> x509.CertificateRevocationList:
    """Return a list whose name and dates can be read: they are parsed late."""
    revoked = x509.load_pem_x509_crl(pem)
    _ = revoked.issuer, revoked.last_update_utc, revoked.next_update_utc
    return revoked


def _check_signer(
    revoked: x509.CertificateRevocationList,
    path: str | Path,
    roots: Sequence[x509.Certificate],
    authorities: str | Path,
) -> None:
    if any(_has_signed(one, revoked) for one in roots):
        return
    issuer = revoked.issuer.rfc4514_string() or "no name"
    known = [one for one in roots if one.subject == revoked.issuer]
    why = (
        "its signature is not by that authority's key, or that authority may not sign "
        "lists"
        if known
        else "that is not one of them"
    )
    raise IdentityError(
        f"The revocation list `{path}` must be signed by an authority in "
        f"`{authorities}`, but it is in the name of `{issuer}`, and {why}. Get the "
        "list from the federation's organiser, over a channel that you trust."
    )


def _has_signed(
    authority: x509.Certificate, revoked: x509.CertificateRevocationList
) -> bool:
    if authority.subject != revoked.issuer or not is_authority(authority):
        return False
    try:
        usage = authority.extensions.get_extension_for_class(x509.KeyUsage).value
        may_sign = usage.crl_sign
    except x509.ExtensionNotFound:
        may_sign = True
    except UNREADABLE:
        return False
    try:
        # Other kinds of keys make a TypeError, and are no node's authority.
        return may_sign and revoked.is_signature_valid(authority.public_key())  # type: ignore[arg-type]
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return False


def _check_dates(revoked: x509.CertificateRevocationList, path: str | Path) -> None:
    now = datetime.now(UTC)
    start, end = revoked.last_update_utc, revoked.next_update_utc
    if end is not None and now > end:
        raise IdentityError(
            f"The revocation list `{path}` expired on {day(end)}; it is "
            f"now {day(now)}. A newer one may name more: {_RENEW}."
        )
    if now < start:
        raise IdentityError(
            f"The revocation list `{path}` is not valid before {day(start)}; it is "
            f"now {day(now)}. Wait, or correct this machine's clock."
        )
    if end is not None and end - now < timedelta(days=WARN_DAYS):
        _log.warning(
            "The revocation list `%s` expires on %s. Get a newer one in time: %s.",
            path, day(end), _RENEW,
        )  # fmt: skip


def _entries(
    revoked: x509.CertificateRevocationList, path: str | Path
) -> dict[tuple[x509.Name, int], datetime]:
    try:
        beyond = list(_beyond(revoked))
        found = {
            (revoked.issuer, one.serial_number): one.revocation_date_utc
            for one in revoked
        }
    except UNREADABLE as exc:
        raise IdentityError(
            f"The revocation list `{path}` must follow X.509, but does not: {exc}. "
            "Have it reissued."
        ) from exc
    if beyond:
        raise IdentityError(
            f"The revocation list `{path}` must be a full list of one authority's own "
            f"certificates, but it {beyond[0]}. Ask the authority for a full list."
        )
    return found


def _beyond(revoked: x509.CertificateRevocationList) -> Iterator[str]:
    """Yield what a list says that would change the meaning of its entries, in words."""
    for extension in revoked.extensions:
        value = extension.value
        if isinstance(value, x509.IssuingDistributionPoint):
            if value.indirect_crl:
                yield "also covers other authorities (indirectCRL)"
            elif (
                value.only_some_reasons
                or value.only_contains_ca_certs
                or value.only_contains_attribute_certs
            ):
                yield "leaves some certificates out (issuingDistributionPoint)"
        elif isinstance(value, x509.DeltaCRLIndicator):
            yield "holds only changes (deltaCRLIndicator)"
        elif extension.critical:
            yield f"has a critical extension {extension.oid.dotted_string}"
    for one in revoked:
        for entry in one.extensions:
            if entry.critical:
                yield f"has an entry with a critical {entry.oid.dotted_string}"
