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
from dssfn.exact.bounds import CHUNK, FLOAT32, LEVELS, TOP, places

Bytes: TypeAlias = NDArray[np.uint8]
Signs: TypeAlias = NDArray[np.int8]
Whole: TypeAlias = NDArray[Any]  # whole numbers as float32, or as float64

IN_CACHE = 1024 * CHUNK // 4  # numbers that are transformed at once


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
    N = places(len(y))
    lengths = _lengths(y)
    # No number on the way is larger than N times the length of its column.
    fits = N * np.where(np.isinf(lengths), 0.0, lengths) < FLOAT32
    units: Bytes = np.empty((width - first, len(fits)), dtype=np.uint8)
    for precision, chosen in ((np.float32, fits), (np.float64, ~fits)):
        if chosen.all():
            _make_units(y, lengths, key, first, precision, units)
        elif chosen.any():
            some: Bytes = np.empty((len(units), chosen.sum()), dtype=np.uint8)
            _make_units(y[:, chosen], lengths[chosen], key, first, precision, some)
            units[:, chosen] = some
    return units


def _make_units(
    y: Whole,
    lengths: Array,
    key: tuple[int, int, int],
    first: int,
    precision: type[np.floating[Any]],
    units: Bytes,
) -> None:
    n, c = y.shape
    N, width = places(n), first + len(units)
    factors = (LEVELS / (math.sqrt(N) * lengths)).astype(np.float32)
    step = min(c, max(IN_CACHE // N, 1))
    room = [np.empty((N, step), precision) for _ in range(2)]
    for start in range(0, c, step):
        columns = slice(start, min(start + step, c))
        part = [array[:, : columns.stop - start] for array in room]
        for block in range(first // N, -(-width // N)):
            low, high = max(first - block * N, 0), min(width - block * N, N)
            signs = random_signs(*key, N, block)
            Z = _transformed(y[:, columns], signs, part)[low:high]
            Z = Z.astype(np.float32, copy=False)
            Z *= factors[columns]
            np.rint(Z, out=Z)
            np.clip(Z, 0, TOP, out=Z)
            at = block * N + low - first
            units[at : at + high - low, columns] = Z


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


def _transformed(y: Whole, signs: tuple[Signs, Signs], room: list[Whole]) -> Whole:
    """Return H D' H D y in the first of two arrays of N rows, which are given."""
    Y, scratch = room
    D, D_ = (sign.astype(Y.dtype)[:, None] for sign in signs)
    np.multiply(y, D[: len(y)], out=Y[: len(y)], casting="unsafe")
    Y[len(y) :] = 0
    _apply_hadamard(Y, scratch)
    Y *= D_
    _apply_hadamard(Y, scratch)
    return Y


def _apply_hadamard(Y: Whole, scratch: Whole) -> None:
    """Make Y the product H Y, in place."""
    N, c = Y.shape
    a, b = sides(N)
    H_a, H_b = hadamard(a).astype(Y.dtype), hadamard(b).astype(Y.dtype)
    whole, half = Y.reshape(a, b, c), scratch.reshape(a, b, c)
    np.matmul(H_b, whole, out=half)
    # Small products one by one: their numbers stay in the nearest cache.
    np.matmul(H_a, half.transpose(1, 0, 2), out=whole.transpose(1, 0, 2))


def sides(N: int) -> tuple[int, int]:
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
