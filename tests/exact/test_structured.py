"""Units of structured matrices are those of the plain matrix H D' H D."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.exact.bounds import FIRST_TOP, FLOAT32, LEVELS, TOP, places
from dssfn.exact.structured import (
    IN_CACHE,
    _transformed,
    hadamard,
    random_signs,
    random_units,
)
from tests.support.strategies import seeds


def plain_hadamard(N):
    """Entries are the parities of the bits that row and column have in common."""
    return np.array([[(-1) ** (i & j).bit_count() for j in range(N)] for i in range(N)])


def plain_matrix(N, key, block):
    D, D_ = (np.diag(s.astype(np.int64)) for s in random_signs(*key, N, block))
    H = plain_hadamard(N)
    return H @ D_ @ H @ D


def plain_levels(y, key, width):
    """What the units are before they are rounded: R y in deviations, times 32."""
    n, c = y.shape
    N = places(n)
    padded = np.zeros((N, c), dtype=np.int64)
    padded[:n] = y
    blocks = [plain_matrix(N, key, block) for block in range(-(-width // N))]
    Z = np.vstack(blocks)[:width] @ padded
    lengths = [math.sqrt(N * int(column @ column)) for column in padded.T]
    return Z * [LEVELS / length if length else 0.0 for length in lengths]


keys = st.tuples(seeds, st.integers(1, 20), st.integers(0, 19))


@given(st.integers(0, 7).map(lambda k: 2**k))
def test_the_hadamard_matrix_is_that_of_common_bits(N):
    assert (hadamard(N) == plain_hadamard(N)).all()


@settings(max_examples=40)
@given(seeds, keys, st.integers(1, 130), st.integers(1, 9), st.integers(1, 300))
def test_units_are_those_of_a_plain_matrix(seed, key, n, c, width):
    y = np.random.default_rng(seed).integers(-FIRST_TOP, FIRST_TOP + 1, size=(n, c))
    y[:, 0] = 0  # a sample of zeros
    levels = plain_levels(y, key, width)
    units = random_units(y.astype(float), key, 0, width)
    assert units.dtype == np.uint8
    assert (units == np.clip(np.rint(levels), 0, TOP)).all()
    assert not units[:, 0].any()


@settings(max_examples=40)
@given(seeds, keys, st.integers(1, 130), st.integers(1, 9), st.integers(1, 300))
def test_units_of_small_inputs_are_the_same_in_single_precision(seed, key, n, c, width):
    y = np.random.default_rng(seed).integers(-TOP, TOP + 1, size=(n, c))
    levels = np.clip(plain_levels(y, key, width), 0, TOP)
    units = random_units(y.astype(np.float32), key, 0, width)
    # Sums are exact; a level is then rounded to single precision before it is rounded
    # to a whole number, which matters in the middle between two whole numbers only.
    assert np.abs(units - levels).max() <= 0.5 + TOP * 2.0**-22
    clear = np.abs(levels - np.floor(levels) - 0.5) > TOP * 2.0**-22
    double = random_units(y.astype(float), key, 0, width)
    assert (units == double)[clear].all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@given(keys, st.integers(1, 200), st.integers(1, 200), st.integers(0, 200))
def test_the_first_units_do_not_depend_on_how_many_follow(kind, key, n, width, more):
    y = np.random.default_rng(n).integers(-TOP, TOP + 1, size=(n, 3)).astype(kind)
    few = random_units(y, key, 0, width)
    many = random_units(y, key, 0, width + more)
    assert (many[:width] == few).all()
    assert (random_units(y, key, width, width + more) == many[width:]).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_no_sample_depends_on_those_beside_it(kind):
    rng = np.random.default_rng(0)
    step = IN_CACHE // places(70)
    y = rng.integers(-TOP, TOP + 1, size=(70, 2 * step + 5)).astype(kind)
    together = random_units(y, (1, 2, 3), 0, 200)
    for columns in (slice(0, 1), slice(step - 1, step + 1), slice(300, None)):
        alone = random_units(y[:, columns], (1, 2, 3), 0, 200)
        assert (alone == together[:, columns]).all()


def exact_transform(y, signs):
    """H D' H D y of a vector by Python's own integers, half by half."""

    def transform(v):
        if len(v) == 1:
            return v
        half = len(v) // 2
        a, b = transform(v[:half]), transform(v[half:])
        return [x + z for x, z in zip(a, b, strict=True)] + [
            x - z for x, z in zip(a, b, strict=True)
        ]

    for sign in signs:
        y = transform([int(s) * int(x) for s, x in zip(sign, y, strict=True)])
    return y


def flat_signs(N):
    """Signs of products of two halves of the bits, which H spreads evenly."""
    half = N.bit_length() // 2
    low = (1 << half) - 1
    return np.array(
        [(-1) ** ((k & low) & (k >> half)).bit_count() for k in range(N)], dtype=np.int8
    )


@pytest.mark.parametrize("N", [64, 1024, 2048])
@pytest.mark.parametrize("signs", ["random", "flat"])
def test_the_largest_sums_are_exact_in_single_precision(N, signs):
    D, D_ = random_signs(7, 1, 0, N, 0)
    if signs == "flat":
        D_ = flat_signs(N)
    H = hadamard(N).astype(np.int64)
    vectors = [
        np.ones(N),
        D,
        H[N // 3] * D,
    ]  # the last makes one sum as large as can be
    vectors += [np.sign(r @ (H * D) + 0.5) for r in (H[0] * D_, H[N // 5] * D_)]
    y = TOP * np.stack(vectors, axis=1)
    room = [np.empty(y.shape, np.float32) for _ in range(2)]
    Z = _transformed(y, (D, D_), room)
    for column, found in zip(y.T, Z.T, strict=True):
        exact = exact_transform(column.tolist(), (D, D_))
        assert [int(z) for z in found] == exact
    assert np.abs(Z).max() <= N**1.5 * TOP < FLOAT32


@pytest.mark.parametrize("N", [2048, 4096])
def test_large_inputs_are_exact_in_double_precision(N):
    D, D_ = random_signs(7, 1, 0, N, 0)
    H = hadamard(N).astype(np.int64)
    y = FIRST_TOP * np.sign((H[3] * D_) @ (H * D) + 0.5)
    Z = _transformed(y[:, None], (D, D_), [np.empty((N, 1)) for _ in range(2)])
    assert [int(z) for z in Z[:, 0]] == exact_transform(y.tolist(), (D, D_))


def test_signs_of_blocks_layers_members_and_seeds_differ():
    keys = [(0, 1, 0), (1, 1, 0), (0, 2, 0), (0, 1, 1)]
    found = [random_signs(*key, 64, block) for key in keys for block in (0, 1)]
    diagonals = {diagonal.tobytes() for pair in found for diagonal in pair}
    assert len(diagonals) == 2 * len(found)
    for pair in found:
        assert {*np.unique(pair[0]), *np.unique(pair[1])} == {-1, 1}


def test_units_have_half_their_deviation_above_zero():
    rng = np.random.default_rng(0)
    y = rng.integers(-TOP, TOP + 1, size=(200, 500)).astype(np.float32)
    units = random_units(y, (0, 2, 0), 0, 1000) / LEVELS
    # of a normal distribution: half of it above zero, and half of a variance of one;
    # 1000 rows of 256 are not independent, so that a hundredth is all that can be asked
    assert (units > 0).mean() == pytest.approx(0.5, abs=0.01)
    assert (units**2).mean() == pytest.approx(0.5, abs=0.01)
