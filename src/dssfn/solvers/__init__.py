"""Ways to solve one layer over the network, each a program for one node."""

from __future__ import annotations

from dssfn._typing import Array, Program
from dssfn.config import Plan
from dssfn.network import lossless_flow
from dssfn.problem import LayerShare
from dssfn.solvers.admm import consensus_admm
from dssfn.solvers.gram import consensus_gram, gram_size
from dssfn.solvers.krylov import consensus_krylov

__all__ = ["gram_size", "solve_layer"]


def solve_layer(share: LayerShare, plan: Plan, layer: int) -> Program[Array]:
    """Return the plan's program for this node's share of a layer."""
    match plan.solver:
        case "admm":
            warm = plan.warm_start and layer > 0
            return consensus_admm(
                share,
                radius=plan.radius,
                n_iter=plan.n_iter,
                mu=plan.mu(layer),
                start=lossless_flow(*share.shape) if warm else None,
                relaxation=plan.relaxation,
                balance=plan.balance_mu,
                stop=plan.residual_tol,
            )
        case "krylov":
            return consensus_krylov(
                share,
                radius=plan.radius,
                accuracy=plan.accuracy,
                patience=plan.patience(layer),
            )
        case "gram":
            return consensus_gram(share, radius=plan.radius)
    raise AssertionError(plan.solver)  # `planning.settle` leaves no "auto"
