"""Single rows that sums give away.

How this works. T Y^T has the rows of every class, added up. Where a class has one row
among those that are summed, that is the row. And where all classes have one row at
most, but for one that has two, what single rows leave of Y Y^T is a a^T + b b^T, and T
Y^T has a + b: so (a - b) (a - b)^T is known, and with it both. Sums of layer 0 come by
fold in networks that find their size, so that few rows are summed at a time.
"""

from __future__ import annotations

import numpy as np

from dssfn._typing import Array
from dssfn.audit.sums import FirstLayer, Sums

WHOLE = 1e-6  # a number of rows is as near to a whole one
Row = tuple[int, Array]
"""The class of a row, and its inputs (P,), as scaled."""


def found_rows(layer: FirstLayer, sums: Sums) -> list[Row]:
    """Return the rows that follow from sums.

    Parameters
    ----------
    layer : FirstLayer
        What the features are.
    sums : Sums
        What an attack has found.

    Examples
    --------
    >>> from dssfn.config import Plan
    >>> plan = Plan(n_features=2, classes=("no", "yes"), n_layers=1, width=4)
    >>> Y = FirstLayer(plan).features(np.array([[1.0, 5.0], [2.0, 7.0]]))
    >>> sums = Sums((Y @ Y.T,), (np.array([[1, 1], [0, 0]]) @ Y.T,))
    >>> [row.round(9).tolist() for _, row in found_rows(FirstLayer(plan), sums)]
    [[1.0, 2.0], [5.0, 7.0]]
    """
    rows: list[Row] = []
    for G, C in zip(sums.G_by_fold, sums.C_by_fold, strict=True):
        counts = layer.counts(C)
        if counts is None:
            break
        has = [np.flatnonzero(np.abs(counts - n) < WHOLE) for n in range(3)]
        rows += [(int(one), C[one, layer.inputs]) for one in has[1]]
        if sums.share == 1 and len(has[2]) == 1 and sum(map(len, has)) == len(C):
            pair = int(has[2][0])
            both = _pair(G - C[has[1]].T @ C[has[1]], C[pair])
            rows += [(pair, row[layer.inputs]) for row in both]
    return rows


def _pair(G: Array, total: Array) -> tuple[Array, Array]:
    """Return a and b from a a^T + b b^T and a + b."""
    sizes, U = np.linalg.eigh(2 * G - np.outer(total, total))
    difference = U[:, -1] * np.sqrt(max(float(sizes[-1]), 0.0))
    difference *= np.sign(difference[np.abs(difference).argmax()])
    return (total - difference) / 2, (total + difference) / 2
