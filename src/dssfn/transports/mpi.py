"""Hosts as the ranks of an MPI job: letters over neighbourhood collectives.

How this works. The communicator is a graph that joins two ranks if some of their nodes
are neighbours. In a round every rank calls one `Ineighbor_alltoallw`. All letters from
one rank to another travel as one block, in the order of their links, which both ends
know; sizes follow from the tag. A single letter is sent from where it lies; several are
first put side by side, which takes less time than a derived type or a message each.

MPI's own way to wait keeps a core busy, and the ranks that still compute may need it. A
rank that waits here asks a few times, then yields between two questions, and at last
naps for a tenth of the time that it has waited.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import NodeId, Numbers
from dssfn.errors import PeerTimeout, PlanError, ProtocolError, TransportError
from dssfn.transports.base import FLOAT64, INT64, Arc, Letters, Tag

if TYPE_CHECKING:
    from mpi4py import MPI

_ENDS = np.s_[:, -1:]  # the last number of every letter, if they have any
# How a letter ends that has not come. One that has may end with the integer too: it is
# asked for only to tell who is silent.
_ABSENT = {FLOAT64: math.nan, INT64: np.iinfo(np.int64).min}
_N_LAYOUTS = 256  # an averaging rarely has more kinds of rounds
_N_SPINS, _N_YIELDS = 10, 500  # some 5 and 500 microseconds
_SHORTEST_NAP, _LONGEST_NAP = 5e-5, 1e-3  # seconds
_yield_core = getattr(os, "sched_yield", lambda: time.sleep(0))


def load_mpi() -> Any:
    """Return the module `mpi4py.MPI`; the first call makes this process a rank."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as exc:  # the latter if it finds no library
        raise TransportError(
            f"MPI needs mpi4py and an MPI library, which cannot be loaded ({exc}). "
            "Install both with: pip install 'dssfn[mpi]'."
        ) from exc
    return MPI


def share_nodes(n_nodes: int, n_ranks: int) -> list[range]:
    """Return the nodes of every rank: contiguous, and shared as evenly as possible.

    >>> share_nodes(5, 2)
    [range(0, 2), range(2, 5)]
    """
    if n_ranks > n_nodes:
        raise PlanError(
            f"Every rank must host a node: the plan has {n_nodes} nodes, got {n_ranks} "
            f"ranks. Start at most {n_nodes} with `mpiexec -n`."
        )
    ends = [rank * n_nodes // n_ranks for rank in range(n_ranks + 1)]
    return [range(ends[rank], ends[rank + 1]) for rank in range(n_ranks)]


def wait_for(
    request: MPI.Request, on_nap: Callable[..., None] | None = None, *of_nap: Any
) -> None:
    """Wait for the end of an MPI operation, and leave the core to those who need it.

    Parameters
    ----------
    request : mpi4py.MPI.Request
        The operation.
    on_nap : callable, optional
        Called before every nap with the seconds waited so far, and `of_nap`.
    """
    for n_tests in range(_N_SPINS + _N_YIELDS):
        if request.Test():
            return
        if n_tests >= _N_SPINS:
            _yield_core()
    start = time.monotonic()
    while not request.Test():
        waited = time.monotonic() - start
        if on_nap:
            on_nap(waited, *of_nap)
        time.sleep(min(max(waited / 10, _SHORTEST_NAP), _LONGEST_NAP))


@dataclass(frozen=True, slots=True)
class _Layout:
    """The letters of a round as blocks, one to and one from each adjacent rank.

    Parameters
    ----------
    size : int
        Numbers in a letter.
    dtype : numpy.dtype
        Their type in memory.
    types : list of mpi4py.MPI.Datatype
        Their type as MPI knows it, for each rank.
    absent : float or int
        The last number of a letter that has not come.
    out : list of lists of links
        The links whose letters go to each rank.
    out_sizes : list of int
        Numbers in the blocks that go out.
    links : list of links
        The links whose letters come, rank by rank.
    in_sizes, in_places : lists of int
        Numbers in the blocks that come, and the byte where each begins.
    """

    size: int
    dtype: np.dtype[Any]
    types: list[MPI.Datatype]
    absent: float | int
    out: list[list[Arc]]
    out_sizes: list[int]
    links: list[Arc]
    in_sizes: list[int]
    in_places: list[int]


class MPITransport:
    """The transport of one rank of a job; all ranks make theirs at the same time.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        The communicator of all ranks.
    hosts : sequence of collections of nodes
        The nodes of every rank.
    links : collection of links
        All directed links of the graph.
    notice : float
        Seconds after which `on_silence` is called with whom a round waits for.
    deadline : float
        Seconds after which a round is given up. A rank that ended is noticed by MPI; so
        this is for one that hangs, and must be longer than any computation.
    on_silence : callable, optional
        Called with that message.

    Examples
    --------
    Two ranks with a node each, to be run with ``mpiexec -n 2 python``::

        comm = load_mpi().COMM_WORLD
        me, other = comm.rank, 1 - comm.rank
        transport = MPITransport(comm, [[0], [1]], [(0, 1), (1, 0)])
        tag = Tag(layer=0, step=0, round=0, shape=(2,))
        came = transport.exchange(tag, {(me, other): np.ones(2)}, [(other, me)])
    """

    def __init__(
        self,
        comm: MPI.Intracomm,
        hosts: Sequence[Collection[NodeId]],
        links: Collection[Arc],
        *,
        notice: float = 30.0,
        deadline: float = 3000.0,
        on_silence: Callable[[str], None] | None = None,
    ) -> None:
        if len(hosts) != comm.Get_size():
            raise PlanError(
                f"`hosts` must hold the nodes of each of the {comm.Get_size()} ranks, "
                f"got {len(hosts)}."
            )
        self._MPI = load_mpi()
        self._rank_of = {i: rank for rank, nodes in enumerate(hosts) for i in nodes}
        self._hosts = hosts
        self._notice, self._deadline = notice, deadline
        self._on_silence = on_silence
        me = comm.Get_rank()
        pairs = {(self._rank_of[i], self._rank_of[j]) for i, j in links}
        self._ranks = sorted({b for a, b in pairs if a == me} - {me})
        # Rounds of a kind come again and again.
        self._layout = lru_cache(maxsize=_N_LAYOUTS)(self._new_layout)
        self._types = {FLOAT64: self._MPI.DOUBLE, INT64: self._MPI.INT64_T}
        self._comm = comm.Create_dist_graph_adjacent(self._ranks, self._ranks)
        self._comm.Set_errhandler(self._MPI.ERRORS_RETURN)
        self._pending: Any = None  # what MPI may write to after an error
        self._told: Tag | None = None  # the last round that `on_silence` heard of

    @property
    def comm(self) -> MPI.Distgraphcomm:
        """The communicator whose graph joins adjacent ranks."""
        return self._comm

    def exchange(
        self, tag: Tag, letters: Letters, expected: Collection[Arc]
    ) -> dict[Arc, Numbers]:
        """Send letters, and wait for the expected ones and for all adjacent ranks."""
        if not self._ranks:
            return {}
        layout = self._layout(tag.shape, tag.dtype, tuple(letters), tuple(expected))
        came: Numbers = np.empty((len(layout.links), layout.size), layout.dtype)
        came[_ENDS] = layout.absent
        try:
            request = self._start(letters, came, layout)
            wait_for(request, self._look, tag, came, layout)
        except self._MPI.Exception as exc:
            raise ProtocolError(
                f"MPI could not carry step {tag.step}, round {tag.round}: {exc}. All "
                "ranks must run the same plan with the same version."
            ) from exc
        self._pending = None
        if len(tag.shape) != 1:
            came = came.reshape(len(came), *tag.shape)
        # By number: an array that is walked through ends with an error, which is slow.
        return {link: came[k] for k, link in enumerate(layout.links)}

    def _new_layout(
        self,
        shape: tuple[int, ...],
        dtype: str,
        out: tuple[Arc, ...],
        expected: tuple[Arc, ...],
    ) -> _Layout:
        """Return where the letters of a round lie."""
        size, in_memory = math.prod(shape), np.dtype(dtype).newbyteorder("=")
        to, come = self._by_rank(out, end=1), self._by_rank(expected, end=0)
        ends = list(accumulate(map(len, come), initial=0))
        return _Layout(
            size=size,
            dtype=in_memory,
            types=[self._types[dtype]] * len(self._ranks),
            absent=_ABSENT[dtype],
            out=to,
            out_sizes=[size * len(part) for part in to],
            links=[link for part in come for link in part],
            in_sizes=[size * len(part) for part in come],
            in_places=[in_memory.itemsize * size * end for end in ends[:-1]],
        )

    def _by_rank(self, links: Iterable[Arc], *, end: int) -> list[list[Arc]]:
        """Return links in order, by the adjacent rank that one of their ends is on."""
        parts: list[list[Arc]] = [[] for _ in self._ranks]
        for link in sorted(links):
            parts[self._ranks.index(self._rank_of[link[end]])].append(link)
        return parts

    def _start(self, letters: Letters, came: Numbers, layout: _Layout) -> MPI.Request:
        """Begin a round; MPI takes sizes and absolute addresses."""
        bottom, types, address = self._MPI.BOTTOM, layout.types, self._MPI.Get_address
        out, out_places = [], []
        for links, size in zip(layout.out, layout.out_sizes, strict=True):
            block = _block(letters, links, layout.dtype)
            if block.size != size or block.dtype != layout.dtype:
                raise ProtocolError(
                    "Every message must have the shape and the dtype of its tag, "
                    f"{size} numbers {layout.dtype} to one rank, got {block.size} "
                    f"{block.dtype}."
                )
            out.append(block)
            out_places.append(address(block))
        start = address(came)
        in_places = [start + at for at in layout.in_places]
        request = self._comm.Ineighbor_alltoallw(
            (bottom, layout.out_sizes, out_places, types),
            (bottom, layout.in_sizes, in_places, types),
        )
        self._pending = request, out, came
        return request

    def _look(self, waited: float, tag: Tag, came: Numbers, layout: _Layout) -> None:
        """Say for whom a round has waited long; give up after the deadline."""
        if waited > self._deadline:
            raise PeerTimeout(
                f"{self._silence(tag, came, layout)} within {self._deadline:g} s. "
                "Check that it is running, or raise `round_deadline`."
            )
        if waited > self._notice and self._on_silence and self._told != tag:
            self._told = tag
            self._on_silence(
                f"{self._silence(tag, came, layout)} for {waited:.0f} s; waiting."
            )

    def _silence(self, tag: Tag, came: Numbers, layout: _Layout) -> str:
        """Return which ranks have not come to a round, if that can be told."""
        silent = {
            self._rank_of[link[0]]
            for link, letter in zip(layout.links, came, strict=True)
            if np.array_equal(letter[-1:], [layout.absent], equal_nan=True)
        }
        named = " and ".join(map(self._name, sorted(silent or self._ranks)))
        if not silent and len(self._ranks) > 1:
            named = f"One of {named}"
        return f"{named} sent nothing for step {tag.step}, round {tag.round}"

    def _name(self, rank: int) -> str:
        nodes = ", ".join(map(str, self._hosts[rank]))
        return f"Rank {rank} (node {nodes})"

    def close(self) -> None:
        """Leave the graph; a rank that fails must end the job instead."""
        self._comm.Free()


def _block(letters: Letters, links: list[Arc], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the letters of some links side by side; a single one as it is."""
    if len(links) == 1:
        return np.ascontiguousarray(letters[links[0]])
    if not links:
        return np.empty(0, dtype)
    return np.concatenate([np.ravel(letters[link]) for link in links])
