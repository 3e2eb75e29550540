"""The features of one layer of one member.

How this works. Members grow their scores layer by layer: S_l = S_{l-1} + O_l F_l. The
features F of a layer are a constant, the scores so far on both sides of their mean, as
relu(S - c) and relu(c - S), and random units relu(R a). So O = 0 keeps the layer before
("lossless flow"), and a ridge pulls towards it.

The input a of the units is made of the features before, standardised, and a constant;
it is scaled to length 1 before R. So a unit does not depend on how many others there
are, and a wider layer has the units of the narrower one, and new ones.
"""

from __future__ import annotations

import math

from dssfn._typing import Array
from dssfn.config import Plan

CONSTANT = 1  # rows of a layer's features before the scores and the units


def n_features_of(layer: int, n_inputs: int, n_outputs: int, width: int) -> int:
    """Return the number of rows of F: the constant and inputs, scores or units.

    >>> n_features_of(0, 4, 2, 100), n_features_of(1, 4, 2, 100)
    (5, 105)
    """
    return CONSTANT + (n_inputs if layer == 0 else 2 * n_outputs + width)


def unit_inputs(
    plan: Plan, V: Array, shift: Array, scale: Array, factors: Array
) -> Array:
    """Return what the units of layer 1 see of scaled inputs V (P, J).

    They are multiplied by the factors. Pixels are taken from the mean of all of them,
    not each from its own.
    """
    seen: Array = V * factors[:, None]
    if plan.image_shape is not None:
        seen += pixel_offsets(shift, scale, factors)[:, None]
    return seen


def pixel_offsets(shift: Array, scale: Array, factors: Array) -> Array:
    """Return what turns pixels from their own means into those from a common mean."""
    mean = math.fsum(shift) / len(shift)
    offsets: Array = (shift - mean) * (factors / scale)
    return offsets
