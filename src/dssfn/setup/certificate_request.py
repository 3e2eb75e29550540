"""A request for a certificate: a node makes its key itself, and the key never leaves.

The node's organisation sends the request to whoever signs. Only the public key is taken
from it; what else it asks for is told to people, and is not given.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dssfn._atomic import make_writable, write_atomically
from dssfn.errors import IdentityError, InputError
from dssfn.node.verification import USES, PublicKey, checked_kind, what_came
from dssfn.node_names import check_node_name
from dssfn.setup.folders import KEY_FILE
from dssfn.setup.pki import key_as_pem, subject_of  # says what to install

# isort: split
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from dssfn.certificate_names import UNREADABLE

REQUEST_FILE = "node.csr"

_LABEL = "CERTIFICATE REQUEST"


@dataclass(frozen=True, slots=True)
class Request:
    """The content of a node's request.

    Parameters
    ----------
    public_key : PublicKey
        The public half of the key that the node holds, as it has proved.
    names : tuple of str
        All names that it would like to have, as they are written there.
    wishes : tuple of str
        What else it would like to have, in words.
    """

    public_key: PublicKey
    names: tuple[str, ...]
    wishes: tuple[str, ...]

    def beyond(self, name: str) -> list[str]:
        """Return all that it asks for beyond a certificate for this name alone."""
        others = dict.fromkeys(one for one in self.names if one != name)
        return [f"the name {other!r}" for other in others] + list(self.wishes)


def fingerprint(public_key: PublicKey) -> str:
    """Return a digest by which people can compare a key at two places."""
    der = public_key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return hashlib.sha256(der).hexdigest()


def in_groups(digits: str) -> str:
    """Return a fingerprint in groups of digits that can be read out.

    >>> in_groups("0123456789ab")
    '0123 4567 89ab'
    """
    return " ".join(digits[k : k + 4] for k in range(0, len(digits), 4))


# --- at the node ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NewRequest:
    """The files that `write_request` made, and the fingerprint of the key."""

    key: Path
    request: Path
    fingerprint: str


def write_request(name: str, folder: str | Path) -> NewRequest:
    """Make a key and a request for its certificate; nothing is ever overwritten.

    Parameters
    ----------
    name : str
        The node's name in the plan.
    folder : str or Path
        Where both files go; it is made if there is none.
    """
    check_node_name("`NAME`", name)
    path = Path(folder)
    files = path / KEY_FILE, path / REQUEST_FILE
    for file in files:
        if os.path.lexists(file):
            raise InputError(
                f"`{file}` exists already, and nothing is ever overwritten. Move it "
                "away, or choose another folder with `--out`."
            )
    make_writable(path, "--out", private=True)
    key = ec.generate_private_key(ec.SECP256R1())
    _write_new(files[0], key_as_pem(key))
    try:
        write_atomically(files[1], _request(name, key))
    except BaseException:  # a key without a request is of no use, and is in the way
        files[0].unlink()
        raise
    return NewRequest(*files, fingerprint(key.public_key()))


def _write_new(path: Path, content: bytes) -> None:
    """Write a new file that its owner alone can read; it must not exist yet."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _request(name: str, key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a request for any authority, also one that takes names from requests."""
    builder = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(subject_of(name))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), False)
        .add_extension(x509.ExtendedKeyUsage([oid for oid, _ in USES]), False)
    )
    made = builder.sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM)


# --- where it is signed -----------------------------------------------------------


def read_request(path: str | Path) -> Request:
    """Read a request, and verify that whoever made it holds the key.

    Raises
    ------
    IdentityError
        The file is missing, damaged or something else; its signature is not by its own
        key; or the key is of a kind that TLS does not take.
    """
    pem = _read(path)
    try:
        request = x509.load_pem_x509_csr(pem)
        is_own = request.is_signature_valid
        public_key = request.public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm) as exc:
        raise IdentityError(
            f"`{path}` must hold a certificate request as PEM, with a line "
            f"'-----BEGIN {_LABEL}-----', but {what_came(pem, _LABEL, 'req')}."
        ) from exc
    if not is_own:
        raise IdentityError(
            f"The request `{path}` must be signed by its own key, but is not: it was "
            "altered, or made by someone who does not hold the key. Ask for a new "
            "one."
        )
    key = checked_kind(public_key, f"The key of the request `{path}`")
    try:
        common = request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        names = [str(one.value) for one in common]
        wishes: list[str] = []
        for extension in request.extensions:
            names += _names(extension.value)
            wishes += _wishes(extension.value)
    except UNREADABLE:
        names, wishes = [], ["names or extensions that cannot be read"]
    return Request(key, tuple(names), tuple(wishes))


def _read(path: str | Path) -> bytes:
    try:
        pem = Path(path).read_bytes()
    except OSError as exc:
        raise IdentityError(
            f"`{path}` must be a certificate request, but cannot be read: "
            f"{exc.strerror}. `dssfn node request` creates one, at the node."
        ) from exc
    if b"PRIVATE KEY-----" in pem:
        raise IdentityError(
            f"`{path}` must hold only a request, but holds a private key, which must "
            "never leave its node. Let the node create a new key and a new request."
        )
    return pem


def _names(extension: x509.ExtensionType) -> list[str]:
    if not isinstance(extension, x509.SubjectAlternativeName):
        return []
    return [str(getattr(one, "value", one)) for one in extension]


def _wishes(extension: x509.ExtensionType) -> Iterator[str]:
    """Yield what an extension asks for that no node needs, in words."""
    if isinstance(extension, x509.BasicConstraints):
        if extension.ca:
            yield "to be an authority (CA:TRUE)"
    elif isinstance(extension, x509.KeyUsage):
        if extension.key_cert_sign or extension.crl_sign:
            yield "to sign certificates (keyUsage)"
    elif isinstance(extension, x509.ExtendedKeyUsage):
        known = [oid for oid, _ in USES]
        others = [oid.dotted_string for oid in extension if oid not in known]
        yield from (f"the use {one}" for one in others)
    elif not isinstance(
        extension, x509.SubjectAlternativeName | x509.SubjectKeyIdentifier
    ):
        yield f"the extension {extension.oid.dotted_string}"
