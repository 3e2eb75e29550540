"""The laws of a transport, as a program that every host of a network runs.

All hosts call `check_transport` at the same time, each with its own transport: threads
of a test, processes, or ranks under `mpiexec`. What a letter must hold follows from its
link and its tag, so every host can check what it receives without asking anyone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import product

import numpy as np

from dssfn._typing import NodeId, Numbers
from dssfn.transports import DTYPES, FLOAT64, INT64, Arc, Tag, Transport

# Sizes that a training has, and awkward ones: one number, none, not a power of two,
# more than a socket takes at once.
SHAPES: tuple[tuple[int, ...], ...] = ((1,), (0,), (3, 5), (10, 1020), (700_001,))
N_QUICK = 100  # small rounds one after the other
TINY, HUGE = np.finfo(float).smallest_subnormal, np.finfo(float).max
LOWEST = np.iinfo(np.int64).min
SPECIAL = {  # no float64 holds the odd integers
    FLOAT64: np.array([0.0, -0.0, TINY, -HUGE, np.pi, 1 / 3]),
    INT64: np.array([0, 2**53 + 1, -(2**53) - 3, 2**62, -(2**62), LOWEST]),
}


def ring_links(n_nodes: int) -> list[Arc]:
    """Return both directions of every edge of a ring, for a first test.

    >>> ring_links(3)
    [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    """
    steps = {1, n_nodes - 1} - {0, n_nodes}
    return sorted((i, (i + step) % n_nodes) for i in range(n_nodes) for step in steps)


def check_transport(
    transport: Transport, links: Sequence[Arc], nodes: Collection[NodeId]
) -> None:
    """Check one host's transport; all hosts must do so at the same time.

    Parameters
    ----------
    transport : Transport
        This host's transport.
    links : sequence of links
        All directed links of the graph, in the same order on all hosts.
    nodes : collection of nodes
        The nodes of this host.

    Raises
    ------
    AssertionError
        If a letter is lost, altered, mixed up, or comes to the wrong node.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from dssfn.transports import memory_network
    >>> links, hosts = ring_links(4), [[0], [1], [2, 3]]
    >>> with ThreadPoolExecutor(3) as pool:
    ...     transports = memory_network(hosts, links)
    ...     checks = pool.map(check_transport, transports, [links] * 3, hosts)
    ...     all(check is None for check in checks)
    True
    """
    between = [link for link in links if (link[0] in nodes) != (link[1] in nodes)]
    step = 0
    for shape, dtype in product(SHAPES, DTYPES):  # of any size, they arrive as sent
        _exchange(transport, Tag(-1, step, 0, shape, dtype), between, nodes)
        step += 1
    for number in range(N_QUICK):  # and in order, however fast they follow
        dtype = DTYPES[number % len(DTYPES)]
        _exchange(transport, Tag(0, step, number, (2, 3), dtype), between, nodes)
    step += 1
    for number in range(len(links)):  # one link at a time, as along a tree
        some = [link for link in between if link == links[number]]
        _exchange(transport, Tag(1, step, number, (64,)), some, nodes)
    step += 1
    _exchange(transport, Tag(1, step, 0, (4,)), [], nodes)  # nothing to say
    for number, (dtype, values) in enumerate(SPECIAL.items()):
        tag = Tag(2, step + 1, number, values.shape, dtype)
        _check_special_numbers(transport, tag, values, between, nodes)


def letter(link: Arc, tag: Tag) -> Numbers:
    """Return the letter of a link: numbers that follow from the link and the tag."""
    size = math.prod(tag.shape)
    start = 10**6 * link[0] + 10**4 * link[1] + 100 * tag.step + tag.round
    if tag.dtype == INT64:
        return (2**53 + 1 + 2 * (start + np.arange(size))).reshape(tag.shape)
    return (start + np.arange(size) / max(size, 1)).reshape(tag.shape)


def _exchange(
    transport: Transport, tag: Tag, links: Sequence[Arc], nodes: Collection[NodeId]
) -> None:
    out = {link: letter(link, tag) for link in links if link[0] in nodes}
    kept = {link: values.copy() for link, values in out.items()}
    expected = [link for link in links if link[1] in nodes]
    came = transport.exchange(tag, out, expected)
    assert set(came) == set(expected), f"letters of {tag}: {sorted(came)}"
    for link, values in came.items():
        assert values.shape == tag.shape, f"shape of {link} at {tag}: {values.shape}"
        assert values.dtype == tag.dtype, f"type of {link} at {tag}: {values.dtype}"
        assert (values == letter(link, tag)).all(), f"altered: {link} at {tag}"
    for link, values in out.items():
        assert (values == kept[link]).all(), f"what was sent has changed: {link}"


def _check_special_numbers(
    transport: Transport,
    tag: Tag,
    numbers: Numbers,
    links: Sequence[Arc],
    nodes: Collection[NodeId],
) -> None:
    """Check that every finite number arrives to the last bit."""
    out = {link: numbers for link in links if link[0] in nodes}
    came = transport.exchange(tag, out, [link for link in links if link[1] in nodes])
    for link, values in came.items():
        assert values.tobytes() == numbers.tobytes(), f"altered: {link} at {tag}"
