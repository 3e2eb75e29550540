"""What an attacker sees of pictures: means of classes, and single rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dssfn._typing import Array
from dssfn.audit.rows import found_rows
from dssfn.audit.sums import FirstLayer, Sums
from dssfn.audit.truth import Scaling
from dssfn.config import Plan

FEWEST_PIXELS = 64  # of inputs that are taken for a picture because they fill a square


def picture_shape(plan: Plan) -> tuple[int, ...] | None:
    """Return the shape of the pictures that inputs are; None if they are none.

    >>> picture_shape(Plan(n_features=64, classes=(0, 1)))
    (8, 8)
    >>> picture_shape(Plan(n_features=13, classes=(0, 1)))
    """
    if plan.image_shape is not None:
        return plan.image_shape
    side = math.isqrt(plan.n_features)
    is_square = side**2 == plan.n_features >= FEWEST_PIXELS
    return (side, side) if is_square and plan.schema is None else None


@dataclass(frozen=True, slots=True)
class Pictures:
    """How sums become pictures.

    Parameters
    ----------
    plan : Plan
        The plan with nothing left open.
    scaling : Scaling
        How inputs are scaled, which every member knows.
    shape : tuple of int
        Height and width, and the number of channels if there are several.
    """

    plan: Plan
    scaling: Scaling
    shape: tuple[int, ...]

    def class_means(self, sums: Sums | None) -> Array:
        """Return the mean picture of every class, (Q, height, width).

        Of a class without rows, and where nothing was found, it is NaN.
        """
        if sums is None:
            nothing: Array = np.full((self.plan.n_outputs, *self.shape[:2]), np.nan)
            return nothing
        layer = FirstLayer(self.plan)
        means = layer.class_means(sums.C)
        counts = layer.counts(sums.C)
        if counts is not None:
            means[np.abs(counts) < 0.5] = np.nan
        return self._pictures(means)

    def single_rows(self, sums: Sums) -> Array:
        """Return a row of every class that was found, (Q, height, width), or NaN."""
        found: Array = np.full((self.plan.n_outputs, self.plan.n_features), np.nan)
        for label, values in found_rows(FirstLayer(self.plan), sums):
            found[label] = values
        return self._pictures(found)

    def _pictures(self, V: Array) -> Array:
        X = self.scaling.unscaled(self.plan, V).reshape(len(V), *self.shape)
        grey: Array = X if len(self.shape) == 2 else X.mean(axis=-1)
        return grey
