"""Hosts as threads of one process: letters are handed over as they are."""

from __future__ import annotations

import queue
from collections.abc import Collection, Sequence

from dssfn._typing import Array, NodeId
from dssfn.errors import PeerTimeout, ProtocolError
from dssfn.transports.base import Letters, Link, Tag

_Post = queue.SimpleQueue[tuple[Tag, Array] | None]


class MemoryTransport:
    """One host of a network in memory; made by `memory_network`."""

    def __init__(
        self, posts: dict[Link, _Post], nodes: Collection[NodeId], deadline: float
    ) -> None:
        self._out = {link: post for link, post in posts.items() if link[0] in nodes}
        self._in = {link: post for link, post in posts.items() if link[1] in nodes}
        self._deadline = deadline

    def exchange(
        self, tag: Tag, letters: Letters, expected: Collection[Link]
    ) -> dict[Link, Array]:
        """Hand over letters and wait for the expected ones."""
        for link, values in letters.items():
            self._out[link].put((tag, values))
        return {link: self._receive(link, tag) for link in sorted(expected)}

    def _receive(self, link: Link, tag: Tag) -> Array:
        try:
            came = self._in[link].get(timeout=self._deadline)
        except queue.Empty:
            raise PeerTimeout(
                f"Node {link[0]} sent nothing for step {tag.step}, round {tag.round} "
                f"within {self._deadline:g} s. Check that it is running, or raise "
                "`round_deadline`."
            ) from None
        if came is None:
            raise PeerTimeout(f"Node {link[0]} has left before step {tag.step}.")
        if came[0] != tag:
            raise ProtocolError(
                f"Node {link[0]} must send its letter for {tag}, got one for {came[0]}."
            )
        return came[1]

    def close(self) -> None:
        """Tell all neighbours that nothing more will come."""
        for post in self._out.values():
            post.put(None)


def memory_network(
    hosts: Sequence[Collection[NodeId]],
    links: Collection[Link],
    *,
    deadline: float = 30.0,
) -> list[MemoryTransport]:
    """One transport for each host of a network, to be used from a thread each.

    Parameters
    ----------
    hosts : sequence of collections of nodes
        The nodes of every host.
    links : collection of links
        All directed links of the graph.
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
    posts: dict[Link, _Post] = {link: queue.SimpleQueue() for link in links}
    return [MemoryTransport(posts, nodes, deadline) for nodes in hosts]
