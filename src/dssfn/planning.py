"""Settle what a plan leaves open: the solver and the averaging scheme, for a graph.

How this works. One averaging takes rounds x latency + bytes / bandwidth. `gram` needs
one of n (n + 1) / 2 + Q n numbers per layer, `krylov` several of Q n. How many is known
only when it is done, so "auto" takes krylov where it may do as many averagings as it
usually needs in the time of the one that gram takes, and then lets it do no more than
that: a layer never takes more than twice the time of the better choice. Integer units
always take gram and a tree, whose sums of integers are exact.

Over links that lose letters, sending them again takes about 1 / (1 - loss)^2 letters
for each of the scheme's. Push-sum takes the rounds in which differences of 2^BITS die
out on the graph, a letter per arc in each, and about 1 / (1 - loss) times as many for
what is lost. So resending along a tree takes far fewer, and "auto" takes push-sum only
where acknowledgements cannot come back: where a link carries letters one way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from dssfn._typing import NodeId
from dssfn.config import AUTO, Plan
from dssfn.consensus import Averaging, make_averaging, seconds
from dssfn.consensus.push_sum import leads_everywhere
from dssfn.errors import PlanError
from dssfn.federation import Federation
from dssfn.solvers import solver_of
from dssfn.topology import LARGEST_SPECTRUM, Topology

BYTES_PER_SCALAR = 8  # agreed numbers are float64

# Averagings of a hidden layer: 10 to 19 on digits, satimage, letter and mnist with the
# paper's alpha and gain, 20 to 40 with larger gains.
USUAL = 20

BITS = 40  # of the sums of a layer and of their number of nodes


def settle(plan: Plan, topology: Topology) -> tuple[Plan, Averaging]:
    """Return the plan with nothing left to "auto", and its averaging scheme.

    Every node that knows plan and graph gets the same answer.

    Examples
    --------
    >>> from dssfn.topology import build_topology
    >>> plan = Plan(n_features=784, classes=tuple(range(10)), n_layers=20, width=1000)
    >>> ring = build_topology("circular", 20, degree=4)
    >>> settle(plan, ring)[0].units, settle(plan, ring)[0].solver
    ('integer', 'gram')
    >>> dense = plan.replace(units="dense")
    >>> near, far = dense.replace(bandwidth=1e10), dense.replace(bandwidth=1e7)
    >>> settle(near, ring)[0].solver, settle(far, ring)[0].solver
    ('gram', 'krylov')
    """
    plan = plan.replace(units="integer" if plan.is_exact else "dense")
    if plan.finds_size:
        _check_folds(plan, topology)
    if plan.finds_size or plan.is_exact:
        plan = plan.replace(solver="gram", consensus="tree")
    if plan.solver == "auto":
        plan = _choose_solver(plan, topology)
    averaging = _averaging(plan, topology)
    return plan.replace(consensus=averaging.name), averaging


def settle_federation(federation: Federation) -> tuple[Plan, Averaging]:
    """Return a federation's plan with nothing left open, and its averaging scheme.

    A scheme that is left open becomes a tree, which gives all nodes equal bits.
    """
    plan = federation.training
    if plan.consensus == "auto" and plan.n_rounds is None:
        plan = plan.replace(consensus="tree")
    return settle(plan, federation.topology())


def resending_letters(averaging: Averaging, loss: float) -> float:
    """Return about how many letters an averaging takes if lost ones are sent again.

    >>> from dssfn.consensus.tree import Tree
    >>> from dssfn.topology import build_topology
    >>> ring = build_topology("circular", 20, degree=2)
    >>> tree = Tree(ring)
    >>> round(resending_letters(tree, 0.0)), round(resending_letters(tree, 0.5))
    (38, 152)
    """
    return averaging.n_letters / (1 - loss) ** 2 if loss < 1 else math.inf


def push_sum_letters(topology: Topology, loss: float) -> float:
    """Return about how many letters push-sum takes to find exact totals.

    >>> from dssfn.topology import build_topology
    >>> ring = build_topology("circular", 20, degree=2)
    >>> round(push_sum_letters(ring, 0.0), -3), round(push_sum_letters(ring, 0.5), -3)
    (22000.0, 44000.0)
    """
    if loss >= 1:
        return math.inf
    n_rounds = BITS * math.log(2) / -math.log(max(topology.contraction, 0.5))
    return topology.n_links * n_rounds / (1 - loss)


def choose_parties(
    topology: Topology,
    averaging: Averaging,
    losses: Mapping[tuple[NodeId, NodeId], float],
) -> str | None:
    """Return the scheme that "auto" means over links that lose letters.

    Parameters
    ----------
    topology : Topology
        Who talks to whom.
    averaging : Averaging
        The plan's scheme, whose letters can be sent again.
    losses : mapping
        The share that is lost on every arc (sender, receiver); 1 where nothing passes.

    Returns
    -------
    str or None
        "push-sum", or None for the plan's scheme with resending, which also tells who
        is silent where a graph has fallen apart.
    """
    still_open = {arc: loss for arc, loss in losses.items() if loss < 1}
    if len(still_open) < len(losses):  # no acknowledgement comes back over some links
        can_serve = leads_everywhere(topology.n_nodes, still_open)
        return "push-sum" if can_serve else None
    is_asked_for = averaging.name != "tree"
    if is_asked_for or topology.n_nodes > LARGEST_SPECTRUM or not losses:
        return None
    loss = math.fsum(losses.values()) / len(losses)
    again = resending_letters(averaging, loss)
    return None if again <= push_sum_letters(topology, loss) else "push-sum"


def _check_folds(plan: Plan, topology: Topology) -> None:
    if plan.folds == "nodes" and plan.size == AUTO and topology.n_nodes < 2:
        raise PlanError(
            '`folds`: "nodes" leaves whole nodes out, so with one node nothing is '
            'left to train on. Use more nodes, or write `folds = "rows"`.'
        )


def _choose_solver(plan: Plan, topology: Topology) -> Plan:
    gram, krylov = plan.replace(solver="gram"), plan.replace(solver="krylov")
    if plan.n_rounds is not None or plan.consensus not in ("auto", "tree"):
        return gram  # krylov needs equal bits
    slow, fast = _averaging(gram, topology), _averaging(krylov, topology)
    patience = [_patience(plan, layer, slow, fast) for layer in (0, min(1, plan.depth))]
    if not any(patience):
        return gram
    return krylov.replace(patience_input=patience[0], patience_hidden=patience[1])


def _patience(plan: Plan, layer: int, slow: Averaging, fast: Averaging) -> int:
    """Return how many averagings of krylov take as long as gram's; 0 if too few."""
    Q, n = plan.n_outputs, plan.inputs_of(layer)
    gram, krylov = (
        solver_of(plan.replace(solver=name), layer) for name in ("gram", "krylov")
    )
    once = _seconds(plan, slow, gram.message_size(Q, n))
    again = _seconds(plan, fast, krylov.message_size(Q, n))
    if once <= USUAL * again:
        return 0
    return math.ceil(once / again)


def _averaging(plan: Plan, topology: Topology) -> Averaging:
    solver = solver_of(plan, layer=1)
    size = solver.message_size(plan.n_outputs, plan.n_units)
    return make_averaging(
        topology,
        plan.consensus,
        tol=plan.tol,
        n_rounds=plan.n_rounds,
        bitwise=solver.needs_equal_bits,
        n_bytes=size * BYTES_PER_SCALAR,
        latency=plan.latency,
        bandwidth=plan.bandwidth,
    )


def _seconds(plan: Plan, averaging: Averaging, size: int) -> float:
    n_bytes = size * BYTES_PER_SCALAR
    return seconds(averaging, n_bytes, latency=plan.latency, bandwidth=plan.bandwidth)
