"""One averaging per layer: agree on Y Y^T and T Y^T, then every node solves exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, Program
from dssfn.problem import LayerProblem, solve_ball


def consensus_gram(local: LayerProblem, *, radius: float) -> Program[Array]:
    """Solve one layer over the network; yields n(n+1)/2 + Qn numbers once.

    The minimiser does not change when G and C are both divided by M, so the means
    serve as the sums.
    """
    C = local.cross()  # (Q, n)
    n = C.shape[1]
    mean = yield np.concatenate([C.ravel(), pack(local.gram())])
    return solve_ball(
        unpack(mean[C.size :], n), mean[: C.size].reshape(C.shape), radius
    )


def pack(G: Array) -> Array:
    """The upper triangle of a symmetric matrix, row by row.

    >>> pack(np.array([[1.0, 2.0], [2.0, 3.0]]))
    array([1., 2., 3.])
    """
    packed: Array = G[_upper(len(G))]
    return packed


def unpack(packed: Array, n: int) -> Array:
    """The symmetric (n, n) matrix of a packed triangle."""
    G: Array = np.empty((n, n))
    upper = _upper(n)
    G[upper] = packed
    G.T[upper] = packed
    return G


def _upper(n: int) -> NDArray[np.bool_]:
    return np.tri(n, dtype=np.bool_).T  # a mask: an eighth of what indices would take
