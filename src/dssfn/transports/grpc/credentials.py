"""What a node shows to others, and whom it trusts."""

from __future__ import annotations

from typing import Protocol

from cryptography import x509


class Credentials(Protocol):
    """A certificate, its key, and the certificates of trusted authorities, as PEM."""

    @property
    def certificate_pem(self) -> bytes:
        """This node's certificate, and any that lead to an authority."""

    @property
    def key_pem(self) -> bytes:
        """The private key of the certificate."""

    @property
    def authorities_pem(self) -> bytes:
        """The certificates of the authorities that may vouch for other nodes."""

    def is_revoked(self, certificate: x509.Certificate) -> bool:
        """Return whether another node's certificate counts no more."""


class Keyring(Protocol):
    """Credentials that may be renewed while a node runs."""

    def current(self) -> Credentials:
        """Return the credentials for the next connection, from any thread."""
