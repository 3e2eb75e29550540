"""What a report shows beyond the summary: the graph, who held what, the confusions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn.consensus import every_averaging
from dssfn.shard import Samples, Shard
from dssfn.topology import Topology

LARGEST_LISTED = 20_000  # edges: more are no help to anybody in a file
LARGEST_COMPARED = 200  # nodes: spectrum and schemes take seconds beyond
LARGEST_HELD = 2_500  # nodes x classes


def graph_of(topology: Topology, tol: float) -> dict[str, Any]:
    """A graph, and what one average to `tol` takes on it, ready for JSON.

    What would take long for a large graph is None.

    Examples
    --------
    >>> from dssfn.topology import build_topology
    >>> graph = graph_of(build_topology("path", 3), tol=1e-10)
    >>> graph["edges"], graph["averaging"]["tree"]["rounds"]
    ([[0, 1], [1, 2]], 2)
    """
    edges = topology.edges()
    small = topology.n_nodes <= LARGEST_COMPARED
    listed = [list(edge) for edge in edges] if len(edges) <= LARGEST_LISTED else None
    return {
        "n_edges": len(edges),
        "edges": listed,
        "diameter": topology.diameter if small else None,
        "contraction": topology.contraction if small else None,
        "tol": tol,
        "averaging": _averaging(topology, tol) if small else None,
    }


def _averaging(topology: Topology, tol: float) -> dict[str, dict[str, int]]:
    return {
        name: {"rounds": one.n_rounds, "messages": one.n_letters}
        for name, one in every_averaging(topology, tol).items()
    }


def held_by(shards: Sequence[Samples], n_nodes: int) -> list[list[int]] | None:
    """Samples of each class on each node, (M, Q).

    None where they are many, on other machines, or in files, which would have to be
    read once more.
    """
    in_memory = [shard for shard in shards if isinstance(shard, Shard)]
    if len(in_memory) != n_nodes or n_nodes * shards[0].n_outputs > LARGEST_HELD:
        return None
    return [shard.T.sum(axis=1).astype(int).tolist() for shard in in_memory]


def confusion_of(
    labels: NDArray[np.intp], predicted: NDArray[np.intp]
) -> list[list[int]] | None:
    """[true class, predicted class, samples], where there are any; None for no samples.

    >>> confusion_of(np.array([0, 1, 1]), np.array([0, 0, 0]))
    [[0, 0, 1], [1, 0, 2]]
    """
    if not len(labels):
        return None
    pairs = np.column_stack([labels, predicted])
    found, counts = np.unique(pairs, axis=0, return_counts=True)
    confusion: list[list[int]] = np.column_stack([found, counts]).tolist()
    return confusion
