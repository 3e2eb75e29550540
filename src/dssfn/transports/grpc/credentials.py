"""What a node shows to others, and whom it trusts."""

from __future__ import annotations

from typing import Protocol


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
