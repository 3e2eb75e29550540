"""Encoding: the columns of a table as features.

A category becomes one feature for each of its levels, which is one for the samples of
that level. A number stays what it is. A missing one is NaN here, which a training
replaces by the agreed mean, and has a feature beside it that is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.schema.columns import Column, Schema

UNKNOWN, GAP = -2, -1  # codes of values that are no level, and that are missing

Codes: TypeAlias = NDArray[np.intp]
Values: TypeAlias = NDArray[Any]  # codes of a category, numbers of anything else


class Encoding:
    """Turns columns of values into features.

    Parameters
    ----------
    schema : Schema
        What the columns mean.

    Examples
    --------
    >>> pain = Column(name="pain", kind="category", levels=(1, 2), missing=True)
    >>> age = Column(name="age", kind="number", missing=True)
    >>> encoding = Encoding(Schema(columns=(age, pain)))
    >>> encoding.features([np.array([30.0, np.nan]), np.array([1, -1])])
    array([[30., nan],
           [ 0.,  1.],
           [ 0.,  0.],
           [ 1.,  0.],
           [ 0.,  1.]])
    """

    def __init__(self, schema: Schema) -> None:
        self.columns = schema.used
        self.n_features = len(schema.feature_names)

    def features(self, values: Sequence[Values]) -> Array:
        """Return the features (P, c) of samples, from the values of every used column.

        Values are numbers, NaN where they are missing, or codes of levels, as
        `codes_of` gives them.
        """
        c = len(values[0]) if values else 0
        X: Array = np.zeros((self.n_features, c))
        at = 0
        for column, one in zip(self.columns, values, strict=True):
            rows = X[at : at + len(column.feature_names)]
            if column.kind == "category":
                _fill_levels(column, one, rows)
            else:
                _fill_numbers(column, one, rows)
            at += len(rows)
        return X


def _fill_numbers(column: Column, values: Values, rows: Array) -> None:
    is_gap = np.isnan(values)
    rows[0] = np.where(is_gap, np.nan, values)  # one kind of NaN
    if column.missing:
        rows[1] = is_gap


def _fill_levels(column: Column, codes: Values, rows: Array) -> None:
    K = len(column.levels)
    places = np.where(codes == UNKNOWN, K, codes)
    if column.missing:
        places = np.where(codes == GAP, K + column.other, places)
    known = np.flatnonzero((places >= 0) & (places < len(rows)))
    rows[places[known], known] = 1.0
