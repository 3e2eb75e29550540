"""The answers to those who want to see the status of a node.

How this works. However many ask, the status is found out and rendered once in half a
second. A page of somebody else in a browser on this machine must not read it. It may
send requests here, but not see answers: none of them names another origin that may. And
a name of its own that it lets point here (DNS rebinding) is in the `Host` of its
requests, which are refused: only addresses, `localhost` and the host of the setting
`page` are answered.
"""

from __future__ import annotations

import ipaddress
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from dssfn.json_text import to_json
from dssfn.status import JSON, PAGE, Status

FRESH = 0.5  # seconds for which a rendering does

_REQUEST = re.compile(r"([A-Z]+) (/[!-~]*) HTTP/1\.[01]")
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]/@]+)(?::\d{1,5})?")
_TEXT = "text/plain; charset=utf-8"


class Rendering(NamedTuple):
    """How a status becomes a page.

    Parameters
    ----------
    make : callable
        Returns the page of a status as HTML.
    policy : str
        The Content-Security-Policy under which it is shown.
    """

    make: Callable[[Status], str]
    policy: str


class Answer(NamedTuple):
    """An answer to a request: its status line, what it holds, and of which kind."""

    line: str
    body: str
    kind: str = _TEXT
    more: str = ""  # another line of the head


_BAD = Answer("400 Bad Request", "This page does not answer such requests.\n")
_MISDIRECTED = Answer(
    "421 Misdirected Request",
    "Ask for this page by an address, by localhost, or by the host of `page`.\n",
)
_UNKNOWN = Answer("404 Not Found", f"There are {PAGE} and {JSON}.\n")
_METHOD = Answer("405 Method Not Allowed", "", more="Allow: GET, HEAD\r\n")
FAILED = Answer("500 Internal Server Error", "This is a bug in dssfn.\n")


@dataclass(slots=True)
class StatusPages:
    """The answers to requests for a status.

    Parameters
    ----------
    source : callable
        Returns the status now.
    host : str
        The host of the setting `page`, by which it may be asked for.
    rendering : Rendering, optional
        Makes the page; without it there is the JSON alone.
    """

    source: Callable[[], Status]
    host: str
    rendering: Rendering | None = None
    _kept: dict[str, tuple[Answer, float]] = field(default_factory=dict)

    def answer(self, head: str) -> Answer:
        """Return the answer to the head of a request."""
        first, *fields = head.split("\r\n")
        request = _REQUEST.fullmatch(first)
        hosts = [
            value.strip()
            for name, colon, value in (field.partition(":") for field in fields)
            if colon and name.lower() == "host"
        ]
        if request is None or len(hosts) != 1:
            return _BAD
        if not self.is_for_us(hosts[0]):
            return _MISDIRECTED
        if request[1] not in ("GET", "HEAD"):
            return _METHOD
        return self._shown(request[2].partition("?")[0])

    def is_for_us(self, host: str) -> bool:
        """Return whether a request names a host that nobody else can let point here."""
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found[1].strip("[]").lower()
        return name in ("localhost", self.host.lower()) or _is_address(name)

    @property
    def policy(self) -> str:
        """The policy under which all answers are shown."""
        return self.rendering.policy if self.rendering else "default-src 'none'"

    def _shown(self, path: str) -> Answer:
        makers = {JSON: _as_json, PAGE: self._as_page}
        if path not in makers or (path == PAGE and self.rendering is None):
            return _UNKNOWN
        now = time.monotonic()
        answer, made = self._kept.get(path, (_UNKNOWN, 0.0))
        if not made or now - made > FRESH:
            answer = makers[path](self.source())
            self._kept[path] = answer, now
        return answer

    def _as_page(self, status: Status) -> Answer:
        assert self.rendering is not None
        return Answer("200 OK", self.rendering.make(status), "text/html; charset=utf-8")


def _as_json(status: Status) -> Answer:
    return Answer("200 OK", to_json(msgspec.to_builtins(status)), "application/json")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
