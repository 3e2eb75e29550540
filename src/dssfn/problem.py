"""One node's share of a layer's least squares.

The layer problem is ``min_O sum_m ||T_m - O Y_m||_F^2  s.t.  ||O||_F <= radius``. A
node needs no more of its samples than G = Y Y^T and C = T Y^T, so a share is kept in
the smaller of two forms: `LayerSums` holds G and C, gathered chunk by chunk;
`LayerProblem` holds Y and T, where a node has fewer samples than features.

G is symmetric: only its upper triangle is computed, and sent as n (n + 1) / 2 numbers.

Samples may have weights: the squared error of each is multiplied by its weight. That is
the same problem with the columns of Y and T multiplied by the weights' roots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack

from dssfn._rank_update import add_gram
from dssfn._typing import Array, Integers
from dssfn.ball import squared_norm
from dssfn.errors import NumericalError
from dssfn.exact.gram import Layout
from dssfn.sum_bounds import SumBounds

Operator: TypeAlias = Callable[[Array], Array]


class Proximal(Protocol):
    """The minimiser of ``||T - O Y||^2 + ||O - B||^2 / mu``, factored once."""

    def __call__(self, B: Array) -> Array:
        """Return the minimising O for a given B."""


class Factors(Protocol):
    """The O-update of ADMM for every mu, after one eigen-decomposition."""

    def __call__(self, mu: float) -> Proximal:
        """Return the O-update for this mu."""


class LayerShare(Protocol):
    """A node's share of a layer with n features, as solvers use it."""

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the output matrix, (Q, n)."""

    def packed_gram(self) -> Array:
        """Return G = Y Y^T as n (n + 1) / 2 numbers."""

    def operator(self) -> Operator:
        """Return the function V -> G V, for V of shape (n, k)."""

    def cross(self) -> Array:
        """Return C = T Y^T, of shape (Q, n)."""

    def trace(self) -> float:
        """Return ||Y||_F^2, the trace of G."""

    def proximal(self, mu: float) -> Proximal:
        """Return the O-update of ADMM."""

    def spectral(self) -> Factors:
        """Return the O-update of ADMM for any mu."""


def weighted(Y: Array, T: Array, weights: Array | None) -> tuple[Array, Array]:
    """Return Y and T with every column multiplied by the root of its weight.

    Without weights they are returned as they are.

    >>> weighted(np.ones((1, 2)), np.ones((1, 2)), np.array([4.0, 0.0]))
    (array([[2., 0.]]), array([[2., 0.]]))
    """
    if weights is None:
        return Y, T
    roots: Array = np.sqrt(weights)
    return Y * roots.astype(Y.dtype, copy=False), T * roots


def pack(upper: Array) -> Array:
    """Return the upper triangle as n (n + 1) / 2 numbers, column by column.

    >>> pack(np.array([[1.0, 2.0], [2.0, 3.0]]))
    array([1., 2., 3.])
    """
    packed: Array = lapack.dtrttp(np.asfortranarray(upper))[0]
    return packed


def unpack(packed: Array, n: int) -> Array:
    """Return the symmetric (n, n) matrix of a packed one."""
    return mirror(lapack.dtpttr(n, packed)[0])


def mirror(upper: Array) -> Array:
    """Return the symmetric matrix of an upper triangle; the rest is ignored."""
    G: Array = np.where(np.tri(len(upper), dtype=bool), upper.T, upper)
    return G


@dataclass(frozen=True, slots=True)
class LayerSums:
    """A share as the sums over its samples.

    Parameters
    ----------
    upper : array of shape (n, n)
        The upper triangle of G, in Fortran's order.
    C : array of shape (Q, n)
        T Y^T.
    """

    upper: Array
    C: Array

    @classmethod
    def zeros(cls, Q: int, n: int) -> Self:
        """Return the sums over no samples."""
        return cls(np.zeros((n, n), order="F"), np.zeros((Q, n)))

    def add(self, Y: Array, T: Array, weights: Array | None = None) -> None:
        """Add samples with features Y (n, J), targets T (Q, J) and weights (J,)."""
        Y, T = weighted(Y, T, weights)
        add_gram(self.upper, Y)
        np.add(self.C, T.astype(Y.dtype, copy=False) @ Y.T, out=self.C)

    def merge(self, other: LayerSums) -> None:
        """Add the samples of other sums."""
        np.add(self.upper, other.upper, out=self.upper)
        np.add(self.C, other.C, out=self.C)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the output matrix, (Q, n)."""
        Q, n = self.C.shape
        return Q, n

    def packed_gram(self) -> Array:
        """Return G as n (n + 1) / 2 numbers."""
        return pack(self.upper)

    def operator(self) -> Operator:
        """Return the function V -> G V."""
        G = mirror(self.upper)
        return lambda V: G @ V

    def cross(self) -> Array:
        """Return C, of shape (Q, n)."""
        return self.C

    def trace(self) -> float:
        """Return ||Y||_F^2, the trace of G."""
        return float(np.trace(self.upper))

    def proximal(self, mu: float) -> Proximal:
        """Return the O-update of ADMM: (C + B/mu) (G + I/mu)^-1."""
        factor = _cholesky(mirror(self.upper), 1 / mu)

        def solve(B: Array) -> Array:
            O: Array = cho_solve(factor, (self.C + B / mu).T, check_finite=False).T
            return O

        return solve

    def spectral(self) -> Factors:
        """Return the O-update of ADMM for any mu, in the basis of G's eigenvectors."""
        s, U = np.linalg.eigh(mirror(self.upper))
        CU = self.C @ U

        def proximal(mu: float) -> Proximal:
            return lambda B: ((CU + (B @ U) / mu) / (s + 1 / mu)) @ U.T

        return proximal


@dataclass(frozen=True, slots=True)
class LayerProblem:
    """A share as its samples: features Y (n, J) and targets T (Q, J)."""

    Y: Array
    T: Array

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the output matrix, (Q, n)."""
        return len(self.T), len(self.Y)

    def sums(self) -> LayerSums:
        """Return the same share as sums."""
        sums = LayerSums.zeros(*self.shape)
        sums.add(self.Y, self.T)
        return sums

    def packed_gram(self) -> Array:
        """Return G as n (n + 1) / 2 numbers."""
        n = len(self.Y)
        upper: Array = np.zeros((n, n), order="F")
        add_gram(upper, self.Y)
        return pack(upper)

    def operator(self) -> Operator:
        """Return the function V -> G V, without forming G."""
        Y = self.Y
        return lambda V: Y @ (Y.T @ V)

    def cross(self) -> Array:
        """Return C = T Y^T, of shape (Q, n)."""
        C: Array = self.T @ self.Y.T
        return C

    def trace(self) -> float:
        """Return ||Y||_F^2, the trace of G."""
        return squared_norm(self.Y)

    def cost(self, O: Array) -> float:
        """Return the cost ||T - O Y||_F^2."""
        return squared_norm(self.T - O @ self.Y)

    def proximal(self, mu: float) -> Proximal:
        """Return the O-update of ADMM: B + (T - B Y) (Y^T Y + I/mu)^-1 Y^T.

        With D = O - B the problem is a ridge regression of the residual, whose solution
        needs only the J x J matrix. (The Woodbury form of the other solution says the
        same, but subtracts two numbers that agree to 1/(mu ||G||).)
        """
        Y, T = self.Y, self.T
        factor = _cholesky(Y.T @ Y, 1 / mu)

        def solve(B: Array) -> Array:
            S: Array = cho_solve(factor, (T - B @ Y).T, check_finite=False).T
            return B + S @ Y.T

        return solve

    def spectral(self) -> Factors:
        """Return the O-update of ADMM for any mu, by the eigenvectors of Y^T Y."""
        s, V = np.linalg.eigh(self.Y.T @ self.Y)
        YV, TV = self.Y @ V, self.T @ V

        def proximal(mu: float) -> Proximal:
            return lambda B: B + ((TV - B @ YV) / (s + 1 / mu)) @ YV.T

        return proximal


@dataclass(frozen=True, slots=True)
class ExactShare:
    """A share whose sums are exact.

    Parameters
    ----------
    layout : Layout
        Which sums there are.
    n_wide : int
        The first features, which are wide numbers before they are weighed.
    gains : tuple of float
        What the features are multiplied by before the layer is solved.
    fill : callable
        Writes the sums as a message carries them.
    bounds : SumBounds
        What the sums can be.
    """

    layout: Layout
    n_wide: int
    gains: tuple[float, ...]
    fill: Callable[[Integers], None]
    bounds: SumBounds


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
