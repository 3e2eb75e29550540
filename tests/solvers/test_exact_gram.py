"""The exact solution of a layer of integer units."""

from __future__ import annotations

import numpy as np
import pytest

from dssfn.exact.refine import refined_solution


@pytest.mark.parametrize("n", [200, 800])
def test_features_that_are_nearly_all_one_are_solved_with_the_least_multiplier(n):
    v = np.random.default_rng(0).uniform(0.5, 1, n)
    trace = float(v @ v)
    lam = 1e-11 * trace / n  # of one feature more, this is that of ten thousand
    A = np.outer(v, v) + lam * np.eye(n)
    O = refined_solution(A, v[None])
    # A is v v^T + lam I up to rounding of its entries, which lam alone holds against.
    np.testing.assert_allclose(O @ v, trace / (trace + lam), rtol=1e-9)
