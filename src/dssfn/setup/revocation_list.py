"""The federation's list of revoked certificates, which its authority signs.

The list only grows. Every node compares what others show with its copy of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dssfn._atomic import write_atomically
from dssfn.errors import IdentityError, InputError
from dssfn.node.identity import read_pem
from dssfn.node.revocation import read_revocations
from dssfn.node.verification import certificates_in
from dssfn.setup.folders import CERTIFICATE_FILE, LIST_FILE, list_file
from dssfn.setup.member_certificates import authority_of, folder_of, names_of
from dssfn.setup.pki import Credential, sign_list

# isort: split
from cryptography import x509

from dssfn.certificate_names import listed, names_in


@dataclass(frozen=True, slots=True)
class Revoked:
    """What `revoke` has done.

    Parameters
    ----------
    file : Path
        The list, which goes to every organisation.
    copies : list of Path
        Where else it was put: the folders of nodes that are here.
    certificates : list of x509.Certificate
        Those that are on the list since now.
    n_revoked : int
        How many are on the list in all.
    expires : datetime
        When the list ends.
    """

    file: Path
    copies: list[Path]
    certificates: list[x509.Certificate]
    n_revoked: int
    expires: datetime


def revoke(
    folder: str | Path,
    name: str | None = None,
    *,
    certificate: str | Path | None = None,
    days: int | None = None,
) -> Revoked:
    """Revoke the certificates of a node, and sign the federation's list again.

    Parameters
    ----------
    folder : str or Path
        The federation's folder, made by `write_federation`, with the authority's key.
    name : str, optional
        A node of its plan: all certificates of it that are in its folder are revoked,
        old ones as well. Without it nobody is; the list gets a new date.
    certificate : str or Path, optional
        The one certificate to revoke instead.
    days : int, optional
        How long the list is valid; by default as long as the authority.
    """
    path = Path(folder)
    names = names_of(path)
    authority = authority_of(path)
    found = []
    if name is not None:
        own = folder_of(path, name)
        files = [Path(certificate)] if certificate else _issued(own)
        found = [_own(file, name, authority) for file in files]
    elif certificate is not None:
        raise InputError(
            "`--certificate` must come with `NAME`, the node that it belongs to."
        )
    old = _entries_of(list_file(path), authority)
    known = {one.serial_number for one in old}
    new = {one.serial_number: one for one in found if one.serial_number not in known}
    entries = [*old, *map(_entry, new)]
    pem = sign_list(authority, entries, days=days)
    copies = [path / one / LIST_FILE for one in names if (path / one).is_dir()]
    for file in (list_file(path), *copies):
        write_atomically(file, pem)
    ends = x509.load_pem_x509_crl(pem).next_update_utc
    assert ends is not None  # `sign_list` gives every list an end
    return Revoked(list_file(path), copies, list(new.values()), len(entries), ends)


def _issued(folder: Path) -> list[Path]:
    files = sorted(folder.glob(f"{CERTIFICATE_FILE}*"))
    if not files:
        raise InputError(
            f"`{folder}` must hold the certificates to revoke, but has no "
            f"{CERTIFICATE_FILE}. Give a certificate with `--certificate`."
        )
    return files


def _own(file: Path, name: str, authority: Credential) -> x509.Certificate:
    """Return a certificate of a node, which this authority must have signed."""
    found = certificates_in(file, read_pem(file, "the node's certificate"))[0]
    signer = x509.load_pem_x509_certificate(authority.certificate_pem)
    if found.issuer != signer.subject:
        raise IdentityError(
            f"`{file}` must be a certificate signed by this federation's authority, "
            f"but it was signed by `{found.issuer.rfc4514_string()}`. Only that "
            "authority can revoke it, with a list of its own."
        )
    names = names_in(found, f"`{file}`")
    if name not in names:
        raise IdentityError(
            f"`{file}` must be a certificate of {name}, but is for {listed(names)}. "
            "Give the right file, or name that node."
        )
    return found


def _entries_of(file: Path, authority: Credential) -> list[x509.RevokedCertificate]:
    """Return what is on a list that this authority has signed before."""
    if not file.exists():
        return []
    pem = file.read_bytes()
    roots = [x509.load_pem_x509_certificate(authority.certificate_pem)]
    read_revocations(file, pem, roots, "ca.crt", at_any_time=True)
    return list(x509.load_pem_x509_crl(pem))


def _entry(serial: int) -> x509.RevokedCertificate:
    builder = x509.RevokedCertificateBuilder().serial_number(serial)
    return builder.revocation_date(datetime.now(UTC)).build()
