"""Features as real numbers, from dense random matrices.

A layer's features are one array F of shape (n, c): a constant, the scores on both sides
of their mean, and random units (see `dssfn.ensemble.units`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from dssfn._rank_update import add_gram
from dssfn._typing import Array, Numbers
from dssfn.config import Plan
from dssfn.ensemble.choices import Pull
from dssfn.ensemble.ridge import Sums, message_size
from dssfn.ensemble.units import CONSTANT
from dssfn.network import member_matrix
from dssfn.problem import pack
from dssfn.summation import Floating


@dataclass(frozen=True, slots=True)
class Dense:
    """The arithmetic of real numbers.

    Parameters
    ----------
    plan : Plan
        What all nodes agreed on.
    n_nodes : int
        The number of nodes.
    """

    plan: Plan
    n_nodes: int = 1

    @property
    def is_exact(self) -> bool:
        """Sums depend on the order in which they are added up."""
        return False

    @property
    def summation(self) -> Floating:
        """Sums are rounded."""
        return Floating(self.n_nodes)

    def targets(self, T: Array) -> Array:
        """Return targets as they are."""
        return T

    def centres(self, levels: Array) -> Array:
        """Return means as they are."""
        return levels

    def linear(self, V: Array) -> Array:
        """Return a constant and the inputs."""
        F: Array = np.empty((CONSTANT + len(V), V.shape[1]))
        F[:CONSTANT] = 1.0
        F[CONSTANT:] = V
        return F

    def first_inputs(self, V: Array) -> Array:
        """Return the inputs and a constant, scaled to length 1."""
        return unit_length(V, self.plan.bias)

    def next_inputs(self, F: Array, S: Array, mean: Array, deviation: Array) -> Array:
        """Return units, scores and a constant, scaled to length 1."""
        values = np.vstack([F[CONSTANT + 2 * len(S) :], S])
        values -= mean[:, None]
        values /= deviation[:, None]
        return unit_length(values, self.plan.bias)

    def widened(
        self,
        F: Array | None,
        S: Array,
        centre: Array,
        A: Array,
        key: tuple[int, int],
        width: int,
    ) -> Array:
        """Return the features of a hidden layer, (1 + 2Q + width, c)."""
        top = CONSTANT + 2 * len(S)
        have = 0 if F is None else len(F) - top
        R = member_matrix(self.plan.seed, *key, width, len(A))
        new = hidden_features(S, centre, R[have:], A, self.plan.gain)
        return new if F is None else np.vstack([F, new[top:]])

    def narrowed(self, F: Array, width: int) -> Array:
        """Return the first units only."""
        return F[: CONSTANT + 2 * self.plan.n_outputs + width]

    def advanced(self, S: Array, O: Array, F: Array) -> Array:
        """Return S + O F."""
        return S + O @ F

    def tried(
        self, S: Array, outputs: Array, F: Array, rows: NDArray[np.intp]
    ) -> Array:
        """Return the scores of some samples for every output matrix."""
        n_pulls, Q, n = outputs.shape
        steps = outputs.reshape(n_pulls * Q, n) @ F[:, rows]
        scores: Array = steps.reshape(n_pulls, Q, len(rows)) + S[:, rows]
        return scores

    def sums(self, layer: int, first: int, n: int) -> DenseSums:
        """Return sums over no samples."""
        return DenseSums(self.plan.n_outputs, first, n)

    def size(self, layer: int, first: int, n: int) -> int:
        """Return how many numbers such sums take in a message."""
        return message_size(self.plan.n_outputs, first, n)

    def bounds(self, layer: int, first: int, n: int) -> None:
        """Return nothing: a mean of floats may come in rough."""

    def read(
        self, numbers: Numbers, layer: int, first: int, n: int, old: Sums | None = None
    ) -> Sums:
        """Return the sums over all nodes: their mean, times their number."""
        Q, m = self.plan.n_outputs, n - first
        ends = np.cumsum([m * first, m * (m + 1) // 2])
        cross, packed, C = np.split(self.summation.read(numbers), ends)
        upper = lapack.dtpttr(m, packed)[0]
        return Sums.bordered(old, cross.reshape(m, first), upper, C.reshape(Q, m))

    def gains(self, layer: int, n: int) -> Array:
        """Return ones: units have their gain already."""
        return np.ones(n)

    def rounded(self, path: Array, layer: int) -> Array:
        """Return output matrices as they are."""
        return path

    def settled(
        self, layer: int, sums: Sums, pull: Pull, guess: Array, gains: Array
    ) -> Array:
        """Return the output matrix that was tried."""
        return guess


class DenseSums:
    """Sums of new features over some samples."""

    def __init__(self, Q: int, first: int, n: int) -> None:
        m = n - first
        self._first = first
        self._upper: Array = np.zeros((m, m), order="F")
        self._cross: Array = np.zeros((m, first))
        self._C: Array = np.zeros((Q, m))

    def add(
        self,
        F: Array,
        T: Array,
        S: Array,
        weights: Array | None,
        rows: NDArray[np.intp],
    ) -> None:
        """Add some samples."""
        if not len(rows):
            return
        D = T - S
        if len(rows) < F.shape[1]:
            F, D = F[:, rows], D[:, rows]
            weights = None if weights is None else weights[rows]
        if weights is not None:
            roots = np.sqrt(weights)
            F, D = F * roots, D * roots
        old, new = F[: self._first], F[self._first :]
        add_gram(self._upper, new)
        self._C += D @ new.T
        if self._first:
            self._cross += new @ old.T

    def merge(self, other: DenseSums) -> None:
        """Add the samples of other sums."""
        self._upper += other._upper
        self._cross += other._cross
        self._C += other._C

    def write(self, into: Numbers) -> None:
        """Write the sums as a message carries them."""
        parts = self._cross.ravel(), pack(self._upper), self._C.ravel()
        np.concatenate(parts, out=into)


def hidden_features(S: Array, centre: Array, R: Array, A: Array, gain: float) -> Array:
    """Return the features of a hidden layer, of shape (1 + 2Q + width, J).

    Parameters
    ----------
    S : array of shape (Q, J)
        The scores so far.
    centre : array of shape (Q,)
        Their mean over the member's training samples.
    R : array of shape (width, n)
        The random matrix, uniform on [-1, 1].
    A : array of shape (n, J)
        The inputs of the units, columns of length 1.
    gain : float
        Root mean square of a unit before the ReLU.
    """
    Q, J = S.shape
    F: Array = np.empty((CONSTANT + 2 * Q + len(R), J))
    F[:CONSTANT] = 1.0
    deviation = S - centre[:, None]
    F[CONSTANT : CONSTANT + Q] = deviation
    np.negative(deviation, out=F[CONSTANT + Q : CONSTANT + 2 * Q])
    units = F[CONSTANT + 2 * Q :]
    np.matmul(R, A, out=units)
    units *= math.sqrt(3) * gain  # a uniform number on [-1, 1] has a variance of 1/3
    np.maximum(F, 0.0, out=F)
    return F


def unit_length(values: Array, bias: float) -> Array:
    """Return columns of length 1, made of the values and a constant.

    A column of zeros stays zero.
    """
    A: Array = np.empty((len(values) + 1, values.shape[1]))
    A[:-1] = values
    A[-1] = bias
    norms = np.sqrt(np.einsum("ij,ij->j", A, A))
    norms[norms == 0] = 1.0
    A /= norms
    return A
