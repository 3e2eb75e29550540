"""One exchange per layer: exact totals of Y Y^T and T Y^T, and one O for all nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from dssfn._typing import Array, Integers
from dssfn.ball import find_multiplier
from dssfn.config import Plan
from dssfn.exact.gram import Layout, read_products
from dssfn.exact.outputs import rounded_outputs
from dssfn.exact.refine import RefinedSystem
from dssfn.exact.samples import level_values
from dssfn.integer_units import IntegerUnits
from dssfn.problem import ExactShare, mirror
from dssfn.programs import Agreed, Message, Program

# The multiplier is at least this share of the mean eigenvalue, so that the layer's
# matrix is never singular, and is rounded up to so many bits.
LEAST, BITS = 1e-10, 16
SURELY = 0.9  # of a change that is estimated


@dataclass(frozen=True, slots=True)
class ExactGram:
    """The exact solution from exact totals, in one exchange per layer.

    Parameters
    ----------
    plan : Plan
        What all nodes agreed on.
    layer : int
        The number of the layer.
    """

    plan: Plan
    layer: int

    needs_equal_bits = True

    @classmethod
    def of_plan(cls, plan: Plan, layer: int, before: Sequence[int] = ()) -> Self:
        """Return the solver of a layer."""
        return cls(plan, layer)

    def message_size(self, Q: int, n: int) -> int:
        """Return the size of C and of the packed triangle of G, without weights."""
        return IntegerUnits(self.plan).layout(self.layer, weighted=False).size

    def largest_message(self, Q: int, n: int) -> int:
        """Return the same with weights, where every sum takes two words."""
        return IntegerUnits(self.plan).layout(self.layer, weighted=True).size

    def program(self, share: ExactShare, radius: float) -> Program[Array]:
        """Send the sums once, and solve the layer."""
        size = (share.layout.size,)
        totals = yield Message(size, share.fill, exact=True, bounds=share.bounds)
        arguments = (totals, share.layout, share.n_wide, share.gains, radius)
        O: Array = yield Agreed(solve_exactly, arguments)
        return O


def solve_exactly(
    totals: Integers,
    layout: Layout,
    n_wide: int,
    gains: tuple[float, ...],
    radius: float,
) -> Array:
    """Return the output matrix of a layer, rounded alike on every processor.

    Parameters
    ----------
    totals : int64 array
        The sums over all nodes.
    layout, n_wide, gains
        As in `dssfn.problem.ExactShare`.
    radius : float
        The largest Frobenius norm of the matrix, for features with their gains.
    """
    sums = read_products(totals, layout)
    factors = np.array(gains)
    values = factors * level_values(n_wide, layout.n, weighted=layout.n_wide > n_wide)
    G = mirror(sums.upper) * np.outer(values, values)
    C = sums.C * (level_values(n_wide, 1, weighted=layout.n_wide > n_wide) * values)
    return rounded_outputs(_in_ball(G, C, radius) * factors, n_wide)


def _in_ball(G: Array, C: Array, radius: float) -> Array:
    """Return O = C (G + lam I)^-1 with the least lam of some bits that is in the ball.

    LAPACK guesses lam; refined solutions, which are the same on every processor, decide
    whether it is the one.
    """
    system = RefinedSystem(G, C)
    least = _rounded_up(LEAST * math.fsum(np.diag(G)) / len(G) or 1.0)
    guess, falls = find_multiplier(G, C, radius, least, system.factor)
    lam = _rounded_up(guess)
    while _norm(O := system.solution(lam)) > radius:
        lam = _rounded_up(math.nextafter(lam, math.inf))
    while lam > least:
        # With the next smaller lam the norm is about so much larger.
        lower = max(_next_smaller(lam), least)
        if _norm(O) * (1 + SURELY * falls * (lam - lower) / lam) > radius:
            break
        other = system.solution(lower)
        if _norm(other) > radius:
            break
        lam, O = lower, other
    return O


def _norm(O: Array) -> float:
    """Return the Frobenius norm, summed in a way that does not depend on processors."""
    return math.sqrt(math.fsum((O * O).ravel().tolist()))


def _rounded_up(lam: float) -> float:
    """Return the smallest number of so many bits that is not smaller.

    >>> _rounded_up(1.0), _rounded_up(1.00001)
    (1.0, 1.000030517578125)
    """
    unit = math.ldexp(1.0, math.frexp(lam)[1] - BITS)
    return math.ceil(lam / unit) * unit


def _next_smaller(lam: float) -> float:
    """Return the next smaller number of so many bits.

    >>> _rounded_up(math.nextafter(_next_smaller(1.0), 2)) == 1.0
    True
    """
    return lam - math.ldexp(1.0, math.frexp(math.nextafter(lam, 0.0))[1] - BITS)
