"""The graph that a command is given: by the name of its kind, or in a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from dssfn.cli.options import NETWORK, option
from dssfn.errors import TopologyError
from dssfn.hints import no_file
from dssfn.topology import (
    KINDS,
    Topology,
    build_topology,
    read_edge_list,
    read_matrix,
)

DEFAULT_NODES = 20
SUFFIXES = (".npy", ".txt", ".csv", ".edges")  # of files that are likely graphs
NODES_LEFT_OUT = f"{DEFAULT_NODES}, or as many as the graph's file has"

Nodes = Annotated[
    int | None, option("Number of nodes.", NETWORK, show_default=NODES_LEFT_OUT)
]
GraphName = Annotated[
    str,
    option(
        f"{', '.join(KINDS)}, an edge-list file or a mixing matrix in a .npy file.",
        NETWORK,
        "--topology",
    ),
]
Degree = Annotated[
    int | None, option("Neighbours on each side of a circular graph.", NETWORK)
]


def read_topology(
    name: str, nodes: int | None, degree: int | None, seed: int
) -> Topology:
    """Return a graph by its kind, from an edge list, or from a matrix in a .npy file.

    If `nodes` is left out, a file decides how many there are.
    """
    is_file = os.sep in name or "." in name or Path(name).is_file()
    if name in KINDS or not is_file:
        n_nodes = DEFAULT_NODES if nodes is None else nodes
        return build_topology(name, n_nodes, degree=degree, seed=seed)
    if degree is not None:
        raise TopologyError(f"`degree` must be left out: `{name}` lists all the edges.")
    if not Path(name).is_file():
        raise TopologyError(no_file(Path(name), {*SUFFIXES, Path(name).suffix}))
    read = read_matrix if name.endswith(".npy") else read_edge_list
    return read(name, nodes)
