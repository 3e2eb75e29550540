"""Rows that can be read from sums of products, because they are alone in them.

How this works. Let a = w z be a number of every row that is zero for all of them but
one: a class that one row of a fold has, a level that one patient has, a pixel that is
black in all other pictures. Then the sum of a z over the rows is a multiple of that row
z, whose constant tells which multiple. A row is alone in a if the square of the sum of
a is the sum of its squares. A row that was read is taken from all sums, which may leave
others alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dssfn._typing import Array

TOLERANCE = 1e-3  # relative; columns are rounded to 2^-17 of their deviations
NOTHING = 0.25  # of the smallest step of a column, squared: no row has so little


def lone_rows(
    products: Array, resolution: Array, scale: Array, n_classes: int
) -> Array:
    """Return the rows that can be read from sums of products.

    Parameters
    ----------
    products : array of shape (n, n)
        The sum of z z^T over some rows z = (1, x, t), t with a one for the class.
    resolution : array of shape (P,)
        The smallest step of every column, to which rows and products are rounded.
    scale : array of shape (P,)
        The deviation of every column, by which sums may be wrong to some digits.
    n_classes : int
        The number of classes.

    Returns
    -------
    array of shape (n_read, n)
        The rows z.

    Examples
    --------
    The third column is zero but for the first row; then the others are told by class.

    >>> z = np.array([[1, 7, 5, 1, 0], [1, 4, 0, 1, 0], [1, 9, 0, 0, 1.0]])
    >>> lone_rows(z.T @ z, np.ones(2), np.ones(2), n_classes=2).astype(int).tolist()
    [[1, 7, 5, 1, 0], [1, 4, 0, 1, 0], [1, 9, 0, 0, 1]]
    """
    steps = np.concatenate([[1.0], resolution, np.ones(n_classes)])
    slack = TOLERANCE * np.concatenate([[0.0], scale, np.zeros(n_classes)]) ** 2
    unit = np.outer(steps, steps)
    left, read = np.rint(products / unit) * unit, []
    while (row := _lone_row(left, steps, slack, n_classes)) is not None:
        read.append(row)
        left -= np.outer(row, row)
    return np.array(read).reshape(-1, len(products))


def _lone_row(H: Array, steps: Array, slack: Array, n_classes: int) -> Array | None:
    """Return a row that is alone in some number of the rows; None if none is."""
    for sums, square, least in _numbers(H, steps):
        if square > NOTHING * least and _is_close(sums[0] ** 2, square):
            row: Array = np.rint(sums / sums[0] / steps) * steps
            has_room = (row**2 <= np.diag(H) * (1 + TOLERANCE) + slack).all()
            if has_room and _is_one_class(row[-n_classes:]):
                return row
    return None


def _numbers(H: Array, steps: Array) -> Iterator[tuple[Array, float, float]]:
    """Yield the sum of a z, that of a^2, and the least a^2, for many numbers a."""
    for q, sums in enumerate(H):
        yield sums, float(H[q, q]), float(steps[q] ** 2)
        if q > 0 and _is_close(H[0, q], H[q, q]):  # zeros and ones: also the reverse
            yield H[0] - sums, float(H[0, 0] - H[0, q]), 1.0


def _is_close(a: float, b: float) -> bool:
    return bool(abs(a - b) <= TOLERANCE * abs(b))


def _is_one_class(t: Array) -> bool:
    return bool(np.isin(t, (0, 1)).all() and t.sum() == 1)
