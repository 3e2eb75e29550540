"""One exchange per layer: exact totals of Y Y^T and T Y^T, and one O for all nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from dssfn._typing import Array, Integers
from dssfn.ball import solve_ball, squared_norm
from dssfn.config import Plan
from dssfn.exact.gram import Layout, read_products
from dssfn.exact.outputs import rounded_outputs
from dssfn.exact.refine import refined_solution
from dssfn.exact.samples import level_values
from dssfn.integer_units import IntegerUnits
from dssfn.problem import ExactShare, mirror
from dssfn.programs import Agreed, Message, Program

# The multiplier is at least this share of the mean eigenvalue, so that the layer's
# matrix is never singular, and is rounded up to so many bits.
LEAST, BITS = 1e-10, 16


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
        totals = yield Message((share.layout.size,), share.fill, exact=True)
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
    multiplier = _multiplier(G, C, solve_ball(G, C, radius))
    G[np.diag_indices_from(G)] += multiplier
    return rounded_outputs(refined_solution(G, C) * factors, n_wide)


def _multiplier(G: Array, C: Array, O: Array) -> float:
    """Return lam with O = C (G + lam I)^-1, rounded up."""
    least = LEAST * math.fsum(np.diag(G)) / len(G) or 1.0
    found = float(np.vdot(C - O @ G, O)) / max(squared_norm(O), np.finfo(float).tiny)
    lam = max(found, least)
    unit = math.ldexp(1.0, math.frexp(lam)[1] - BITS)
    return math.ceil(lam / unit) * unit
