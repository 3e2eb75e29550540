"""The names that a certificate carries: each must be a name that a node may have.

A TLS library may take a certificate for north's that says `NORTH`, `north.`, `*`, has
nothing but a common name, or says `north` followed by a NUL byte and more. Here such a
certificate belongs to nobody, at either end of a connection and in a node's own files.
"""

from __future__ import annotations

from collections.abc import Sequence

from cryptography import x509
from cryptography.x509.oid import NameOID

from dssfn.errors import IdentityError
from dssfn.node_names import LONGEST_NAME, is_node_name

# What cryptography raises for names or extensions that do not follow X.509.
UNREADABLE = ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType

_MOST_SHOWN = 8


def names_in(certificate: x509.Certificate, what: str) -> list[str]:
    """Return the DNS names of a certificate, which must all be names of nodes.

    Parameters
    ----------
    certificate : x509.Certificate
        The certificate whose names are read.
    what : str
        Which certificate it is, for the message.

    Raises
    ------
    IdentityError
        A name breaks the rule for nodes, or is no DNS name (subjectAltName); the common
        name, where there is one, is none of them; or there is no name at all.
    """
    try:
        kinds = _alternative_names(certificate)
        subject = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    except UNREADABLE as exc:
        raise IdentityError(
            f"{what} must follow X.509, but its names do not: {exc}. Have it reissued."
        ) from exc
    names = [one.value for one in kinds if isinstance(one, x509.DNSName)]
    odd = [repr(name) for name in names if not is_node_name(name)]
    odd += [_kind(one) for one in kinds if not isinstance(one, x509.DNSName)]
    odd += [
        f"the common name {one.value!r}"
        for one in subject
        if names and one.value not in names
    ]
    if odd or not names:
        came = listed(odd) or "no DNS name at all"
        raise IdentityError(
            f"{what} must carry the node's name as a DNS name (subjectAltName), and "
            f"no name that is not a node's, but carries {came}. Have it reissued; see "
            "docs/certificates.md."
        )
    return names


def _alternative_names(certificate: x509.Certificate) -> list[x509.GeneralName]:
    try:
        found = certificate.extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        )
    except x509.ExtensionNotFound:
        return []
    return list(found.value)


def _kind(name: x509.GeneralName) -> str:
    return f"a name of another kind ({type(name).__name__})"


def listed(names: Sequence[str]) -> str:
    """Return some names as a message shows them: not too many, none too long."""
    some = [
        name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + ".."
        for name in names[:_MOST_SHOWN]
    ]
    more = len(names) - len(some)
    return ", ".join(some) + (f" and {more} more" if more else "")
