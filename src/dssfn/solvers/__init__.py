"""Ways to solve one layer over the network, each a program for one node."""

from __future__ import annotations

from dssfn._typing import Array, Program
from dssfn.config import Plan
from dssfn.problem import LayerShare
from dssfn.solvers.admm import consensus_admm
from dssfn.solvers.gram import consensus_gram, gram_size
from dssfn.solvers.krylov import consensus_krylov


def message_size(plan: Plan) -> int:
    """Numbers in one message of a hidden layer: what nearly all of the traffic is."""
    n, Q = plan.n_units, plan.n_outputs
    return gram_size(Q, n) if plan.solver == "gram" else Q * n


def solve_layer(share: LayerShare, plan: Plan, layer: int) -> Program[Array]:
    """Return the plan's program for this node's share of a layer."""
    match plan.solver:
        case "admm":
            return consensus_admm(
                share, radius=plan.radius, n_iter=plan.n_iter, mu=plan.mu(layer)
            )
        case "krylov":
            return consensus_krylov(share, radius=plan.radius, accuracy=plan.accuracy)
        case _:
            return consensus_gram(share, radius=plan.radius)
