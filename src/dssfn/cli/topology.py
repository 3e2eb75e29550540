"""`dssfn topology`: a graph, its spectrum, and what averaging over it costs."""

from __future__ import annotations

from typing import Annotated, Any

from rich.table import Table

from dssfn.cli.console import screen
from dssfn.cli.display import show_pairs
from dssfn.cli.graphs import Degree, GraphName, Nodes, read_topology
from dssfn.cli.options import NETWORK, JsonOutput, option
from dssfn.cli.outcome import print_json, show_lines
from dssfn.consensus import every_averaging
from dssfn.errors import PlanError
from dssfn.topology import LARGEST_SPECTRUM, Topology

# A complete graph has M^2 links; the diameter of a circular one takes as many steps.
MOST_NODES = 10_000
LARGEST_DRAWN = 48  # nodes that fit a terminal
LEFT_OUT = f"left out above {LARGEST_SPECTRUM:,} nodes, with the schemes that need it"


def topology(
    nodes: Nodes = None,
    topology: GraphName = "circular",
    degree: Degree = None,
    tol: Annotated[
        float, option("Accuracy of an average for which rounds are counted.", NETWORK)
    ] = 1e-10,
    seed: Annotated[int, option("Random seed of the random graphs.", NETWORK)] = 0,
    json: JsonOutput = False,
) -> None:
    """Show a graph: its links, its spectrum and how many rounds averaging takes."""
    if nodes is not None:
        _check_size(nodes)
    graph = read_topology(topology, nodes, degree, seed)
    _check_size(graph.n_nodes)
    if not 0 < tol < 1:
        raise PlanError(f"`tol` must lie between 0 and 1, got {tol:g}.")
    figures = _figures(graph, tol)
    if json:
        print_json(figures)
        return
    if graph.n_nodes <= LARGEST_DRAWN:
        show_lines(_drawing(graph) + "\n")
    show_pairs(
        [
            ("graph", f"{graph.name}, {graph.n_nodes} nodes, {figures['edges']} edges"),
            ("neighbours of a node", f"{min(graph.degrees)} to {max(graph.degrees)}"),
            ("diameter", str(figures["diameter"])),
            *_spectrum(figures),
        ]
    )
    screen.print()
    screen.print(_schemes(figures, tol))


def _check_size(n_nodes: int) -> None:
    if n_nodes > MOST_NODES:
        raise PlanError(
            f"`--nodes` must be at most {MOST_NODES:,}, got {n_nodes:,}: links and "
            "diameter of a larger graph may take minutes, and all memory."
        )


def _figures(graph: Topology, tol: float) -> dict[str, Any]:
    """Return all there is to show; what would take long for a large graph is None."""
    small = graph.n_nodes <= LARGEST_SPECTRUM
    return {
        "topology": graph.name,
        "n_nodes": graph.n_nodes,
        "edges": graph.n_links // 2,
        "degrees": list(graph.degrees),
        "diameter": graph.diameter,
        "contraction": graph.contraction if small else None,
        "spectral_gap": graph.spectral_gap if small else None,
        "tol": tol,
        "consensus": {
            name: {"rounds": one.n_rounds, "messages": one.n_letters}
            for name, one in every_averaging(graph, tol).items()
        },
        "eigenvalues": graph.eigenvalues.tolist() if small else None,
    }


def _schemes(figures: dict[str, Any], tol: float) -> Table:
    table = Table(title=f"Cost of one average, to {tol:g}", title_justify="left")
    table.add_column("consensus")
    for name in ("rounds", "messages", "messages per node"):
        table.add_column(name, justify="right")
    for name, cost in figures["consensus"].items():
        a_node = cost["messages"] / figures["n_nodes"]
        table.add_row(
            name, f"{cost['rounds']:,}", f"{cost['messages']:,}", f"{a_node:,.1f}"
        )
    return table


def _drawing(graph: Topology) -> str:
    """Return who talks to whom, as a matrix of dots."""
    size = len(str(graph.n_nodes - 1))
    linked = [set(graph.neighbours(i)) for i in range(graph.n_nodes)]
    rows = []
    for i in range(graph.n_nodes):
        marks = (
            "◆" if i == j else "●" if j in linked[i] else "·"
            for j in range(len(linked))
        )
        rows.append(f"{i:>{size}} " + " ".join(marks))
    return "\n".join(rows)


def _spectrum(figures: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what the eigenvalues tell, and a line with how they are spread."""
    if figures["eigenvalues"] is None:
        return [("spectrum", LEFT_OUT)]
    return [
        ("contraction per round", f"{figures['contraction']:.6f}"),
        ("spectral gap", f"{figures['spectral_gap']:.6f}"),
        ("eigenvalues of H", _bars(figures["eigenvalues"])),
    ]


def _bars(eigenvalues: list[float]) -> str:
    """Return how many eigenvalues lie in each tenth of [-1, 1], as a row of bars."""
    bars = " ▁▂▃▄▅▆▇█"
    counts = [0] * 20
    for value in eigenvalues:
        counts[min(int((value + 1) * 10), 19)] += 1
    heights = [-(-count * 8 // max(counts)) for count in counts]
    return "-1 " + "".join(bars[height] for height in heights) + " 1"
