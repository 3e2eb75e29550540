"""Noise from the discrete Gaussian, exactly: P(k) is proportional to exp(-k^2 / 2 var).

Rounded floating-point noise would tell, by its last bits, what it was added to. So all
numbers here are integers, and every decision is that of exact arithmetic.

How this works (Canonne, Kamath and Steinke, 2020). A discrete Laplace number of about
the same width is kept with a probability of exp(-gamma), which gives the Gaussian; the
Laplace number comes from such decisions as well. A decision compares a random word with
exp(-gamma) in floating point; where the two are so near that rounding might decide, as
happens about once in 10^11 times, both get more digits until one is the larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, Integers
from dssfn.errors import NumericalError
from dssfn.privacy.random_words import RandomWords

Flags: TypeAlias = NDArray[np.bool_]

WORD = 64  # bits
NEAR = 2.0**-38  # of one: far above what rounding does to exp(-gamma)
WIDEST = 2**90  # variance: numbers of it, from 2000 nodes, fit into an int64
MORE = 1.4  # candidates for every number that is wanted


def discrete_gaussian(variance: int, n: int, words: RandomWords) -> Integers:
    """Return n numbers of the discrete Gaussian with this variance.

    Parameters
    ----------
    variance : int
        A positive whole number.
    n : int
        How many numbers.
    words : RandomWords
        Where they come from.

    Examples
    --------
    >>> numbers = discrete_gaussian(10**6, 1000, RandomWords(bytes(32)))
    >>> bool(900 < numbers.std() < 1100)
    True
    """
    if not 0 < variance <= WIDEST:
        raise NumericalError(
            f"Noise must have a variance between 1 and 2^90, got {float(variance):g}."
        )
    t = math.isqrt(variance) + 1
    found: list[Integers] = []
    n_found = 0
    while n_found < n:
        k = discrete_laplace(t, math.ceil(MORE * (n - n_found)) + 8, words)
        size = np.abs(k)
        gamma = (size - variance / t) ** 2 / (2.0 * variance)

        def exact(number: int, size: Integers = size) -> Fraction:
            off = int(size[number]) * t - variance
            return Fraction(off * off, 2 * variance * t * t)

        kept = k[bernoulli_exp(gamma, exact, words)]
        found.append(kept)
        n_found += len(kept)
    return np.concatenate(found)[:n] if found else np.zeros(0, dtype=np.int64)


def discrete_laplace(t: int, n: int, words: RandomWords) -> Integers:
    """Return about n numbers k with P(k) proportional to exp(-|k| / t), or fewer."""
    below = uniform_below(t, n, words)

    def exact(number: int) -> Fraction:
        return Fraction(int(below[number]), t)

    rest = below[bernoulli_exp(below / t, exact, words)]
    times = np.zeros(len(rest), dtype=np.int64)
    going = np.arange(len(rest))
    while going.size:
        ones = np.ones(len(going))
        going = going[bernoulli_exp(ones, lambda number: Fraction(1), words)]
        times[going] += 1
    size = rest + t * times
    is_negative = (words.take(len(size)) & np.uint64(1)).astype(bool)
    signed = np.where(is_negative, -size, size)
    kept: Integers = signed[~(is_negative & (size == 0))]  # zero has one sign only
    return kept


def uniform_below(t: int, n: int, words: RandomWords) -> Integers:
    """Return about n whole numbers from 0 to t - 1, all of them equally likely."""
    found = words.take(n)
    most = 2**WORD // t * t  # what is not below would favour small numbers
    if most < 2**WORD:
        found = found[found < np.uint64(most)]
    return (found % np.uint64(t)).astype(np.int64)


def bernoulli_exp(
    gamma: Array, exact: Callable[[int], Fraction], words: RandomWords
) -> Flags:
    """Return decisions that are true with probabilities of exp(-gamma), exactly.

    Parameters
    ----------
    gamma : array of shape (n,)
        Exponents, rounded, none of them negative.
    exact : callable
        Returns the exponent of a number without rounding.
    words : RandomWords
        Decides.
    """
    chance = words.take(len(gamma))
    gap = np.exp(-gamma) - chance * 2.0**-WORD
    is_true: Flags = gap > 0
    for number in np.flatnonzero(np.abs(gap) < NEAR):
        word = int(chance[number])
        is_true[number] = is_below(word, exact(int(number)), words)
    return is_true


def is_below(word: int, gamma: Fraction, words: RandomWords) -> bool:
    """Return whether a random number that begins with a word is below exp(-gamma)."""
    if gamma == 0:
        return True
    bits = WORD
    while True:
        with localcontext() as context:
            context.prec = bits // 3 + 30
            power = (Decimal(-gamma.numerator) / gamma.denominator).exp()
            border = power * 2**bits
            error = border * Decimal(10) ** (10 - context.prec)
            if word + 1 <= border - error:
                return True
            if word >= border + error:
                return False
        word = (word << WORD) + int(words.take(1)[0])
        bits += WORD
