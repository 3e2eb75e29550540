"""Random units from structured matrices: Hadamard transforms and random signs.

How this works. R = H D' H D, where H is the Hadamard matrix of N places and D, D' are
random signs. H is the Kronecker product of two small ones, so that R y takes four small
dense products instead of a large one, and no R is ever stored. All entries are +-1: for
integers y the result is an integer, exactly. Its root mean square is sqrt(N) |y|, by
which it is divided, so that every unit has a deviation of one; it is then rounded to
steps of 1/32 between 0 and 127, which is the ReLU as well.

More than N units take further blocks, with signs of their own. The first units do not
depend on how many follow.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.exact.bounds import FLOAT32, LEVELS, TOP, places

Bytes: TypeAlias = NDArray[np.uint8]
Signs: TypeAlias = NDArray[np.int8]
Whole: TypeAlias = NDArray[Any]  # whole numbers as float32, or as float64

COLUMNS = 256  # transformed at once, so that all of them stay in the cache


def random_units(y: Whole, key: tuple[int, int, int], first: int, width: int) -> Bytes:
    """Return units `first` to `width` of the inputs y, of shape (width - first, c).

    Parameters
    ----------
    y : float array of shape (n, c)
        Whole numbers: of at most 127 as float32, of at most 4095 as float64.
    key : tuple of int
        Seed, layer and member.
    first, width : int
        Which units.
    """
    n, c = y.shape
    N = places(n)
    units: Bytes = np.empty((width - first, c), dtype=np.uint8)
    lengths = _lengths(y)
    factors = (LEVELS / (math.sqrt(N) * lengths)).astype(np.float32)
    for start in range(0, c, COLUMNS):
        columns = slice(start, min(start + COLUMNS, c))
        finite = lengths[columns][np.isfinite(lengths[columns])]
        # Of no number the size is more than N times the length.
        fits = N * float(finite.max(initial=0.0)) < FLOAT32
        padded = np.zeros((N, columns.stop - start), np.float32 if fits else np.float64)
        padded[:n] = y[:, columns]
        for block in range(first // N, -(-width // N)):
            low, high = max(first - block * N, 0), min(width - block * N, N)
            Z = _transformed(padded, random_signs(*key, N, block), low, high)
            Z = Z.astype(np.float32, copy=False)
            Z *= factors[columns]
            np.rint(Z, out=Z)
            np.clip(Z, 0, TOP, out=Z)
            at = block * N + low - first
            units[at : at + high - low, columns] = Z
    return units


def _lengths(y: Whole) -> Array:
    """Return the lengths of the columns; infinity for a column of zeros."""
    step = FLOAT32 // TOP**2 if y.dtype == np.float32 else len(y)
    squares = np.zeros(y.shape[1])
    for start in range(0, len(y), step):  # exact in float32 for so many
        part = y[start : start + step]
        squares += np.einsum("ij,ij->j", part, part)
    lengths = np.sqrt(squares)
    lengths[lengths == 0] = np.inf
    return lengths


def _transformed(y: Whole, signs: tuple[Signs, Signs], low: int, high: int) -> Whole:
    """Return rows `low` to `high` of H D' H D y."""
    N, c = y.shape
    a, b = _sides(N)
    H_a, H_b = hadamard(a).astype(y.dtype), hadamard(b).astype(y.dtype)
    scratch = np.empty_like(y)
    at, to = low // b, -(-high // b)
    for sign, rows in zip(signs, (H_a, H_a[at:to]), strict=True):
        # H D in one product: the signs are those of the columns of each small matrix.
        signed = H_b[None] * sign.reshape(a, 1, b)
        np.matmul(signed, y.reshape(a, b, c), out=scratch.reshape(a, b, c))
        y = np.matmul(rows, scratch.reshape(a, b * c)).reshape(len(rows) * b, c)
    return y[low - at * b : high - at * b]


def _sides(N: int) -> tuple[int, int]:
    """Return two powers of two whose product is N, as near to each other as can be."""
    a = 1 << ((N.bit_length() - 1) // 2)
    return a, N // a


@lru_cache(maxsize=16)
def hadamard(n: int) -> Signs:
    """Return the Hadamard matrix of a power of two.

    >>> hadamard(2).tolist()
    [[1, 1], [1, -1]]
    """
    H = np.ones((1, 1), dtype=np.int8)
    while len(H) < n:
        H = np.block([[H, H], [H, -H]])
    H.flags.writeable = False
    return H


@lru_cache(maxsize=64)
def random_signs(
    seed: int, layer: int, member: int, N: int, block: int
) -> tuple[Signs, Signs]:
    """Return the diagonals of D and D', from the key (seed, layer, member)."""
    words = 2 * N // 64
    key = np.array([seed, layer + (member << 32)], dtype=np.uint64)
    raw = np.random.Philox(key=key).random_raw((block + 1) * words)[block * words :]
    bits = np.unpackbits(raw.astype("<u8").view(np.uint8), bitorder="little")
    signs = (1 - 2 * bits.astype(np.int8)).reshape(2, N)
    return signs[0], signs[1]
