"""The server of a status page: nobody can make it, or the node, wait."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection

import pytest

from dssfn.errors import TransportError
from dssfn.node import page_server
from dssfn.node.page import Rendering, StatusPages
from dssfn.node.page_server import (
    LONGEST_REQUEST,
    MOST_CONNECTIONS,
    PagePort,
    open_port,
    open_to_others,
    serve_page,
)
from tests.support.lab import free_port
from tests.support.status_sample import sample_status

REQUEST = b"GET /status.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
PROMPT = 3.0  # seconds: far below the patience with a client that says nothing


@contextmanager
def served(source=sample_status, page="<p>here</p>"):
    number = free_port()
    rendering = Rendering(lambda status: page, "default-src 'none'")
    pages = StatusPages(source, "127.0.0.1", rendering)
    with serve_page(open_port(f"127.0.0.1:{number}"), pages):
        yield number


def connected(port):
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def answered(port, request=REQUEST):
    with connected(port) as client:
        client.sendall(request)
        return _all_of(client)


def _all_of(client):
    parts = []
    with suppress(ConnectionResetError):
        while part := client.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def test_a_browser_is_told_to_load_run_share_and_keep_nothing():
    with served() as port:
        connection = HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.read() == b"<p>here</p>"
        connection.close()
    heads = {name.lower(): value for name, value in answer.getheaders()}
    assert heads["content-security-policy"] == "default-src 'none'"
    assert heads["cross-origin-resource-policy"] == "same-origin"
    assert heads["x-frame-options"] == "DENY"
    assert heads["x-content-type-options"] == "nosniff"
    assert heads["cache-control"] == "no-store"
    assert not [name for name in heads if name.startswith("access-control")]


def test_a_head_has_no_body():
    with served() as port:
        whole = answered(port)
        head = answered(port, REQUEST.replace(b"GET", b"HEAD"))
    assert whole.startswith(head)
    assert head.endswith(b"\r\n\r\n")
    assert len(whole) > len(head)


def test_a_large_page_arrives_whole():
    page = "x" * 5_000_000  # more than any buffer of a socket
    with served(page=page) as port:
        got = answered(port, REQUEST.replace(b"/status.json", b"/"))
    assert got.endswith(page.encode())


def test_a_long_request_is_not_read():
    with served() as port:
        long = b"GET / HTTP/1.1\r\nX: " + b"x" * (1000 * LONGEST_REQUEST)
        with connected(port) as client, suppress(OSError):
            client.sendall(long)  # it is cut off on the way
        assert answered(port, long[: 2 * LONGEST_REQUEST]) == b""
        assert b"200 OK" in answered(port)


def test_more_connections_than_some_are_closed_at_once_and_places_come_back():
    with served() as port:
        with ExitStack() as clients:
            for _ in range(MOST_CONNECTIONS):
                clients.enter_context(connected(port))
            assert answered(port) == b""
        until_answered(port)


def until_answered(port, seconds=20):
    end = time.monotonic() + seconds
    while b"200 OK" not in answered(port):
        assert time.monotonic() < end


def test_who_sends_slowly_is_hung_up_on(monkeypatch):
    monkeypatch.setattr(page_server, "PATIENCE", 0.3)
    with served() as port, connected(port) as client:
        began = time.monotonic()
        with suppress(OSError):
            for _ in range(100):  # one letter at a time does not help
                client.sendall(b"G")
                time.sleep(0.05)
        assert _all_of(client) == b""
        assert time.monotonic() - began < PROMPT


def test_who_does_not_read_makes_room_for_others(monkeypatch):
    monkeypatch.setattr(page_server, "PATIENCE", 0.3)
    with served(page="x" * 50_000_000) as port, ExitStack() as clients:
        for _ in range(MOST_CONNECTIONS):
            client = clients.enter_context(connected(port))
            client.sendall(REQUEST.replace(b"/status.json", b"/"))
        until_answered(port)


def test_the_node_does_not_wait_for_clients_at_its_end():
    with ExitStack() as clients:
        with served(page="x" * 50_000_000) as port:
            for _ in range(3):
                clients.enter_context(connected(port))
            reader = clients.enter_context(connected(port))
            reader.sendall(REQUEST.replace(b"/status.json", b"/"))
            reader.recv(10)
            began = time.monotonic()
        assert time.monotonic() - began < PROMPT
        names = {thread.name for thread in threading.enumerate()}
        assert "status page" not in names
        with pytest.raises(OSError, match="refused"):
            connected(port)


def test_a_fault_is_answered_and_stays_where_it_is():
    def broken():
        raise ZeroDivisionError("planted-marker-0815")

    with served(broken) as port:
        for _ in range(2):
            answer = answered(port)
            assert b"500 Internal Server Error" in answer
            assert b"planted" not in answer


def test_an_address_that_is_taken_or_wrong_is_refused_in_a_sentence():
    number = free_port()
    with (
        socket.create_server(("127.0.0.1", number)),
        pytest.raises(TransportError, match=f"`page`: 127.0.0.1:{number} cannot"),
    ):
        open_port(f"127.0.0.1:{number}")
    for address in ("192.0.2.1:9401", "no-such-host.invalid:9401"):
        with pytest.raises(TransportError, match="choose another address"):
            PagePort(address, None)


@pytest.mark.parametrize(("host", "warns"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_an_address_that_others_reach_is_warned_of(host, warns):
    with open_port(f"{host}:{free_port()}") as port:
        told = list(open_to_others(port))
    assert bool(told) == warns
    assert all("without a password" in line for line in told)


def test_no_address_means_no_page():
    port = PagePort(None, None)
    assert list(port.warnings()) == []
    with port.serve(sample_status):
        pass
    port.close()
