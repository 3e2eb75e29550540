"""Random units that see small rectangles of a picture.

How this works. A field is a random rectangle of 3 x 3 cells of equal size, each with a
small whole weight; the nine weights sum to zero, so that a field sees edges and shapes
but no brightness. It looks at the picture through nine windows, which are shifted by
some pixels, and the positive parts of what it sees are added up: where exactly a stroke
lies does not matter much then. Pixels and weights are whole numbers, and so is the sum.

A unit is the sum divided by the length of its weights, and by the root mean square of
the first 64 such units of the same picture, so that contrast does not matter; it is
rounded to steps of 1/32 between 0 and 127 then, as other units are.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.exact.bounds import FLOAT32, LEVELS, TOP
from dssfn.exact.structured import Bytes, Whole

CELLS = 3  # of a field, along each side
WINDOWS = 3  # through which it looks, along each side
REFERENCE = 64  # units that say how strong a picture's contrast is
WORDS = 5 + CELLS**2  # random words of a field
COLUMNS = 256  # samples at once, so that all of them stay in the cache


def field_units(
    y: Whole,
    shape: tuple[int, ...],
    key: tuple[int, int, int],
    first: int,
    width: int,
) -> Bytes:
    """Return units `first` to `width` of pictures y, of shape (width - first, c).

    Parameters
    ----------
    y : float32 array of shape (P, c)
        Pixels, whole numbers of at most 127.
    shape : tuple of int
        Height and width of a picture, and the number of its channels if there are some.
    key : tuple of int
        Seed, layer and member.
    first, width : int
        Which units.
    """
    fields, lengths = random_fields(shape, key, max(width, REFERENCE))
    weights = exact_fields(fields)
    factors = (1.0 / lengths).astype(np.float32)[:, None]
    units: Bytes = np.empty((width - first, y.shape[1]), dtype=np.uint8)
    for start in range(0, y.shape[1], COLUMNS):
        columns = slice(start, start + COLUMNS)
        part = y[:, columns].astype(weights.dtype, copy=False)
        reference = _seen(weights[:REFERENCE], part, shape).astype(np.float32)
        strength = _strength(reference * factors[:REFERENCE])
        Z = _seen(weights[first:width], part, shape).astype(np.float32, copy=False)
        Z *= factors[first:width]
        Z *= strength
        np.rint(Z, out=Z)
        np.clip(Z, 0, TOP, out=Z)
        units[:, columns] = Z
    return units


def exact_fields(fields: NDArray[np.int8]) -> Whole:
    """Return fields in the precision in which what they see of a picture is exact."""
    most = TOP * WINDOWS**2 * float(np.abs(fields).sum(axis=1).max())
    return fields.astype(np.float32 if most < FLOAT32 else np.float64)


def _seen(fields: Whole, y: Whole, shape: tuple[int, ...]) -> Whole:
    """Return the sums of what fields see through all windows."""
    pictures = y.reshape(*picture_sides(shape), y.shape[1])
    total = np.zeros((len(fields), y.shape[1]), dtype=fields.dtype)
    for window in windows(shape):
        seen = fields @ pictures[window].reshape(fields.shape[1], -1)
        np.maximum(seen, 0.0, out=seen)
        total += seen
    return total


def _strength(reference: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return LEVELS over the root mean square of units, zero for empty pictures."""
    whole = np.rint(reference).astype(np.float64)  # so that the sum is exact
    squares = np.einsum("ij,ij->j", whole, whole)
    root: Array = np.sqrt(squares / len(whole))
    found = np.divide(LEVELS, root, out=np.zeros_like(root), where=root > 0)
    return found.astype(np.float32)


def windows(shape: tuple[int, ...]) -> list[tuple[slice, slice]]:
    """Return the rows and columns of pixels of every window.

    >>> windows((3, 3))
    [(slice(0, 3, None), slice(0, 3, None))]
    """
    height, width, _ = picture_sides(shape)
    rows, columns, step = _window(shape)
    return [
        (slice(top, top + rows), slice(left, left + columns))
        for top in range(0, height - rows + 1, step)
        for left in range(0, width - columns + 1, step)
    ]


def picture_sides(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return height, width and channels of a picture."""
    height, width, *channels = shape
    return height, width, channels[0] if channels else 1


def _window(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return the sides of a window, and by how much one is shifted from the last."""
    height, width, _ = picture_sides(shape)
    step = max(1, min(height, width) // 12)
    moved = (WINDOWS - 1) * step
    if min(height, width) < moved + CELLS:  # there is but one window
        return height, width, max(height, width)
    return height - moved, width - moved, step


@lru_cache(maxsize=12)  # as many as the members have
def random_fields(
    shape: tuple[int, ...], key: tuple[int, int, int], n: int
) -> tuple[NDArray[np.int8], Array]:
    """Return n random fields and the lengths of their weights.

    Returns
    -------
    fields : int8 array of shape (n, pixels of a window)
        The weights; they sum to zero in every row.
    lengths : array of shape (n,)
        Their lengths; one for a field that sees nothing.
    """
    rows, columns, _ = _window(shape)
    channels = picture_sides(shape)[2]
    side = min(shape[:2])
    seed, layer, member = key
    stream = np.random.Philox(
        key=np.array([seed, layer + (member << 32)], dtype=np.uint64)
    )
    words = stream.random_raw(n * WORDS).reshape(n, WORDS) >> np.uint64(32)

    def drawn(number: int, below: NDArray[np.int64] | int) -> NDArray[np.int64]:
        """Return whole numbers from 0 to below - 1."""
        many = words[:, number] * np.asarray(below, dtype=np.uint64)
        return (many >> np.uint64(32)).astype(np.int64)

    least, most = max(1, side // 12), max(1, side // 5)
    tall, wide = (
        np.minimum(least + drawn(number, most - least + 1), most_cells)
        for number, most_cells in enumerate((rows // CELLS, columns // CELLS))
    )
    top, left = drawn(2, rows - CELLS * tall + 1), drawn(3, columns - CELLS * wide + 1)
    channel = drawn(4, channels)
    cells = np.stack([drawn(5 + k, 3) - 1 for k in range(CELLS**2)], axis=1)
    weights = CELLS**2 * cells - cells.sum(axis=1, keepdims=True)
    fields = np.zeros((n, rows, columns, channels), dtype=np.int8)
    for k in range(n):
        high, broad = CELLS * tall[k], CELLS * wide[k]
        field = np.kron(weights[k].reshape(CELLS, CELLS), np.ones((tall[k], wide[k])))
        fields[k, top[k] : top[k] + high, left[k] : left[k] + broad, channel[k]] = field
    flat = fields.reshape(n, -1)
    squares = (weights**2).sum(axis=1) * tall * wide
    return flat, np.sqrt(np.maximum(squares, 1).astype(np.float64))
