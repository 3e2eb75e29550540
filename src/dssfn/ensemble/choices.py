"""The rules by which a network finds its size: functions of agreed numbers alone.

Every constant was chosen on validation data of the development sets that
`benchmarks/accuracy` names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.config import AUTO, MOST_WIDTH, Plan
from dssfn.records import decibel

# In units of the mean eigenvalue of a layer's scatter. Infinity keeps the layer before.
RIDGES = (*np.logspace(-6, 2, 13).tolist(), math.inf)
WIDTHS = (100, 200, 400, 800, MOST_WIDTH)
PATIENCE = 2  # layers without a fall of the validation error
FALL = 1e-4  # the least relative fall that counts as one
WIDER = 0.15  # the least relative fall by which twice the width is worth its cost
TIE = 1e-7  # relative difference of errors that rounding may make

# SSFN's own rule: units are added by 50 while the error falls by 0.005 dB, and layers
# while it falls by 0.1 dB.
SSFN_STEP, SSFN_WIDTH_DB, SSFN_LAYER_DB = 50, 0.005, 0.1
SSFN_MOST, SSFN_RIDGE = 1000, 1e-6


class Rules(Protocol):
    """What is chosen by the errors of layers."""

    @property
    def ridges(self) -> tuple[float, ...]:
        """The ridges to try."""

    @property
    def most_layers(self) -> int:
        """The largest number of hidden layers."""

    def widths(self, layer: int, before: Sequence[int]) -> list[int]:
        """Return the widths to try in a layer, after layers of other widths."""

    def is_worth_it(self, before: float, after: float) -> bool:
        """Return whether a wider layer is worth its cost."""

    def is_deep_enough(self, errors: Sequence[float]) -> bool:
        """Return whether no more layers are to be added."""

    def depth(self, errors: Sequence[float]) -> int:
        """Return the last layer that is kept."""


@dataclass(frozen=True, slots=True)
class ValidationRules:
    """The choices of members that are validated on what they were not trained on."""

    ridges: tuple[float, ...]
    most_layers: int
    depth_is_open: bool
    given_width: int | None

    def widths(self, layer: int, before: Sequence[int]) -> list[int]:
        """Return several widths for layer 1; the others are as wide as that."""
        if self.given_width is not None:
            return [self.given_width]
        return list(before[-1:] or WIDTHS)

    def is_worth_it(self, before: float, after: float) -> bool:
        """Return whether the validation error falls clearly."""
        return falls(before, after, WIDER)

    def is_deep_enough(self, errors: Sequence[float]) -> bool:
        """Return whether the last layers have not lowered the validation error.

        >>> rules = ValidationRules((1.0,), 20, True, None)
        >>> rules.is_deep_enough([3.0, 2.0, 1.0])
        False
        >>> rules.is_deep_enough([3.0, 1.0, 1.0, 1.0])
        True
        """
        if len(errors) > self.most_layers:
            return True
        if not self.depth_is_open or len(errors) <= PATIENCE:
            return False
        before, last = min(errors[:-PATIENCE]), min(errors[-PATIENCE:])
        return not falls(before, last, FALL)

    def depth(self, errors: Sequence[float]) -> int:
        """Return the layer with the lowest error; of equal ones the first."""
        if not self.depth_is_open:
            return len(errors) - 1
        lowest = min(errors)
        return next(k for k, error in enumerate(errors) if error <= lowest * (1 + TIE))


@dataclass(frozen=True, slots=True)
class TrainingRules:
    """SSFN's rule: grow while the training error falls, and take the last step back."""

    ridges: tuple[float, ...]
    most_layers: int
    most_width: int

    def widths(self, layer: int, before: Sequence[int]) -> list[int]:
        """Return steps of 50 units, in every layer."""
        widths = list(range(SSFN_STEP, self.most_width + 1, SSFN_STEP))
        return widths or [self.most_width]

    def is_worth_it(self, before: float, after: float) -> bool:
        """Return whether the error falls by some decibels."""
        return decibel(after, before) <= -SSFN_WIDTH_DB

    def is_deep_enough(self, errors: Sequence[float]) -> bool:
        """Return whether the last layer has not lowered the error enough."""
        return len(errors) > self.most_layers or self.depth(errors) < len(errors) - 1

    def depth(self, errors: Sequence[float]) -> int:
        """Return the last layer that lowered the error enough.

        >>> TrainingRules((1e-6,), 20, 1000).depth([8.0, 4.0, 3.99])
        1
        """
        for layer in range(1, len(errors)):
            if decibel(errors[layer], errors[layer - 1]) > -SSFN_LAYER_DB:
                return layer - 1
        return len(errors) - 1


def rules_of(plan: Plan) -> Rules:
    """Return the rules of a plan."""
    width, ridge = plan.width, plan.ridge
    if plan.size == "ssfn":
        return TrainingRules(
            ridges=(SSFN_RIDGE if isinstance(ridge, str) else ridge,),
            most_layers=plan.most_layers,
            most_width=SSFN_MOST if isinstance(width, str) else width,
        )
    return ValidationRules(
        ridges=RIDGES if isinstance(ridge, str) else (ridge,),
        most_layers=plan.most_layers,
        depth_is_open=plan.n_layers == AUTO,
        given_width=None if isinstance(width, str) else width,
    )


def members_for(weight: float) -> int:
    """Return the number of members for a number of samples."""
    for n_members, most in ((10, 1_000), (5, 3_000)):
        if weight < most:
            return n_members
    return 3


def choose(errors: Array) -> int:
    """Return the number of the lowest error; the last one, if rounding may decide.

    >>> choose(np.array([3.0, 1.0, 1.0, 2.0]))
    2
    """
    lowest = float(errors.min())
    return int(np.flatnonzero(errors <= lowest * (1 + TIE))[-1])


def falls(before: float, after: float, by: float) -> bool:
    """Return whether an error falls by a share of itself."""
    return after < (1 - by) * before


def scale_factors(deviation: Array, constant: NDArray[np.bool_]) -> Array:
    """Return what turns columns scaled each by itself into columns of one scale.

    The common scale is the root mean square of the deviations of all columns that
    vary.
    """
    varies = ~constant
    if not varies.any():
        return np.ones(len(deviation))
    common = math.sqrt(float(np.mean(deviation[varies] ** 2)))
    return np.where(varies, deviation / common, 1.0)
