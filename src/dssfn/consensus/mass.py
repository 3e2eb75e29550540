"""Numbers as masses: integers that nodes can split and pass on without losing a bit.

How this works. Push-sum splits a node's numbers into shares again and again. In
floating point every share is rounded, and what is rounded away is gone. Here numbers
become integers on a grid that all nodes know, shares are whole, and whoever splits
keeps the remainder: the total over all nodes never changes, not by one unit. The grid
is finer than the numbers by some guard bits, so that remainders, which keep moving from
node to node, are too small to matter: every node can round its own estimate of the
total to the exact one. Numbers that are too long for that are cut into limbs, as digits
of a large base, whose totals are found one by one.

A number of type int64 is on the grid already. One of type float64 is rounded to
2^-53 of the largest that any node has in its place (fewer bits above a thousand nodes),
which is what adding floats in any order loses as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, Integers, Numbers
from dssfn.consensus.base import wants_total

Sizes: TypeAlias = NDArray[Any]
"""How long numbers are: bits of integers (uint8), or exponents of floats (int16)."""

ROOM = 62  # bits of a total: one less than int64 has, for remainders
LEAST_GUARD = 12  # guard bits of two nodes, and two more for every doubling
NOTHING = np.iinfo(np.int16).min  # the exponent of zero
DIGITS = 53  # of a float64


def sizes_of(values: Numbers) -> Sizes:
    """Return how long each number is, flat; the sizes of all nodes have a maximum.

    >>> sizes_of(np.array([0, 1, -8, 255])).tolist()
    [0, 1, 4, 8]
    >>> sizes_of(np.array([0.0, 0.75, -8.0])).tolist()
    [-32768, 0, 4]
    """
    flat = values.ravel()
    if wants_total(values):
        bits: Sizes = np.frexp(flat.astype(np.float64))[1]  # of 2^62 - 1 one too many
        return bits.astype(np.uint8)
    exponents: Sizes = np.frexp(flat)[1].astype(np.int16)
    return np.where(flat == 0, np.int16(NOTHING), exponents)


@dataclass(frozen=True, slots=True)
class Layout:
    """How the numbers of every node become masses, once the largest sizes are known.

    Parameters
    ----------
    sizes : array of shape (n,)
        The largest size of each number over all nodes; it says by its type whether
        numbers are int64 or float64.
    n_nodes : int
        How many nodes add up.

    Examples
    --------
    >>> mine, yours = np.array([5, -(2**60)]), np.array([-7, 3])
    >>> layout = Layout(np.maximum(sizes_of(mine), sizes_of(yours)), n_nodes=2)
    >>> masses = layout.masses(mine) + layout.masses(yours)
    >>> layout.values(layout.rounded(masses)).tolist() == [-2, 3 - 2**60]
    True
    """

    sizes: Sizes
    n_nodes: int

    @property
    def is_exact(self) -> bool:
        """Whether the numbers are integers whose total is wanted."""
        return bool(self.sizes.dtype == np.uint8)

    @property
    def _doublings(self) -> int:
        return (self.n_nodes - 1).bit_length()

    @property
    def guard(self) -> int:
        """The bits below the grid, for remainders.

        A split leaves less than one unit for each neighbour. Such errors spread and die
        out as all differences between nodes do, so that about degree / spectral gap of
        them are alive at any time. An estimate multiplies them by the number of nodes.
        """
        return LEAST_GUARD + 2 * self._doublings

    @property
    def limb(self) -> int:
        """The bits of a limb."""
        return self.room - self.guard

    @property
    def room(self) -> int:
        """The bits of a node's share of what a total can be."""
        return ROOM - self._doublings

    @property
    def _digits(self) -> int:
        return min(DIGITS, self.room)

    def _bits(self) -> NDArray[Any]:
        if self.is_exact:
            return self.sizes
        return np.where(self.sizes == NOTHING, 0, self._digits + 1)

    def places(self) -> list[NDArray[np.intp]]:
        """Return which numbers have a first limb, a second one, and so on."""
        bits = self._bits()
        n_limbs = -(-int(bits.max(initial=0)) // self.limb)
        return [np.flatnonzero(bits > k * self.limb) for k in range(n_limbs)]

    def lengths(self) -> NDArray[Any]:
        """Return the bits of the total of every limb, at most."""
        bits = self._bits()
        parts = [bits[place] - k * self.limb for k, place in enumerate(self.places())]
        lengths: NDArray[Any] = np.concatenate([bits[:0], *parts])
        capped: NDArray[Any] = np.minimum(lengths, self.limb)
        return capped

    def masses(self, values: Numbers) -> Integers:
        """Return a node's numbers as masses, one for each limb."""
        whole, bits = self._on_grid(values.ravel()), self._bits()
        mask = (1 << self.limb) - 1
        limbs = [np.zeros(0, dtype=np.int64)]
        for k, place in enumerate(self.places()):
            rest = whole[place] >> (k * self.limb)
            is_last = bits[place] <= (k + 1) * self.limb
            limbs.append(np.where(is_last, rest, rest & mask))  # the last has the sign
        masses: Integers = np.concatenate(limbs) << self.guard
        return masses

    def rounded(self, masses: Numbers) -> Integers:
        """Return the totals of limbs that these masses of all nodes together mean."""
        limbs: Integers = np.rint(masses / 2.0**self.guard).astype(np.int64)
        return limbs

    def values(self, limbs: Integers) -> Numbers:
        """Return the total of integers, or the average of floats, from all limbs.

        A total is the true one modulo 2^64.
        """
        whole: Integers = np.zeros(len(self.sizes), dtype=np.int64)
        start = 0
        for k, place in enumerate(self.places()):
            whole[place] += limbs[start : start + len(place)] << (k * self.limb)
            start += len(place)
        if self.is_exact:
            return whole
        average: Array = np.ldexp(
            whole / self.n_nodes, self._exponents() - self._digits
        )
        return average

    def _on_grid(self, flat: Numbers) -> Integers:
        if self.is_exact:
            integers: Integers = flat.astype(np.int64, copy=False)
            return integers
        steps = np.ldexp(flat, self._digits - self._exponents())
        grid: Integers = np.rint(steps).astype(np.int64)
        return grid

    def _exponents(self) -> NDArray[np.int32]:
        return np.where(self.sizes == NOTHING, 0, self.sizes).astype(np.int32)


def fingerprint(limbs: Integers, keys: NDArray[np.uint64]) -> int:
    """Return a number of 64 bits that adds up as the limbs do, modulo 2^64.

    Fingerprints of all nodes add up to that of the total, so whoever knows them can
    tell whether an estimate of the total is right: a wrong one passes with a
    probability of about 2^-60, as the keys have nothing to do with the numbers.
    """
    return int(np.dot(limbs.view(np.uint64), keys))


@lru_cache(maxsize=2)  # the nodes of one process ask for the same ones
def keys_of(step: int, n_limbs: int) -> NDArray[np.uint64]:
    """Return random 64-bit numbers, the same on all nodes for a step."""
    raw: NDArray[np.uint64] = np.random.Philox(key=step).random_raw(n_limbs)
    return raw
