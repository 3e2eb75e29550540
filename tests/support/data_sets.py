"""Data sets that several tests use, and how two of them are compared."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd

REAL = Path(os.environ.get("DSSFN_DATA_DIR", "no data folder is set"))
ARRAYS = ("X_train", "y_train", "X_test", "y_test")


def assert_equal(one, two):
    for name in ARRAYS:
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert one.feature_names == two.feature_names


def other_frame():
    """Features and target of a set that is nobody's, as OpenML gives one."""
    frame = pd.DataFrame({"a": np.arange(20), "b": np.linspace(0, 1, 20), "c": True})
    return frame, pd.Series(["x", "y"] * 10, name="class", dtype="category")
