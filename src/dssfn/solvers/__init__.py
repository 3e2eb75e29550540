"""Ways to solve one layer over the network; each gives a node its program."""

from __future__ import annotations

from collections.abc import Sequence

from dssfn.config import Plan
from dssfn.registry import SOLVERS
from dssfn.solvers.base import Solver
from dssfn.solvers.exact_gram import ExactGram

__all__ = ["Solver", "solver_of"]


def solver_of(plan: Plan, layer: int, before: Sequence[int] = ()) -> Solver:
    """Return the plan's solver for a layer; parameters as in `Solver.of_plan`.

    The plan must leave nothing to "auto": see `dssfn.planning.settle`.
    """
    if plan.is_exact:
        return ExactGram.of_plan(plan, layer, before)
    solver: Solver = SOLVERS[plan.solver].of_plan(plan, layer, before)
    return solver
