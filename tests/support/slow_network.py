"""Hosts of their own on this machine, and a network between them that takes its time.

Every host is a network namespace with one TUN device. What it sends comes out of the
device's file here, and goes into the addressee's some milliseconds later. So the delay
needs no `netem`, which many kernels lack, and no address outside the namespaces.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import os
import select
import struct
import subprocess
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

TUN = Path("/dev/net/tun")
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
DEVICE, MTU = "dssfn0", 9000


def why_not() -> str | None:
    """Why this machine cannot have such a network, if so."""
    if os.name != "posix" or os.geteuid() != 0:
        return "namespaces need root"
    if not TUN.exists():
        return f"{TUN} is not there"
    name = f"dssfn-{os.getpid()}-trial"
    try:
        _run("ip", "netns", "add", name)
    except (OSError, subprocess.CalledProcessError) as exc:
        return f"`ip netns add` does not work here: {exc}"
    _run("ip", "netns", "delete", name)
    return None


class SlowNetwork:
    """Hosts 10.99.0.1, 10.99.0.2, .., each in a namespace.

    Parameters
    ----------
    n_hosts : int
    delay : float
        Seconds that every packet takes.
    """

    def __init__(self, n_hosts: int, delay: float) -> None:
        self.delay = delay
        self.names = [f"dssfn-{os.getpid()}-{k}" for k in range(n_hosts)]
        self.addresses = [f"10.99.0.{k + 1}" for k in range(n_hosts)]
        self._files: list[int] = []
        self._stack = ExitStack()
        self._over = threading.Event()

    def __enter__(self) -> SlowNetwork:
        with ExitStack() as stack:
            for name, address in zip(self.names, self.addresses, strict=True):
                _run("ip", "netns", "add", name)
                stack.callback(_run, "ip", "netns", "delete", name)
                self._files.append(_open_device(name))
                stack.callback(os.close, self._files[-1])
                _run("ip", "-n", name, "link", "set", "lo", "up")
                _run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", DEVICE)
                _run("ip", "-n", name, "link", "set", DEVICE, "mtu", str(MTU), "up")
            carrier = threading.Thread(target=self._carry, daemon=True)
            carrier.start()
            stack.callback(carrier.join)
            stack.callback(self._over.set)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def command(self, host: int) -> list[str]:
        """What runs a command on a host."""
        return ["ip", "netns", "exec", self.names[host]]

    def _carry(self) -> None:
        """Hold every packet back for a while, then hand it over."""
        late: list[tuple[float, int, int, bytes]] = []
        number = 0
        while not self._over.is_set():
            now = time.monotonic()
            while late and late[0][0] <= now:
                _, _, file, packet = heapq.heappop(late)
                with suppress(OSError):
                    os.write(file, packet)
            pause = min(0.1, late[0][0] - now) if late else 0.1
            for file in select.select(self._files, [], [], max(0.0, pause))[0]:
                packet = os.read(file, MTU + 100)
                target = self._target(packet)
                if target is not None:
                    number += 1  # packets that are due together stay in order
                    due = time.monotonic() + self.delay
                    heapq.heappush(late, (due, number, target, packet))

    def _target(self, packet: bytes) -> int | None:
        address = ".".join(map(str, packet[16:20]))
        if packet[0] >> 4 != 4 or address not in self.addresses:
            return None
        return self._files[self.addresses.index(address)]


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def _open_device(namespace: str) -> int:
    """The file of a new TUN device in a namespace."""
    opened: list[int] = []

    def work() -> None:  # a thread of its own: it enters the namespace for good
        libc = ctypes.CDLL(None, use_errno=True)
        with Path(f"/run/netns/{namespace}").open("rb") as place:
            if libc.setns(place.fileno(), CLONE_NEWNET) != 0:
                return
        file = os.open(TUN, os.O_RDWR)
        try:
            request = struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI)
            fcntl.ioctl(file, TUNSETIFF, request)
        except OSError:
            os.close(file)
            return
        opened.append(file)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if not opened:
        raise OSError(f"no TUN device could be made in {namespace}")
    return opened[0]
