"""Settle what a plan leaves open: the solver and the averaging scheme, for a graph.

How this works. One averaging takes rounds x latency + bytes / bandwidth. `gram` needs
one of n (n + 1) / 2 + Q n numbers per layer, `krylov` several of Q n. How many is known
only when it is done, so "auto" takes krylov where it may do as many averagings as it
usually needs in the time of the one that gram takes, and then lets it do no more than
that: a layer never takes more than twice the time of the better choice. Integer units
always take gram and a tree, whose sums of integers are exact.
"""

from __future__ import annotations

import math

from dssfn.config import AUTO, Plan
from dssfn.consensus import Averaging, make_averaging, seconds
from dssfn.errors import PlanError
from dssfn.solvers import solver_of
from dssfn.topology import Topology

BYTES_PER_SCALAR = 8  # agreed numbers are float64

# Averagings of a hidden layer: 10 to 19 on digits, satimage, letter and mnist with the
# paper's alpha and gain, 20 to 40 with larger gains.
USUAL = 20


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


def _check_folds(plan: Plan, topology: Topology) -> None:
    if plan.folds == "nodes" and plan.size == AUTO and topology.n_nodes < 2:
        raise PlanError(
            '`folds`: "nodes" leaves whole nodes out, and of one node nobody is left '
            'to train on. Take part with more nodes, or write folds = "rows".'
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
