"""A neighbour round over gRPC with mutual TLS against bare TLS sockets.

    python -m benchmarks.grpc_ring

Four processes on a ring swap letters of 100 KB with both neighbours, over
`GrpcTransport` and over TLS sockets that carry the same bytes and nothing else. Both
are timed in turn, some rounds at a time; the medians are compared.
"""

from __future__ import annotations

import json
import queue
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dssfn.node.identity import read_identity
from dssfn.setup import pki
from dssfn.testing import ring_links
from dssfn.transports import Reason, Tag, memory_network
from dssfn.transports.grpc import GrpcTransport, Neighbour, Rules, Terms

M, N_NUMBERS = 4, 12_500
N_BYTES = 8 * N_NUMBERS
N_TURNS, N_ROUNDS, N_WARM = 30, 20, 3


def measure_ring() -> dict[str, float]:
    """Microseconds of both, and their ratio, measured by processes of their own."""
    with tempfile.TemporaryDirectory() as folder:
        _write_certificates(Path(folder))
        ports = [str(_free_port()) for _ in range(2 * M)]
        command = [sys.executable, "-m", "benchmarks.grpc_ring", folder, *ports]
        ranks = [
            subprocess.Popen(
                [*command, str(rank)],
                cwd=Path(__file__).parents[1],
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(M)
        ]
        printed = [rank.communicate(timeout=300)[0] for rank in ranks]
    figures: dict[str, float] = json.loads(printed[0])
    return figures


def measure_memory() -> float:
    """Microseconds of a round of the same letters between threads."""
    links = ring_links(M)
    transports = memory_network([[node] for node in range(M)], links)
    value = np.zeros(N_NUMBERS)
    tag = Tag(0, 0, 0, value.shape)

    def run(node: int) -> None:
        letters = {link: value for link in links if link[0] == node}
        expected = [link for link in links if link[1] == node]
        for _ in range(1000):
            transports[node].exchange(tag, letters, expected)

    threads = [threading.Thread(target=run, args=(node,)) for node in range(M)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 1e6 * (time.perf_counter() - start) / 1000


def _write_certificates(folder: Path) -> None:
    authority = pki.make_authority("ring")
    (folder / "ca.crt").write_bytes(authority.certificate_pem)
    for rank in range(M):
        credential = pki.issue(authority, f"n{rank}")
        credential.write(folder / f"n{rank}.crt", folder / f"n{rank}.key")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as trial:
        port: int = trial.getsockname()[1]
        return port


def rank_main(folder: Path, ports: list[int], me: int) -> None:
    """Run by every process; the first prints the figures."""
    bare = _bare(folder, ports[:M], me)
    swap, transport = _grpc(folder, ports[M:], me)
    times: dict[str, list[float]] = {"swap": [], "bare": []}
    for turn in range(-N_WARM, N_TURNS):
        for name, one in (("swap", swap), ("bare", bare)):
            start = time.perf_counter()
            for _ in range(N_ROUNDS):
                one()
            if turn >= 0:
                times[name].append((time.perf_counter() - start) / N_ROUNDS)
    transport.close(Reason.FINISHED)
    if me == 0:
        swapped, yardstick = (1e6 * statistics.median(times[k]) for k in times)
        figures = {"swap_us": swapped, "bare_us": yardstick}
        print(json.dumps(figures | {"ratio": swapped / yardstick}))


def _neighbours(me: int) -> list[int]:
    return [j for i, j in ring_links(M) if i == me]


def _grpc(
    folder: Path, ports: list[int], me: int
) -> tuple[Callable[[], object], GrpcTransport]:
    files = [folder / f"n{me}.crt", folder / f"n{me}.key"]
    identity = read_identity(*files, folder / "ca.crt", f"n{me}")
    neighbours = [
        Neighbour(j, f"n{j}", f"127.0.0.1:{ports[j]}" if j < me else None)
        for j in _neighbours(me)
    ]
    names = frozenset(f"n{node}" for node in range(M))
    terms = Terms(b"{}", "", lambda other: iter(()), Rules(1, N_NUMBERS, 1), names)
    transport = GrpcTransport(
        f"n{me}", neighbours, terms, identity, listen=f"127.0.0.1:{ports[me]}"
    )
    value = np.random.default_rng(me).normal(size=N_NUMBERS)
    letters = {(me, j): value for j in _neighbours(me)}
    expected = [(j, me) for j in _neighbours(me)]
    tag = Tag(0, 0, 0, value.shape)
    return lambda: transport.exchange(tag, letters, expected), transport


def _bare(folder: Path, ports: list[int], me: int) -> Callable[[], object]:
    """Swap bytes over TLS sockets, one thread for each that sends."""
    sockets = _connect(folder, ports, me)
    posts: dict[int, queue.SimpleQueue[bytes]] = {}
    for j, secured in sockets.items():
        posts[j] = queue.SimpleQueue()
        threading.Thread(target=_send, args=(secured, posts[j]), daemon=True).start()
    letter = np.random.default_rng(me).bytes(N_BYTES)

    def swap() -> list[bytearray]:
        for post in posts.values():
            post.put(letter)
        return [_receive(secured) for secured in sockets.values()]

    return swap


def _connect(folder: Path, ports: list[int], me: int) -> dict[int, ssl.SSLSocket]:
    listener = socket.create_server(("127.0.0.1", ports[me]))
    sockets = {}
    for j in _neighbours(me):
        if j < me:
            client = _context(folder, me, ssl.PROTOCOL_TLS_CLIENT)
            dialled = _patiently(ports[j])
            sockets[j] = client.wrap_socket(dialled, server_hostname=f"n{j}")
            sockets[j].sendall(bytes([me]))
    while len(sockets) < len(_neighbours(me)):
        accepted, _ = listener.accept()
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server = _context(folder, me, ssl.PROTOCOL_TLS_SERVER)
        secured = server.wrap_socket(accepted, server_side=True)
        sockets[secured.recv(1)[0]] = secured
    return sockets


def _context(folder: Path, me: int, protocol: int) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.load_cert_chain(folder / f"n{me}.crt", folder / f"n{me}.key")
    context.load_verify_locations(folder / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def _patiently(port: int) -> socket.socket:
    while True:
        try:
            dialled = socket.create_connection(("127.0.0.1", port))
            dialled.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return dialled
        except ConnectionRefusedError:
            time.sleep(0.02)


def _send(secured: ssl.SSLSocket, post: queue.SimpleQueue[bytes]) -> None:
    while True:
        secured.sendall(post.get())


def _receive(secured: ssl.SSLSocket) -> bytearray:
    letter = bytearray(N_BYTES)
    view, n_received = memoryview(letter), 0
    while n_received < N_BYTES:
        n_received += secured.recv_into(view[n_received:])
    return letter


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(json.dumps(measure_ring() | {"memory_us": measure_memory()}))
    else:
        rank_main(Path(sys.argv[1]), list(map(int, sys.argv[2:-1])), int(sys.argv[-1]))
