"""What must hold of `MPITransport`; run by every rank of an MPI job."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

from dssfn.consensus import Tree
from dssfn.driver import drive
from dssfn.errors import PeerTimeout, ProtocolError
from dssfn.testing import check_transport, ring_links
from dssfn.topology import build_topology
from dssfn.transports import INT64, Tag
from dssfn.transports.mpi import MPITransport, load_mpi, share_nodes
from tests.support import totals

MPI = load_mpi()
WORLD = MPI.COMM_WORLD


def laws() -> None:
    """One node on each rank, several on each, and all in one place."""
    for n_ranks, n_nodes, degree in ((4, 4, 1), (4, 7, 2), (2, 5, 2), (1, 3, 1)):
        comm = WORLD.Split(0 if WORLD.rank < n_ranks else MPI.UNDEFINED)
        if comm == MPI.COMM_NULL:
            continue
        graph = build_topology("circular", n_nodes, degree=degree)
        links = [(i, j) for i in range(n_nodes) for j in graph.neighbours(i)]
        hosts = share_nodes(n_nodes, n_ranks)
        transport = MPITransport(comm, hosts, links)
        check_transport(transport, links, hosts[comm.rank])
        transport.close()


def exact() -> None:
    """Integers are added up by nodes that are spread over the ranks."""
    graph = build_topology("circular", 7, degree=2)
    links = [(i, j) for i in range(7) for j in graph.neighbours(i)]
    hosts = share_nodes(7, WORLD.size)
    transport = MPITransport(WORLD, hosts, links)
    programs = {node: totals.program(node) for node in hosts[WORLD.rank]}
    for came in drive(programs, Tree(graph), transport).values():
        totals.check(came, 7)
    mine = next(
        link for link in links if link[0] in programs and link[1] not in programs
    )
    with pytest.raises(ProtocolError, match="the dtype of its tag"):
        transport.exchange(Tag(0, 0, 0, (1,), INT64), {mine: np.ones(1)}, [])
    transport.close()


def silence(dtype: str) -> None:
    """Rank 1 never comes to the round."""
    said: list[str] = []
    transport = MPITransport(
        WORLD, [[0], [1]], ring_links(2),
        notice=0.05, deadline=0.2, on_silence=said.append,
    )  # fmt: skip
    if WORLD.rank == 1:
        WORLD.Barrier()
    try:
        tag = Tag(0, 7, 2, (3,), dtype)
        transport.exchange(tag, {(0, 1): np.ones(3, dtype)}, [(1, 0)])
    except PeerTimeout as exc:
        print(said[0], exc, sep="\n", flush=True)
        time.sleep(0.25)  # so that mpiexec passes it on
        WORLD.Abort(3)


if __name__ == "__main__":
    {"laws": laws, "exact": exact, "silence": silence}[sys.argv[1]](*sys.argv[2:])
