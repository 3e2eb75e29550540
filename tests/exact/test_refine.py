"""Refined solutions are those of fractions, on every kind of processor."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.errors import NumericalError
from dssfn.exact.refine import (
    RefinedSystem,
    exact_product,
    refined_solution,
    slices,
)
from tests.support.strategies import seeds


def system(rng, n, Q, condition):
    """A symmetric matrix of such a condition, and right-hand sides."""
    V, _ = np.linalg.qr(rng.normal(size=(n, n)))
    A = (V * np.geomspace(1.0, 1.0 / condition, n)) @ V.T
    return (A + A.T) / 2, rng.normal(size=(Q, n))


def fractions(A):
    return [[Fraction(x) for x in row] for row in A.tolist()]


def fraction_solution(A, C):
    """O with O A = C for a symmetric A, by elimination."""
    rows = [
        left + right for left, right in zip(fractions(A), fractions(C.T), strict=True)
    ]
    n = len(rows)
    for k in range(n):
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(n):
            if i != k:
                factor = rows[i][k]
                rows[i] = [
                    x - factor * y for x, y in zip(rows[i], rows[k], strict=True)
                ]
    return np.array([[float(x) for x in row[n:]] for row in rows]).T


def fraction_product(A, B):
    columns = list(zip(*fractions(B), strict=True))
    return [
        [
            float(sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)))
            for column in columns
        ]
        for row in fractions(A)
    ]


conditions = st.sampled_from([1.0, 1e3, 1e6, 1e9, 1e12])


@settings(max_examples=40)
@given(seeds, st.integers(1, 7), st.integers(1, 3), conditions)
def test_a_solution_is_that_of_fractions_rounded_once(seed, n, Q, condition):
    A, C = system(np.random.default_rng(seed), n, Q, condition)
    found, exact = refined_solution(A, C), fraction_solution(A, C)
    # It is known to 2^-75 or so of the largest number, which decides how that and all
    # that are not far smaller are rounded.
    large = np.abs(exact) > 2.0**-12 * np.abs(exact).max()
    assert (found == exact)[large].all()
    np.testing.assert_allclose(found, exact, rtol=0, atol=2.0**-64 * abs(exact).max())


@settings(max_examples=30)
@given(seeds, st.integers(2, 120), conditions)
def test_no_order_of_the_unknowns_changes_a_solution(seed, n, condition):
    rng = np.random.default_rng(seed)
    A, C = system(rng, n, 3, condition)
    order = rng.permutation(n)
    found = refined_solution(A, C)[:, order]
    other = refined_solution(A[np.ix_(order, order)], C[:, order])
    large = np.abs(found) > 2.0**-12 * np.abs(found).max()
    assert (found == other)[large].all()
    np.testing.assert_allclose(other, found, rtol=0, atol=2.0**-64 * abs(found).max())


@settings(max_examples=60)
@given(seeds, st.integers(1, 5), st.integers(1, 30), st.integers(1, 4))
def test_a_product_is_that_of_fractions_rounded_once(seed, m, n, k):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(m, n)), rng.normal(size=(n, k))
    A[:, -1] = -A[:, 0]  # terms that cancel, or nearly so
    B[-1] = B[0] * (1 + 2.0**-50)
    exact = fraction_product(A, B)
    found = exact_product(A, B)
    size = n * np.abs(A).max() * np.abs(B).max()
    # a last bit may be another where the exact sum lies between two floats
    np.testing.assert_allclose(found, exact, rtol=2.0**-52, atol=2.0**-90 * size)


def test_slices_are_all_of_a_matrix_and_have_exact_products():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 31, 32, 33, 1000):
        for power in (-60, 0, 60):
            A = rng.normal(size=(2, n)) * 2.0**power
            A[1] = (1 - 2.0**-53) * 2.0**power  # slices as large as can be
            parts = slices(A, n)
            left = A.copy()
            for part in parts:  # large ones first: no difference is rounded
                left -= part
            assert np.abs(left).max() <= 2.0**-75 * np.abs(A).max()
            for one in parts:
                for other in parts:
                    exact = fraction_product(one, other.T)
                    assert (one @ other.T).tolist() == exact


def test_products_of_zeros_are_zeros():
    assert not exact_product(np.zeros((2, 3)), np.ones((3, 2))).any()
    assert not refined_solution(np.eye(3), np.zeros((2, 3))).any()


def test_a_matrix_that_is_singular_is_refused():
    with pytest.raises(NumericalError, match="larger `ridge`"):
        refined_solution(np.ones((2, 2)) - 2 * np.eye(2), np.ones((1, 2)))
    with pytest.raises(NumericalError, match="larger `ridge`"):
        refined_solution(np.ones((3, 3)) + 1e-16 * np.eye(3), np.eye(3))


def bits():
    """A digest of solutions and products of some sizes."""
    rng = np.random.default_rng(0)
    digest = hashlib.sha256()
    for n, ridge in ((3, 1.0), (40, 1e-9), (200, 1e-3)):
        # Whole numbers, and of low rank, so that the ridge alone makes it regular.
        F, C = rng.integers(-9, 10, (n, n // 2 + 1)), rng.integers(-99, 99, (4, n))
        A = (F @ F.T).astype(float)
        A[np.diag_indices(n)] += ridge
        digest.update(refined_solution(A, C.astype(float)).tobytes())
        digest.update(exact_product(C / 3, A).tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize(
    ("kind", "n_threads"),
    [("Prescott", 1), ("Nehalem", 2), ("Haswell", 1), ("SkylakeX", 2)],
)
def test_every_kind_of_processor_finds_the_same_bits(kind, n_threads):
    """OpenBLAS has kernels of its own for each of them."""
    settings = {"OPENBLAS_CORETYPE": kind, "OPENBLAS_NUM_THREADS": str(n_threads)}
    done = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import bits; print(bits())"],
        env=os.environ | settings, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    if done.returncode < 0:
        pytest.skip("this processor does not know all instructions of that kind")
    assert done.stdout.strip() == bits(), done.stderr


@pytest.mark.parametrize("large", [2**12, 2**15])
def test_more_features_than_samples_are_solved_with_the_least_multiplier(large):
    rng, n, J = np.random.default_rng(0), 1000, 500
    Y = np.clip(np.rint(rng.normal(20.0, 32.0, size=(n, J))), 0.0, 127.0)
    Y[:2] = rng.integers(-large, large, size=(2, J))  # some are far larger than others
    T = rng.integers(-(2**17), 2**17, size=(3, J)).astype(float)
    gains = rng.uniform(0.5, 1.0, size=n)  # so that entries of G have all their bits
    G, C = (Y @ Y.T) * np.outer(gains, gains), (T @ Y.T) * gains
    lam = math.ldexp(1.0, round(math.log2(1e-10 * np.trace(G) / n)))
    order = rng.permutation(n)
    O = RefinedSystem(G, C).solution(lam)
    other = RefinedSystem(G[np.ix_(order, order)], C[:, order]).solution(lam)
    np.testing.assert_array_equal(other, O[:, order])
