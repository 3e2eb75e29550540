"""Sums of the hidden layer, of which one row changes little.

A row's random units u are whole numbers from 0 to 127 and about as long as each
other's. They are made finer by 16, rows that are longer than most are made shorter, and
all are rounded towards zero, so that no row z is longer than agreed: |z|^2 <= B2. It
adds z z^T, of which one triangle is sent, and its class's row of C is z times a number
tau. The squares of these changes are at most (B2^2 + top^2 B2) / 2, since all z_i <=
top, and tau^2 B2: together the square of what one row can change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from dssfn._rank_update import update_gram
from dssfn._typing import Array, Integers
from dssfn.errors import NumericalError
from dssfn.exact.bounds import LEVELS, TOP
from dssfn.exact.structured import Bytes
from dssfn.lanes import Lanes
from dssfn.problem import mirror
from dssfn.shard import Rows

FINER = 16  # levels of a random unit's level
OFTEN = math.sqrt(5.0)  # deviation of a squared length, in units of it / sqrt(width)
SAFELY = 1 - 2.0**-30  # so that rounding makes no row longer than agreed
RIDGE = 0.3  # in units of sqrt(width) deviations of the noise
OF_CLASSES = 0.7  # about as much of the change is that of T Y^T


@dataclass(frozen=True, slots=True)
class Clipped:
    """How long rows of a width may be, and what they can change.

    Parameters
    ----------
    width : int
        The number of random units.

    Examples
    --------
    >>> limits = Clipped(600)
    >>> limits.longest**2 < 2 * limits.most_change
    True
    """

    width: int

    @property
    def longest(self) -> int:
        """B2, the largest squared length of a row."""
        usual = self.width * (FINER * LEVELS) ** 2 / 2
        return math.floor(usual * (1 + OFTEN / math.sqrt(self.width)))

    @property
    def tau(self) -> int:
        """What the rows of C are multiplied by."""
        return math.floor(OF_CLASSES * math.sqrt(self.longest))

    @property
    def most_change(self) -> int:
        """The square of the largest change that one row can make to the sums."""
        top = FINER * TOP
        triangle = -(-(self.longest**2 + top**2 * self.longest) // 2)
        return triangle + self.tau**2 * self.longest

    def rows(self, U: Bytes) -> Array:
        """Return rows z (width, c) of random units u, none of them too long."""
        units = U.astype(np.float64)
        squares = FINER**2 * np.einsum("ij,ij->j", units, units)
        shorter = np.sqrt(self.longest / np.maximum(squares, self.longest))
        Z: Array = np.floor(units * (FINER * SAFELY * shorter))
        if np.einsum("ij,ij->j", Z, Z).max(initial=0.0) > self.longest:
            raise NumericalError(
                "A row is longer than its bound; this processor computes wrongly."
            )
        return Z


class LayerSums(NamedTuple):
    """The sums of a layer, as real numbers: Z Z^T and T Z^T."""

    G: Array
    C: Array


def sums_of(
    chunks: Iterable[Rows],
    units_of: Callable[[Array], Bytes],
    Q: int,
    limits: Clipped,
    n_threads: int,
) -> Integers:
    """Return one node's sums, as a message has them.

    All products are whole numbers below 2^22, so that float64 adds up those of 2^31
    samples exactly.

    Parameters
    ----------
    chunks : iterable of Rows
        The node's samples.
    units_of : callable
        Returns the random units of inputs (P, c).
    Q : int
        The number of classes.
    limits : Clipped
        What rows may be.
    n_threads : int
        How many chunks to work on at once.
    """
    n = limits.width
    lanes = Lanes(n_threads)
    grams = [np.zeros((n, n), order="F") for _ in range(lanes.n)]
    classes = [np.zeros((Q, n)) for _ in range(lanes.n)]

    def add(lane: int, rows: Rows) -> None:
        Z = limits.rows(units_of(rows.X))
        update_gram(grams[lane], Z)
        classes[lane] += rows.T @ Z.T

    try:
        for _ in lanes.map(add, chunks):
            pass
    finally:
        lanes.close()
    packed = lapack.dtrttp(sum(grams[1:], grams[0]))[0]
    C = limits.tau * sum(classes[1:], classes[0])
    return np.concatenate([packed, C.ravel()]).astype(np.int64)


def read_sums(totals: Integers, Q: int, limits: Clipped) -> LayerSums:
    """Return the sums of a total of messages."""
    n = limits.width
    n_packed = n * (n + 1) // 2
    upper = lapack.dtpttr(n, totals[:n_packed].astype(np.float64))[0]
    C = totals[n_packed:].reshape(Q, n) / limits.tau
    return LayerSums(mirror(upper), C)


def solve_noisy(sums: LayerSums, deviation: float) -> Array:
    """Return the output matrix of a layer whose sums are noisy.

    What is negative of the Gram matrix is noise. The ridge is in proportion to the
    noise, whose eigenvalues are as large as 2 sqrt(width) deviations.

    Parameters
    ----------
    sums : LayerSums
        The sums of all nodes.
    deviation : float
        That of the noise in every number.
    """
    eigenvalues, V = np.linalg.eigh(sums.G)
    ridge = RIDGE * deviation * math.sqrt(len(sums.G))
    pulled = np.maximum(eigenvalues, 0.0) + ridge
    O: Array = (sums.C @ V / pulled) @ V.T
    return O
