"""One averaging per layer: agree on Y Y^T and T Y^T, then every node solves exactly."""

from __future__ import annotations

import numpy as np

from dssfn._typing import Array, Program
from dssfn.problem import LayerProblem, solve_ball


def consensus_gram(local: LayerProblem, *, radius: float) -> Program[Array]:
    """Solve one layer over the network; yields n(n+1)/2 + Qn numbers once.

    The minimiser does not change when G and C are both divided by M, so the means
    serve as the sums.
    """
    C = local.cross()  # (Q, n)
    Q, n = C.shape
    upper = np.triu_indices(n)
    mean = yield np.concatenate([local.gram()[upper], C.ravel()])
    G = np.empty((n, n))
    G[upper] = mean[: -Q * n]
    G.T[upper] = mean[: -Q * n]
    return solve_ball(G, mean[-Q * n :].reshape(Q, n), radius)
