"""A federation on this machine: real processes, real certificates, real sockets."""

from __future__ import annotations

import hashlib
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from dssfn.config import Plan
from dssfn.setup import pki
from dssfn.topology import build_topology

FEATURES = [f"p{k}" for k in range(64)]


class Lab:
    """Nodes n0, n1, .. with digits, each in a folder and a process of its own.

    `hosts` are the addresses of nodes that are not on the loopback, and `run_in` are
    commands that run a node's command elsewhere, as in a namespace. Messages are masked
    where they can be, unless `secure` is false. `plan` are settings of the plan beside
    those of the training, such as a quorum. With `by_edge`, every edge has a proxy.
    """

    def __init__(
        self,
        root: Path,
        n_nodes: int,
        *,
        kind: str = "circular",
        deadline: float = 2.0,
        proxied: bool = False,
        without_port: tuple[str, ...] = (),
        hosts: Mapping[str, str] | None = None,
        run_in: Mapping[str, Sequence[str]] | None = None,
        secure: bool = True,
        plan: Mapping[str, object] | None = None,
        by_edge: bool = False,
        **training: object,
    ) -> None:
        self.plan = plan or {}
        self.edges: dict[frozenset[str], Proxy] = {}
        self.root = root
        self.names = [f"n{k}" for k in range(n_nodes)]
        self.deadline = deadline
        self.kind = kind
        self.secure = secure
        self.hosts = hosts or {}
        self.run_in = run_in or {}
        self.training = {
            "n_layers": 4,
            "width": 60,
            "bias": 3.0,
            "gain": 3.0,
            "consensus": "tree",
            **training,
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.proxies: dict[str, Proxy] = {}
        self.ports: dict[str, int] = {}
        self.authority = pki.make_authority("lab")
        for name in self.names:
            if name not in without_port:
                self.ports[name] = free_port()
                if proxied:
                    self.proxies[name] = Proxy(self.ports[name])
        self.write_plan(root / "plan.toml")
        for k in range(n_nodes):
            self._write_node(k)
        if by_edge:
            self._put_proxies_on_edges()

    def address(self, name: str) -> str | None:
        if name not in self.ports:
            return None
        proxy = self.proxies.get(name)
        return f"{self.host(name)}:{proxy.port if proxy else self.ports[name]}"

    def host(self, name: str) -> str:
        return self.hosts.get(name, "127.0.0.1")

    def write_plan(self, path: Path, **changes: object) -> None:
        settings = {**self.training, **changes}
        lines = [
            f"round_deadline = {self.deadline}",
            "min_nodes = 2",
            *(f"{name} = {_toml(value)}" for name, value in self.plan.items()),
            f"secure = {_toml(self.secure and _can_be_masked(settings))}",
            "[graph]",
            f'kind = "{self.kind}"',
        ]
        lines += ["[training]", f"classes = {list(range(10))}"]
        lines += [f"feature_names = {_toml(FEATURES)}"]
        lines += [f"{name} = {_toml(value)}" for name, value in settings.items()]
        for name in self.names:
            lines += ["[[nodes]]", f'name = "{name}"']
            if address := self.address(name):
                lines += [f'address = "{address}"']
        path.write_text("\n".join(lines) + "\n")

    def folder(self, name: str) -> Path:
        return self.root / name

    def node_file(self, name: str) -> Path:
        return self.folder(name) / "node.toml"

    def _write_node(self, k: int) -> None:
        name = self.names[k]
        folder = self.folder(name)
        folder.mkdir()
        credential = pki.issue(self.authority, name)
        credential.write(folder / "node.crt", folder / "node.key")
        (folder / "ca.crt").write_bytes(self.authority.certificate_pem)
        write_digits(folder / "data.csv", k, len(self.names))
        settings = {
            "name": name,
            "plan": "../plan.toml",
            "data": "data.csv",
            "target": "digit",
            "certificate": "node.crt",
            "key": "node.key",
            "authorities": "ca.crt",
            "threads": 1,
        }
        if name in self.ports:
            settings["listen"] = f"{self.host(name)}:{self.ports[name]}"
        self.write_settings(name, settings)

    def write_settings(self, name: str, settings: dict[str, object]) -> None:
        lines = [f"{key} = {_toml(value)}" for key, value in settings.items()]
        self.node_file(name).write_text("\n".join(lines) + "\n")

    def add_setting(self, name: str, line: str) -> None:
        with self.node_file(name).open("a") as file:
            file.write(line + "\n")

    def _put_proxies_on_edges(self) -> None:
        """Let the later one of two neighbours dial the other through a proxy."""
        topology = build_topology(self.kind, len(self.names))
        for k, name in enumerate(self.names):
            peers = {}
            for j in topology.neighbours(k):
                if j < k:
                    proxy = Proxy(self.ports[self.names[j]])
                    self.edges[frozenset((name, self.names[j]))] = proxy
                    peers[self.names[j]] = f"127.0.0.1:{proxy.port}"
            if peers:
                self.add_setting(name, "[peers]")
                for peer, address in peers.items():
                    self.add_setting(name, f'{peer} = "{address}"')

    def divide(self, *some: str) -> None:
        """Cut all links between some nodes and all others, until `heal`."""
        for ends, proxy in self.edges.items():
            if len(ends & set(some)) == 1:
                proxy.is_blocked = True
                proxy.cut()

    def heal(self) -> None:
        """Let all links carry again."""
        for proxy in self.edges.values():
            proxy.is_blocked = False

    def start(self, *names: str, fresh: bool = False, run: str = "node run") -> None:
        for name in names or self.names:
            command = [*self.run_in.get(name, ()), sys.executable]
            command += ["-m", "dssfn", *run.split()]
            command += [str(self.node_file(name))] + ["--fresh"] * fresh
            with (self.folder(name) / "printed").open("ab") as printed:
                self.processes[name] = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=printed,
                    stderr=printed,
                    cwd=self.root,
                    env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
                )

    def send(self, name: str, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self.processes[name].send_signal(number)

    def kill(self, name: str) -> None:
        self.send(name, signal.SIGKILL)
        self.processes[name].wait()

    def cut(self, name: str) -> None:
        self.proxies[name].cut()

    def is_running(self, name: str) -> bool:
        return self.processes[name].poll() is None

    def is_up(self, name: str) -> bool:
        """Whether a node was started and still runs."""
        return name in self.processes and self.is_running(name)

    def wait(self, seconds: float = 600.0) -> dict[str, int]:
        """Exit codes of all nodes; a node that does not end is an error."""
        end = time.monotonic() + seconds
        codes = {}
        for name, process in self.processes.items():
            try:
                codes[name] = process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise AssertionError(
                    f"{name} hangs:\n" + "\n".join(map(self.printed, self.names))
                ) from None
        return codes

    def wait_for(self, name: str, text: str, seconds: float = 300.0) -> None:
        """Until a node has printed something."""
        end = time.monotonic() + seconds
        while text not in self.printed(name):
            assert time.monotonic() < end, f"{name}: no {text!r}\n{self.printed(name)}"
            time.sleep(0.02)

    def printed(self, name: str) -> str:
        path = self.folder(name) / "printed"
        return f"--- {name}\n" + (path.read_text() if path.exists() else "")

    def model(self, name: str) -> Path:
        return self.folder(name) / "out" / "model.safetensors"

    def digests(self) -> set[str]:
        """Of all nodes' model files."""
        return {
            hashlib.sha256(self.model(name).read_bytes()).hexdigest()
            for name in self.names
        }

    def close(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()
        for proxy in (*self.proxies.values(), *self.edges.values()):
            proxy.close()


def digits_of(k: int, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """The samples of a node."""
    X, y = load_digits(return_X_y=True)
    return X[k::n_nodes], y[k::n_nodes]


def write_digits(path: Path, k: int, n_nodes: int) -> None:
    rows = [",".join([*FEATURES, "digit"])]
    for x, label in zip(*digits_of(k, n_nodes), strict=True):
        rows.append(",".join([*map(str, x.tolist()), str(label)]))
    path.write_text("\n".join(rows) + "\n")


SIDE_BY_SIDE = 8  # sets of ports for processes that run tests at the same time
_GIVEN: set[int] = set()  # a port is given once, or two nodes could draw the same


def free_port() -> int:
    """A port that nobody has, and that no outgoing connection is given meanwhile.

    Tests that run side by side draw from different ports.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    while True:
        port = random.randrange(15_000 + worker % SIDE_BY_SIDE, 32_000, SIDE_BY_SIDE)
        if port in _GIVEN:
            continue
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            _GIVEN.add(port)
            return port


def free_ports(count: int) -> int:
    """The first of so many ports in a row, of those that `free_port` never gives."""
    while True:
        first = random.randrange(10_000, 15_000 - count)
        with suppress(OSError), ExitStack() as servers:
            for port in range(first, first + count):
                servers.enter_context(socket.create_server(("127.0.0.1", port)))
            return first


class Proxy:
    """A port before another, whose connections can be cut.

    With a `rate`, no more than so many bytes a second pass.
    """

    def __init__(self, target: int, rate: float | None = None) -> None:
        self.target = target
        self.rate = rate
        self.is_blocked = False  # those who call are turned away
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._cut, self._wake = socket.socketpair()
        self._is_open = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """Close all connections without a word."""
        self._wake.send(b"x")

    def close(self) -> None:
        self._is_open = False
        self._wake.send(b"x")
        self._thread.join()
        for one in (self._server, self._cut, self._wake):
            one.close()

    def _run(self) -> None:
        with selectors.DefaultSelector() as self._ready:
            self._ready.register(self._server, selectors.EVENT_READ)
            self._ready.register(self._cut, selectors.EVENT_READ)
            while self._is_open:
                for key, _ in self._ready.select():
                    self._serve(key.fileobj)
            for one in list(self._pairs):
                self._end(one)

    def _serve(self, one: socket.socket) -> None:
        if one is self._server:
            self._accept()
        elif one is self._cut:
            self._cut.recv(1)
            for other in list(self._pairs):
                self._end(other)
        elif one in self._pairs:
            try:
                data = one.recv(1 << 16)
                if data:
                    if self.rate:
                        time.sleep(len(data) / self.rate)
                    self._pairs[one].sendall(data)
                    return
            except OSError:
                pass
            self._end(one)

    def _accept(self) -> None:
        client, _ = self._server.accept()
        if self.is_blocked:
            client.close()
            return
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            client.close()
            return
        for a, b in ((client, server), (server, client)):
            self._pairs[a] = b
            self._ready.register(a, selectors.EVENT_READ)

    def _end(self, one: socket.socket) -> None:
        for end in (one, self._pairs.get(one)):
            if end is not None and self._pairs.pop(end, None) is not None:
                self._ready.unregister(end)
                # A reset, not a farewell.
                linger = b"\1\0\0\0\0\0\0\0"
                with suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                end.close()


def _can_be_masked(settings: Mapping[str, object]) -> bool:
    known = {name: value for name, value in settings.items() if value is not None}
    return Plan(n_features=64, classes=tuple(range(10)), **known).is_exact


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)
