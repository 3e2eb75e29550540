"""Block Krylov: a few averagings of a Q x n matrix, and the layer's optimum to a bound.

How this works. The optimum is C (G + lam I)^-1 for sums G = Y Y^T and C = T Y^T over
the network, so its rows lie in the space spanned by C, C G, C G^2, ... All nodes agree
on C, take an orthonormal basis V of its rows, and average their G_m V: that is G V,
which both extends the space and gives the small problem on it, which every node solves
exactly. No parameter, no n x n matrix, no factorisation, and the way the data are split
does not matter, since only sums enter.

All nodes must hold the same basis to the last bit: a direction of which little is left
after orthogonalising magnifies the smallest difference. So this solver needs averages
that are equal on all nodes, as `tree` gives them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.linalg import qr

from dssfn._typing import Array
from dssfn.ball import EPS, TINY, solve_ball, squared_norm
from dssfn.config import Plan
from dssfn.problem import LayerShare
from dssfn.programs import Agreed, Message, Program
from dssfn.solvers.gram import Gram

NOTHING_NEW = 1e-13  # a column is dropped when orthogonalising leaves less of it


@dataclass(frozen=True, slots=True)
class Krylov:
    """Block Krylov iterations, each with one averaging of at most Q n numbers.

    Parameters
    ----------
    accuracy : float
        Stop when the solution is proved to be this near, relative to its norm.
    patience : int, optional
        After this many averagings agree on the Gram matrix instead, which takes one
        more: where the data are ill-conditioned the space must grow very large. 0 does
        so at once.
    """

    accuracy: float = 1e-8
    patience: int | None = None

    needs_equal_bits = True

    @classmethod
    def of_plan(cls, plan: Plan, layer: int, before: Sequence[int] = ()) -> Self:
        """Return the solver of a layer.

        Once a layer has lost patience, all later ones do so at once.
        """
        limits = (plan.patience(k) or math.inf for k in range(len(before)))
        lost = any(map(operator.gt, before, limits))
        return cls(plan.accuracy, 0 if lost else plan.patience(layer))

    def message_size(self, Q: int, n: int) -> int:
        """Return the size of C, and of G times a block of Q columns."""
        return Q * n

    def largest_message(self, Q: int, n: int) -> int:
        """Return the size of the Gram matrix and C, should patience be lost."""
        return Gram().message_size(Q, n)

    def program(self, share: LayerShare, radius: float) -> Program[Array]:
        """Extend the space until the solution in it is near enough."""
        if self.patience == 0:
            return (yield from Gram().program(share, radius))
        C = yield Message.of(share.cross())
        space: Space = yield Agreed(_first_space, (C, radius, self.accuracy))
        gram = share.operator()
        n_averagings = 1
        while not space.is_done:
            if n_averagings == self.patience:
                return (yield from Gram().program(share, radius))
            n_averagings += 1
            image = yield Message.of(gram(space.block))
            space = yield Agreed(_extend, (space, image))
        return space.O


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """The state that all nodes share after some iterations.

    Parameters
    ----------
    C : array of shape (Q, n)
        The mean of T Y^T.
    radius, accuracy : float
        The largest norm of O, and how near O must be to the optimum.
    V, W : arrays of shape (n, k)
        Orthonormal columns, and G V.
    block : array of shape (n, b)
        The columns to come next, at most Q; none once the space is complete.
    O : array of shape (Q, n)
        The best output matrix with rows in the span of V.
    is_done : bool
        Whether O is good enough.
    """

    C: Array
    radius: float
    accuracy: float
    V: Array
    W: Array
    block: Array
    O: Array
    is_done: bool


def _first_space(C: Array, radius: float, accuracy: float) -> Space:
    none: Array = np.empty((C.shape[1], 0))
    block = orthonormal(C.T, none)
    O, done = np.zeros_like(C), not block.size
    return Space(C, radius, accuracy, none, none, block, O, done)


def _extend(space: Space, image: Array) -> Space:
    """Add the averaged G * block to the space and solve the small problem again."""
    V, W = np.hstack([space.V, space.block]), np.hstack([space.W, image])
    S = V.T @ W
    Z = solve_ball((S + S.T) / 2, space.C @ V, space.radius)
    O, OG = Z @ V.T, Z @ W.T
    block = orthonormal(image, V)
    done = not block.size or is_optimal(O, space.C, OG, space.accuracy)
    return replace(space, V=V, W=W, block=block, O=O, is_done=done)


def is_optimal(O: Array, C: Array, OG: Array, accuracy: float) -> bool:
    """Return whether O is about as near to the optimum as `accuracy` asks for.

    At the optimum D = C - O G, half the downward slope of the cost, is lam * O with
    lam >= 0. What is left of D, divided by lam, tells the distance to the optimum: that
    is at most twice as large (`docs/mathematics.md` has the proof), and no larger where
    lam is that of the optimum. Inside the ball lam is zero, and D must vanish.
    """
    D = C - OG
    lam = float(np.vdot(D, O)) / max(squared_norm(O), TINY)
    left = float(np.linalg.norm(D - lam * O))
    rounding = 16 * EPS * float(np.linalg.norm(C))
    return left <= accuracy * max(lam, 0.0) * float(np.linalg.norm(O)) + rounding


def orthonormal(block: Array, V: Array) -> Array:
    """Return orthonormal columns that span what `block` adds to the span of V."""
    size = np.linalg.norm(block)
    for _ in range(2):  # once is not enough (Kahan and Parlett)
        block = block - V @ (V.T @ block)
    Q, R, _ = qr(block, mode="economic", pivoting=True)
    fresh: Array = Q[:, np.abs(np.diag(R)) > NOTHING_NEW * size]
    # What was nearly in the span of V has brought some of it along.
    again, _ = np.linalg.qr(fresh - V @ (V.T @ fresh))
    return again
