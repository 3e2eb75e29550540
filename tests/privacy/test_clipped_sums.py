"""What one row can change, by the law and by brute force."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dssfn.exact.bounds import TOP
from dssfn.privacy.clipped_sums import (
    Clipped,
    LayerSums,
    read_sums,
    solve_noisy,
    sums_of,
)
from dssfn.privacy.moments import (
    LEAST_SPREAD,
    Range,
    moments_change,
    moments_of,
    scaling_of,
)
from dssfn.privacy.training_errors import errors_change, errors_of, read_errors
from dssfn.shard import Rows, one_hot

Q = 3


def units(width, n):
    """Random units of n rows, extreme ones among them."""
    some = st.one_of(st.sampled_from([0, 1, TOP]), st.integers(0, TOP))
    return arrays(np.uint8, (width, n), elements=some)


def sums(U, codes, width, n_threads=1, chunk=4):
    T = one_hot(np.array(codes, dtype=int), Q)
    chunks = [
        Rows(U[:, k : k + chunk].astype(float), T[:, k : k + chunk])
        for k in range(0, U.shape[1], chunk)
    ]
    units_of = np.uint8
    return sums_of(chunks, lambda X: X.astype(units_of), Q, Clipped(width), n_threads)


WIDTHS = st.sampled_from([1, 2, 7, 40])


@given(st.data())
def test_one_row_changes_no_more_than_agreed(data):
    width = data.draw(WIDTHS)
    U = data.draw(units(width, 6))
    codes = data.draw(st.lists(st.integers(0, Q - 1), min_size=6, max_size=6))
    change = sums(U, codes, width) - sums(U[:, :-1], codes[:-1], width)
    square = sum(int(one) ** 2 for one in change)
    assert square <= Clipped(width).most_change


@given(st.data())
def test_no_row_is_longer_than_agreed_and_short_ones_keep_their_direction(data):
    width = data.draw(WIDTHS)
    U, limits = data.draw(units(width, 5)), Clipped(width)
    Z = limits.rows(U)
    assert (np.floor(Z) == Z).all()
    assert (Z >= 0).all()
    assert ((Z.astype(object) ** 2).sum(axis=0) <= limits.longest).all()
    is_short = 256 * (U.astype(int) ** 2).sum(axis=0) <= limits.longest
    assert (np.abs(Z - 16.0 * U)[:, is_short] <= 1).all()


@given(st.data())
def test_sums_are_exact_and_add_up(data):
    width = data.draw(WIDTHS)
    U = data.draw(units(width, 9))
    codes = data.draw(st.lists(st.integers(0, Q - 1), min_size=9, max_size=9))
    total = sums(U, codes, width, n_threads=2, chunk=2)
    parts = sums(U[:, :5], codes[:5], width), sums(U[:, 5:], codes[5:], width)
    assert np.array_equal(total, parts[0] + parts[1])
    Z = Clipped(width).rows(U)
    G, C = read_sums(total, Q, Clipped(width))
    assert np.array_equal(G, Z @ Z.T)
    np.testing.assert_allclose(C, one_hot(np.array(codes), Q) @ Z.T, rtol=1e-15)


def test_almost_all_rows_of_random_units_keep_their_length():
    """Units have half of the squared length before the ReLU; most are near to that."""
    rng = np.random.default_rng(0)
    for width in (50, 600, 2000):
        raw = np.clip(np.rint(32 * rng.normal(size=(width, 2000))), 0, TOP)
        squares = 256 * (raw**2).sum(axis=0)
        assert np.mean(squares > Clipped(width).longest) < 0.2


def test_a_layer_is_solved_as_ridge_regression_where_there_is_little_noise():
    rng = np.random.default_rng(1)
    Y = np.abs(rng.normal(size=(20, 500)))
    T = one_hot(rng.integers(Q, size=500), Q)
    G, C = Y @ Y.T, T @ Y.T
    deviation = 10.0
    ridge = 0.3 * deviation * np.sqrt(20)
    wanted = np.linalg.solve(G + ridge * np.eye(20), C.T).T
    found = solve_noisy(LayerSums(G, C), deviation)
    np.testing.assert_allclose(found, wanted, rtol=1e-8)


def test_negative_eigenvalues_of_noise_do_no_harm():
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(30, 30))
    found = solve_noisy(LayerSums(noise + noise.T, rng.normal(size=(Q, 30))), 1.0)
    assert np.linalg.norm(found) < 100


VALUES = st.floats(-1e300, 1e300) | st.just(float("nan"))


@given(arrays(float, (4, 5), elements=VALUES))
def test_one_row_changes_the_moments_no_more_than_agreed(X):
    ranges = Range(np.full(4, -3.0), np.array([0.0, 1.0, 1e9, 3.0]))
    T = np.zeros((2, 5))
    change = moments_of([Rows(X, T)], ranges) - moments_of(
        [Rows(X[:, 1:], T[:, 1:])], ranges
    )
    assert sum(int(one) ** 2 for one in change) <= moments_change(4)


def test_moments_become_means_and_deviations():
    rng = np.random.default_rng(0)
    X = rng.normal([[5.0], [-2.0]], [[2.0], [0.5]], size=(2, 5000))
    ranges = Range(np.array([-10.0, -5.0]), np.array([20.0, 1.0]))
    found = scaling_of(moments_of([Rows(X, np.zeros((2, 5000)))], ranges), ranges)
    assert found.n_samples == 5000
    np.testing.assert_allclose(found.shift, X.mean(axis=1), atol=0.01)
    np.testing.assert_allclose(3 * found.scale, X.std(axis=1), rtol=0.02)


def test_moments_that_are_noise_alone_give_a_scaling_that_can_be_used():
    ranges = Range(np.zeros(3), np.full(3, 10.0))
    found = scaling_of(np.array([-5, 9999, -9999, 7, -1, 10**9, 0]), ranges)
    assert found.n_samples == 1
    assert ((found.shift >= 0) & (found.shift <= 10)).all()
    assert (found.scale >= 5 * LEAST_SPREAD / 3).all()


@given(arrays(float, (Q, 6), elements=st.floats(-1e150, 1e150)))
def test_one_row_changes_the_training_errors_no_more_than_agreed(S):
    T = one_hot(np.arange(6) % Q, Q)
    both = [errors_of([Rows(S[:, k:], T[:, k:])], lambda X: X) for k in (0, 1)]
    assert sum(int(one) ** 2 for one in both[0] - both[1]) <= errors_change()


def test_training_errors_are_what_they_say():
    S = np.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]])
    T = one_hot(np.array([0, 1]), Q)
    found = read_errors(errors_of([Rows(S, T)], lambda X: X), 2.0)
    assert found.tolist() == [0.25, 2.0]
    assert read_errors(np.array([-7, 10**9]), 2.0).tolist() == [0.0, 2.0]
