"""The rules by which a network finds its size: functions of agreed numbers alone.

Every constant was chosen on random splits of the sets that `benchmarks/accuracy` names,
other than those it reports.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.config import AUTO, MOST_WIDTH, Plan
from dssfn.records import decibel


class Pull(NamedTuple):
    """Where a ridge pulls the scores of a layer to, and how hard.

    Parameters
    ----------
    ridge : float
        In units of the mean eigenvalue of the layer's scatter; infinity keeps what it
        pulls to.
    afresh : bool
        Whether it pulls to the scores' mean, and not to the scores of the layer before:
        a layer that starts afresh gets rid of what earlier ones have learned too well.
    """

    ridge: float
    afresh: bool = False


# Powers may differ in the last bit between processors, so that it is cut off.
RIDGES = tuple(np.logspace(-6, 2, 13).astype(np.float32).astype(float).tolist())
# Of pulls that validate alike the last is taken, which keeps the layer before.
TO_THE_LAYER_BEFORE = (*map(Pull, RIDGES), Pull(math.inf))
AFRESH = tuple(Pull(ridge, afresh=True) for ridge in RIDGES)
# A layer starts with 200 units, or more if there are 40 samples for each of them. It is
# doubled while that lowers the error of layer 1 by a twentieth and leaves 9 samples
# for each unit. Less is made up for by depth.
NARROWEST, START_SAMPLES, SAMPLES, WIDER = 200, 40, 9, 0.05
PATIENCE = 2  # layers that must lower the validation error together
FALL = 1e-2  # by this share of it
TIE = 1e-7  # relative difference of errors that rounding may make
EXACT = 1e-20  # a sample's squared error that is nothing but rounding

# SSFN's own rule: units are added by 50 while the error falls by 0.005 dB, and layers
# while it falls by 0.1 dB.
SSFN_STEP, SSFN_WIDTH_DB, SSFN_LAYER_DB = 50, 0.005, 0.1
SSFN_MOST, SSFN_RIDGE = 1000, 1e-6


class Rules(Protocol):
    """What is chosen by the errors of layers."""

    @property
    def most_layers(self) -> int:
        """The largest number of hidden layers."""

    def pulls(self, layer: int) -> tuple[Pull, ...]:
        """Return the ridges to try in a layer."""

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

    ridge: float | None
    most_layers: int
    depth_is_open: bool
    first_widths: tuple[int, ...]

    def pulls(self, layer: int) -> tuple[Pull, ...]:
        """Return all ridges, unless one is given; layer 0 has no layer before."""
        if self.ridge is not None:
            return (Pull(self.ridge),)
        return TO_THE_LAYER_BEFORE if layer == 0 else AFRESH + TO_THE_LAYER_BEFORE

    def widths(self, layer: int, before: Sequence[int]) -> list[int]:
        """Return several widths for layer 1; the others are as wide as that."""
        return list(before[-1:] or self.first_widths)

    def is_worth_it(self, before: float, after: float) -> bool:
        """Return whether the validation error falls clearly."""
        return falls(before, after, WIDER)

    def is_deep_enough(self, errors: Sequence[float]) -> bool:
        """Return whether the last layers have not lowered the validation error.

        >>> rules = ValidationRules(None, 20, True, (100,))
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

    ridge: float
    most_layers: int
    most_width: int

    def pulls(self, layer: int) -> tuple[Pull, ...]:
        """Return the only ridge."""
        return (Pull(self.ridge),)

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

        >>> TrainingRules(1e-6, 20, 1000).depth([8.0, 4.0, 3.99])
        1
        """
        for layer in range(1, len(errors)):
            if decibel(errors[layer], errors[layer - 1]) > -SSFN_LAYER_DB:
                return layer - 1
        return len(errors) - 1


def rules_of(plan: Plan, weight: float) -> Rules:
    """Return the rules of a plan, for samples of this weight."""
    width, ridge = plan.width, plan.ridge
    if plan.size == "ssfn":
        return TrainingRules(
            ridge=SSFN_RIDGE if isinstance(ridge, str) else ridge,
            most_layers=plan.most_layers,
            most_width=SSFN_MOST if isinstance(width, str) else width,
        )
    return ValidationRules(
        ridge=None if isinstance(ridge, str) else ridge,
        most_layers=plan.most_layers,
        depth_is_open=plan.n_layers == AUTO,
        first_widths=widths_for(weight) if isinstance(width, str) else (width,),
    )


def widths_for(weight: float) -> tuple[int, ...]:
    """Return the widths to try for a number of samples.

    >>> widths_for(500), widths_for(4_435), widths_for(60_000)
    ((200,), (200, 400), (800, 1600))
    """
    width = NARROWEST
    while 2 * width <= MOST_WIDTH and 2 * width * START_SAMPLES <= weight:
        width *= 2
    widths = [width]
    while 2 * widths[-1] <= MOST_WIDTH and 2 * widths[-1] * SAMPLES <= weight:
        widths.append(2 * widths[-1])
    return tuple(widths)


def members_for(weight: float) -> int:
    """Return the number of members for a number of samples.

    >>> members_for(920), members_for(4_000), members_for(60_000)
    (10, 4, 3)
    """
    for n_members, most in ((10, 1_000), (4, 10_000)):
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


def scale_factors(
    deviation: Array, constant: NDArray[np.bool_], *, alike: bool = False
) -> Array:
    """Return what turns columns scaled each by itself into columns of one scale.

    The common scale is the root mean square of the deviations of all columns that
    vary. Those that do not are left as they are, unless all are alike, as pixels are.
    """
    varies = ~constant
    if not varies.any():
        return np.ones(len(deviation))
    squares = (deviation[varies] ** 2).tolist()
    common = math.sqrt(math.fsum(squares) / len(squares))  # in no particular order
    return np.where(varies | alike, deviation / common, 1.0)
