"""Names for the types that every module speaks of."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
NodeId: TypeAlias = int
Label: TypeAlias = str | int | float | bool  # a class, as a user names it
