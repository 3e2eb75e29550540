"""One averaging per layer: agree on Y Y^T and T Y^T, then every node solves exactly."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Agreed, Array, Program
from dssfn.problem import LayerProblem, solve_ball


def consensus_gram(local: LayerProblem, *, radius: float) -> Program[Array]:
    """Solve one layer over the network; yields n(n+1)/2 + Qn numbers once.

    The minimiser does not change when G and C are both divided by M, so the means
    serve as the sums.
    """
    C = local.cross()  # (Q, n)
    mean = yield np.concatenate([C.ravel(), pack(local.gram())])
    O: Array = yield Agreed(_solve, (mean, C.shape, radius))
    return O


def _solve(mean: Array, shape: tuple[int, int], radius: float) -> Array:
    size = math.prod(shape)
    return solve_ball(unpack(mean[size:], shape[1]), mean[:size].reshape(shape), radius)


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
