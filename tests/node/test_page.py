"""Who gets an answer from a status page, and what it may do with it."""

from __future__ import annotations

import ipaddress
import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.node.page import FRESH, Rendering, StatusPages
from dssfn.status import Status
from tests.support.status_sample import sample_status

STATUS = sample_status()
RENDERING = Rendering(lambda status: f"<p>{status.node}</p>", "default-src 'none'")


def pages(host="127.0.0.1", rendering=RENDERING):
    return StatusPages(lambda: STATUS, host, rendering)


def ask(path="/", *, method="GET", host="127.0.0.1:9401", pages=pages()):  # noqa: B008
    return pages.answer(f"{method} {path} HTTP/1.1\r\nHost: {host}")


def test_the_page_and_its_json_are_answered():
    assert ask("/").body == "<p>hospital-0</p>"
    answer = ask("/status.json")
    assert (answer.line, answer.kind) == ("200 OK", "application/json")
    assert msgspec.convert(json.loads(answer.body), Status) == STATUS


@pytest.mark.parametrize("path", ["/?x=1", "/status.json?from=here"])
def test_a_query_changes_nothing(path):
    assert ask(path).line == "200 OK"


@pytest.mark.parametrize(
    "path", ["/metrics", "//", "/../etc/passwd", "/%2e%2e/", "/status.json/"]
)
def test_there_is_nothing_else(path):
    assert ask(path).line == "404 Not Found"


def test_without_a_rendering_there_is_the_json_alone():
    bare = pages(rendering=None)
    assert ask("/", pages=bare).line == "404 Not Found"
    assert ask("/status.json", pages=bare).line == "200 OK"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(method):
    answer = ask(method=method)
    assert answer.line == "405 Method Not Allowed"
    assert answer.more == "Allow: GET, HEAD\r\n"


@given(st.ip_addresses(), st.integers(0, 65535))
def test_any_address_may_be_asked_by(address, port):
    host = f"[{address}]" if isinstance(address, ipaddress.IPv6Address) else address
    assert ask(host=f"{host}:{port}").line == "200 OK"


@given(st.from_regex(r"[a-z0-9-]{1,20}(\.[a-z0-9-]{1,20}){0,3}", fullmatch=True))
def test_a_name_of_somebody_else_is_refused_as_it_may_be_made_to_point_here(name):
    try:
        ipaddress.ip_address(name)
    except ValueError:
        expected = name == "localhost"
        assert (ask(host=f"{name}:9401").line == "200 OK") == expected


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:9401",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.example@127.0.0.1",
        "127.0.0.1:9401/evil.example",
        "127.0.0.1 evil.example",
        "[::1]evil.example",
        "x.localhost",
        "0x7f.1",
    ],
)
def test_hosts_that_only_look_like_this_one_are_refused(host):
    assert ask(host=host).line == "421 Misdirected Request"


def test_the_name_in_the_setting_may_be_asked_by():
    named = pages("node.hospital.example")
    assert ask(host="Node.Hospital.Example:9401", pages=named).line == "200 OK"


@pytest.mark.parametrize(
    "head",
    [
        "",
        "GET / HTTP/1.1",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nhost: evil.example",
        "GET / HTTP/2.0\r\nHost: 127.0.0.1",
        "GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1",
        "GET / HTTP/1.1 \r\nHost: 127.0.0.1",
        "get / HTTP/1.1\r\nHost: 127.0.0.1",
        "\x16\x03\x01\x02\x00\x01",
    ],
)
def test_what_is_no_request_of_a_browser_is_refused(head):
    assert pages().answer(head).line == "400 Bad Request"


@given(st.text(max_size=200))
def test_no_head_of_a_request_breaks_anything(head):
    assert pages().answer(head).line[:3] in ("400", "404", "405", "421", "200")


def test_however_many_ask_the_status_is_found_out_once_in_a_while(monkeypatch):
    asked = []
    watched = StatusPages(lambda: asked.append(1) or STATUS, "127.0.0.1", RENDERING)
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    for _ in range(100):
        ask("/", pages=watched)
    assert len(asked) == 1
    now += 1.01 * FRESH
    ask("/", pages=watched)
    assert len(asked) == 2
