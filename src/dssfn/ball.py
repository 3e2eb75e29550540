"""Least squares in a ball: the exact solution, from the sums G and C alone.

How this works. The minimiser is ``C (G + lam I)^-1`` with the multiplier lam that puts
it on the sphere, or lam = 0 if it lies inside the ball. The reciprocal of its norm is
concave and rises with lam, so Newton's method started left of the root climbs to it
without overshooting (Hebden's secular equation). A small or a singular G is
diagonalised once. A large one is factored again for every lam, which takes far longer
than to solve with the factor. So each factor is used several times: the powers C A^-1,
C A^-2, .. with A = G + lam I, for all lam so far, span a small space in which the next
multiplier is found almost exactly (rational Krylov), and near the root they are a
Taylor series that needs no further factor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import get_lapack_funcs, qr

from dssfn._typing import Array
from dssfn.errors import NumericalError

Solver: TypeAlias = Callable[[Array], Array]  # B -> B A^-1
Factor: TypeAlias = Callable[[float], Solver | None]  # lam -> that of A = G + lam I

EPS = float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)

SMALL = 100  # up to this size diagonalising is as fast
POWERS = 4  # of the inverse that a factor is used for
NEAR = 1e-4  # relative change of lam over which their Taylor series is exact
GUESS = 0.05  # the same for a multiplier that is found in their span
JUMPS = 4  # factors that are followed by a jump; then Newton, between two bounds


def squared_norm(A: Array) -> float:
    """Return ||A||_F^2, the squared Frobenius norm of a matrix."""
    return float(np.vdot(A, A))


def project_ball(Z: Array, radius: float) -> Array:
    """Return the nearest matrix to Z with ||Z||_F <= radius."""
    norm = float(np.linalg.norm(Z))
    return Z * (radius / norm) if norm > radius else Z


def solve_ball(G: Array, C: Array, radius: float) -> Array:
    """Return the minimiser of ``tr(O G O^T) - 2 tr(O C^T)`` in a ball.

    The ball is ``||O||_F <= radius``, and the minimiser is exact.

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
    """
    O = _by_factors(G, C, radius) if len(G) > SMALL else None
    if O is None:
        O = _by_eigenvectors(G, C, radius)
    if not np.isfinite(O).all():
        raise NumericalError(
            "A layer's solution is not finite. Scale the inputs (`standardize=True`)."
        )
    return project_ball(O, radius)  # takes off the last rounding


def _by_eigenvectors(G: Array, C: Array, radius: float) -> Array:
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
    return O


def _secular(s: Array, c: Array, radius: float, *, start: float) -> float:
    """Return the lam > start with ||c / (s + lam)|| = radius, or else `start`."""
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


def least_multiplier(s: Array, c: Array, radius: float) -> float:
    """Return the least lam >= 0 with ||c / (s + lam)|| <= radius, for positive s.

    >>> round(least_multiplier(np.array([1.0, 1.0]), np.array([3.0, 4.0]), 2.0), 12)
    1.5
    """
    return _secular(s, c, radius, start=0.0)


def find_multiplier(
    G: Array, C: Array, radius: float, least: float, factor: Factor | None = None
) -> tuple[float, float]:
    """Return about the least lam >= `least` with ||C (G + lam I)^-1|| <= radius.

    Parameters
    ----------
    G, C, radius
        As in `solve_ball`.
    least : float
        Above rounding: G + least I is regular.
    factor : callable, optional
        Takes lam and returns a solver of G + lam I, or None if it cannot be factored.

    Returns
    -------
    tuple of float
        The multiplier, and by how much the norm falls if lam rises: -d log / d log.
    """
    if len(G) > SMALL:
        found = _climb(G, C, radius, least, factor or factored(G), GUESS)
        if found is not None:
            lam = found.lam if found.is_inside else _jump(G, C, found.blocks, radius)
            return max(lam, least), 1 / max(found.slope, 1.0)
    s, U = np.linalg.eigh(G)
    s = np.maximum(s, 0.0)
    c: Array = np.linalg.norm(C @ U, axis=0)
    lam = _secular(s, c, radius, start=least)
    parts = (c / (s + lam)) ** 2
    falls = lam * float(np.sum(parts / (s + lam))) / max(float(parts.sum()), TINY)
    return lam, falls


def factored(G: Array) -> Factor:
    """Return a function that factors G + lam I."""
    potrf, potrs = get_lapack_funcs(("potrf", "potrs"), (G,))

    def factor(lam: float) -> Solver | None:
        A = np.array(G.T, order="F")  # a plain copy, since G is symmetric
        A[np.diag_indices_from(A)] += lam
        L, failed = potrf(A, lower=True, overwrite_a=True, clean=False)
        if failed:
            return None
        return lambda B: np.ascontiguousarray(potrs(L, B.T, lower=True)[0].T)

    return factor


def _by_factors(G: Array, C: Array, radius: float) -> Array | None:
    """Return the solution, or None if lam or an eigenvalue is lost in rounding."""
    rounding = max(float(np.linalg.norm(G)) * len(G) * EPS, TINY)
    found = _climb(G, C, radius, rounding, factored(G), NEAR)
    if found is None:
        return None
    if found.is_inside:
        return _inside(G, C, radius)
    return _moved(found.powers, found.step, found.slope, radius)


class _Climbed(NamedTuple):
    """A multiplier near the sphere, or the first one if that lies inside the ball."""

    lam: float
    blocks: list[Array]  # whose span nearly holds solutions for other multipliers
    powers: list[Array]  # C A^-1, lam C A^-2, lam^2 C A^-3, ..
    step: float  # to the sphere, in units of lam
    slope: float  # -d log lam / d log norm
    is_inside: bool


def _climb(
    G: Array, C: Array, radius: float, least: float, factor: Factor, near: float
) -> _Climbed | None:
    """Return a multiplier near that of the sphere, or None if it is lost in rounding.

    Parameters
    ----------
    G, C, radius, least, factor
        As in `find_multiplier`.
    near : float
        How near, in units of lam.
    """
    lam, low, high = least, least, np.inf  # outside the ball, and inside
    blocks = [C]
    for k in range(30):  # two to four in practice; more only follow rounding
        solve = factor(lam)
        if solve is None:
            return None
        powers = [solve(C)]
        norm = float(np.linalg.norm(powers[0]))
        excess = norm / radius - 1
        is_inside = excess <= 0 and lam == least
        while len(powers) < (2 if is_inside else POWERS):
            powers.append(solve(lam * powers[-1]))
        slope = norm**2 / max(float(np.vdot(powers[0], powers[1])), TINY)
        step = excess * slope
        blocks += powers
        if is_inside or abs(step) <= near:
            return _Climbed(lam, blocks, powers, step, slope, is_inside)
        low, high = (lam, high) if excess > 0 else (low, lam)
        if k < JUMPS:
            lam = max(_jump(G, C, blocks, radius), least)
        else:
            lam *= float(np.exp(np.clip(np.log1p(excess) * slope, -700, 700)))
        if not low < lam < high:
            lam = np.sqrt(low * high) if np.isfinite(high) else 100 * low
    return None


def _moved(powers: list[Array], step: float, slope: float, radius: float) -> Array:
    """Return the solution for lam (1 + step), the step corrected to meet the sphere."""
    for _ in range(3):  # each leaves about NEAR of the distance to the sphere
        O = powers[-1]
        for power in powers[-2::-1]:
            O = power - step * O
        step += (float(np.linalg.norm(O)) / radius - 1) * slope
    return O


def _jump(G: Array, C: Array, blocks: list[Array], radius: float) -> float:
    """Return the multiplier of the problem restricted to the span of some blocks.

    Solutions for other multipliers nearly lie in there: those near a lam whose powers
    are blocks by their Taylor series, those between two of them as well, and those far
    above because they tend to a multiple of C.
    """
    most = max(len(G) // (3 * len(C)), 1 + POWERS)
    kept = [blocks[0], *blocks[1:][-(most - 1) :]]
    columns = [B.T / max(float(np.linalg.norm(B)), TINY) for B in kept]
    V, _ = qr(np.hstack(columns), mode="economic", check_finite=False)
    S = V.T @ (G @ V)
    s, U = np.linalg.eigh((S + S.T) / 2)
    c: Array = np.linalg.norm((C @ V) @ U, axis=0)
    s = np.maximum(s, 0.0)
    return _secular(s, c, radius, start=max(float(s[-1]) * len(G) * EPS, TINY))


def _inside(G: Array, C: Array, radius: float) -> Array | None:
    """Return C G^-1, if G is regular and that lies in the ball."""
    potrf, pocon, potrs = get_lapack_funcs(("potrf", "pocon", "potrs"), (G,))
    L, failed = potrf(np.array(G.T, order="F"), lower=True, overwrite_a=True)
    if failed:
        return None
    inverse_condition = float(pocon(L, np.linalg.norm(G, 1), uplo="L")[0])
    O: Array = potrs(L, C.T, lower=True)[0].T
    is_regular = inverse_condition > 10 * len(G) * EPS
    return O if is_regular and np.linalg.norm(O) <= radius else None
