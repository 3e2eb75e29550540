"""Ridge regression from agreed sums, for all ridges at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import lapack

from dssfn._typing import Array
from dssfn.ensemble.choices import Pull
from dssfn.ensemble.units import CONSTANT
from dssfn.network import SUMMATION_ERROR
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
    def from_message(
        cls, message: Array, n_outputs: int, first: int, n: int, old: Sums | None = None
    ) -> Self:
        """Return the sums that a message holds; see `message_size`.

        The message has the rows from `first` on; `old` has those before.
        """
        m = n - first
        cross, packed, C = np.split(message, np.cumsum([m * first, m * (m + 1) // 2]))
        upper: Array = np.zeros((n, n), order="F")
        upper[first:, first:] = lapack.dtpttr(m, packed)[0]
        C = C.reshape(n_outputs, m)
        if old is None:
            return cls(upper, C)
        upper[:first, :first] = old.upper
        upper[:first, first:] = cross.reshape(m, first).T
        return cls(upper, np.hstack([old.C, C]))

    def without(self, others: Sums) -> Sums:
        """Return the sums over the samples that are not among the others."""
        return Sums(self.upper - others.upper, self.C - others.C)

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
    G, mean = sums.scatter(), sums.means()
    weight = _positive(sums.weight)
    level = sums.level
    C = sums.C[:, CONSTANT:] - level * (weight * mean)
    varies = np.diag(G) > 0
    s, U = np.linalg.eigh(G)
    s, B = np.maximum(s, 0.0), C @ U
    mean_eigenvalue = _positive(float(np.trace(G)) / len(G))
    Q = len(C)
    away = U[:Q] - U[Q : 2 * Q] if any(pull.afresh for pull in pulls) else 0.0
    solutions: Array = np.zeros((len(pulls), *sums.C.shape))
    for O, (ridge, afresh) in zip(solutions, pulls, strict=True):
        if np.isfinite(ridge):
            penalty = ridge * mean_eigenvalue
            right = B - penalty * away if afresh else B
            O[:, CONSTANT:] = varies * ((right / (s + penalty)) @ U.T)
        O[:, :CONSTANT] = level - O[:, CONSTANT:] @ mean[:, None]
    return solutions


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
    squares = np.concatenate([np.diag(G)[2 * Q :], (both @ G * both).sum(axis=1)])
    level = O[:, 0] + both @ mean
    deviation = np.sqrt(np.maximum(squares, 0.0) / _positive(sums.weight))
    means = np.concatenate([mean[2 * Q :], level])
    constant = deviation <= SUMMATION_ERROR * (1.0 + np.abs(means))
    return means, np.where(constant, 1.0, deviation)


def _positive(value: float) -> float:
    """Return a number to divide by: that of an empty sum is one."""
    return value if value > 0 else 1.0
