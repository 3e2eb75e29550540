"""Averaging over the graph: every node ends with the mean of what all nodes held."""

from __future__ import annotations

import warnings

from dssfn.consensus.attending import Attending
from dssfn.consensus.base import (
    Averaging,
    Letters,
    RoundByRound,
    Rounds,
    Swap,
    Values,
    run_rounds,
    seconds,
)
from dssfn.consensus.flood import Flood
from dssfn.consensus.handover import Handover
from dssfn.consensus.polynomial import (
    Gossip,
    Polynomial,
    chebyshev,
    exact,
    gossip_rounds,
)
from dssfn.consensus.tree import Tree
from dssfn.errors import AccuracyWarning, PlanError
from dssfn.registry import AVERAGING
from dssfn.topology import LARGEST_SPECTRUM, Topology

__all__ = [
    "Attending",
    "Averaging",
    "Flood",
    "Gossip",
    "Handover",
    "Letters",
    "Polynomial",
    "RoundByRound",
    "Rounds",
    "Swap",
    "Tree",
    "Values",
    "chebyshev",
    "every_averaging",
    "exact",
    "gossip_rounds",
    "make_averaging",
    "run_rounds",
    "seconds",
]


def every_averaging(topology: Topology, tol: float) -> dict[str, Averaging]:
    """Return every scheme that reaches an accuracy on a graph, by name.

    Of a graph that is too large for its spectrum, this is the tree.
    """
    names = AVERAGING if topology.n_nodes <= LARGEST_SPECTRUM else [Tree.name]
    schemes = {name: AVERAGING[name](topology, tol) for name in names}
    return {name: one for name, one in schemes.items() if one is not None}


def make_averaging(
    topology: Topology,
    scheme: str,
    *,
    tol: float,
    n_rounds: int | None = None,
    bitwise: bool = False,
    n_bytes: int = 0,
    latency: float = 0.02,
    bandwidth: float = 1e9,
) -> Averaging:
    """Return an averaging scheme for a graph.

    Parameters
    ----------
    topology : Topology
        The graph.
    scheme : str
        A name in `dssfn.registry.AVERAGING`, or "auto", which takes the
        fastest of `every_averaging` for the given message and network.
    tol : float
        Wanted accuracy, relative to the nodes' first disagreement.
    n_rounds : int, optional
        Gossip with this many rounds instead.
    bitwise : bool
        Whether all nodes must end with the same bits, as "tree" gives them.
    n_bytes, latency, bandwidth : int, float, float
        For "auto": the size of a message, seconds per round, bits per second.

    Examples
    --------
    >>> from dssfn.topology import build_topology
    >>> make_averaging(build_topology("circular", 20), "auto", tol=1e-10).name
    'exact'
    """
    if n_rounds is not None and scheme not in ("auto", "gossip"):
        raise PlanError(
            f"`n_rounds` must be left out for consensus {scheme!r}, whose number of "
            f"rounds is fixed; got {n_rounds}."
        )
    if n_rounds is not None:
        averaging: Averaging = Gossip(topology, n_rounds if topology.n_nodes > 1 else 0)
    elif scheme == "auto":
        averaging = min(
            (
                one
                for one in every_averaging(topology, tol).values()
                if one.is_bitwise or not bitwise
            ),
            key=lambda one: seconds(one, n_bytes, latency=latency, bandwidth=bandwidth),
        )
    else:
        averaging = _by_name(topology, scheme, tol)
    if bitwise and not averaging.is_bitwise:
        equal = [
            name
            for name, one in every_averaging(topology, tol).items()
            if one.is_bitwise
        ]
        raise PlanError(
            f"`consensus` must be {', '.join(equal)} or auto for this solver (as for "
            "krylov, and for an ADMM that balances mu or stops early): nodes decide by "
            "averages, which must be equal on all of them to the last bit; got "
            f"{averaging.name!r}."
        )
    return averaging


def _by_name(topology: Topology, scheme: str, tol: float) -> Averaging:
    averaging: Averaging | None = AVERAGING[scheme](topology, tol)
    if averaging is None:
        warnings.warn(
            f"consensus {scheme!r} would leave an error above {tol:g} on this graph of "
            f"{topology.n_nodes} nodes; 'chebyshev' is used instead.",
            AccuracyWarning,
            stacklevel=3,
        )
        return chebyshev(topology, tol)
    return averaging
