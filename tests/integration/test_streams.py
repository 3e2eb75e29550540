"""Two ends of a stream in one process, over real sockets, with a line between them that
may be slow, and with a peer that does not read.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import grpc
import numpy as np
import pytest

from dssfn.node.identity import Identity
from dssfn.setup import pki
from dssfn.transports.base import Tag
from dssfn.transports.grpc import GrpcTransport, Neighbour, Rules, Terms
from dssfn.transports.grpc.client import Client
from dssfn.transports.grpc.streams import METHOD, SERVICE
from tests.support.intruder import Intruder, Words
from tests.support.lab import Proxy

pytestmark = pytest.mark.grpc

RUN, RANDOM, PLAN = 7, "r", b'{"plan": 1}'
AUTHORITY = pki.make_authority("streams")


def _identity(name):
    made = pki.issue(AUTHORITY, name)
    pem = AUTHORITY.certificate_pem
    return Identity(name, made.certificate_pem, made.key_pem, pem, made.expires)


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


def test_no_key_takes_up_the_room_of_another_neighbour(tmp_path):
    # Calls that say nothing, and calls with another plan whose answer is never read.
    with _listener(20.0, peers=("n1", "n2")) as node, ExitStack() as stack:
        intruder, words = _intruder(node.port, tmp_path)
        stolen = pki.issue(AUTHORITY, "n1")
        for _ in range(60):
            tls = stack.enter_context(intruder.secured(stolen))
            intruder.call_without_reading(tls, words.hello(plan=b"another"))
        for _ in range(10):
            channel = stack.enter_context(intruder.channel(stolen, "n0"))
            stack.enter_context(intruder.stalled([channel], 10))
        with _dialler(node.port, 20.0, name="n2"):
            _until(lambda: node.accounts()["n2"][1])


def test_no_word_of_a_node_that_is_dialled_reaches_the_log(caplog):
    caplog.set_level("INFO")

    async def answer(_, context):
        await context.abort(grpc.StatusCode.UNAVAILABLE, "handshake: run curl evil")

    async def serve(port):
        server = grpc.aio.server()
        handler = grpc.stream_stream_rpc_method_handler(answer)
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler}),)
        )
        mine = _identity("n0")
        port.append(
            server.add_secure_port(
                "127.0.0.1:0",
                grpc.ssl_server_credentials(
                    [(mine.key_pem, mine.certificate_pem)],
                    root_certificates=mine.authorities_pem,
                    require_client_auth=True,
                ),
            )
        )
        await server.start()
        return server

    loop, port = asyncio.new_event_loop(), []
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(serve(port), loop).result(300)
    try:
        with _dialler(port[0], 1.0) as node:
            _until(lambda: "cannot be reached" in caplog.text)
            assert "curl" not in node._by_name["n0"].trouble
        assert "curl" not in caplog.text
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(0), loop).result(300)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(300)
        loop.close()


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
    dial = Client._dial

    async def failing(self, *arguments):
        if failures:
            raise failures.pop()
        await dial(self, *arguments)

    monkeypatch.setattr(Client, "_dial", failing)
    with _listener(5.0) as a, _dialler(a.port, 5.0) as b, ThreadPoolExecutor(1) as pool:
        here = pool.submit(a.exchange, tag, {(0, 1): np.ones(1)}, [(1, 0)])
        assert b.exchange(tag, {(1, 0): np.zeros(1)}, [(0, 1)])[0, 1] == [1.0]
        assert here.result(300)[1, 0] == [0.0]
