"""A network of fixed size with integer units once more: slowly, sample by sample.

Written from the descriptions in `dssfn.exact`, `dssfn.integer_units` and
`dssfn.solvers.exact_gram`, to be compared with them. Whole numbers are Python's own or
int64, scores are fractions, and sums are exact because nothing here is rounded that is
not said to be. It shares with them the Hadamard matrices and the random signs, which
have tests of their own, and nothing else. Samples are columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dssfn.exact.structured import hadamard, random_signs

STEP = Fraction(1, 2**17)  # of inputs, scores and targets
LEVEL = Fraction(1, 2**5)  # of units
WIDEST = 2**22


@dataclass
class Layer:
    """Some samples at one layer, as whole numbers."""

    wide: np.ndarray  # (m, J), in steps: inputs and bias, or both sides of the scores
    units: np.ndarray  # (width, J), in levels


def first_layer(X, shift, scale, bias):
    """Scaled inputs in steps, and the bias."""
    V = (X - shift[:, None]) / scale[:, None]
    noise = 1000 * np.finfo(float).eps * (1 + np.abs(shift) / scale)
    V[np.abs(V) <= noise[:, None]] = 0  # what equals the mean up to rounding
    if bias:
        V = np.vstack([V, np.full(V.shape[1], bias)])
    return Layer(in_steps(V), np.zeros((0, V.shape[1]), dtype=np.int64))


def next_layer(layer, scores, *, is_first, seed, number, width):
    """The layer of that number, from the one before and its scores in steps."""
    sides = np.vstack([np.maximum(scores, 0), np.maximum(-scores, 0)])
    if is_first:  # 256 levels of an input of one
        inputs = rounded_quotient(layer.wide, 2**9, most=4095)
    else:  # 64 levels of a score of one
        inputs = np.vstack([rounded_quotient(layer.wide, 2**11, most=127), layer.units])
    units = [random_units(y, seed, number, width) for y in inputs.T]
    return Layer(sides, np.stack(units, axis=1))


def random_units(y, seed, number, width):
    """The units of one sample with inputs y: H D' H D y, scaled, rounded, clipped."""
    places = 64
    while places < len(y):
        places *= 2
    padded = np.zeros(places, dtype=np.int64)
    padded[: len(y)] = y
    H = hadamard(places).astype(np.int64)
    found = []
    for block in range(-(-width // places)):
        first, second = (
            signs.astype(np.int64)
            for signs in random_signs(seed, number, 0, places, block)
        )
        found.append(H @ (second * (H @ (first * padded))))
    z = np.concatenate(found)[:width]
    squared = sum(int(v) ** 2 for v in y)
    if not squared:
        return np.zeros(width, dtype=np.int64)
    # The only numbers in single precision.
    factor = np.float32(32 / (math.sqrt(places) * math.sqrt(squared)))
    levels = np.rint(z.astype(np.float32) * factor)
    return np.clip(levels, 0, 127).astype(np.int64)


def scores_of(O, layer):
    """O y in steps, (Q, J)."""
    one = 2**1074  # every number of double precision is a whole number of its parts
    parts = [int(Fraction(value) * one) for value in O.ravel().tolist()]
    weights = np.array(parts, dtype=object).reshape(O.shape)
    n_wide = len(layer.wide)
    totals = weights[:, :n_wide] @ layer.wide.astype(object)
    if len(layer.units):
        totals += weights[:, n_wide:] @ layer.units.astype(object) * int(LEVEL / STEP)
    return rounded_quotient(totals, one, most=WIDEST)


def solve(layer, T, weights, *, is_first, gain, radius):
    """The output matrix that is best in the ball, before it is rounded to a grid."""
    n_wide, width = len(layer.wide), len(layer.units)
    gains = np.ones(n_wide + width)
    gains[n_wide:] = 1.0 if is_first or not width else gain / math.sqrt(width)
    wide, units, targets = layer.wide, layer.units, in_steps(T)
    values = np.repeat([float(STEP), float(LEVEL)], [n_wide, width])
    target_value = float(STEP)
    if weights is not None:
        usual = 2.0 ** math.floor(math.log2((weights**2).sum() / weights.sum()))
        roots = np.sqrt(weights / usual)
        wide, targets = (clipped(np.rint(A * roots / 4)) for A in (wide, targets))
        units = clipped(np.rint(units * roots * 512))
        values = np.repeat([4 * float(STEP), float(LEVEL) / 512], [n_wide, width])
        target_value *= 4
    rows = np.vstack([wide, units]).astype(np.int64).astype(object)  # no bound on sums
    factors = gains * values
    G = (rows @ rows.T).astype(float) * np.outer(factors, factors)
    C = (targets.astype(np.int64).astype(object) @ rows.T).astype(float)
    C *= target_value * factors
    lam = rounded_up(max(multiplier(G, C, radius), 1e-10 * np.trace(G) / len(G) or 1.0))
    return np.linalg.solve(G + lam * np.eye(len(G)), C.T).T * gains


def multiplier(G, C, radius):
    """The lam with ||C (G + lam I)^-1||_F = radius by bisection; 0 if it needs none."""
    s, U = np.linalg.eigh(G)
    c = np.linalg.norm(C @ U, axis=0)

    def norm(lam):
        return np.linalg.norm(c / (np.maximum(s, 0) + lam))

    low = 1e-13 * max(s[-1], 1e-300)
    if norm(low) <= radius:
        return 0.0
    high = low
    while norm(high) > radius:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if norm(middle) > radius else (low, middle)
    return high


def rounded_up(lam):
    """A number rounded up to 16 bits."""
    unit = 2.0 ** (math.floor(math.log2(lam)) + 1 - 16)
    return math.ceil(lam / unit) * unit


def cost_of(T, scores, weights):
    """The squared distance of scores in steps from targets, over all samples."""
    w = np.ones(T.shape[1]) if weights is None else weights
    return float(
        sum(
            Fraction(w[j]) * (Fraction(T[q, j]) - int(scores[q, j]) * STEP) ** 2
            for q in range(len(T))
            for j in range(T.shape[1])
        )
    )


def in_steps(values):
    """Whole numbers of steps."""
    steps = [clipped(round(Fraction(v) / STEP)) for v in values.ravel().tolist()]
    return np.array(steps, dtype=np.int64).reshape(values.shape)


def rounded_quotient(values, divisor, *, most):
    """The nearest whole numbers to values / divisor, of at most a size."""
    found = [round(Fraction(v, divisor)) for v in values.ravel().tolist()]
    return np.clip(np.array(found, dtype=np.int64).reshape(values.shape), -most, most)


def clipped(value):
    return np.clip(value, -WIDEST, WIDEST)
