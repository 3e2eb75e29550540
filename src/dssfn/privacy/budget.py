"""The budget of a private training, and the noise that keeps it.

A Gaussian whose deviation is m times the largest change that one row can make has a
Renyi divergence of alpha / (2 m^2), and so has the discrete one. Divergences of several
releases add up, so that of a training with factor m a release with a share s of it has
the factor m / sqrt(s). The package dp-accounting turns divergences into (epsilon,
delta).

The sum of several nodes' shares is no discrete Gaussian, but its divergence exceeds
that of one by less than exp(-98) for every budget, number of nodes and width that a
plan may have, since all shares have a variance of at least 10 (Kairouz, Liu and
Steinke, 2021).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dssfn.config import Plan
from dssfn.errors import InputError

SCALING, LAYER, ERRORS = "scaling", "layer 1", "training errors"
RELEASES = {SCALING: 0.1, LAYER: 0.87, ERRORS: 0.03}
"""What a training releases, and the share of the budget that each takes."""

ROUNDING = 1e-6  # of the budget: what sums of shares leave over


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a training may tell of any single row.

    With or without a row, the probability of anything that nodes may see changes by a
    factor of at most exp(epsilon), but for cases of a probability of delta.

    Parameters
    ----------
    epsilon, delta : float
        The two numbers.

    Examples
    --------
    >>> budget = Budget(1.0, 1e-5)
    >>> round(budget.factor, 2)
    4.05
    >>> round(budget.spent([budget.factor_of("scaling")]), 2)
    0.29
    """

    epsilon: float
    delta: float

    @property
    def factor(self) -> float:
        """The noise of the whole training, if it were released at once."""
        return _factor(self.epsilon, self.delta)

    def factor_of(self, release: str) -> float:
        """Return the noise of a release, in units of what one row can change."""
        return self.factor / math.sqrt(RELEASES[release])

    def spent(self, factors: Iterable[float]) -> float:
        """Return the epsilon of some releases together, for the delta of this one."""
        squares = math.fsum(factor**-2 for factor in factors)
        return _epsilon(squares**-0.5, self.delta) if squares else 0.0

    def allows(self, factors: Iterable[float]) -> bool:
        """Return whether some releases together keep the budget."""
        squares = math.fsum(factor**-2 for factor in factors)
        return squares <= self.factor**-2 * (1 + ROUNDING)


def budget_of(plan: Plan) -> Budget:
    """Return the budget of a plan that has one."""
    assert plan.epsilon is not None
    return Budget(plan.epsilon, plan.delta)


@lru_cache(maxsize=16)
def _factor(epsilon: float, delta: float) -> float:
    accounting, Accountant = _accounting()
    return float(
        accounting.calibrate_dp_mechanism(
            Accountant, accounting.GaussianDpEvent, epsilon, delta
        )
    )


@lru_cache(maxsize=16)
def _epsilon(factor: float, delta: float) -> float:
    accounting, Accountant = _accounting()
    accountant = Accountant().compose(accounting.GaussianDpEvent(factor))
    return float(accountant.get_epsilon(delta))


def _accounting() -> tuple[Any, Any]:
    """Return the package and its accountant, which takes a second to import."""
    try:
        import dp_accounting
        from dp_accounting.rdp import RdpAccountant
    except ImportError as exc:
        raise InputError(
            "`epsilon` needs the package dp-accounting, which computes how much of "
            "the budget is spent. Install it with: pip install 'dssfn[privacy]'."
        ) from exc
    return dp_accounting, RdpAccountant
