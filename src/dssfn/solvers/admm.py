"""The paper's solver: consensus ADMM, one averaging of a Q x n matrix per iteration."""

from __future__ import annotations

import numpy as np

from dssfn._typing import Array, Program
from dssfn.ball import project_ball
from dssfn.problem import LayerShare

# Of 1, 0.3, 0.1, .. 0.003 the one that left the smallest gap to the optimal cost over
# digits, satimage and vowel, raw and standardised, K = 100.
SHARE = 0.3


def consensus_admm(
    local: LayerShare, *, radius: float, n_iter: int, mu: float | None
) -> Program[Array]:
    """Solve one layer over the network; yields what must be averaged.

    Parameters
    ----------
    local : LayerShare
        This node's share.
    radius : float
        Largest Frobenius norm of the solution.
    n_iter : int
        K.
    mu : float or None
        The Lagrangian parameter. None: the nodes agree on one first.

    Returns
    -------
    array of shape (Q, n)
        Z, the agreed solution.
    """
    if mu is None:
        mu = yield from agree_mu(local)
    solve = local.proximal(mu)
    Z: Array = np.zeros(local.shape)  # (Q, n) the agreed solution
    Lam = np.zeros_like(Z)  # (Q, n) scaled dual, private to this node
    for _ in range(n_iter):
        O = solve(Z - Lam)  # O-update
        mean = yield O + Lam  # the only thing that leaves the node
        Z = project_ball(mean, radius)  # Z-update, equal up to gossip error
        Lam = Lam + O - Z  # dual update
    return Z


def agree_mu(local: LayerShare) -> Program[float]:
    """A mu that suits the features' scale: 1/mu is SHARE of G_m's mean eigenvalue."""
    trace = yield np.array([local.trace()])
    mean_eigenvalue = float(trace[0]) / local.shape[1]
    return 1 / (SHARE * mean_eigenvalue) if mean_eigenvalue > 0 else 1.0
