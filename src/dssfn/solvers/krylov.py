"""Block Krylov: a few averagings of a Q x n matrix, and the layer's optimum to a bound.

How this works. The optimum is C (G + lam I)^-1 for sums G = Y Y^T and C = T Y^T over
the network, so its rows lie in the space spanned by C, C G, C G^2, ... All nodes agree
on C, take an orthonormal basis V of its rows, and average their G_m V: that is G V,
which both extends the space and gives the small problem on it, which every node solves
exactly. No parameter, no n x n matrix, no factorisation, and the way the data are split
does not matter, since only sums enter.

What all nodes must do alike they decide alike. A block always has Q columns; one that
brings nothing new is zero. And each node's vote to stop rides along with its next
message, so that nodes whose averages differ in the last bit still stop together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr

from dssfn._typing import Agreed, Array, Program
from dssfn.problem import EPS, LayerProblem, solve_ball, squared_norm

NOTHING_NEW = 1e-9  # a column is dropped when orthogonalising leaves less of it
# The share of votes that ends the iteration: far from every fraction k / M.
MAJORITY = 2**0.5 - 1


def consensus_krylov(
    local: LayerProblem, *, radius: float, gap: float
) -> Program[Array]:
    """Solve one layer over the network; yields Q n + 1 numbers per iteration.

    Parameters
    ----------
    local : LayerProblem
        This node's share.
    radius : float
        Largest Frobenius norm of the solution.
    gap : float
        Stop when the cost is proved to be within this share of the optimal one.

    Returns
    -------
    array of shape (Q, n)
    """
    mean = yield np.append(local.cross(), squared_norm(local.T))
    space: Space = yield Agreed(_first_space, (mean, len(local.T), radius, gap))
    while True:
        mean = yield np.append(local.gram_times(space.block), float(space.is_done))
        space = yield Agreed(_extend, (space, mean))
        if mean[-1] > MAJORITY:
            return space.O


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """What all nodes know after some iterations.

    Parameters
    ----------
    C : array of shape (Q, n)
        The mean of T Y^T.
    cost_of_zero : float
        The mean of ||T||^2.
    radius, gap : float
        As in `consensus_krylov`.
    V, W : arrays of shape (n, k Q)
        Orthonormal columns, some of them zero, and G V.
    block : array of shape (n, Q)
        The columns to come next; all zero once the space is complete.
    O : array of shape (Q, n)
        The best output matrix with rows in the span of V.
    is_done : bool
        Whether O is good enough.
    """

    C: Array
    cost_of_zero: float
    radius: float
    gap: float
    V: Array
    W: Array
    block: Array
    O: Array
    is_done: bool


def _first_space(mean: Array, Q: int, radius: float, gap: float) -> Space:
    C = mean[:-1].reshape(Q, -1)
    none: Array = np.empty((C.shape[1], 0))
    block = orthonormal(C.T, none)
    zero = np.zeros_like(C)
    return Space(C, float(mean[-1]), radius, gap, none, none, block, zero, False)


def _extend(space: Space, mean: Array) -> Space:
    """Take the averaged G * block in and solve the small problem anew."""
    C, radius = space.C, space.radius
    image = mean[:-1].reshape(space.block.shape)
    V, W = np.hstack([space.V, space.block]), np.hstack([space.W, image])
    S = V.T @ W
    Z = solve_ball((S + S.T) / 2, C @ V, radius)
    O, OG = Z @ V.T, Z @ W.T
    cost = space.cost_of_zero - 2 * float(np.vdot(O, C)) + float(np.vdot(OG, O))
    block = orthonormal(image, V)
    done = not block.any() or is_optimal(O, C, OG, radius, space.gap * cost)
    return replace(space, V=V, W=W, block=block, O=O, is_done=done)


def is_optimal(O: Array, C: Array, OG: Array, radius: float, gap: float) -> bool:
    """Whether the cost of O is within `gap` of the optimum, or as near as floats get.

    The cost is convex, so it lies above its tangent at O; the tangent is lowest on the
    ball at radius * D / ||D||, where D = C - O G is half the downward slope. So the
    distance to the optimum is bounded with no eigenvalue and no multiplier.
    """
    D = C - OG
    steepest = radius * float(np.linalg.norm(D))
    bound = 2 * (steepest - float(np.vdot(D, O)))
    vanished = float(np.linalg.norm(D)) <= 64 * EPS * float(np.linalg.norm(C))
    return vanished or bound <= gap + 8 * EPS * steepest


def orthonormal(block: Array, V: Array) -> Array:
    """Columns that span what `block` adds to the span of V; the others are zero."""
    size = np.linalg.norm(block)
    for _ in range(2):  # once is not enough (Kahan and Parlett)
        block = block - V @ (V.T @ block)
    fresh: Array
    fresh, R, _ = qr(block, mode="economic", pivoting=True)
    kept = np.abs(np.diag(R)) > NOTHING_NEW * size
    if fresh.shape[1] < block.shape[1]:  # fewer features than classes
        fresh = np.pad(fresh, ((0, 0), (0, block.shape[1] - fresh.shape[1])))
        kept = np.pad(kept, (0, fresh.shape[1] - len(kept)))
    return np.where(kept, fresh, 0.0)
