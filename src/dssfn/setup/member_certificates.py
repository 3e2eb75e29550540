"""Certificates of a federation that is set up already: new ones for its nodes.

What was in a node's folder before is kept under another name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from dssfn._atomic import write_atomically
from dssfn.errors import IdentityError, PlanError
from dssfn.hints import unknown
from dssfn.node.verification import PublicKey, certificates_in, public_key_of
from dssfn.node_names import is_node_name
from dssfn.setup.certificate_request import Request, fingerprint, read_request
from dssfn.setup.folders import (
    AUTHORITY_FILE,
    CERTIFICATE_FILE,
    KEY_FILE,
    LIST_FILE,
    PLAN_FILE,
    authority_files,
    check_folder_name,
    list_file,
)
from dssfn.setup.pki import (
    NODE_DAYS,
    Credential,
    certify,
    expiry,
    issue,
    read_authority,
)
from dssfn.toml_text import PLAN, read_toml

# isort: split
from cryptography.exceptions import UnsupportedAlgorithm


@dataclass(frozen=True, slots=True)
class Renewal:
    """A node's new key and certificate, and where the old files are now.

    Parameters
    ----------
    certificate, key : Path
        The new files.
    expires : datetime
        When the new certificate ends.
    kept : list of Path
        The old certificate and key, under new names.
    """

    certificate: Path
    key: Path
    expires: datetime
    kept: list[Path]


def renew_certificate(
    folder: str | Path, name: str, *, days: int = NODE_DAYS
) -> Renewal:
    """Issue a new key and certificate for one node; the old ones are kept.

    Parameters
    ----------
    folder : str or Path
        The federation's folder, made by `write_federation`, with the authority's key.
    name : str
        A node of its plan.
    days : int
        How long the certificate is valid.
    """
    own, authority = folder_of(Path(folder), name), authority_of(Path(folder))
    credential = issue(authority, name, days=days)
    own.mkdir(mode=0o700, exist_ok=True)
    files = own / CERTIFICATE_FILE, own / KEY_FILE
    with _kept(*files) as kept:
        credential.write(*files)
        write_atomically(own / AUTHORITY_FILE, authority.certificate_pem)
        _copy_list(Path(folder), own)
    return Renewal(*files, credential.expires, kept)


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A certificate for a key that its node made itself.

    Parameters
    ----------
    certificate, authorities : Path
        The files to send to the node.
    revoked : Path, optional
        The list of revoked certificates, to send as well; None if there is none.
    expires : datetime
        When the certificate ends.
    fingerprint : str
        The fingerprint of the node's key.
    not_given : list of str
        What the request asked for in vain, in words that can be printed.
    kept : list of Path
        What was in the node's folder before, under new names.
    """

    certificate: Path
    authorities: Path
    revoked: Path | None
    expires: datetime
    fingerprint: str
    not_given: list[str]
    kept: list[Path]


def sign_request(
    folder: str | Path, name: str, request: str | Path, *, days: int = NODE_DAYS
) -> SignedRequest:
    """Sign a node's request: a certificate for its key and this one name.

    Parameters
    ----------
    folder : str or Path
        The federation's folder, made by `write_federation`, with the authority's key.
    name : str
        A node of its plan. Whatever names the request asks for, the certificate has
        this one; a request of another node is the wrong file, and refused.
    request : str or Path
        The file that the node's organisation has sent.
    days : int
        How long the certificate is valid.
    """
    own, authority = folder_of(Path(folder), name), authority_of(Path(folder))
    asked = read_request(request)
    _check_owner(Path(folder), name, request, asked)
    pem = certify(authority, name, asked.public_key, days=days)
    own.mkdir(mode=0o700, exist_ok=True)
    certificate, authorities = own / CERTIFICATE_FILE, own / AUTHORITY_FILE
    # A key that was made here belongs to the old certificate, not to the new one.
    key = own / KEY_FILE
    strange = [] if _belongs(key, asked.public_key) else [key]
    with _kept(certificate, *strange) as kept:
        write_atomically(certificate, pem)
        write_atomically(authorities, authority.certificate_pem)
        revoked = _copy_list(Path(folder), own)
        for file in strange:
            file.unlink(missing_ok=True)
    return SignedRequest(
        certificate,
        authorities,
        revoked,
        expiry(pem),
        fingerprint(asked.public_key),
        asked.beyond(name),
        kept,
    )


def _check_owner(folder: Path, name: str, request: str | Path, asked: Request) -> None:
    """Refuse a request that is plainly another node's: somebody took the wrong file."""
    for other in names_of(folder):
        certificate = folder / other / CERTIFICATE_FILE
        is_meant = other in asked.names and name not in asked.names
        if other != name and (is_meant or _certifies(certificate, asked.public_key)):
            why = "asks for its name" if is_meant else "has its key"
            raise IdentityError(
                f"`{request}` must be the request of {name}, but it belongs to "
                f"{other}: it {why}. Give the right file, or sign it for {other}."
            )


def _certifies(certificate: Path, public_key: PublicKey) -> bool:
    try:
        pem = certificate.read_bytes()
        return certificates_in(certificate, pem)[0].public_key() == public_key
    except (OSError, IdentityError, ValueError, UnsupportedAlgorithm):
        return False


def _belongs(key: Path, public_key: PublicKey) -> bool:
    try:
        return public_key_of(key.read_bytes(), key) == public_key
    except (OSError, IdentityError):
        return False


def folder_of(folder: Path, name: str) -> Path:
    """Return the folder of a node, which the federation's plan must name."""
    check_folder_name("`NAME`", name)
    names = names_of(folder)
    if name not in names:
        raise PlanError(unknown("NAME", name, names))
    return folder / name


def authority_of(folder: Path) -> Credential:
    """Return the authority that signs for the nodes of a federation."""
    return read_authority(*authority_files(folder))


def names_of(folder: Path) -> list[str]:
    """Return the nodes' names alone: the plan may still have places to fill in."""
    nodes = read_toml(folder / PLAN_FILE, PLAN).get("nodes")
    members = nodes if isinstance(nodes, list) else []
    names = [one.get("name") for one in members if isinstance(one, dict)]
    return [name for name in names if isinstance(name, str) and is_node_name(name)]


def _copy_list(folder: Path, own: Path) -> Path | None:
    """Put the federation's list into a node's folder; older federations have none."""
    file = list_file(folder)
    if not file.exists():
        return None
    write_atomically(own / LIST_FILE, file.read_bytes())
    return own / LIST_FILE


@contextmanager
def _kept(*files: Path) -> Iterator[list[Path]]:
    """Keep files under new names while others take their place; or put them back."""
    kept = _copies(*files)
    try:
        yield list(kept.values())
    except BaseException:  # a pair that does not match would be worse than the old one
        for file, copy in kept.items():
            copy.replace(file)
        raise


def _copies(*files: Path) -> dict[Path, Path]:
    """Copy the files that exist, under the first number that is free for all."""
    number = 1
    while any(_old(file, number).exists() for file in files):
        number += 1
    kept = {file: _old(file, number) for file in files if file.exists()}
    for file, copy in kept.items():
        write_atomically(copy, file.read_bytes(), private=file.name == KEY_FILE)
    return kept


def _old(file: Path, number: int) -> Path:
    return file.with_name(f"{file.name}.old-{number}")
