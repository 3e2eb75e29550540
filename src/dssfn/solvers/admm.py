"""The paper's solver: consensus ADMM, one averaging of a Q x n matrix per iteration.

The paper's iteration starts at zero, keeps mu, and runs K times. Four options shorten
the way: start where the layer before ended (lossless flow), over-relax, balance mu so
that both residuals fall together, and stop when both are small. The last two let the
nodes decide on agreed numbers, so these must be equal on all nodes to the last bit.
"""

from __future__ import annotations

import math

import numpy as np

from dssfn._typing import Array, Program
from dssfn.ball import TINY, project_ball, squared_norm
from dssfn.problem import LayerShare

# Of 1, 0.3, 0.1, .. 0.003 the one that left the smallest gap to the optimal cost over
# digits, satimage and vowel, raw and standardised, K = 100.
SHARE = 0.3

# mu changes by this factor when one residual is more than ten times the other.
FACTOR, APART = 2.0, 10.0


def consensus_admm(
    local: LayerShare,
    *,
    radius: float,
    n_iter: int,
    mu: float | None,
    start: Array | None = None,
    relaxation: float = 1.0,
    balance: bool = False,
    stop: float | None = None,
) -> Program[Array]:
    """Solve one layer over the network; yields what must be averaged.

    Parameters
    ----------
    local : LayerShare
        This node's share.
    radius : float
        Largest Frobenius norm of the solution.
    n_iter : int
        K, or with `stop` the most iterations.
    mu : float or None
        The Lagrangian parameter. None: the nodes agree on one first.
    start : array of shape (Q, n), optional
        Where to start instead of at zero.
    relaxation : float
        Above 1 the O-update goes beyond its minimiser; below 2 it converges.
    balance : bool
        Change mu when one residual is much larger than the other. Needs an
        eigen-decomposition instead of a Cholesky factor, and then changes are free.
    stop : float, optional
        End when both residuals are below this, relative to what they are made of.

    Returns
    -------
    array of shape (Q, n)
        Z, the agreed solution.
    """
    if mu is None:
        mu = yield from agree_mu(local)
    factors = local.spectral() if balance else local.proximal
    solve = factors(mu)
    Z: Array = np.zeros(local.shape)  # (Q, n) the agreed solution
    Lam = np.zeros_like(Z)  # (Q, n) scaled dual, private to this node
    if start is not None:
        Z = start
        Lam = mu * (local.cross() - local.operator()(Z.T).T)  # so that O = Z at first
    watching = balance or stop is not None
    sizes = np.zeros(3 if watching else 0)  # what this node adds to the residuals
    change = 0.0
    for k in range(n_iter):
        O = solve(Z - Lam)  # O-update
        mixed = O if relaxation == 1 else relaxation * O + (1 - relaxation) * Z
        reply = yield _joined(mixed + Lam, sizes)  # the only thing that leaves the node
        mean, agreed = reply.ravel()[: Z.size].reshape(Z.shape), reply.ravel()[Z.size :]
        before, Z = Z, project_ball(mean, radius)  # Z-update, equal up to gossip error
        Lam = Lam + mixed - Z  # dual update
        if not watching:
            continue
        if k > 0:
            primal, dual = _residuals(agreed, change)
            if stop is not None and max(primal, dual) <= stop:
                break
            # Only in the first half: a mu that never rests need not converge.
            if balance and 2 * k < n_iter:
                scale = _imbalance(primal, dual)
                mu, Lam = mu * scale, Lam * scale
                solve = factors(mu) if scale != 1 else solve
        change = squared_norm(Z - before)
        sizes = np.array([squared_norm(O - Z), squared_norm(O), squared_norm(Lam)])
    return Z


def _joined(values: Array, sizes: Array) -> Array:
    return np.concatenate([values.ravel(), sizes]) if sizes.size else values


def _imbalance(primal: float, dual: float) -> float:
    """The factor by which mu should change."""
    if primal > APART * dual:
        return 1 / FACTOR
    return FACTOR if dual > APART * primal else 1.0


def _residuals(sizes: Array, change: float) -> tuple[float, float]:
    """Both residuals of the last iteration, relative to what they are made of."""
    apart, output, Lam = sizes.tolist()
    return (
        math.sqrt(apart / max(output, TINY)),
        math.sqrt(change / max(Lam, TINY)),
    )


def agree_mu(local: LayerShare) -> Program[float]:
    """A mu that suits the features' scale: 1/mu is SHARE of G_m's mean eigenvalue."""
    trace = yield np.array([local.trace()])
    mean_eigenvalue = float(trace[0]) / local.shape[1]
    return 1 / (SHARE * mean_eigenvalue) if mean_eigenvalue > 0 else 1.0
