"""The exact solution of a layer of integer units."""

from __future__ import annotations

import numpy as np
import pytest

from dssfn.exact.refine import refined_solution
from dssfn.solvers import exact_gram


@pytest.mark.parametrize("n", [200, 800])
def test_features_that_are_nearly_all_one_are_solved_with_the_least_multiplier(n):
    v = np.random.default_rng(0).uniform(0.5, 1, n)
    trace = float(v @ v)
    lam = 1e-11 * trace / n  # of one feature more, this is that of ten thousand
    A = np.outer(v, v) + lam * np.eye(n)
    O = refined_solution(A, v[None])
    # A is v v^T + lam I up to rounding of its entries, which lam alone holds against.
    np.testing.assert_allclose(O @ v, trace / (trace + lam), rtol=1e-9)


def layer(n, rank, seed=0):
    """Sums of whole numbers, whose rank is that of so few samples."""
    rng = np.random.default_rng(seed)
    Y = rng.integers(-9, 10, size=(n, rank)).astype(float)
    return Y @ Y.T, rng.integers(-9, 10, size=(3, rank)) @ Y.T


@pytest.mark.parametrize(("n", "rank"), [(30, 60), (150, 100), (150, 400)])
@pytest.mark.parametrize("share", [1e-4, 0.3, 0.97, 2.0])
def test_the_multiplier_is_the_least_of_16_bits_in_the_ball(n, rank, share):
    G, C = layer(n, rank)
    mean = np.trace(G) / n
    radius = share * np.linalg.norm(np.linalg.solve(G + 1e-9 * mean * np.eye(n), C.T))
    O = exact_gram._in_ball(G, C, radius)
    assert np.linalg.norm(O) <= radius * (1 + 1e-15)
    lam = np.vdot(C - O @ G, O) / np.vdot(O, O)
    if lam > 2e-10 * mean:  # not the least multiplier
        lower = lam * (1 - 1.01 * 2.0**-15)
        outside = np.linalg.solve(G + lower * np.eye(n), C.T)
        assert np.linalg.norm(outside) > radius


@pytest.mark.parametrize("share", [0.3, 0.97, 2.0])
@pytest.mark.parametrize("error", [-3e-4, -2e-5, 0.0, 2e-5, 3e-4])
def test_no_bit_depends_on_the_guess(share, error, monkeypatch):
    G, C = layer(150, 100)
    radius = share * np.linalg.norm(np.linalg.lstsq(G, C.T, rcond=1e-9)[0])
    expected = exact_gram._in_ball(G, C, radius)
    find = exact_gram.find_multiplier

    def guess(G, C, radius, least, factor):
        lam, falls = find(G, C, radius, least, factor)
        return max(lam * (1 + error), least), falls

    monkeypatch.setattr(exact_gram, "find_multiplier", guess)
    assert exact_gram._in_ball(G, C, radius).tobytes() == expected.tobytes()


@pytest.mark.parametrize("n", [40, 150])
def test_where_there_is_nothing_to_learn_the_output_is_zero(n):
    G, C = layer(n, 5)
    assert not exact_gram._in_ball(G, 0 * C, 1.0).any()
    assert not exact_gram._in_ball(0 * G, 0 * C, 1.0).any()
