"""Ridge regression from agreed sums, for all ridges at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.ensemble.choices import Pull
from dssfn.ensemble.units import CONSTANT
from dssfn.exact.refine import exact_product, refined_solution
from dssfn.network import SUMMATION_ERROR, lossless_flow
from dssfn.problem import mirror


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """The sums over the training samples of one member.

    Parameters
    ----------
    upper : array of shape (n, n)
        The upper triangle of F W F^T; W holds the samples' weights.
    C : array of shape (Q, n)
        D W F^T, where D = T - S is what the scores so far leave over.
    """

    upper: Array
    C: Array

    @classmethod
    def bordered(cls, old: Sums | None, cross: Array, new: Array, C: Array) -> Self:
        """Return the sums of some features and of new ones that follow them.

        Parameters
        ----------
        old : Sums, optional
            Those of the features before.
        cross : array of shape (m, n - m)
            New features by those before.
        new : array of shape (m, m)
            New features by themselves, upper triangle.
        C : array of shape (Q, m)
            What is left over by new features.
        """
        if old is None:
            return cls(np.asfortranarray(new), C)
        m, first = cross.shape
        upper: Array = np.zeros((first + m, first + m), order="F")
        upper[:first, :first] = old.upper
        upper[:first, first:] = cross.T
        upper[first:, first:] = new
        return cls(upper, np.hstack([old.C, C]))

    def scaled(self, factors: Array) -> Sums:
        """Return the sums of features that are multiplied by factors of shape (n,)."""
        return Sums(self.upper * np.outer(factors, factors), self.C * factors)

    @property
    def weight(self) -> float:
        """The weight of all samples: their number, unless they are weighted."""
        return float(self.upper[0, 0])

    @property
    def level(self) -> Array:
        """The mean of what is left over, (Q, 1)."""
        return self.C[:, :CONSTANT] / _positive(self.weight)

    def whole(self) -> Array:
        """Return F W F^T."""
        return mirror(self.upper)

    def means(self) -> Array:
        """Return the means of the features, the constant left out."""
        return self.upper[0, CONSTANT:] / _positive(self.weight)

    def scatter(self) -> Array:
        """Return the sum of products of the features, taken from their means.

        What is left of a constant feature is rounding, which depends on who holds the
        samples; it is taken as zero.
        """
        mean = self.means()
        G = mirror(self.upper[CONSTANT:, CONSTANT:])
        squares = np.diag(G).copy()
        G -= self.weight * np.outer(mean, mean)
        constant = np.diag(G) <= SUMMATION_ERROR * squares
        G[constant] = 0.0
        G[:, constant] = 0.0
        return G


def message_size(n_outputs: int, first: int, n: int) -> int:
    """Return how many numbers the sums of features `first` to n take in a message.

    New features by old ones, the triangle of new ones by themselves, and C.

    >>> message_size(2, 0, 3), message_size(2, 3, 4)
    (12, 6)
    """
    m = n - first
    return m * first + m * (m + 1) // 2 + n_outputs * m


def ridge_path(sums: Sums, pulls: Sequence[Pull]) -> Array:
    """Return the output matrices for all ridges, of shape (n_pulls, Q, n).

    The last feature count is that of the sums, the constant included. The ridge is in
    units of the mean eigenvalue of the scatter; the constant is not penalised. An
    infinite ridge gives O = 0, but for the constant. A feature that does not vary gets
    no weight.

    A ridge pulls O to 0, which keeps the scores S. One that starts afresh pulls O to
    -[I, -I, 0], which takes S - c away: relu(S - c) and relu(c - S) come first among
    the features of a hidden layer.

    Parameters
    ----------
    sums : Sums
        The agreed sums, or means: a common factor changes nothing.
    pulls : sequence of Pull
        The ridges, infinity among them or not.
    """
    one = _Centred.of(sums)
    s, U = np.linalg.eigh(one.G)
    s, B = np.maximum(s, 0.0), one.C @ U
    Q = len(B)
    away = U[:Q] - U[Q : 2 * Q] if any(pull.afresh for pull in pulls) else 0.0
    solutions: Array = np.zeros((len(pulls), *sums.C.shape))
    for O, (ridge, afresh) in zip(solutions, pulls, strict=True):
        if np.isfinite(ridge):
            penalty = ridge * one.mean_eigenvalue
            right = B - penalty * away if afresh else B
            O[:, CONSTANT:] = one.varies * ((right / (s + penalty)) @ U.T)
        O[:, :CONSTANT] = one.level - O[:, CONSTANT:] @ one.mean[:, None]
    return solutions


def settled_output(sums: Sums, pull: Pull) -> Array:
    """Return the output matrix for one ridge, (Q, n), the same on every processor."""
    one = _Centred.of(sums)
    O: Array = np.zeros(sums.C.shape)
    if np.isfinite(pull.ridge):
        penalty = pull.ridge * one.mean_eigenvalue
        A, C = one.G.copy(), one.C.copy()
        A[np.diag_indices_from(A)] += penalty
        if pull.afresh:
            C -= penalty * lossless_flow(*C.shape)
        O[:, CONSTANT:] = one.varies * refined_solution(A, C)
    O[:, :CONSTANT] = one.level - exact_product(O[:, CONSTANT:], one.mean[:, None])
    return O


@dataclass(frozen=True, slots=True, eq=False)
class _Centred:
    """The least squares of a layer, with features taken from their means.

    Parameters
    ----------
    G : array of shape (n - 1, n - 1)
        The scatter of the features, the constant left out.
    C : array of shape (Q, n - 1)
        What is left over, by the features.
    mean : array of shape (n - 1,)
        The means of the features.
    level : array of shape (Q, 1)
        The mean of what is left over.
    varies : array of shape (n - 1,)
        Whether a feature varies.
    mean_eigenvalue : float
        Of G.
    """

    G: Array
    C: Array
    mean: Array
    level: Array
    varies: NDArray[np.bool_]
    mean_eigenvalue: float

    @classmethod
    def of(cls, sums: Sums) -> Self:
        G, mean, level = sums.scatter(), sums.means(), sums.level
        C = sums.C[:, CONSTANT:] - level * (_positive(sums.weight) * mean)
        diagonal = np.diag(G)
        mean_eigenvalue = _positive(math.fsum(diagonal) / len(G))
        return cls(G, C, mean, level, diagonal > 0, mean_eigenvalue)


def next_moments(sums: Sums, O: Array) -> tuple[Array, Array]:
    """Return mean and deviation of the next layer's inputs: units, then scores.

    They follow from the sums of this layer, since its features hold the scores before
    it, counted from their centre, as the mean is here. What hardly varies keeps a
    deviation of one.
    """
    Q = len(O)
    mean, G = sums.means(), sums.scatter()
    # S - c of the layer before is the difference of its two sides.
    both = O[:, CONSTANT:].copy()
    both[:, :Q] += np.eye(Q)
    both[:, Q : 2 * Q] -= np.eye(Q)
    # Sums in a fixed order, since these numbers are part of the model.
    of_scores = [math.fsum(row) for row in (exact_product(both, G) * both).tolist()]
    squares = np.concatenate([np.diag(G)[2 * Q :], of_scores])
    level = O[:, 0] + exact_product(both, mean[:, None])[:, 0]
    deviation = np.sqrt(np.maximum(squares, 0.0) / _positive(sums.weight))
    means = np.concatenate([mean[2 * Q :], level])
    constant = deviation <= SUMMATION_ERROR * (1.0 + np.abs(means))
    return means, np.where(constant, 1.0, deviation)


def _positive(value: float) -> float:
    """Return a number to divide by: that of an empty sum is one."""
    return value if value > 0 else 1.0
