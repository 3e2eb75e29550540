"""What a node shows to others, and whom it believes."""

from __future__ import annotations

from typing import Protocol


class Credentials(Protocol):
    """Certificate, key, and the certificates of those who vouch for others, as PEM."""

    @property
    def certificate_pem(self) -> bytes:
        """This node's, and any that lead to an authority."""

    @property
    def key_pem(self) -> bytes:
        """The certificate's."""

    @property
    def authorities_pem(self) -> bytes:
        """Who may vouch for other nodes."""
