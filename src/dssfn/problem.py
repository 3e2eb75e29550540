"""One layer's least squares: a shard's share of it, and its exact solution.

The layer problem is ``min_O sum_m ||T_m - O Y_m||_F^2  s.t.  ||O||_F <= radius``.
`LayerProblem` is one node's term of the sum; `solve_ball` is the solution in one
place, from the sums G = Y Y^T and C = T Y^T alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dssfn._typing import Array
from dssfn.errors import NumericalError

EPS = float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)


class Proximal(Protocol):
    """``argmin_O ||T - O Y||^2 + ||O - B||^2 / mu``, factored once, solved often."""

    def __call__(self, B: Array) -> Array:
        """The minimising O for a given B."""


@dataclass(frozen=True, slots=True)
class LayerProblem:
    """One shard's share of a layer: features Y (n, J) and targets T (Q, J)."""

    Y: Array
    T: Array

    def gram(self) -> Array:
        """G = Y Y^T, (n, n); numpy sees that it is symmetric and does half the work."""
        G: Array = self.Y @ self.Y.T
        return G

    def gram_times(self, V: Array) -> Array:
        """G V, (n, k), without forming G."""
        GV: Array = self.Y @ (self.Y.T @ V)
        return GV

    def cross(self) -> Array:
        """C = T Y^T, (Q, n)."""
        C: Array = self.T @ self.Y.T
        return C

    def cost(self, O: Array) -> float:
        """||T - O Y||_F^2."""
        return squared_norm(self.T - O @ self.Y)

    def proximal(self, mu: float) -> Proximal:
        """The O-update of ADMM, in the smaller of its two forms."""
        n, J = self.Y.shape
        return _primal(self, mu) if n <= J else _dual(self, mu)


def _primal(problem: LayerProblem, mu: float) -> Proximal:
    C = problem.cross()
    factor = _cholesky(problem.gram(), 1 / mu)

    def solve(B: Array) -> Array:  # (C + B/mu) (G + I/mu)^-1
        O: Array = cho_solve(factor, (C + B / mu).T, check_finite=False).T
        return O

    return solve


def _dual(problem: LayerProblem, mu: float) -> Proximal:
    # With D = O - B the problem is a ridge regression of the residual, whose solution
    # needs only the J x J matrix. (The Woodbury form of the primal solution says the
    # same, but subtracts two numbers that agree to 1/(mu ||G||).)
    Y, T = problem.Y, problem.T
    factor = _cholesky(Y.T @ Y, 1 / mu)

    def solve(B: Array) -> Array:  # B + (T - B Y) (Y^T Y + I/mu)^-1 Y^T
        S: Array = cho_solve(factor, (T - B @ Y).T, check_finite=False).T
        return B + S @ Y.T

    return solve


def _cholesky(A: Array, shift: float) -> tuple[Array, bool]:
    """Factor A + shift * I; A is overwritten."""
    A[np.diag_indices_from(A)] += shift
    try:
        factor: tuple[Array, bool] = cho_factor(A, lower=True, overwrite_a=True)
    except (np.linalg.LinAlgError, ValueError) as exc:
        raise NumericalError(
            "The layer's matrix Y Y^T + I/mu could not be factored. Scale the inputs "
            "(`standardize=True`), or choose a smaller `mu`."
        ) from exc
    return factor


def squared_norm(A: Array) -> float:
    """||A||_F^2."""
    return float(np.vdot(A, A))


def project_ball(Z: Array, radius: float) -> Array:
    """The nearest matrix to Z with ||Z||_F <= radius."""
    norm = float(np.linalg.norm(Z))
    return Z * (radius / norm) if norm > radius else Z


def solve_ball(G: Array, C: Array, radius: float) -> Array:
    """Exact minimiser of ``tr(O G O^T) - 2 tr(O C^T)`` with ``||O||_F <= radius``.

    Parameters
    ----------
    G : array of shape (n, n)
        Symmetric positive semi-definite; any positive multiple of Y Y^T.
    C : array of shape (Q, n)
        The same multiple of T Y^T.
    radius : float
        A norm, not squared.

    Returns
    -------
    array of shape (Q, n)
        The least-squares solution of least norm if that lies in the ball; otherwise
        ``C (G + lam I)^-1`` with the lam > 0 that puts it on the sphere.

    Notes
    -----
    Exact up to rounding of the normal equations: the cost is within about
    ``n * eps * ||G|| * radius^2`` of the optimum, since G squares the condition of Y.

    With G = U diag(s) U^T the norm is a sum of simple fractions in lam. Its
    reciprocal is concave and rises with lam, so Newton's method started left of the
    root climbs to it without overshooting (Hebden's secular equation).
    """
    s, U = np.linalg.eigh(G)  # ascending
    s = np.maximum(s, 0.0)
    CU = C @ U  # (Q, n)
    c: Array = np.linalg.norm(CU, axis=0)  # how much of C each direction has
    rounding = max(float(s[-1]) * len(s) * EPS, TINY)
    lam = _secular(s, c, radius, start=rounding)
    if lam == rounding:
        # No multiplier is needed, or none above rounding: leave out the directions that
        # no sample has. With a multiplier they must stay, or two nodes whose G differ
        # in the last bit would keep different ones.
        kept = s > rounding
        s, U, CU = s[kept], U[:, kept], CU[:, kept]
        lam = _secular(s, c[kept], radius, start=0.0)
    O: Array = (CU / (s + lam)) @ U.T
    if not np.isfinite(O).all():
        raise NumericalError(
            "A layer's solution is not finite. Scale the inputs (`standardize=True`)."
        )
    return project_ball(O, radius)  # takes off the last rounding


def _secular(s: Array, c: Array, radius: float, *, start: float) -> float:
    """The lam > start with ||c / (s + lam)|| = radius, or else `start`."""
    lam = start
    for _ in range(200):  # quadratic at the end; about 10 to 30 in practice
        parts = c / (s + lam)
        norm = float(np.linalg.norm(parts))
        if norm <= radius * (1 + 4 * EPS):
            return lam
        decay = float(np.sum((parts / norm) ** 2 / (s + lam)))  # -d log(norm) / d lam
        step = (norm / radius - 1) / decay
        if lam + step == lam:
            return lam
        lam += step
    raise NumericalError(
        f"The multiplier of a layer was not found: ||C|| = {np.linalg.norm(c):g}, "
        f"||G|| = {s[-1]:g}, radius {radius:g}. Scale the inputs (`standardize=True`)."
    )
