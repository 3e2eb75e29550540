"""An identity whose files may be replaced while the node runs.

How this works. Certificates may be short-lived, and keys and lists of revoked ones
change. So a node looks at its files again at every new connection, with every sign of
life, and before it signs. What is there is verified as it is at the start; if it
cannot be used, as between the moments when a certificate and its key are replaced, the
node goes on with what it had, and says so once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from dssfn.errors import IdentityError
from dssfn.node.identity import Identity, read_identity, read_revoked
from dssfn.node.verification import day

log = logging.getLogger("dssfn.node")

TRY_AGAIN = 60.0  # seconds until files that cannot be used are looked at again
_PAIR, _LIST = "certificate, key or authorities", "revocation list"


class Keyring(Protocol):
    """Whoever knows a node's identity, which may be renewed while the node runs."""

    def current(self) -> Identity:
        """Return the identity to use from now on."""


class RenewableIdentity:
    """A node's identity, read again when its files have changed.

    Parameters
    ----------
    certificate, key, authorities : str
        PEM files, as for `read_identity`.
    name : str
        The node's name.
    revoked : str, optional
        A PEM file with lists of revoked certificates.

    Raises
    ------
    IdentityError
        If the files cannot be used when they are first read, or the node's own
        certificate was revoked.
    """

    def __init__(
        self,
        certificate: str,
        key: str,
        authorities: str,
        name: str,
        revoked: str | None = None,
    ) -> None:
        self._files = certificate, key, authorities
        self._name = name
        self._revoked = revoked
        self._lock = threading.Lock()  # many threads ask
        self._said: set[str] = set()
        # What cannot be used, by kind, and when to try again.
        self._refused: dict[str, tuple[list[bytes | None], float]] = {}
        self._seen = _contents(*self._files)
        self._seen_list = _contents(revoked)
        identity = read_identity(*self._files, name)
        lists = read_revoked(revoked, authorities, identity.authorities_pem)
        self._identity = replace(identity, revoked=lists)
        self._identity.check_usable()

    def current(self) -> Identity:
        """Return the identity to use from now on; what is wrong is logged once."""
        with self._lock:
            seen = _contents(*self._files)
            if seen != self._seen and self._take(self._new_pair, _PAIR, seen):
                self._seen = seen
            listed = _contents(self._revoked)
            # A list may have to wait for the authority that signed it.
            around = [*seen, *listed]
            if listed != self._seen_list and self._take(self._new_list, _LIST, around):
                self._seen_list = listed
            self._mind_dates()
            return self._identity

    def _take(
        self, renewed: Callable[[], Identity], what: str, seen: list[bytes | None]
    ) -> bool:
        """Use what is in the files, and return whether it could be used.

        If not, that is told once. It is tried again when a file has changed, or after
        a while: the day from which it is valid may come.
        """
        refused, again = self._refused.get(what, ([], 0.0))
        if seen == refused and time.monotonic() < again:
            return False
        try:
            self._identity = renewed()
        except IdentityError as exc:
            self._refused[what] = seen, time.monotonic() + TRY_AGAIN
            if seen != refused:
                log.warning(
                    "the new %s cannot be used, so the old one stays: %s", what, exc
                )
            return False
        self._refused.pop(what, None)
        self._said.clear()
        log.info(
            "loaded a new %s: certificate valid until %s, %d revoked",
            what, day(self._identity.expires), len(self._identity.revoked.moments),
        )  # fmt: skip
        return True

    def _new_pair(self) -> Identity:
        renewed = read_identity(*self._files, self._name)
        return replace(renewed, revoked=self._identity.revoked)

    def _new_list(self) -> Identity:
        authorities = self._files[2]
        trusted = self._identity.authorities_pem
        lists = read_revoked(self._revoked, authorities, trusted)
        return replace(self._identity, revoked=lists)

    def _mind_dates(self) -> None:
        """Say once if this node, or its list, has reached its end meanwhile."""
        if fault := self._identity.fault():
            self._say(f"{fault} Replace it: it is loaded without a restart.")
        ends = self._identity.revoked.ends
        if ends is not None and datetime.now(UTC) > ends:
            self._say(
                f"The revocation list `{self._revoked}` expired on {day(ends)}. It is "
                "used until a newer one replaces it, but this node cannot be started "
                "again with it."
            )

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            log.warning("%s", text)


def _contents(*paths: str | None) -> list[bytes | None]:
    """Return what files hold; None for one that cannot be read now."""
    found: list[bytes | None] = []
    for path in paths:
        content = None
        if path is not None:
            with suppress(OSError):
                content = Path(path).read_bytes()
        found.append(content)
    return found
