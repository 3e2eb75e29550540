"""Hosts as threads of one process: letters are handed over as they are."""

from __future__ import annotations

import queue
from collections.abc import Collection, Sequence

from dssfn._typing import NodeId, Numbers
from dssfn.errors import PeerTimeout, ProtocolError
from dssfn.transports.base import Arc, Letters, Tag

_Post = queue.SimpleQueue[tuple[Tag, Numbers] | None]


class MemoryTransport:
    """One host of a network in memory; made by `memory_network`."""

    def __init__(
        self, posts: dict[Arc, _Post], nodes: Collection[NodeId], deadline: float
    ) -> None:
        self._out = {arc: post for arc, post in posts.items() if arc[0] in nodes}
        self._in = {arc: post for arc, post in posts.items() if arc[1] in nodes}
        self._deadline = deadline

    def exchange(
        self, tag: Tag, letters: Letters, expected: Collection[Arc]
    ) -> dict[Arc, Numbers]:
        """Hand over letters and wait for the expected ones."""
        for arc, values in letters.items():
            self._out[arc].put((tag, values))
        return {arc: self._receive(arc, tag) for arc in sorted(expected)}

    def _receive(self, arc: Arc, tag: Tag) -> Numbers:
        try:
            came = self._in[arc].get(timeout=self._deadline)
        except queue.Empty:
            raise PeerTimeout(
                f"Node {arc[0]} sent nothing for step {tag.step}, round {tag.round} "
                f"within {self._deadline:g} s. Check that it is running, or raise "
                "`round_deadline`."
            ) from None
        if came is None:
            raise PeerTimeout(f"Node {arc[0]} has left before step {tag.step}.")
        if came[0] != tag:
            raise ProtocolError(
                f"Node {arc[0]} must send its message for {tag}, got one for {came[0]}."
            )
        return came[1]

    def close(self) -> None:
        """Tell all neighbours that nothing more will come."""
        for post in self._out.values():
            post.put(None)


def memory_network(
    hosts: Sequence[Collection[NodeId]],
    arcs: Collection[Arc],
    *,
    deadline: float = 30.0,
) -> list[MemoryTransport]:
    """Return one transport for each host of a network, each for a thread of its own.

    Parameters
    ----------
    hosts : sequence of collections of nodes
        The nodes of every host.
    arcs : collection of arcs
        Both directions of every edge of the graph.
    deadline : float
        Seconds to wait for a letter.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = memory_network([[0], [1]], [(0, 1), (1, 0)])
    >>> tag = Tag(layer=0, step=0, round=0, shape=(2,))
    >>> _ = a.exchange(tag, {(0, 1): np.array([1.0, 2.0])}, [])
    >>> b.exchange(tag, {}, [(0, 1)])[0, 1].tolist()
    [1.0, 2.0]
    """
    posts: dict[Arc, _Post] = {arc: queue.SimpleQueue() for arc in arcs}
    return [MemoryTransport(posts, nodes, deadline) for nodes in hosts]
