"""Two ends of a stream in one process, over real sockets, with a line between them that
may be slow, and with a peer that does not read.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import grpc
import numpy as np
import pytest

from dssfn.node import pki
from dssfn.transports.base import Tag
from dssfn.transports.grpc import GrpcTransport, Neighbour, Rules, Terms
from tests.intruder import Intruder, Words
from tests.lab import Proxy

pytestmark = pytest.mark.grpc

RUN, RANDOM, PLAN = 7, "r", b'{"plan": 1}'
AUTHORITY = pki.make_authority("streams")


def _identity(name):
    made = pki.issue(AUTHORITY, name)
    pem = AUTHORITY.certificate_pem
    return pki.Identity(name, made.certificate_pem, made.key_pem, pem, made.expires)


def _terms(largest):
    return Terms(
        plan=PLAN,
        random=RANDOM,
        differences=lambda other: iter([("plan", PLAN, other)]),
        rules=Rules(run=RUN, largest=largest, n_layers=3),
        members=frozenset({"n0", "n1"}),
    )


@contextmanager
def _listener(deadline, largest=1000, peers=("n1",)):
    transport = GrpcTransport(
        "n0",
        [Neighbour(k + 1, name, None) for k, name in enumerate(peers)],
        _terms(largest),
        _identity("n0"),
        listen="127.0.0.1:0",
        deadline=deadline,
    )
    try:
        yield transport
    finally:
        transport.close()


@contextmanager
def _dialler(port, deadline, largest=1000, name="n1"):
    transport = GrpcTransport(
        name,
        [Neighbour(0, "n0", f"127.0.0.1:{port}")],
        _terms(largest),
        _identity(name),
        deadline=deadline,
    )
    try:
        yield transport
    finally:
        transport.close()


def test_a_letter_that_takes_longer_than_the_deadline_arrives_over_one_stream():
    # 3 MB at 1 MB/s take three seconds; signs of life are due four times a second.
    values = np.arange(375_000.0)
    tag = Tag(0, 0, 0, values.shape)
    with ExitStack() as stack:
        a = stack.enter_context(_listener(1.0, values.size))
        proxy = Proxy(a.port, rate=1e6)
        stack.callback(proxy.close)
        b = stack.enter_context(_dialler(proxy.port, 1.0, values.size))
        pool = stack.enter_context(ThreadPoolExecutor(2))
        here = pool.submit(a.exchange, tag, {(0, 1): values}, [(1, 0)])
        there = pool.submit(b.exchange, tag, {(1, 0): -values}, [(0, 1)])
        assert (here.result(300)[1, 0] == -values).all()
        assert (there.result(300)[0, 1] == values).all()
        assert a.accounts()["n1"][0].n_connections == 1


def _intruder(port, folder):
    words = Words("n1", PLAN, RANDOM, _terms(1000).rules, 1)
    return Intruder(port, AUTHORITY.certificate_pem, folder, 1), words


def test_a_stream_that_was_never_read_leaves_nothing_behind(tmp_path):
    # The node's hello waits for room that the peer never gives, until it hangs up.
    with _listener(20.0) as node, ExitStack() as stack:
        intruder, words = _intruder(node.port, tmp_path)
        stolen = pki.issue(AUTHORITY, "n1")
        for _ in range(30):
            tls = stack.enter_context(intruder.secured(stolen))
            intruder.call_without_reading(tls, words.hello(incarnation=5))
        _until(lambda: node.accounts()["n1"][1])
        stack.close()
        _until(lambda: not node.accounts()["n1"][1])
        with intruder.channel(stolen, "n0") as channel:
            hello = words.hello(incarnation=6)  # long before the first is silent
            _until(lambda: intruder.say(channel, hello)[0] is grpc.StatusCode.OK)


def _until(condition):
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_stream_whose_first_words_are_refused_is_ended_at_once(tmp_path):
    # The node's own hello may still be on its way when the stream is given up.
    with _listener(20.0) as node:
        intruder, words = _intruder(node.port, tmp_path)
        with intruder.channel(pki.issue(AUTHORITY, "n1"), "n0") as channel:
            for _ in range(100):
                bad = words.frame(checksum=1)
                code, _ = intruder.say(channel, words.hello(incarnation=5), bad)
                assert code is grpc.StatusCode.OK
        assert node.accounts()["n1"][1] is False  # nothing is left of it


def test_a_neighbour_is_dialled_again_whatever_the_last_stream_ended_with(monkeypatch):
    tag, failures = Tag(0, 0, 0, (1,)), [ValueError("x"), asyncio.CancelledError()]
    dial = GrpcTransport._dial

    async def failing(self, *arguments):
        if failures:
            raise failures.pop()
        await dial(self, *arguments)

    monkeypatch.setattr(GrpcTransport, "_dial", failing)
    with _listener(5.0) as a, _dialler(a.port, 5.0) as b, ThreadPoolExecutor(1) as pool:
        here = pool.submit(a.exchange, tag, {(0, 1): np.ones(1)}, [(1, 0)])
        assert b.exchange(tag, {(1, 0): np.zeros(1)}, [(0, 1)])[0, 1] == [1.0]
        assert here.result(300)[1, 0] == [0.0]
