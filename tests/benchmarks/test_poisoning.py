"""What the benchmark's liars send."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.poisoning import LIES, Case


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    codes = np.arange(300) % 3
    X = rng.normal(size=(300, 4)) + 3 * np.eye(3, 4)[codes]
    return Case(X[:200], codes[:200], X[200:], codes[200:])


@pytest.mark.parametrize("lie", LIES)
def test_whatever_liars_send_is_within_the_bounds_and_no_honest_help(case, lie):
    is_liars = np.arange(200) < 40
    honest = case.accuracy(np.zeros(200, dtype=bool), LIES[0], 0)
    assert honest > 90
    found = case.accuracy(is_liars, lie, 0)  # a broken bound would be an error
    assert found > 90 if lie == "rows left out" else found <= honest
    if lie.startswith("largest"):
        assert found < 80
