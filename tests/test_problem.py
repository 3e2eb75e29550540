from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import brentq

from dssfn import ball
from dssfn.ball import _by_eigenvectors, _by_factors, project_ball, solve_ball
from dssfn.errors import NumericalError
from dssfn.problem import LayerProblem, LayerSums, pack, unpack, weighted
from tests.support.strategies import seeds

sizes = st.integers(1, 12)


def svd_oracle(Y, T, radius):
    """The ball-constrained least squares by another road: SVD of Y and brentq."""
    U, s, Vt = np.linalg.svd(Y, full_matrices=False)
    rank = int((s > s[0] * 1e-10).sum()) if s.size and s[0] > 0 else 0
    U, s, TV = U[:, :rank], s[:rank], T @ Vt[:rank].T

    def output(lam):
        return (TV * (s / (s**2 + lam))) @ U.T

    def excess(log_lam):
        return np.linalg.norm(output(np.exp(log_lam))) / radius - 1

    if rank == 0 or np.linalg.norm(output(0.0)) <= radius:
        return output(0.0)
    return output(np.exp(brentq(excess, -80, 80, xtol=1e-14, rtol=1e-15)))


def gram(p):
    return p.Y @ p.Y.T


def problem(seed, n, J, Q, rank=None):
    rng = np.random.default_rng(seed)
    rank = min(rank or n, n)
    Y = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, J))
    return LayerProblem(Y, rng.normal(size=(Q, J)))


@given(seeds, sizes, sizes, st.integers(1, 4), st.floats(0.01, 10))
def test_exact_solution_equals_the_svd_answer(seed, n, J, Q, radius):
    p = problem(seed, n, J, Q)
    O = solve_ball(gram(p), p.cross(), radius)
    expected = svd_oracle(p.Y, p.T, radius)
    # Forming Y Y^T squares the condition number, so compare what is well determined:
    # the cost (to rounding of ||T||^2), and feasibility.
    assert np.linalg.norm(O) <= radius * (1 + 1e-12)
    assert p.cost(O) <= p.cost(expected) + 1e-8 * np.sum(p.T**2)


@given(seeds, st.integers(1, 8), st.integers(1, 4), st.floats(0.01, 10))
def test_exact_solution_is_the_svd_matrix_when_well_conditioned(seed, n, Q, radius):
    rng = np.random.default_rng(seed)
    U, _ = np.linalg.qr(rng.normal(size=(n, n)))
    p = LayerProblem(
        U * rng.uniform(0.5, 2, n) @ np.linalg.qr(rng.normal(size=(3 * n, n)))[0].T,
        rng.normal(size=(Q, 3 * n)),
    )
    O = solve_ball(gram(p), p.cross(), radius)
    expected = svd_oracle(p.Y, p.T, radius)
    np.testing.assert_allclose(O, expected, rtol=0, atol=1e-11 * np.linalg.norm(O))


@given(seeds, st.integers(2, 10), st.integers(1, 30), st.integers(1, 3))
def test_inside_the_ball_the_solution_is_the_least_norm_lstsq(seed, n, J, Q):
    p = problem(seed, n, J, Q, rank=max(1, n // 2))
    O = solve_ball(gram(p), p.cross(), 1e6)
    expected = np.linalg.lstsq(p.Y.T, p.T.T, rcond=1e-10)[0].T
    assert p.cost(O) == pytest.approx(p.cost(expected), abs=1e-9 * np.sum(p.T**2))
    assert np.linalg.norm(O) <= np.linalg.norm(expected) * (1 + 1e-6) + 1e-9


@given(seeds, st.floats(0.01, 0.99))
def test_active_solution_satisfies_the_optimality_conditions(seed, share):
    p = problem(seed, 6, 20, 3)
    radius = share * np.linalg.norm(solve_ball(gram(p), p.cross(), 1e9))
    O = solve_ball(gram(p), p.cross(), radius)
    gradient = p.cross() - O @ gram(p)  # must be lam * O with lam > 0
    lam = np.vdot(gradient, O) / np.vdot(O, O)
    assert lam > 0
    scale = np.linalg.norm(p.cross())
    np.testing.assert_allclose(gradient, lam * O, rtol=0, atol=1e-10 * scale)
    assert np.linalg.norm(O) == pytest.approx(radius, rel=1e-12)


@pytest.mark.parametrize("exponent", [-12, -6, 0, 6, 12])
def test_exact_solver_does_not_mind_the_scale_of_the_features(exponent):
    p = problem(3, 8, 30, 2)
    c = 10.0**exponent
    # O scales as 1/c, so the radius does too.
    O = solve_ball(c**2 * gram(p), c * p.cross(), 0.3 / c)
    np.testing.assert_allclose(c * O, solve_ball(gram(p), p.cross(), 0.3), rtol=1e-9)


def test_features_that_are_all_zero_give_the_zero_solution():
    O = solve_ball(np.zeros((4, 4)), np.zeros((2, 4)), 1.0)
    assert not O.any()


@pytest.mark.parametrize("scale", [1e-140, 1e-80, 1e80, 1e140])
def test_scales_near_the_ends_of_the_floats(scale):
    p = problem(3, 5, 30, 2)
    O = solve_ball(gram(p) * scale, p.cross() * scale, 0.05)
    np.testing.assert_allclose(O, solve_ball(gram(p), p.cross(), 0.05), rtol=1e-9)
    tiny = solve_ball(gram(p), p.cross(), 1e-120)
    assert np.linalg.norm(tiny) == pytest.approx(1e-120)


def test_wide_spectrum_still_lands_on_the_sphere():
    s = 10.0 ** -np.arange(14.0)
    O = solve_ball(np.diag(s), np.sqrt(s)[None, :], 3.0)
    assert np.linalg.norm(O) == pytest.approx(3.0, rel=1e-12)


@given(seeds, sizes, sizes, st.integers(1, 3), st.floats(-3, 3))
@example(seed=0, n=12, J=1, Q=1, log_mu=3.0)
def test_both_forms_of_a_share_make_the_same_admm_step(seed, n, J, Q, log_mu):
    p = problem(seed, n, J, Q)
    mu = 10.0**log_mu
    B = np.random.default_rng(seed + 1).normal(size=(Q, n))
    primal, dual = p.sums().proximal(mu)(B), p.proximal(mu)(B)
    # The primal factor has condition 1 + mu ||Y||^2, at most about 1e6 here.
    np.testing.assert_allclose(primal, dual, rtol=0, atol=1e-9 * np.linalg.norm(dual))


@given(seeds, sizes, sizes, st.floats(-2, 2))
def test_proximal_step_zeroes_its_gradient(seed, n, J, log_mu):
    p, mu = problem(seed, n, J, 2), 10.0**log_mu
    B = np.random.default_rng(seed + 1).normal(size=(2, n))
    O = p.proximal(mu)(B)
    gradient = (O @ p.Y - p.T) @ p.Y.T + (O - B) / mu
    scale = np.linalg.norm(p.T @ p.Y.T) + np.linalg.norm(B) / mu
    np.testing.assert_allclose(gradient, 0, atol=1e-10 * max(scale, 1))


@given(seeds, st.floats(0.1, 10))
def test_projection_is_the_nearest_point_of_the_ball(seed, radius):
    rng = np.random.default_rng(seed)
    Z, other = rng.normal(size=(2, 3, 4)) * 3
    P = project_ball(Z, radius)
    assert np.linalg.norm(P) <= radius * (1 + 1e-15)
    inside = project_ball(other, radius)
    # Variational inequality of a projection onto a convex set.
    assert np.vdot(Z - P, inside - P) <= 1e-12 * np.vdot(Z, Z)


def test_a_zero_matrix_is_projected_onto_itself():
    assert not project_ball(np.zeros((2, 2)), 1.0).any()


def test_not_finite_numbers_are_reported_as_such():
    p = LayerProblem(np.full((2, 3), 1e200), np.ones((1, 3)))
    with np.errstate(over="ignore"), pytest.raises(NumericalError, match="standardize"):
        p.proximal(1.0)


@given(seeds, sizes, sizes, st.integers(1, 3), st.integers(1, 5))
def test_both_forms_of_a_share_are_the_same_share(seed, n, J, Q, k):
    p = problem(seed, n, J, Q)
    sums = LayerSums.zeros(Q, n)
    for columns in np.array_split(np.arange(J), min(k, J)):
        sums.add(p.Y[:, columns], p.T[:, columns])
    V = np.random.default_rng(seed).normal(size=(n, k))
    scale = max(np.linalg.norm(p.Y) ** 2, 1.0)
    assert p.shape == sums.shape == (Q, n)
    for mine, theirs in [
        (sums.packed_gram(), p.packed_gram()),
        (unpack(sums.packed_gram(), n), gram(p)),
        (sums.cross(), p.T @ p.Y.T),
        (p.cross(), p.T @ p.Y.T),
        (sums.operator()(V), gram(p) @ V),
        (p.operator()(V), gram(p) @ V),
        (sums.trace(), p.trace()),
    ]:
        # Sums of at most twelve terms, in another order.
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-12 * scale)


@given(seeds, sizes, sizes, st.sampled_from([np.float64, np.float32]))
def test_both_forms_of_a_share_weigh_samples_alike(seed, n, J, dtype):
    p, weights = problem(seed, n, J, 2), np.arange(J) % 4 / 2
    sums = LayerSums.zeros(2, n)
    sums.add(p.Y.astype(dtype), p.T, weights)
    scaled = LayerProblem(*weighted(p.Y, p.T, weights))
    G, C = p.Y @ np.diag(weights) @ p.Y.T, p.T @ np.diag(weights) @ p.Y.T
    scale = max(np.linalg.norm(p.Y) ** 2, np.linalg.norm(p.T) ** 2)
    # Some dozen roundings, of sums and products whose size is at most the scale.
    atol = 100 * np.finfo(dtype).eps * scale
    for share in (sums, scaled):
        np.testing.assert_allclose(unpack(share.packed_gram(), n), G, rtol=0, atol=atol)
        np.testing.assert_allclose(share.cross(), C, rtol=0, atol=atol)


@given(seeds, st.integers(1, 30))
def test_packing_keeps_a_symmetric_matrix(seed, n):
    A = np.random.default_rng(seed).normal(size=(n, n))
    np.testing.assert_array_equal(unpack(pack(A + A.T), n), A + A.T)
    assert pack(A).size == n * (n + 1) // 2


def test_single_precision_features_are_summed_in_double():
    rng = np.random.default_rng(0)
    Y, T = rng.random((6, 4000)), rng.random((2, 4000))
    sums = LayerSums.zeros(2, 6)
    for start in range(0, 4000, 100):
        part = slice(start, start + 100)
        sums.add(Y[:, part].astype(np.float32), T[:, part])
    assert sums.upper.dtype == sums.C.dtype == np.float64
    # Rounding of each factor to 24 bits averages out; a single-precision sum would be
    # off by about 1e-6.
    np.testing.assert_allclose(unpack(sums.packed_gram(), 6), Y @ Y.T, rtol=1e-7)
    np.testing.assert_allclose(sums.C, T @ Y.T, rtol=1e-7)


@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.1, 0.9, 0.999])
@pytest.mark.parametrize("condition", [1e1, 1e5])
def test_factoring_and_diagonalising_give_the_same_solution(share, condition):
    rng = np.random.default_rng(0)
    n = 150
    U, _ = np.linalg.qr(rng.normal(size=(n, n)))
    s = np.geomspace(1, 1 / condition, n)
    G, C = (U * s) @ U.T, rng.normal(size=(3, n)) @ (U * np.sqrt(s)) @ U.T
    radius = share * np.linalg.norm(np.linalg.solve(G, C.T))
    one, other = _by_factors(G, C, radius), _by_eigenvectors(G, C, radius)
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-10 * np.linalg.norm(other))
    assert np.linalg.norm(one) == pytest.approx(radius, rel=1e-12)


@pytest.mark.parametrize("n", [40, 150])  # by eigenvectors, and by factors
@pytest.mark.parametrize("share", [1e-6, 0.1, 0.999, 1.5])
def test_a_multiplier_is_the_least_in_the_ball(n, share):
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(n, 2 * n)) * np.geomspace(1, 1e-2, n)[:, None]
    G, C, least = Y @ Y.T, rng.normal(size=(2, 2 * n)) @ Y.T, 1e-9

    def norm(lam):
        return np.linalg.norm(np.linalg.solve(G + lam * np.eye(n), C.T))

    radius = share * norm(least)
    lam, falls = ball.find_multiplier(G, C, radius, least)
    if share > 1:
        assert lam == least
    else:
        assert norm(lam) == pytest.approx(radius, rel=1e-6)
    slope = (norm(lam) - norm(1.001 * lam)) / (norm(lam) * 0.001)
    assert falls == pytest.approx(slope, rel=0.01, abs=1e-9)


@pytest.mark.parametrize("share", [1e-6, 0.1, 0.9, 0.999])
def test_a_multiplier_takes_few_factorisations(share, monkeypatch):
    found, factored = [], ball.factored

    def counted(G):
        factor = factored(G)
        return lambda lam: found.append(lam) or factor(lam)

    monkeypatch.setattr(ball, "factored", counted)
    rng = np.random.default_rng(0)
    Y, T = rng.normal(size=(130, 300)), rng.normal(size=(2, 300))
    Y *= np.geomspace(1, 1e-3, 130)[:, None]
    G, C = Y @ Y.T, T @ Y.T
    O = solve_ball(G, C, share * np.linalg.norm(np.linalg.solve(G, C.T)))
    assert O.any()
    assert 1 <= len(found) <= 4


@pytest.mark.parametrize("scale", [1e-140, 1e-80, 1e80, 1e140])
def test_large_problems_near_the_ends_of_the_floats(scale):
    rng = np.random.default_rng(0)
    Y, T = rng.normal(size=(130, 300)), rng.normal(size=(2, 300))
    G, C = Y @ Y.T, T @ Y.T
    with np.errstate(all="ignore"):  # as in training
        O = solve_ball(G * scale, C * scale, 0.05)
    np.testing.assert_allclose(O, solve_ball(G, C, 0.05), rtol=1e-9)


def test_a_large_singular_problem_gets_its_least_norm_solution():
    rng = np.random.default_rng(0)
    Y, T = rng.normal(size=(130, 60)), rng.normal(size=(2, 60))
    O = solve_ball(Y @ Y.T, T @ Y.T, 1e6)
    expected = np.linalg.lstsq(Y.T, T.T, rcond=None)[0].T
    np.testing.assert_allclose(O, expected, atol=1e-9)


def test_a_large_problem_of_zeros_has_the_zero_solution():
    assert not solve_ball(np.zeros((130, 130)), np.zeros((2, 130)), 1.0).any()


def test_a_large_regular_problem_inside_the_ball_needs_no_eigenvectors():
    rng = np.random.default_rng(0)
    Y, T = rng.normal(size=(130, 900)), rng.normal(size=(2, 900))
    G, C = Y @ Y.T, T @ Y.T
    O = _by_factors(G, C, 1e6)
    expected = np.linalg.lstsq(Y.T, T.T, rcond=None)[0].T
    np.testing.assert_allclose(O, expected, rtol=0, atol=1e-12)
    Y[0] = 0
    assert _by_factors(Y @ Y.T, T @ Y.T, 1e6) is None  # singular: least norm is wanted
