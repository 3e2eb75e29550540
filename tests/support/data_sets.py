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


# The cells of a column, the line of the bad one, and the rule that it breaks.
BAD_CELLS = [
    (["1", "red", "2", "blue"], 3, "must be numbers, got 'red'"),
    (["1", "2", "2024-01-01", "3"], 4, "must be numbers, got '2024-01-01'"),
    (["1", "2", "", "3"], 4, "the value is missing"),
    (["1", " ", "2", "3"], 3, "the value is missing"),
    (["true", "", "false", "true"], 3, "the value is missing"),
    (["true", "true", "false", "1"], 2, "must be numbers, got 'true'"),
    (["1", "1", "0", "true"], 5, "must be numbers, got 'true'"),
    (["nan", "1", "2", "3"], 2, "must be finite, got nan"),
    (["1", "2", "3", "-inf"], 5, "must be finite, got -inf"),
    (["1", "1e999", "3", "4"], 3, "must be finite, got inf"),
]
