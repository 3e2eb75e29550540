"""Names for the types that every module speaks of."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[Any]  # either of them
Kind = TypeVar("Kind", Array, Integers)  # one of them, and the same throughout
NodeId: TypeAlias = int
Label: TypeAlias = str | int | float | bool  # a class, as a user names it
