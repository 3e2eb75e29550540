"""One node's share of a layer's least squares.

The layer problem is ``min_O sum_m ||T_m - O Y_m||_F^2  s.t.  ||O||_F <= radius``. A
node needs no more of its samples than G = Y Y^T and C = T Y^T, so a share is kept in
the smaller of two forms: `LayerSums` holds G and C, gathered chunk by chunk;
`LayerProblem` holds Y and T, where a node has fewer samples than features.

G travels and rests as the n (n + 1) / 2 numbers of LAPACK's rectangular full packed
form, which dense products can fill.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from scipy.linalg import blas, cho_factor, cho_solve, lapack

from dssfn._typing import Array
from dssfn.ball import squared_norm
from dssfn.errors import NumericalError


class Proximal(Protocol):
    """``argmin_O ||T - O Y||^2 + ||O - B||^2 / mu``, factored once, solved often."""

    def __call__(self, B: Array) -> Array:
        """The minimising O for a given B."""


class Factors(Protocol):
    """The same for every mu, after one eigen-decomposition."""

    def __call__(self, mu: float) -> Proximal:
        """The O-update for this mu."""


class LayerShare(Protocol):
    """What a solver may ask of a node's share of a layer with n features."""

    @property
    def shape(self) -> tuple[int, int]:
        """(Q, n), of the output matrix."""

    def packed_gram(self) -> Array:
        """G = Y Y^T as n (n + 1) / 2 numbers."""

    def gram_times(self, V: Array) -> Array:
        """G V, (n, k)."""

    def cross(self) -> Array:
        """C = T Y^T, (Q, n)."""

    def trace(self) -> float:
        """||Y||_F^2."""

    def proximal(self, mu: float) -> Proximal:
        """The O-update of ADMM."""

    def spectral(self) -> Factors:
        """The O-update of ADMM for any mu."""


def pack(G: Array) -> Array:
    """A symmetric matrix as n (n + 1) / 2 numbers.

    >>> pack(np.array([[1.0, 2.0], [2.0, 3.0]])).shape
    (3,)
    """
    packed: Array = lapack.dtrttf(np.asfortranarray(G))[0]
    return packed


def unpack(packed: Array, n: int) -> Array:
    """The symmetric (n, n) matrix of a packed one."""
    upper = lapack.dtfttr(n, packed)[0]
    G: Array = np.triu(upper)
    G += np.triu(upper, 1).T
    return G


def add_gram(packed: Array, Y: Array) -> None:
    """Add Y Y^T to a packed matrix, in place; half the work of a general product."""
    n, J = Y.shape
    if Y.dtype == np.float32:  # products in single precision, their sum in double
        packed += lapack.ssfrk(n, J, 1.0, Y.T, 0.0, np.zeros_like(packed, np.float32),
                               trans="T", overwrite_c=True)  # fmt: skip
        return
    lapack.dsfrk(n, J, 1.0, Y.T, 1.0, packed, trans="T", overwrite_c=True)


@dataclass(frozen=True, slots=True)
class LayerSums:
    """A share as the sums over its samples.

    Parameters
    ----------
    packed : array of n (n + 1) / 2 numbers
        G, packed.
    C : array of shape (Q, n)
    """

    packed: Array
    C: Array

    @classmethod
    def zeros(cls, Q: int, n: int) -> Self:
        """The sums over no samples."""
        return cls(np.zeros(n * (n + 1) // 2), np.zeros((Q, n)))

    def add(self, Y: Array, T: Array) -> None:
        """Take samples with features Y (n, J) and targets T (Q, J) in."""
        add_gram(self.packed, Y)
        np.add(self.C, T.astype(Y.dtype, copy=False) @ Y.T, out=self.C)

    @property
    def shape(self) -> tuple[int, int]:
        """(Q, n), of the output matrix."""
        Q, n = self.C.shape
        return Q, n

    def packed_gram(self) -> Array:
        """G as n (n + 1) / 2 numbers."""
        return self.packed

    def gram_times(self, V: Array) -> Array:
        """G V, (n, k)."""
        upper = lapack.dtfttr(len(V), self.packed)[0]
        GV: Array = blas.dsymm(1.0, upper, V)
        return GV

    def cross(self) -> Array:
        """C, (Q, n)."""
        return self.C

    def trace(self) -> float:
        """||Y||_F^2."""
        return float(np.trace(lapack.dtfttr(self.shape[1], self.packed)[0]))

    def proximal(self, mu: float) -> Proximal:
        """The O-update of ADMM: (C + B/mu) (G + I/mu)^-1."""
        factor = _cholesky(unpack(self.packed, self.shape[1]), 1 / mu)

        def solve(B: Array) -> Array:
            O: Array = cho_solve(factor, (self.C + B / mu).T, check_finite=False).T
            return O

        return solve

    def spectral(self) -> Factors:
        """The O-update of ADMM for any mu, in the basis of G's eigenvectors."""
        s, U = np.linalg.eigh(unpack(self.packed, self.shape[1]))
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
        """(Q, n), of the output matrix."""
        return len(self.T), len(self.Y)

    def sums(self) -> LayerSums:
        """The same share in the other form."""
        sums = LayerSums.zeros(*self.shape)
        sums.add(self.Y, self.T)
        return sums

    def packed_gram(self) -> Array:
        """G as n (n + 1) / 2 numbers."""
        n = len(self.Y)
        packed: Array = np.zeros(n * (n + 1) // 2)
        add_gram(packed, self.Y)
        return packed

    def gram_times(self, V: Array) -> Array:
        """G V, (n, k), without forming G."""
        GV: Array = self.Y @ (self.Y.T @ V)
        return GV

    def cross(self) -> Array:
        """C = T Y^T, (Q, n)."""
        C: Array = self.T @ self.Y.T
        return C

    def trace(self) -> float:
        """||Y||_F^2."""
        return squared_norm(self.Y)

    def cost(self, O: Array) -> float:
        """||T - O Y||_F^2."""
        return squared_norm(self.T - O @ self.Y)

    def proximal(self, mu: float) -> Proximal:
        """The O-update of ADMM: B + (T - B Y) (Y^T Y + I/mu)^-1 Y^T.

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
        """The O-update of ADMM for any mu, in the basis of Y^T Y's eigenvectors."""
        Y, T = self.Y, self.T
        s, V = np.linalg.eigh(Y.T @ Y)
        YV = Y @ V

        def proximal(mu: float) -> Proximal:
            return lambda B: B + ((T @ V - B @ YV) / (s + 1 / mu)) @ YV.T

        return proximal


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
