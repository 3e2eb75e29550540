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
LARGEST_COMPARED = 200  # nodes: `exact` takes seconds to be found beyond
LARGEST_HELD = 2_500  # nodes x classes


def graph_of(topology: Topology, tol: float) -> dict[str, Any]:
    """A graph, and what one average to `tol` takes on it, ready for JSON.

    Large graphs have `edges` or `averaging` None.

    Examples
    --------
    >>> from dssfn.topology import build_topology
    >>> graph = graph_of(build_topology("path", 3), tol=1e-10)
    >>> graph["edges"], graph["averaging"]["tree"]["rounds"]
    ([[0, 1], [1, 2]], 2)
    """
    edges = topology.edges()
    compared = topology.n_nodes <= LARGEST_COMPARED
    return {
        "n_edges": len(edges),
        "edges": [list(edge) for edge in edges] if _fit(edges) else None,
        "diameter": topology.diameter,
        "contraction": topology.contraction,
        "tol": tol,
        "averaging": {
            name: {"rounds": one.n_rounds, "messages": one.n_letters}
            for name, one in every_averaging(topology, tol).items()
        }
        if compared
        else None,
    }


def _fit(edges: Sequence[Any]) -> bool:
    return len(edges) <= LARGEST_LISTED


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
