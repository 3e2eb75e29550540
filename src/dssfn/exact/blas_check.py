"""Whether this process's products of integers are exact, as all else here assumes.

Some libraries and processors can be told to multiply with fewer bits than float32 has.
That would change sums without a word; so a product of known answer is made first.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dssfn._rank_update import add_gram
from dssfn.errors import NumericalError
from dssfn.exact.bounds import CHUNK, TOP, WIDE, WIDE_CHUNK

ROWS = 24  # more than one block of any processor's kernels


@lru_cache(maxsize=1)
def check_blas() -> None:
    """Refuse a BLAS that rounds products of small integers; the first call looks."""
    whole = np.arange(ROWS * CHUNK, dtype=np.int64).reshape(ROWS, CHUNK) * 7919
    units = whole % (TOP + 1)
    units[0] = TOP  # the largest sum that there can be
    wide = whole[:, :WIDE_CHUNK] * 104729 % (2 * WIDE + 1) - WIDE
    products = units @ units.T  # of integers, which no BLAS has
    singles = units.astype(np.float32)
    upper = np.zeros((ROWS, ROWS), order="F")
    add_gram(upper, singles)
    found = {
        "float32 products (gemm)": singles @ singles.T - products,
        "float32 products (syrk)": np.triu(upper - products),
        "float64 products (gemm)": wide.astype(float) @ wide.T.astype(float)
        - wide @ wide.T,
    }
    for name, difference in found.items():
        if difference.any():
            raise NumericalError(
                "The linear algebra library of this process does not give exact "
                f"{name} of small integers, so sums would not be exact. Switch off "
                "its reduced precision, or use another library, or train with `units "
                '= "dense"`.'
            )
